"""Window weights: mean and slope keep the equation of motion true between filtered signals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.local_polynomials import window_weights


def irregular(seed, n=40):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-0.05, 0.05, n)) + 1e-9 * np.arange(n)


@given(st.integers(0, 10**6))
def test_lines_are_differentiated_and_averaged_exactly(seed):
    t = irregular(seed)
    weights = window_weights(t)
    assert weights.slope @ (3.0 - 2.0 * t) == pytest.approx(-2.0)
    assert weights.mean.sum() == pytest.approx(1.0)
    assert weights.mean @ t == pytest.approx(weights.centroid)
    assert np.all(weights.mean > -1e-12)


@given(st.integers(0, 10**6))
def test_slope_of_the_velocity_is_the_mean_of_the_acceleration(seed):
    """For any acceleration, linear between irregular stamps: what keeps a and tau in step."""
    t = irregular(seed)
    a = np.random.default_rng(seed + 1).normal(size=len(t))
    v = np.concatenate(([0.7], 0.7 + np.cumsum(0.5 * (a[1:] + a[:-1]) * np.diff(t))))
    weights = window_weights(t)
    assert weights.slope @ v == pytest.approx(weights.mean @ a, rel=1e-9, abs=1e-9)


def test_regular_weights_are_symmetric_and_parabolic():
    t = np.linspace(-0.05, 0.05, 101)
    weights = window_weights(t)
    assert weights.centroid == pytest.approx(0.0, abs=1e-15)
    parabola = 1.0 - (t / 0.05) ** 2
    assert np.allclose(weights.mean, parabola / parabola.sum(), atol=1e-3)


def test_too_few_samples_are_refused():
    with pytest.raises(MeasurementError, match="2 samples"):
        window_weights(np.array([0.0, 0.1]))
