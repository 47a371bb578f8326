"""Tilt error of all observers on synthetic gaits of quadrupeds, at the shipped gains and settings.

Run from the root of the project: ``python -m benchmarks.tilt_gaits``. The truth is exact. The columns are the
rms error after the begin of the motion, and, started in the middle of the gait, that of the first second of
estimates and of the rest; then how often the checks set the vertical anew, and the share of the time in
which they report something, both without a fault and after the start at rest. VQF is given with its default
time constant and with the best one for each row. Robots without a parameter file of their own get the one
that `init` writes. With several seeds the figures are the mean over them.
"""

import argparse
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from vqf import VQF

from inertial_estimation.compilation import numbers
from inertial_estimation.configuration.config_file import ConfigFile
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import example_source, mesh_folders, read_urdf
from inertial_estimation.estimators.tilt.base_state_estimator import BaseStateEstimator
from inertial_estimation.estimators.tilt.correction_rate import AdaptationConfig
from inertial_estimation.estimators.tilt.reading_checks import Finding
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.setup_assistant.parameter_text import parameter_text
from inertial_estimation.setup_assistant.survey import Wishes, survey_robot
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel
from inertial_estimation.synthetic.gait_sensors import GaitReadings, GaitSensors, feet_at_rest, gait_readings
from inertial_estimation.synthetic.synthetic_gait import BaseMotion, FootMotion, Gait, gait_motion

RATE_HZ = 500.0
BEGUN_S = 4.0  # from which on the error counts: 2 s of rest, 1 s of fading in
IN_MOTION_S = 6.0  # of the start in the middle of the gait
STRIDES = {"hyq": 1.0, "go2": 1.3}  # short legs step faster
SURVEYED = {"anymal": 1.1, "a1": 1.4, "solo12": 1.6}  # robots of example-robot-data without a parameter file
VQF_TIMES = (1.5, 3.0, 6.0, 12.0)  # [s]
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
FIXED = AdaptationConfig(enabled=False)
OBSERVERS = {
    "kalman (default)": lambda config: replace(config, observer="kalman"),
    "two_stage": lambda config: replace(config, observer="two_stage"),
    "two_stage, fixed rate": lambda config: replace(config, observer="two_stage", adaptation=FIXED),
    "first_stage": lambda config: replace(config, observer="first_stage"),
    "invariant_ekf": lambda config: replace(config, observer="invariant_ekf"),
    "r3s2": lambda config: replace(config, observer="r3s2"),
    "hua": lambda config: replace(config, observer="hua"),
}


@dataclass(frozen=True)
class Run:
    """An observer over one recording.

    Attributes:
        tilts: Verticals in the IMU frame, NaN where there is no estimate, shape (n, 3).
        anew: How often the vertical was set anew.
        reported: Share of the time in which the checks reported something.
    """

    tilts: Array
    anew: int
    reported: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    robots = [*STRIDES, *SURVEYED]
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--duration", type=float, default=16.0, help="length of each recording [s]")
    parser.add_argument("--robots", nargs="+", default=list(STRIDES), choices=robots)
    parser.add_argument("--gaits", nargs="+", default=list(GAITS), choices=list(GAITS))
    parser.add_argument("--observers", nargs="+", default=list(OBSERVERS), choices=list(OBSERVERS))
    parser.add_argument("--force-scale", type=float, default=1.0, help="of the accelerometer")
    arguments = parser.parse_args()
    print(f"{'tilt error [deg rms]':61s} started at rest   in motion: first second   then   anew  reported")
    for robot in arguments.robots:
        for name in arguments.gaits:
            rows: dict[str, list[list[float]]] = {}
            for seed in arguments.seeds:
                setup, readings = recording(robot, name, seed, arguments.duration, arguments.force_scale)
                for observer in arguments.observers:
                    found = row(OBSERVERS[observer](quadruped(robot)[0]), setup, readings)
                    rows.setdefault(observer, []).append(found)
                for vqf, error in vqf_errors(readings).items():
                    rows.setdefault(vqf, []).append([error])
            report(robot, name, rows)


def recording(
    robot: str, name: str, seed: int, duration_s: float, force_scale: float
) -> tuple[RobotSetup, GaitReadings]:
    """A gait and what the sensors read in it."""
    _config, setup, posture = quadruped(robot)
    gait, sensors = GAITS[name]
    rng = np.random.default_rng([seed, list(GAITS).index(name)])
    gait = replace(gait, stride_hz=(STRIDES | SURVEYED)[robot] * gait.stride_hz)
    motion = gait_motion(gait, feet_at_rest(setup, posture), duration_s, RATE_HZ, rng)
    sensors = replace(sensors, force_scale=force_scale)
    return setup, gait_readings(setup, posture, motion, sensors, rng)


@cache
def quadruped(robot: str) -> tuple[TiltPipelineConfig, RobotSetup, Array]:
    """Parameters, model and posture at rest."""
    file = load_configs([robot]) if robot in STRIDES else surveyed(robot)
    values = file.anywhere({"urdf", "stance.joints", "stance.positions"})
    tilt = build_pipelines(file).tilt
    assert tilt is not None
    setup = robot_from_config(tilt.config.robot, read_urdf(values["urdf"]))
    posture = np.zeros(setup.robot.n_joints)
    for joint, angle in zip(values["stance.joints"], values["stance.positions"], strict=True):
        posture[setup.robot.joint_index(joint)] = angle
    contact = replace(tilt.config.contact, source="wrench")  # the readings have forces and no torques
    return replace(tilt.config, contact=contact), setup, posture


def surveyed(robot: str) -> ConfigFile:
    """The parameter file that `init` writes for a robot."""
    source = example_source(robot)
    survey = survey_robot(read_urdf(source), mesh_folders(), Wishes(), np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.yaml"
        path.write_text(parameter_text(survey, source))
        return load_configs([str(path)])


def row(config: TiltPipelineConfig, setup: RobotSetup, readings: GaitReadings) -> list[float]:
    """The figures of one observer on one recording, and the time of its first estimate in motion [s]."""
    at_rest, in_motion = (estimated(config, setup, readings, t) for t in (0.0, IN_MOTION_S))
    late = errors(in_motion.tilts, readings)
    first = int(np.flatnonzero(~np.isnan(late))[0])
    second, times_s = first + round(RATE_HZ), readings.times_s
    settled = rms(errors(at_rest.tilts, readings)[times_s > BEGUN_S])
    return [
        *(settled, rms(late[first:second]), times_s[first] - IN_MOTION_S, rms(late[second:])),
        *(float(at_rest.anew), 100.0 * at_rest.reported),
    ]


def estimated(config: TiltPipelineConfig, setup: RobotSetup, readings: GaitReadings, start_s: float) -> Run:
    """Run the estimator from some time on."""
    estimator = BaseStateEstimator(config, setup)
    tilts = np.full((len(readings.times_s), 3), np.nan)
    h, anew, reported, set_ns = float(readings.times_s[1]), 0, 0, 0
    begin = round(start_s / h)
    for k in range(begin, len(tilts)):
        joints = readings.q[k], readings.v[k]
        stamp_ns = NANOSECONDS + round(k * h * NANOSECONDS)
        step = estimator.step(stamp_ns, h, readings.imu[k], joints, numbers(readings.wrenches[k]), None)
        if step is not None:
            tilts[k] = estimator.observer.x2
        at_ns = estimator.checks.found_ns.get(Finding.REPLACED, 0)
        anew, set_ns = anew + (at_ns != set_ns), at_ns
        reported += estimator.checks.health()[0] is not HealthLevel.OK
    return Run(tilts, anew, reported / (len(tilts) - begin))


def errors(tilts: Array, readings: GaitReadings) -> Array:
    """Angles from the true vertical [deg]."""
    angles: Array = np.degrees(angles_between(tilts, readings.up_I))
    return angles


def rms(values: Array) -> float:
    return float(np.sqrt(np.nanmean(values**2)))


def report(robot: str, gait: str, rows: dict[str, list[list[float]]]) -> None:
    """Print the means over the seeds."""
    for name, found in rows.items():
        mean = np.mean(found, axis=0)
        text = f"{robot:6s} {gait:30s} {name:25s} {mean[0]:10.2f}"
        if len(mean) > 1:
            _, first, late_s, then, anew, reported = mean
            text += f" {first:15.2f} (from {late_s:.2f} s) {then:8.2f} {anew:6.1f} {reported:6.0f} %"
        print(text, flush=True)


def vqf_errors(readings: GaitReadings) -> dict[str, float]:
    """VQF, which knows no contacts; its default time constant is 3 s."""
    found = {}
    for time_s in VQF_TIMES:
        batch = VQF(1.0 / RATE_HZ, tauAcc=time_s).updateBatch(
            readings.imu[:, 3:].copy(), readings.imu[:, :3].copy()
        )
        w, x, y, z = batch["quat6D"].T
        tilts = np.stack(
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=1
        )
        found[time_s] = rms(errors(tilts, readings)[readings.times_s > BEGUN_S])
    return {"VQF": found[3.0], f"VQF, best of {len(VQF_TIMES)}": min(found.values())}


if __name__ == "__main__":
    main()
