"""The torque error of an arm is zero for its true model and grows with what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import convolve1d

import inertial_estimation as ie
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.replay.torque_errors import TorqueSeries, prediction_error
from inertial_estimation.simulation.config import NOISE_FREE
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot


@pytest.fixture(scope="module")
def recording() -> ie.MemoryRecording:
    timing = ie.Timing(duration_s=6.0, rate_hz=500.0)
    truth = ie.synthetic_truth("panda", timing, np.random.default_rng(0), payload_time_s=None)
    return ie.measure(truth, NOISE_FREE, np.random.default_rng(0))


@pytest.fixture(scope="module")
def robot() -> ie.RobotModel:
    spec = synthetic_robot("panda")
    return ie.RobotModel.from_urdf(
        ie.read_urdf(spec.urdf), floating_base=False, locked_joints=spec.locked_joints
    )


def readings(recording: ie.MemoryRecording) -> list[ie.JointReading]:
    return [e.sample for e in recording.messages if isinstance(e.sample, ie.JointReading)]


def error(
    robot: ie.RobotModel, samples: list[ie.JointReading], friction: dict[str, float], window: float = 0.0
) -> float:
    config = RobotConfig(effort_window=window)
    return prediction_error(robot, samples, friction, joints=robot.joint_names, config=config)


@pytest.mark.parametrize("velocity", [None, np.full(7, np.nan)])
def test_true_model_predicts_the_torques_with_and_without_velocities(
    recording: ie.MemoryRecording, robot: ie.RobotModel, velocity: np.ndarray | None
) -> None:
    samples = readings(recording)
    assert error(robot, samples, {}) < 1e-3
    assert error(robot, [replace(r, velocity=velocity) for r in samples], {}) < 1e-3
    louder = [replace(r, effort=1.25 * r.effort) for r in samples]
    assert error(robot, louder, {}) == pytest.approx(0.2, abs=1e-3)  # relative to what is measured


def test_efforts_that_were_smoothed_before_they_were_recorded(
    recording: ie.MemoryRecording, robot: ie.RobotModel
) -> None:
    samples = readings(recording)[::4]
    efforts = np.array([r.effort for r in samples])
    box = np.ones(51) / 51
    for _ in range(2):
        efforts = convolve1d(efforts, box, axis=0, mode="nearest")
    smoothed = [replace(r, effort=effort) for r, effort in zip(samples, efforts, strict=True)]
    step_s = 1e-9 * (samples[1].stamp_ns - samples[0].stamp_ns)
    aware = error(robot, smoothed, {}, 100 * step_s)
    unaware = error(robot, smoothed, {})
    assert aware < 2e-3
    assert unaware > 10.0 * aware


def test_friction_in_the_torques_is_explained_by_the_same_friction(
    recording: ie.MemoryRecording, robot: ie.RobotModel
) -> None:
    friction = {"panda_joint2/viscous": 8.0, "panda_joint4/offset": 2.0}
    rough = []
    for r in readings(recording):
        effort = r.effort.copy()
        effort[1] += 8.0 * r.velocity[1]
        effort[3] += 2.0
        rough.append(ie.JointReading(r.stamp_ns, r.names, r.position, r.velocity, effort))
    assert error(robot, rough, {}) > 0.02
    assert error(robot, rough, friction) < 2e-3


def test_rows_that_are_no_measured_torque_do_not_hide_the_error_of_the_others() -> None:
    stamps = 10_000_000 * np.arange(400, dtype=np.int64)
    slow = 1.0 + np.sin(4e-9 * stamps)
    measured, off = (np.column_stack((part, slow)) for part in (np.full(400, np.nan), 9.0 * slow))
    series = TorqueSeries(stamps, ("base_force_z", "elbow"), measured, off * [1.0, 0.1])
    smooth = series.low_passed()
    assert smooth is not None
    assert np.isnan(smooth.measured[:, 0]).all()
    np.testing.assert_allclose(smooth.measured[50:350, 1], slow[50:350], atol=1e-3)
    assert series.relative_error() == pytest.approx(0.1, rel=1e-6)
