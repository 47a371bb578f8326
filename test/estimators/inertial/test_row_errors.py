"""Errors of rows without an estimated body: against a dense filter, and from equations to the controller."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("example_robot_data")

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.inertial.model import torque_errors_of
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.inertial.estimator import InertialEstimator, MeasuredStep
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.estimators.inertial.row_errors import RowErrors
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.sensor_errors import UninformingRows
from inertial_estimation.parameters import build_config

STEP_NS = 3_000_000
TRUE = {"arm_right_4_joint": 0.15, "leg_left_3_joint": -1.0, "torso_2_joint": 1.5, "base_moment_y": 1.0}


def test_row_errors_equal_a_dense_kalman_filter():
    rng, rows = np.random.default_rng(0), np.array([1, 3])
    sigmas, drift, overlap, dt = np.array([0.5, 2.0]), 4.0, 3.0, 0.3
    errors = RowErrors(UninformingRows(("a", "b"), rows, sigmas), drift, overlap)
    x, P, decay = np.zeros(2), np.diag(sigmas**2), np.exp(-dt / drift)
    for _ in range(20):
        y, R = rng.normal(size=4), np.diag(rng.uniform(0.1, 1.0, 4))
        errors.update(y, R, dt)
        P0 = np.diag(sigmas**2)
        x, P = decay * x, P0 + decay**2 * (P - P0)
        H = np.eye(4)[rows]
        K = P @ np.linalg.inv(P + overlap * H @ R @ H.T)
        x, P = x + K @ (H @ y - x), (np.eye(2) - K) @ P
    assert np.allclose(errors.values, x)
    assert np.allclose(np.diag(errors.variances), P)
    errors.reset()
    assert not errors.values.any()
    assert np.allclose(errors.variances, sigmas**2)


def learned(treatment):
    """What the controller is told after 0.5 s of rest with errors of rows."""
    values = {
        "imu_frame": "imu_link",
        "contacts": ("left_foot", "right_foot"),
        "contact_frames": ("left_sole_link", "right_sole_link"),
        "links": ("arm_left_5_link",),
        "window": 0.01,
        "sensor_errors.treatment": treatment,
        "sensor_errors.repeated_time": 0.0,  # the values below are not those of a state
    }
    config = build_config(InertialPipelineConfig, values)
    pipeline = InertialPipeline(config, read_urdf("example-robot-data:talos_reduced"))
    model, n = pipeline.model, pipeline.model.robot.n_joints
    estimator = InertialEstimator(config, model, pipeline.input_names)
    rng, still = np.random.default_rng(2), np.zeros(3)
    q, zero = rng.uniform(-0.3, 0.3, n), np.zeros(n)
    state = MeasuredState(
        q, zero, zero, zero, np.array([0.0, 0.0, STANDARD_GRAVITY]), still, still, np.zeros((2, 6))
    )
    bare = model.measurement.equation(state)
    value = bare.regressor @ np.concatenate([body.nominal_J.vector for body in model.bodies])
    value += [TRUE.get(row, 0.0) for row in model.measurement.row_names]
    for k in range(170):
        noise = np.linalg.cholesky(bare.noise) @ rng.normal(size=len(value))
        measured = replace(bare, value=value + 0.1 * noise)
        step = MeasuredStep(k * STEP_NS, k * STEP_NS, 1e-9 * STEP_NS, measured)
        update = estimator.update(step)
    return estimator.estimate(step, update)


def test_the_controller_is_told_what_every_row_takes_more_than_its_model():
    estimate = learned("estimated")
    told = torque_errors_of(estimate)
    assert set(told) == set(estimate.row_names)
    for row, value in TRUE.items():
        sigma = estimate.sensor_errors[f"torque_error/{row}"][1]
        assert told[row] == pytest.approx(value, abs=0.35 * abs(value)), row
        assert abs(told[row] - value) < 3.0 * sigma, row


def test_considered_errors_of_rows_are_not_told():
    estimate = learned("considered")
    assert not any(torque_errors_of(estimate).values())
    assert estimate.sensor_errors["torque_error/leg_left_3_joint"][1] > 0.5
