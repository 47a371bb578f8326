"""The rate of the tilt correction follows the noise; the accelerometer's scale, too."""

import numpy as np
import pytest
from support.observer_simulation import vec

from inertial_estimation.estimators.tilt.accelerometer_scale import (
    AccelerometerScale,
    corrected_force,
    learn_scale_at_rest,
)
from inertial_estimation.estimators.tilt.correction_rate import (
    AdaptationConfig,
    CorrectionRate,
    measure_rate,
    measure_velocity,
)
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, TwoStageObserver

H, G0 = 0.005, 9.80665


def driven(velocity_noise, rate_noise, *, duration=20.0, bias_sigma=1e-4, gamma=50.0, sigma=0.01):
    """Feed white noise of the gyroscope and of the contact velocity to a robot at rest."""
    rng = np.random.default_rng(0)
    noise = CorrectionRate(AdaptationConfig(slowest=1e-3))
    observer = TwoStageObserver(TwoStageConfig(gamma=gamma), GravityFallbackConfig())
    noise.begin(sigma)
    rates = []
    for _ in range(round(duration / H)):
        measure_rate(H, vec(rate_noise * rng.normal(size=3)), noise.row)
        observer.follow_noise(H, bias_sigma**2, noise.row)
        observer.step(H, (0.0, 0.0, 0.0), (0.0, 0.0, G0), vec(velocity_noise * rng.normal(size=3)))
        measure_velocity(H, observer.innovation, observer.x2, (0.0, 0.0, G0), noise.row)
        rates.append(observer.rate)
    return noise, rates


@pytest.mark.parametrize("bias_sigma", [0.0, 2e-3])
def test_the_steady_rate_is_that_of_the_least_error(bias_sigma):
    noise, rates = driven(0.05, 0.01, bias_sigma=bias_sigma)
    gamma = np.geomspace(1e-3, 50.0, 20001)
    q, sigma_v = noise.gyro_noise**2, noise.velocity_noise
    error = q / (2 * gamma) + (bias_sigma / gamma) ** 2 + (gamma * sigma_v / G0) ** 2
    assert np.mean(rates[-400:]) == pytest.approx(gamma[np.argmin(error)], rel=0.05)


def test_a_noisier_contact_velocity_lowers_the_rate_and_a_noisier_gyroscope_raises_it():
    rate = driven(0.05, 0.01)[1][-1]
    assert driven(0.4, 0.01)[1][-1] < 0.4 * rate
    assert driven(0.05, 0.08)[1][-1] > 2.0 * rate


def test_an_uncertain_vertical_is_corrected_fast_at_first():
    _, rates = driven(0.2, 0.01, sigma=0.1, gamma=5.0)
    assert rates[20] > 3.0 * rates[-1]
    assert max(rates) <= 5.0


def test_a_disabled_adaptation_leaves_gamma():
    noise = CorrectionRate(AdaptationConfig(enabled=False))
    observer = TwoStageObserver(TwoStageConfig(gamma=0.7), GravityFallbackConfig())
    observer.follow_noise(H, 1e-6, noise.row)
    assert observer.rate == 0.7


@pytest.mark.parametrize(("true", "found"), [(0.95, 0.95), (1.05, 1.05), (1.3, 1.0)])
def test_a_scale_is_found_at_rest_unless_it_is_a_fault(true, found):
    scale = AccelerometerScale()
    for _ in range(2000):
        learn_scale_at_rest(H, corrected_force((0.0, true * G0 * 0.6, true * G0 * 0.8), scale.row), scale.row)
    assert scale.factor == pytest.approx(found, abs=1e-3)
    np.testing.assert_allclose(corrected_force((0.0, 0.0, found), scale.row), (0.0, 0.0, 1.0), atol=2e-3)
