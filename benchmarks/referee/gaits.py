"""Synthetic gaits of quadrupeds with known truth: soft ground, circles, flight, delayed contacts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import inertial_estimation as ie
from benchmarks.referee.gait_motion import BaseMotion, FootMotion, Gait, gait_motion
from benchmarks.referee.gait_sensors import (
    START_NS,
    GaitReadings,
    GaitSensors,
    feet_at_rest,
    gait_readings,
    gait_recording,
)
from benchmarks.referee.row import Better, Row, figure
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.robot_config import robot_from_config

RATE_HZ, LENGTH_S = 500.0, 10.0
BEGUN_S = 4.0  # time from which on the error counts: 2 s of rest, 1 s of fading in
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
    "walk": (WALK, GaitSensors(vibration=1.0, effort_noise=1e-3, effort_friction=1e-3)),
    "trot": (TROT, GaitSensors(vibration=3.0, rate_vibration=0.05)),
    "trot, soft and slippery": (SOFT, GaitSensors(vibration=1.5, rate_vibration=0.03)),
    "trot in circles, bad contacts": (CIRCLES, LATE),
    "trot with flight": (FLYING, GaitSensors(vibration=6.0, rate_vibration=0.1, wrench_delay_s=0.01)),
}


@cache
def quadruped(robot: str) -> tuple[Any, Any, np.ndarray]:
    """Return parameter file, model and posture at rest."""
    file = ie.load_configs([robot])
    values = file.anywhere({"stance.joints", "stance.positions"})
    built = ie.build_pipelines(file, only=["tilt_observer"])
    known = {name: built.values[name] for name in ie.parameter_values(RobotConfig()) if name in built.values}
    setup = robot_from_config(ie.build_config(RobotConfig, known), built.urdf)
    posture = np.zeros(setup.robot.n_joints)
    for joint, angle in zip(values["stance.joints"], values["stance.positions"], strict=True):
        posture[setup.robot.joint_index(joint)] = angle
    return file, setup, posture


def readings_of(robot: str, gait: str, seed: int, length_s: float = LENGTH_S) -> tuple[Any, GaitReadings]:
    """Return the model of a robot, and the readings of its sensors in a gait."""
    _file, setup, posture = quadruped(robot)
    motion, sensors = GAITS[gait]
    rng = np.random.default_rng([seed, list(GAITS).index(gait)])
    motion = replace(motion, stride_hz=STRIDES[robot] * motion.stride_hz)
    moved = gait_motion(motion, feet_at_rest(setup, posture), length_s, RATE_HZ, rng)
    return setup, gait_readings(setup, posture, moved, sensors, rng)


def tilt_errors(
    robot: str,
    setup: Any,
    readings: GaitReadings,
    overrides: Sequence[tuple[str, Any]] = (),
    recording: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Run the tilt pipeline; return error and stated sigma of the tilt [deg], NaN without an estimate.

    The recording contains the readings that the pipeline gets; None: all readings, unchanged.
    """
    changes = [("contact.source", "wrench"), *overrides]
    file = quadruped(robot)[0].overridden([("tilt_observer", name, value) for name, value in changes])
    pipelines = ie.build_pipelines(file, only=["tilt_observer"])
    recording = gait_recording(setup, readings) if recording is None else recording
    run = ie.replay_recording(recording, pipelines.topics({}), ie.ReplayReaders(tilt=pipelines.tilt))
    error, sigma = np.full((2, len(readings.times_s)), np.nan)
    stamps = np.array([estimate.state.stamp_ns for estimate in run.base])
    at = np.round((stamps - START_NS) * 1e-9 / readings.times_s[1]).astype(int)
    at = at.clip(0, len(error) - 1)  # stamps may be later than the last sample
    tilts = np.array([estimate.tilt_B for estimate in run.base])
    error[at] = np.degrees(np.arccos(np.clip(np.sum(tilts * readings.up_B[at], axis=1), -1.0, 1.0)))
    sigma[at] = np.degrees([estimate.tilt_sigma for estimate in run.base])
    return error, sigma


def gait_rows(robot: str, gait: str, seeds: Sequence[int], source: str) -> list[Row]:
    """Return rms error of the tilt, its ratio to sigma, and time without estimates, during the motion.

    Most of the error of one seed is constant: an offset of the accelerometer, drawn once. Sigma covers all
    offsets that may be drawn, so the ratio is that of the errors of all seeds together.
    """
    found = []
    for seed in seeds:
        setup, readings = readings_of(robot, gait, seed)
        counted, given = readings.times_s > BEGUN_S, [("contact.source", source)]
        error, sigma = (values[counted] for values in tilt_errors(robot, setup, readings, given))
        rms, stated = (float(np.sqrt(np.nanmean(values**2))) for values in (error, sigma))
        found.append((rms, stated, 100.0 * np.mean(np.isnan(error))))
    rms, stated, silent = np.array(found).T
    ratio = float(np.sqrt(np.mean(rms**2) / np.mean(stated**2)))
    name = f"{robot}, {gait}{'' if source == 'wrench' else ', contacts by ' + source}"
    return [
        figure(f"{name}: tilt error, rms", rms, "deg"),
        figure(f"{name}: tilt error over stated sigma", ratio, "", Better.INFO, tolerance=0.3),
        figure(f"{name}: time without an estimate", silent, "%", least=0.5),
    ]
