"""Synthetic trots of quadrupeds, of which the truth is known: soft ground, circles, flight, late contacts."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.row import Better, Row, over_seeds
from inertial_estimation import (
    build_config,
    build_pipelines,
    load_configs,
    parameter_values,
    replay_recording,
)
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.synthetic.gait_sensors import (
    GaitReadings,
    GaitSensors,
    feet_at_rest,
    gait_readings,
    gait_recording,
)
from inertial_estimation.synthetic.synthetic_gait import BaseMotion, FootMotion, Gait, gait_motion

RATE_HZ, LENGTH_S = 500.0, 10.0
BEGUN_S = 4.0  # from which on the error counts: 2 s of rest, 1 s of fading in
STRIDES = {"hyq": 1.0, "go2": 1.3}  # short legs step faster
WALK = Gait(
    offsets=(0.0, 0.5, 0.75, 0.25),
    duty=0.75,
    stride_hz=1.0,
    base=BaseMotion(speed=0.12, yaw_rate=0.2, impact=0.03),
    foot=FootMotion(skid=0.005, radius=0.04),
)
TROT = Gait(
    duty=0.55,
    stride_hz=2.2,
    base=BaseMotion(speed=0.3, yaw_rate=0.3, impact=0.1),
    foot=FootMotion(skid=0.01, slips=0.05, slip=0.08, radius=0.05, sink=0.005),
)
SOFT = Gait(
    stride_hz=2.0,
    base=BaseMotion(speed=0.25, yaw_rate=0.4, impact=0.05),
    foot=FootMotion(skid=0.03, slips=0.15, slip=0.12, radius=0.05, sink=0.05),
)
CIRCLES = Gait(
    duty=0.52,
    stride_hz=2.6,
    base=BaseMotion(speed=0.4, yaw_rate=1.2, impact=0.1, bounce=0.025, rocking=0.03),
    foot=FootMotion(skid=0.02, slips=0.1, slip=0.1, radius=0.06, sink=0.01),
)
FLYING = Gait(
    duty=0.42,
    stride_hz=2.6,
    base=BaseMotion(speed=0.5, yaw_rate=0.5, impact=0.2, bounce=0.03, rocking=0.03),
    foot=FootMotion(skid=0.02, slips=0.1, slip=0.1, radius=0.06, sink=0.01),
)
LATE = GaitSensors(vibration=4.0, rate_vibration=0.08, wrench_delay_s=0.01, missing=0.02, phantom=0.01)
GAITS = {
    "walk": (WALK, GaitSensors(vibration=1.0)),
    "trot": (TROT, GaitSensors(vibration=3.0, rate_vibration=0.05)),
    "trot, soft and slippery": (SOFT, GaitSensors(vibration=1.5, rate_vibration=0.03)),
    "trot in circles, bad contacts": (CIRCLES, LATE),
    "trot with flight": (FLYING, GaitSensors(vibration=6.0, rate_vibration=0.1, wrench_delay_s=0.01)),
}
TROTS = tuple(GAITS)[1:]


@cache
def quadruped(robot: str) -> tuple[Any, Any, np.ndarray]:
    """Return parameter file, model and posture at rest."""
    file = load_configs([config_of(robot)])
    values = file.anywhere({"stance.joints", "stance.positions"})
    built = build_pipelines(file, only=["tilt_observer"])
    known = {name: built.values[name] for name in parameter_values(RobotConfig()) if name in built.values}
    setup = robot_from_config(build_config(RobotConfig, known), built.urdf)
    posture = np.zeros(setup.robot.n_joints)
    for joint, angle in zip(values["stance.joints"], values["stance.positions"], strict=True):
        posture[setup.robot.joint_index(joint)] = angle
    return file, setup, posture


@cache
def config_of(robot: str) -> str:
    """Return the name of a robot's parameter file, or the path of the one that `init` writes for it."""
    if robot in STRIDES:
        return robot
    from benchmarks.referee.commands import ran

    path = Path(tempfile.mkdtemp(), f"{robot}.yaml")
    code, said = ran("init", robot, "--output", path, "--no-trial")
    if code:
        raise RuntimeError(said)
    return str(path)


def readings_of(robot: str, gait: str, seed: int, length_s: float = LENGTH_S) -> tuple[Any, GaitReadings]:
    """Return the model of a robot, and what its sensors read in a gait.

    Args:
        robot: Name of a parameter file, or of a robot of example-robot-data.
        gait: Name in `GAITS`.
        seed: Of motion and noise.
        length_s: Length [s].
    """
    _file, setup, posture = quadruped(robot)
    motion, sensors = GAITS[gait]
    rng = np.random.default_rng([seed, list(GAITS).index(gait)])
    motion = replace(motion, stride_hz=STRIDES.get(robot, 1.3) * motion.stride_hz)
    moved = gait_motion(motion, feet_at_rest(setup, posture), length_s, RATE_HZ, rng)
    return setup, gait_readings(setup, posture, moved, sensors, rng)


def tilt_errors(
    robot: str, setup: Any, readings: GaitReadings, overrides: Sequence[tuple[str, Any]] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Run the tilt pipeline; return error and stated standard deviation of the tilt [deg], NaN without any.

    Args:
        robot: Name of the robot.
        setup: Its model.
        readings: What its sensors read.
        overrides: Names and values of parameters of the tilt observer that differ from the file.
    """
    changes = [("contact.source", "wrench"), *overrides]  # the readings have forces and no torques
    file = quadruped(robot)[0].overridden([("tilt_observer", name, value) for name, value in changes])
    pipelines = build_pipelines(file, only=["tilt_observer"])
    recording = gait_recording(setup, readings)
    run = replay_recording(recording, pipelines.topics({}), tilt=pipelines.tilt)
    error, sigma = np.full((2, len(readings.times_s)), np.nan)
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
    at = np.round((stamps - recording.start_ns) * 1e-9 / readings.times_s[1]).astype(int)
    tilts = np.array([estimate.tilt_B for estimate in run.base])
    error[at] = np.degrees(np.arccos(np.clip(np.sum(tilts * readings.up_B[at], axis=1), -1.0, 1.0)))
    variances = np.array([np.trace(estimate.tilt_covariance_B) for estimate in run.base])
    sigma[at] = np.degrees(np.sqrt(variances))
    return error, sigma


def trot_rows(robot: str, gait: str, seeds: Sequence[int]) -> list[Row]:
    """Return rms error of the tilt and its size over that stated, from the begin of the motion on."""
    found = []
    for seed in seeds:
        setup, readings = readings_of(robot, gait, seed)
        error, sigma = (values[readings.times_s > BEGUN_S] for values in tilt_errors(robot, setup, readings))
        rms, stated = (float(np.sqrt(np.nanmean(values**2))) for values in (error, sigma))
        found.append((rms, rms / stated, 100.0 * np.mean(np.isnan(error))))
    rms, ratio, silent = np.array(found).T
    return [
        over_seeds(f"{robot}, {gait}: tilt error, rms", rms, "deg"),
        over_seeds(f"{robot}, {gait}: tilt error over stated sigma", ratio, "", Better.INFO),
        over_seeds(f"{robot}, {gait}: time without an estimate", silent, "%", least=0.5),
    ]
