"""Means of a window and their change against those of the rows it should hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.payload.rest import RowWindow

MS = 1_000_000


def filled(times_ms, rows, duration=0.05):
    window = RowWindow(duration)
    for time, row in zip(times_ms, rows, strict=True):
        window.append(time * MS, row)
    return window


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(4, 15), min_size=40, max_size=120), st.integers(0, 2**31))
def test_mean_is_that_of_the_rows_no_older_than_the_window(steps_ms, seed):
    times = np.cumsum(steps_ms)
    rows = np.random.default_rng(seed).normal(size=(len(times), 3)) + 1e6
    window = filled(times, rows)
    held = times >= times[-1] - 50
    np.testing.assert_allclose(window.means()[0], rows[held].mean(axis=0), rtol=1e-13)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(4, 15), min_size=40, max_size=80), st.floats(-10.0, 10.0))
def test_slope_of_a_straight_line_is_exact_for_uneven_steps(steps_ms, slope):
    times = np.cumsum(steps_ms)
    window = filled(times, 3.0 + slope * 1e-3 * times[:, None])
    _mean, difference, apart = window.means()
    assert difference[0] / apart == pytest.approx(slope, abs=1e-9)


def test_rows_further_apart_than_the_window_still_give_a_slope():
    window = filled([0, 100, 200, 300], np.array([[0.0], [1.0], [2.0], [3.0]]))
    assert window.full
    _mean, difference, apart = window.means()
    assert difference[0] / apart == pytest.approx(10.0)


def test_it_is_full_once_rows_have_come_for_its_length():
    window = filled(4 * np.arange(13), np.zeros((13, 1)))
    assert not window.full
    window.append(52 * MS, np.zeros(1))
    assert window.full
    window.clear()
    assert not window.full
