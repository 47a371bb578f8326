"""Zero-phase smoothing: exact on polynomials, without delay, independent of cuts."""

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.local_polynomials import ZeroPhaseSmoother

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


def test_a_symmetric_pulse_stays_where_it_is():
    smoother = ZeroPhaseSmoother.of_window(0.2, STEP, 3)
    pulse = np.zeros(101)
    pulse[50] = 1.0
    smooth = smoother.apply(pulse)
    assert smooth == pytest.approx(smooth[::-1], abs=1e-13)


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
