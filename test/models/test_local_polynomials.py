"""Local polynomials: exact on polynomials, equal delay of slopes and means, no delay offline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.local_polynomials import ZeroPhaseSmoother, window_weights


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


STEP = 0.01


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_polynomials_of_its_order_are_kept(derivative):
    smoother = ZeroPhaseSmoother.of_window(0.2, STEP, 3)
    t = STEP * np.arange(100)
    polynomial = np.polynomial.Polynomial([1.0, -2.0, 3.0, 5.0])
    signal = np.stack([polynomial(t), 2.0 * polynomial(t)], axis=1)
    inner = t[smoother.half : -smoother.half]
    expected = polynomial.deriv(derivative)(inner) if derivative else polynomial(inner)
    smooth = smoother.apply(signal, derivative)
    assert smooth[:, 0] == pytest.approx(expected, abs=1e-9)
    assert smooth[:, 1] == pytest.approx(2.0 * expected, abs=1e-9)


def test_blocks_with_overlap_give_the_same_values():
    smoother = ZeroPhaseSmoother.of_window(0.2, STEP, 3)
    signal = np.random.default_rng(0).normal(size=(200, 4))
    whole = smoother.apply(signal, 1)
    overlap = 2 * smoother.half
    parts = [smoother.apply(signal[first : first + 30 + overlap], 1) for first in range(0, 180, 30)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(smoother.apply(signal, 1, first=5, stride=7), whole[5::7])
    assert smoother.apply(signal[:overlap]).shape == (0, 4)


def test_a_window_too_short_for_its_degree_is_refused():
    with pytest.raises(ConfigurationError, match=r"too short for polynomials of degree 3"):
        ZeroPhaseSmoother.of_window(0.01, STEP, 3)
