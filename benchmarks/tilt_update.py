"""Time of one tilt update on Talos with two contacts, compared with the floor of bare forward kinematics.

Run from the root of the project: ``python -m benchmarks.tilt_update``, without the extra `fast` with
``NUMBA_DISABLE_JIT=1``. Bound: update 10 times the floor (p50).
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import example_robot_data
import numpy as np
import pinocchio as pin

from inertial_estimation.compilation import numbers
from inertial_estimation.estimators.tilt.base_state_estimator import BaseStateEstimator
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import ImuSample, JointReading, WrenchSample

IMU_LINK = "imu_link"
CONTACTS = ("left_sole_link", "right_sole_link")
PERIOD_NS = 2_000_000
CONFIG = {"imu_frame": IMU_LINK, "contacts": CONTACTS, "startup": 0.01}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000)
    steps = parser.parse_args().steps
    urdf = Path(example_robot_data.load("talos").urdf).read_text()
    config = build_config(TiltPipelineConfig, CONFIG)
    robot = robot_from_config(config.robot, urdf).robot
    motion = _motion(robot, steps)
    print(f"Talos, {robot.n_joints} joints, {len(CONTACTS)} contacts, {steps} steps   p50 [us]   p99 [us]")
    _report("floor: forward kinematics, 3 frame placements", floor(robot, motion))
    _report("update of the estimator", estimator_update(config, urdf, motion))
    _report("push of all inputs and tick", pipeline_tick(config, urdf, motion))


def floor(robot: RobotModel, motion: tuple[np.ndarray, np.ndarray]) -> list[int]:
    """Durations of Pinocchio's calls alone, on the whole model [ns]."""
    model, data = robot.model, robot.model.createData()
    frames = [robot.frame_id(name) for name in (IMU_LINK, *CONTACTS)]
    q = [robot.configuration(row) for row in motion[0]]
    v = [np.concatenate((np.zeros(6), row)) for row in motion[1]]

    def call(k: int) -> None:
        pin.forwardKinematics(model, data, q[k], v[k])
        for frame in frames:
            pin.updateFramePlacement(model, data, frame)

    return _durations(call, len(q))


def estimator_update(
    config: TiltPipelineConfig, urdf: str, motion: tuple[np.ndarray, np.ndarray]
) -> list[int]:
    """Durations of one step from aligned readings to an estimate [ns]."""
    setup = robot_from_config(config.robot, urdf)
    estimator, robot = BaseStateEstimator(config, setup), setup.robot
    imu = np.concatenate((_gravity(robot), np.zeros(3)))
    wrenches = numbers(np.array([[0.0, 0.0, 450.0, 0.0, 0.0, 0.0]] * 2))

    def call(k: int) -> None:
        joints = (motion[0][k], motion[1][k])
        estimator.step(k * PERIOD_NS, 1e-9 * PERIOD_NS, imu, joints, wrenches, None)

    return _durations(call, len(motion[0]))


def pipeline_tick(config: TiltPipelineConfig, urdf: str, motion: tuple[np.ndarray, np.ndarray]) -> list[int]:
    """Durations of pushing one reading of each input and calling tick [ns]."""
    pipeline = TiltPipeline(config, urdf)
    names = pipeline.robot.joint_names
    force, rate = _gravity(pipeline.robot), np.zeros(3)
    wrench = np.array([0.0, 0.0, 450.0, 0.0, 0.0, 0.0])

    def call(k: int) -> None:
        stamp = (k + 1) * PERIOD_NS
        pipeline.push_joints(JointReading(stamp, names, motion[0][k], motion[1][k]))
        for contact in CONTACTS:
            pipeline.push_wrench(contact, WrenchSample(stamp, wrench))
        pipeline.push_imu(ImuSample(stamp, force, rate))
        pipeline.tick(stamp)

    return _durations(call, len(motion[0]))


def _gravity(robot: RobotModel) -> np.ndarray:
    """Specific force of the upright robot at rest, in the IMU frame."""
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, pin.neutral(robot.model))
    return data.oMf[robot.frame_id(IMU_LINK)].rotation.T @ np.array([0.0, 0.0, STANDARD_GRAVITY])


def _motion(robot: RobotModel, steps: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    phase = rng.uniform(0.0, 6.28, robot.n_joints)
    t = 1e-9 * PERIOD_NS * np.arange(steps)[:, None]
    # So slow that the feet, which would turn with the legs, do not contradict the gyroscope at rest.
    return 0.02 * np.sin(t + phase), 0.02 * np.cos(t + phase)


def _durations(call: Callable[[int], None], steps: int) -> list[int]:
    durations = []
    for k in range(steps):
        start = time.perf_counter_ns()
        call(k)
        durations.append(time.perf_counter_ns() - start)
    return durations[steps // 10 :]


def _report(name: str, durations: list[int]) -> None:
    p50, p99 = np.percentile(durations, [50, 99]) * 1e-3
    print(f"{name:48s} {p50:10.1f} {p99:10.1f}")


if __name__ == "__main__":
    main()
