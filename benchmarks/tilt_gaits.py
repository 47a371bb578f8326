"""Tilt error of all observers on synthetic gaits of quadrupeds, at the shipped gains and settings.

Run from the root of the project: ``python -m benchmarks.tilt_gaits``. The truth is exact. The columns are the
rms error after the begin of the motion, and, started in the middle of the gait, that of the first second of
estimates and of the rest. VQF is given with its default time constant and with the best one for each row.
"""

import argparse
from dataclasses import replace

import numpy as np
from vqf import VQF

from inertial_estimation.compilation import numbers
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.tilt.base_state_estimator import BaseStateEstimator
from inertial_estimation.estimators.tilt.correction_rate import AdaptationConfig
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.models.robot_config import RobotSetup, robot_from_config
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.synthetic.gait_sensors import GaitReadings, GaitSensors, feet_at_rest, gait_readings
from inertial_estimation.synthetic.synthetic_gait import BaseMotion, FootMotion, Gait, gait_motion

RATE_HZ = 500.0
BEGUN_S = 4.0  # from which on the error counts: 2 s of rest, 1 s of fading in
IN_MOTION_S = 6.0  # of the start in the middle of the gait
STRIDES = {"hyq": 1.0, "go2": 1.3}  # short legs step faster
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
    "two_stage (default)": lambda config: config,
    "two_stage, fixed rate": lambda config: replace(config, adaptation=FIXED),
    "first_stage": lambda config: replace(config, observer="first_stage"),
    "kalman": lambda config: replace(config, observer="kalman"),
    "invariant_ekf": lambda config: replace(config, observer="invariant_ekf"),
    "r3s2": lambda config: replace(config, observer="r3s2"),
    "hua": lambda config: replace(config, observer="hua"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=float, default=16.0, help="length of each recording [s]")
    parser.add_argument("--robots", nargs="+", default=list(STRIDES), choices=list(STRIDES))
    parser.add_argument("--observers", nargs="+", default=list(OBSERVERS), choices=list(OBSERVERS))
    arguments = parser.parse_args()
    print(f"{'tilt error [deg rms]':61s} started at rest   in motion: first second   then")
    for robot in arguments.robots:
        config, setup, posture = quadruped(robot)
        for number, (name, (gait, sensors)) in enumerate(GAITS.items()):
            rng = np.random.default_rng([arguments.seed, number])
            gait = replace(gait, stride_hz=STRIDES[robot] * gait.stride_hz)
            motion = gait_motion(gait, feet_at_rest(setup, posture), arguments.duration, RATE_HZ, rng)
            readings = gait_readings(setup, posture, motion, sensors, rng)
            for observer in arguments.observers:
                chosen = OBSERVERS[observer](config)
                starts = [errors(estimated(chosen, setup, readings, t), readings) for t in (0.0, IN_MOTION_S)]
                report(robot, name, observer, starts, readings.times_s)
            report_vqf(robot, name, readings)


def quadruped(robot: str) -> tuple[TiltPipelineConfig, RobotSetup, Array]:
    """Shipped parameters, model and posture at rest."""
    file = load_configs([robot])
    values = file.anywhere({"urdf", "stance.joints", "stance.positions"})
    tilt = build_pipelines(file).tilt
    assert tilt is not None
    setup = robot_from_config(tilt.config.robot, read_urdf(values["urdf"]))
    posture = np.zeros(setup.robot.n_joints)
    for joint, angle in zip(values["stance.joints"], values["stance.positions"], strict=True):
        posture[setup.robot.joint_index(joint)] = angle
    return tilt.config, setup, posture


def estimated(config: TiltPipelineConfig, setup: RobotSetup, readings: GaitReadings, start_s: float) -> Array:
    """Verticals in the IMU frame, NaN where there is no estimate."""
    estimator = BaseStateEstimator(config, setup)
    tilts = np.full((len(readings.times_s), 3), np.nan)
    h = float(readings.times_s[1])
    for k in range(round(start_s / h), len(tilts)):
        joints = readings.q[k], readings.v[k]
        stamp_ns = NANOSECONDS + round(k * h * NANOSECONDS)
        step = estimator.step(stamp_ns, h, readings.imu[k], joints, numbers(readings.wrenches[k]), None)
        if step is not None:
            tilts[k] = estimator.observer.x2
    return tilts


def errors(tilts: Array, readings: GaitReadings) -> Array:
    """Angles from the true vertical [deg]."""
    chord = np.linalg.norm(tilts - readings.up_I, axis=1)
    angles: Array = np.degrees(2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0)))
    return angles


def rms(values: Array) -> float:
    return float(np.sqrt(np.nanmean(values**2)))


def report(robot: str, gait: str, observer: str, starts: list[Array], times_s: Array) -> None:
    at_rest, in_motion = starts
    first = int(np.flatnonzero(~np.isnan(in_motion))[0])
    second = first + round(RATE_HZ)
    columns = rms(at_rest[times_s > BEGUN_S]), rms(in_motion[first:second]), rms(in_motion[second:])
    late = f"(from {times_s[first] - IN_MOTION_S:.2f} s)"
    print(
        f"{robot:4s} {gait:30s} {observer:25s} {columns[0]:10.2f} {columns[1]:15.2f} {late} "
        f"{columns[2]:8.2f}",
        flush=True,
    )


def report_vqf(robot: str, gait: str, readings: GaitReadings) -> None:
    """VQF knows no contacts; its default time constant is 3 s."""
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
    best = min(found, key=lambda time_s: found[time_s])
    print(f"{robot:4s} {gait:30s} {'VQF':25s} {found[3.0]:10.2f}", flush=True)
    print(f"{robot:4s} {gait:30s} {f'VQF, best of 4 ({best:g} s)':25s} {found[best]:10.2f}", flush=True)


if __name__ == "__main__":
    main()
