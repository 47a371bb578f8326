"""Errors of sensors in the inertial filters: a dense augmented filter as oracle, and the Schmidt update."""

from dataclasses import replace

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.sensor_states import SensorPrior
from inertial_estimation.models.measurement_rows import RowSelection
from inertial_estimation.models.sensor_error_config import SensorErrorConfig
from inertial_estimation.models.sensor_errors import sensor_errors
from inertial_estimation.spatial.linear_algebra import cholesky


class FaultyArm(ArmScene):
    """An arm whose torque sensors have offsets and gains."""

    def __init__(self, **options):
        super().__init__(**options)
        rows = RowSelection().resolved(self.robot, ())
        self.errors = sensor_errors(SensorErrorConfig(treatment="estimated"), self.robot, rows, self.bodies)
        self.of_sensors = self.rng.normal(size=self.errors.size) * self.errors.sigmas

    def faulty(self, *, noisy=True):
        """An equation of readings with the errors, and their columns."""
        bare = self.errors.appended(self.equation(noisy=noisy))
        n = 10 * len(self.bodies)
        return replace(bare, value=bare.value + bare.regressor[:, n:] @ self.of_sensors)

    def filter(self, build=LinearKalman, *, considered=False, drift_time=1e9, overlap=1.0):
        sensors = SensorPrior(self.errors.sigmas, drift_time, considered)
        prior = replace(PRIOR, sensors=sensors)
        return build(self.bodies, prior, self.gate(enabled=False), MEMORY, overlap)

    def jacobian(self, equation):
        H = equation.regressor.copy()
        for i, body in enumerate(self.bodies):
            H[:, 10 * i : 10 * i + 10] = H[:, 10 * i : 10 * i + 10] @ body.to_joint
        return H


@pytest.fixture(scope="module")
def arm():
    return FaultyArm(seed=3)


def test_estimated_errors_equal_a_dense_augmented_filter(arm):
    filter_ = arm.filter()
    information = np.linalg.inv(filter_.P)
    vector = information @ filter_.x
    for _ in range(30):
        equation = arm.faulty()
        filter_.update(equation, 0.0)
        H = arm.jacobian(equation)
        information = information + H.T @ np.linalg.solve(equation.noise, H)
        vector = vector + H.T @ np.linalg.solve(equation.noise, equation.value)
    assert np.allclose(filter_.x, np.linalg.solve(information, vector), atol=1e-6)
    assert np.allclose(filter_.P, np.linalg.inv(information), atol=1e-8)


def test_one_considered_update_weighs_the_data_by_noise_and_errors_together(arm):
    """The bodies are those of generalised least squares with the covariance R + C P C'."""
    filter_, equation = arm.filter(considered=True), arm.faulty()
    n = filter_.kinds.inferred
    P0, x0 = filter_.P[:n, :n], filter_.x[:n]
    filter_.update(equation, 0.0)
    H, C = np.split(arm.jacobian(equation), [n], axis=1)
    W = np.linalg.inv(equation.noise + (C * arm.errors.sigmas**2) @ C.T)
    P = np.linalg.inv(np.linalg.inv(P0) + H.T @ W @ H)
    assert np.allclose(filter_.P[:n, :n], P, atol=1e-9)
    assert np.allclose(filter_.x[:n], x0 + P @ H.T @ W @ (equation.value - H @ x0), atol=1e-7)


def test_considered_errors_keep_their_prior_and_the_stated_covariance_is_that_of_the_error(arm):
    """The error is linear in initial error, sensor errors and noise: its covariance follows from each."""
    equations = [arm.faulty(noisy=False) for _ in range(4)]
    start = arm.filter(considered=True)
    n, size, P0 = start.kinds.inferred, len(start.x), start.P

    def final(x0, values):
        filter_ = arm.filter(considered=True)
        filter_.x = x0
        for equation, value in zip(equations, values, strict=True):
            filter_.update(replace(equation, value=value), 0.0)
        return filter_

    zero = [np.zeros_like(e.value) for e in equations]
    end = final(np.zeros(size), zero)
    columns = []
    for column in np.ascontiguousarray(cholesky(P0).T):  # a truth that differs by it
        readings = [arm.jacobian(e) @ column for e in equations]
        columns.append(final(np.zeros(size), readings).x - column)
    for k, equation in enumerate(equations):
        for noise in np.ascontiguousarray(cholesky(equation.noise).T):
            readings = [v if i != k else noise for i, v in enumerate(zero)]
            columns.append(final(np.zeros(size), readings).x)
    covariance = np.array(columns).T @ np.array(columns)
    scale = np.sqrt(np.diag(end.P))
    assert np.allclose(end.P / scale / scale[:, None], covariance / scale / scale[:, None], atol=1e-7)
    assert np.array_equal(end.x[n:], np.zeros(size - n))
    assert np.allclose(end.P[n:, n:], P0[n:, n:], rtol=1e-12, atol=1e-15)
    assert np.abs(end.P[:n, n:]).max() > 0.0


@pytest.mark.parametrize("considered", [False, True])
def test_the_consistent_filter_covers_what_lying_sensors_do_to_the_masses(considered):
    """Without errors in the state masses are off by many sigmas; with them they are not."""
    normalised, without = [], []
    for seed in range(4):
        arm = FaultyArm(seed=seed)
        arm.add_payload(1, 1.0, (0.0, 0.0, 0.1))
        arm.truth[0] = 1.3 * arm.truth[0]
        filters = (
            arm.filter(LogCholeskyEkf, considered=considered),
            LogCholeskyEkf(arm.bodies, PRIOR, arm.gate(enabled=False), MEMORY),
        )
        for _ in range(60):
            equation = arm.faulty()
            plain = replace(equation, regressor=equation.regressor[:, :20].copy())
            filters[0].update(equation, 0.003)
            filters[1].update(plain, 0.003)
        for filter_, found in zip(filters, (normalised, without), strict=True):
            pi_C, covariance = filter_.body_parameters()
            errors = pi_C[:, 0] - [pi[0] for pi in arm.truth]
            found += (errors / np.sqrt(covariance[:, 0, 0])).tolist()
    assert np.abs(without).max() > 6.0
    assert np.abs(normalised).max() < 3.3


def test_errors_drift_with_their_own_time_constant(arm):
    filter_ = arm.filter(drift_time=10.0)
    for _ in range(40):
        filter_.update(arm.faulty(), 0.0)
    n, mass = filter_.kinds.inferred, filter_.body_parameters()[0][:, 0]
    assert np.sqrt(filter_.P[20, 20]) < 0.5 * arm.errors.sigmas[0]
    filter_.propagate(100.0)
    errors, sigmas = filter_.x[20:], np.sqrt(np.diag(filter_.P)[20:])
    assert np.allclose(sigmas, arm.errors.sigmas, rtol=1e-3)
    assert np.abs(errors / arm.errors.sigmas).max() < 1e-3
    assert np.allclose(filter_.body_parameters()[0][:, 0], mass, rtol=1e-6)
    assert len(filter_.friction) == 0
    assert n == 20
