import numpy as np
import pytest

from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasConfig, GyroBiasEstimator, learn_bias
from inertial_estimation.estimators.tilt.rest_window import is_full

UP, ZERO = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
TRUE = np.array([-0.003, 0.004, -0.007])


def drive(
    estimator,
    seconds,
    rate,
    *,
    force=9.8,
    noise=0.005,
    speed=0.0,
    correction=None,
    seed=0,
    h=0.01,
    body_rate=None,
):
    rng = np.random.default_rng(seed)
    for _ in range(round(seconds / h)):
        reading = tuple(rate + noise * rng.normal(size=3))
        push = (0.0, 0.0, force + 0.1 * rng.normal())
        wanted = correction(estimator) if correction else None
        learn_bias(
            *(h, (reading, push, body_rate or ZERO), body_rate is not None),
            *(UP, wanted is not None, wanted or ZERO, (speed, 0.1)),
            *(estimator.rest.readings, estimator.rest.sums, estimator.row),
        )
        if is_full(estimator.rest.readings, estimator.rest.sums):
            estimator.rest.enlarge()


def test_found_at_rest_within_its_own_sigma():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 10.0, TRUE)
    assert estimator.resting
    np.testing.assert_allclose(estimator.bias, TRUE, atol=3.0 * estimator.sigma)
    assert estimator.sigma < 0.001


def test_noiseless_rest_gives_the_bias_exactly():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 60.0, TRUE, noise=0.0)
    np.testing.assert_allclose(estimator.bias, TRUE, atol=1e-5)


def test_a_body_that_settles_on_its_feet_is_no_bias():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    settling = np.array([0.02, -0.01, 0.005])
    drive(estimator, 10.0, TRUE + settling, body_rate=tuple(settling))
    assert estimator.resting
    np.testing.assert_allclose(estimator.bias, TRUE, atol=3.0 * estimator.sigma)


def test_a_doubted_bias_is_found_anew_at_rest():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 10.0, TRUE)
    before = estimator.variance_vertical
    estimator.doubt(0.02)
    assert estimator.sigma == pytest.approx(0.02)
    assert estimator.variance_vertical == before
    drive(estimator, 3.0, TRUE + 0.01)
    np.testing.assert_allclose(estimator.bias[:2], TRUE[:2] + 0.01, atol=2e-3)


@pytest.mark.parametrize(
    "motion",
    [{"noise": 0.1}, {"speed": 0.5}, {"rate": np.array([0.2, 0.0, 0.0])}, {"force": 9.8, "noise": 0.05}],
)
def test_motion_is_not_taken_for_rest(motion):
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 5.0, motion.pop("rate", TRUE), **motion)
    assert not estimator.resting
    assert estimator.bias == (0.0, 0.0, 0.0)


def test_rest_needs_a_whole_window():
    estimator = GyroBiasEstimator(GyroBiasConfig(rest_window=1.0))
    drive(estimator, 0.9, TRUE)
    assert not estimator.resting
    drive(estimator, 0.2, TRUE)
    assert estimator.resting


def test_online_finds_the_horizontal_part_only():
    estimator = GyroBiasEstimator(GyroBiasConfig(online_floor=0.0))

    def correction(e):  # an observer in its steady state turns the vertical by the bias left over
        return tuple(np.array([*(TRUE[:2] - np.array(e.bias)[:2]), 0.05]))

    drive(estimator, 300.0, TRUE, noise=0.2, correction=correction)
    np.testing.assert_allclose(estimator.bias[:2], TRUE[:2], atol=1e-4)
    assert estimator.bias[2] == 0.0
    assert estimator.variance_vertical > estimator.variance_horizontal


def test_motion_does_not_unlearn_what_rest_has_taught():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 10.0, TRUE)
    learnt = estimator.bias
    drive(estimator, 10.0, TRUE, noise=0.2, correction=lambda e: (0.02, 0.0, 0.0))
    np.testing.assert_allclose(estimator.bias, learnt, atol=1e-4)


def test_calibration_forgets_a_wrong_bias():
    estimator = GyroBiasEstimator(GyroBiasConfig())
    drive(estimator, 60.0, TRUE)
    drive(estimator, 1.0, 3.0 * TRUE, seed=1)
    slow = np.array(estimator.bias)
    estimator.calibrate()
    drive(estimator, 1.0, 3.0 * TRUE, seed=2)
    assert np.linalg.norm(estimator.bias - 3.0 * TRUE) < 0.3 * np.linalg.norm(slow - 3.0 * TRUE)


def test_can_be_switched_off():
    estimator = GyroBiasEstimator(GyroBiasConfig(at_rest=False, online=False))
    drive(estimator, 5.0, TRUE, correction=lambda e: (0.01, 0.0, 0.0))
    assert estimator.bias == (0.0, 0.0, 0.0)
