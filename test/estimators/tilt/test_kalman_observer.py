"""The Kalman observer against a filter in matrices, and what its covariance and measured noise are for."""

import numpy as np
import pytest
from support.observer_simulation import Body, angle, run, vec

from inertial_estimation.compilation import zeros
from inertial_estimation.estimators.tilt.kalman_observer import KalmanConfig, KalmanObserver
from inertial_estimation.estimators.tilt.kalman_steps import (
    RATES,
    SIZE,
    VELOCITY_NOISE,
    begin,
    kalman_step,
)
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig

G0 = 9.80665
UPRIGHT = (0.0, 0.0, 1.0)


def make(**config):
    return KalmanObserver(KalmanConfig(**config), GravityFallbackConfig())


@pytest.mark.parametrize("seed", range(3))
def test_converges_from_a_wrong_state_on_a_moving_body(seed):
    body, observer = Body(seed), make(accelerometer_offset=0.0)
    rng = np.random.default_rng(seed)
    observer.initialise(vec(body.velocity_I(0.0) + 0.3), vec(body.vertical(0.0) + 0.1 * rng.normal(size=3)))
    end = run(observer, body, 6.0)
    assert angle(observer.x2, body.vertical(end)) < 1e-3
    np.testing.assert_allclose(observer.x1, body.velocity_I(end), atol=8e-3)
    assert observer.tilt_variance < 5e-3**2


def turning(h, w):
    """Transition of (v, z, b, c), two horizontal axes each, in a frame that turns at w about the vertical."""
    c, s = np.cos(w * h), np.sin(w * h)
    R, E, J, Z = np.array([[c, s], [-s, c]]), np.eye(2), np.array([[0, -1], [1, 0]]), np.zeros((2, 2))
    return np.block([[R, -h * G0 * E, Z, -h * E], [Z, R, -h * J, Z], [Z, Z, E, Z], [Z, Z, Z, E]])


def test_covariance_and_gains_are_those_of_a_schmidt_filter_in_matrices():
    h, w, density, bias, information = 0.01, 0.7, 1e-5, 1e-6, 0.6
    drifts, offset = (0.04, 0.002), 0.05
    state = zeros(SIZE)
    begin(state, 0.02, offset)
    P = np.diag([0.1**2] * 2 + [0.02**2 + (offset / G0) ** 2] * 2 + [0.0] * 2 + [offset**2] * 2)
    P[2:4, 6:] = P[6:, 2:4] = -(offset**2) / G0 * np.eye(2)
    H, Phi = np.eye(8)[:2], turning(h, w)
    x1, x2 = (0.0, 0.0, 0.0), UPRIGHT
    for _ in range(300):
        P[4:6, 4:6] = bias * np.eye(2)
        P = Phi @ P @ Phi.T
        P += h * np.diag([drifts[0] ** 2] * 2 + [density] * 2 + [0.0] * 2 + [drifts[1] ** 2] * 2)
        noise = state[VELOCITY_NOISE] / (h * information)
        whole = P[:2, :2] + noise * np.eye(2)
        K = P @ H.T @ np.linalg.inv(whole)
        K[4:6] = 0.0
        A = np.eye(8) - K @ H
        P = A @ P @ A.T + noise * K @ K.T
        x1, x2, _, _ = kalman_step(
            *(h, (density, bias, information), (1e9, 4.0), drifts, (x1, x2)),
            *((0.0, 0.0, w), (0.0, 0.0, G0), (0.0, 0.0, 0.0), state),
        )
        np.testing.assert_allclose(
            [state[k] for k in range(4)], [P[0, 0], P[2, 2], P[4, 4], P[6, 6]], rtol=1e-6, atol=1e-15
        )
        np.testing.assert_allclose(state[RATES], K[0, 0] / h, rtol=1e-6)
        np.testing.assert_allclose(state[RATES + 1], -G0 * K[2, 0] / h, rtol=1e-6)


def test_an_offset_of_the_specific_force_is_found_in_a_turn_and_not_without_one():
    offset, found = np.array([0.05, -0.03, 0.0]), {}
    for turn_rate in (0.0, 0.8):
        observer = make()
        observer.see_noise(1e-8, 1e-10, 1.0)
        observer.initialise((0.0, 0.0, 0.0), vec(np.array([0.0, 0.0, G0]) + offset))
        for _ in range(3000):
            rate, force = (0.0, 0.0, turn_rate), vec(np.array([0.0, 0.0, G0]) + offset)
            observer.step(0.005, rate, force, (0.0, 0.0, 0.0))
        found[turn_rate] = observer
    np.testing.assert_allclose(found[0.8].offset, offset, atol=5e-3)
    assert angle(found[0.8].x2, UPRIGHT) < 5e-4
    assert angle(found[0.0].x2, UPRIGHT) == pytest.approx(np.linalg.norm(offset) / G0, rel=0.02)
    assert found[0.0].offset_variance > 0.5 * 0.04**2
    assert found[0.8].offset_variance < 0.2 * 0.04**2
    assert found[0.0].tilt_variance ** 0.5 == pytest.approx(0.04 / G0, rel=0.1)  # and it knows


def test_the_noise_of_the_contact_velocity_is_measured_and_lowers_the_gains():
    h, observers = 0.005, {}
    for sigma in (0.1, 0.6):
        rng, observer = np.random.default_rng(0), make(memory=8.0, velocity_drift=0.0)
        observer.see_noise(1e-6, 1e-8, 1.0)
        observer.initialise((0.0, 0.0, 0.0), UPRIGHT)
        for _ in range(12000):
            observer.step(h, (0.0, 0.0, 0.0), (0.0, 0.0, G0), vec(sigma * rng.normal(size=3)))
        assert 0.3 < observer.velocity_noise / (sigma**2 * h) < 1.5
        observers[sigma] = observer
    assert observers[0.6].convergence_rate < 0.7 * observers[0.1].convergence_rate
    small, observers[0.6].own[VELOCITY_NOISE] = observers[0.1].velocity_noise, 0.1
    for observer in observers.values():
        observer.trust(0.01)
    assert observers[0.6].velocity_noise == make().velocity_noise, "it may be of a wrong vertical"
    assert observers[0.1].velocity_noise == small
    observers[0.6].forget_noise()
    observers[0.6].initialise((0.0, 0.0, 0.0), UPRIGHT)
    assert observers[0.6].velocity_noise == make().velocity_noise


def test_an_innovation_that_lasts_is_not_taken_for_noise_of_the_contact_velocity():
    bias, observer = (0.02, 0.0, 0.0), make()
    observer.see_noise(1e-6, 1e-8, 1.0)  # a bias 200 times as large as stated
    observer.initialise((0.0, 0.0, 0.0), UPRIGHT)
    for _ in range(2000):
        observer.step(0.005, bias, (0.0, 0.0, G0), (0.0, 0.0, 0.0))
    assert np.linalg.norm(observer.innovation) > 0.02
    assert observer.velocity_noise < make().velocity_noise


def test_a_held_step_leaves_vertical_offset_and_certainty_to_the_gyroscope():
    observer = make()
    observer.initialise((0.0, 0.0, 0.0), UPRIGHT)
    for _ in range(100):
        observer.step(0.005, (0.0, 0.0, 0.3), (0.0, 0.0, G0), (0.0, 0.0, 0.0))
    before, variance, offset = observer.x2, observer.tilt_variance, observer.offset
    for _ in range(100):
        start = observer.x2
        observer.step(0.005, (0.0, 0.0, 0.3), (3.0, 0.0, G0), (0.5, 0.0, 0.0))
        observer.hold(0.005, (0.0, 0.0, 0.3), start)
    assert angle(observer.x2, before) < 1e-9
    assert observer.offset == offset
    assert observer.tilt_variance > variance


def test_certainty_is_lost_in_flight_and_a_vertical_set_from_outside_is_trusted_as_told():
    observer = make(accelerometer_offset=0.0)
    observer.initialise((0.0, 0.0, 0.0), UPRIGHT)
    observer.see_noise(1e-5, 1e-6, 1.0)
    for _ in range(400):
        observer.step(0.005, (0.0, 0.0, 0.0), (0.0, 0.0, G0), (0.0, 0.0, 0.0))
    settled = observer.tilt_variance
    for _ in range(40):
        observer.step(0.005, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), None)
    assert observer.tilt_variance > settled + 0.9 * 0.2 * 1e-5
    observer.trust(0.01)
    assert observer.tilt_variance == pytest.approx(1e-4)
    observer.restore(UPRIGHT)
    assert observer.tilt_variance == pytest.approx(1e-4)
    observer.restore((0.1, 0.0, 1.0))  # a tenth of a radian, of which a third may be wrong
    assert observer.tilt_variance == pytest.approx(1e-4 + 0.03**2, rel=0.05)
