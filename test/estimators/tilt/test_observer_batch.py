"""The observer over a whole recording: the numbers of its single steps."""

import numpy as np
import pytest
from support.observer_simulation import Body, vec

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.tilt.observer_batch import ObserverReadings, observe
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import (
    RATE,
    RATE_SET,
    TwoStageConfig,
    TwoStageObserver,
)

N = 300


@pytest.fixture(scope="module")
def readings():
    """A moving body with irregular steps; a short flight, a long one, and one that lands far off."""
    rng, body = np.random.default_rng(0), Body(4)
    h = rng.uniform(0.004, 0.012, N)
    t = np.cumsum(h)
    w = np.array([body.rate(s) for s in t])
    f = np.array([body.force(s) for s in t])
    y = np.array([body.velocity_I(s) for s in t]) + 0.01 * rng.normal(size=(N, 3))
    y[50:60] = y[100:160] = y[200:210] = np.nan
    y[210:] += 1.0
    return ObserverReadings(h, w, f, y)


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("gain", [0.0, 2.0])
def test_a_batch_gives_the_numbers_of_single_steps(readings, changing, gain):
    config, fallback = TwoStageConfig(20.0, 100.0, 3.0), GravityFallbackConfig(gain, 4.0)
    rates = np.linspace(0.5, 3.0, N) if changing else None
    observer = TwoStageObserver(config, fallback)
    start = np.array([0.1, 0.0, -0.2]), np.array([0.1, 0.0, 1.0])
    observer.initialise(vec(start[0]), vec(start[1]))
    states = observe(readings, config, fallback, start, rates)
    aided = []
    for k in range(N):
        if rates is not None:
            observer.own[RATE], observer.own[RATE_SET] = rates[k], 1.0
        y_v = None if np.isnan(readings.y_v[k, 0]) else vec(readings.y_v[k])
        observer.step(readings.h[k], vec(readings.w_I[k]), vec(readings.f_I[k]), y_v)
        aided.append(observer.gravity_aided)
        for name in ("x1", "x2", "innovation", "correction"):
            expected = getattr(observer, name)
            np.testing.assert_allclose(getattr(states, name)[k], expected, atol=1e-12, err_msg=f"{name} {k}")
    assert any(aided) == (gain > 0.0)


def test_readings_and_rates_of_different_lengths_are_refused(readings):
    with pytest.raises(MeasurementError, match=r"y_v has shape \(299, 3\), expected \(300, 3\)"):
        ObserverReadings(readings.h, readings.w_I, readings.f_I, readings.y_v[1:])
    start = (np.zeros(3), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(MeasurementError, match=r"rates have shape \(5,\), expected \(300,\)"):
        observe(readings, TwoStageConfig(), GravityFallbackConfig(), start, np.ones(5))
