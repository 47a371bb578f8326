"""The Kalman observer over a whole recording: the numbers of its single steps."""

import numpy as np
import pytest
from support.observer_simulation import Body, vec

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.tilt.kalman_batch import MeasuredNoise, observe_with_covariance
from inertial_estimation.estimators.tilt.kalman_observer import KalmanConfig, KalmanObserver
from inertial_estimation.estimators.tilt.observer_batch import ObserverReadings
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig

N = 300


@pytest.mark.parametrize("gain", [0.0, 2.0])
def test_a_batch_gives_the_numbers_of_single_steps(gain):
    """Irregular steps; a short flight, a long one, and one that lands far off; changing noise."""
    rng, body = np.random.default_rng(0), Body(4)
    h = rng.uniform(0.004, 0.012, N)
    t = np.cumsum(h)
    w, f = np.array([body.rate(s) for s in t]), np.array([body.force(s) for s in t])
    y = np.array([body.velocity_I(s) for s in t]) + 0.01 * rng.normal(size=(N, 3))
    y[50:60] = y[100:160] = y[200:210] = np.nan
    y[210:] += 1.0
    readings = ObserverReadings(h, w, f, y)
    bias_variance = 1e-5 * np.exp(-0.01 * np.arange(N))
    noise = MeasuredNoise(rng.uniform(1e-7, 1e-5, N), bias_variance, rng.uniform(0.1, 2.0, N))
    config, fallback = KalmanConfig(window=0.1, memory=0.5), GravityFallbackConfig(gain, 4.0)
    observer = KalmanObserver(config, fallback)
    observer.initialise((0.1, 0.0, -0.2), (0.1, 0.0, 1.0))
    observer.x1 = (0.2, 0.0, 0.0)  # set from outside
    states = observe_with_covariance(readings, noise, config, fallback, np.array(observer.state))
    aided = []
    for k in range(N):
        observer.see_noise(noise.density[k], noise.bias_variance[k], noise.information[k])
        observer.step(h[k], vec(w[k]), vec(f[k]), None if np.isnan(y[k, 0]) else vec(y[k]))
        aided.append(observer.gravity_aided)
        for name in ("x1", "x2", "innovation", "correction"):
            expected = getattr(observer, name)
            np.testing.assert_allclose(getattr(states, name)[k], expected, atol=1e-12, err_msg=f"{name} {k}")
    assert any(aided) == (gain > 0.0)


def test_noise_of_different_lengths_is_refused():
    with pytest.raises(MeasurementError, match=r"information has shape \(4,\), expected \(5,\)"):
        MeasuredNoise(np.ones(5), np.ones(5), np.ones(4))
