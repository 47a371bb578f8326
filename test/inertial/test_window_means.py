"""Windows of an input: lines are exact at any stamps, as the weights of the window say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.inertial.windows import window_mean

MS = 1_000_000
HALF = 50 * MS
START = 10**18


def irregular(seed, width):
    """Rows at irregular times in a window, these times, and its centre [ns]."""
    rng = np.random.default_rng(seed)
    times = START + np.cumsum(rng.integers(MS // 2, 6 * MS, 60))
    centre = int(times[30])
    times = times[np.abs(times - centre) <= HALF]
    return times, rng.normal(size=(len(times), width)), centre


@given(st.integers(0, 10**6))
def test_a_line_is_exact_at_any_time_of_the_window(seed):
    times, _rows, centre = irregular(seed, 2)
    t = 1e-9 * (times - centre)
    rows = np.stack((3.0 - 2.0 * t, 1.0 + t), axis=1)
    reduced = window_mean(centre, times, rows, 0.003)
    assert reduced.mean == pytest.approx([3.0 - 2.0 * 0.003, 1.003])
    assert reduced.slope == pytest.approx([-2.0, 1.0])
    assert reduced.centroid == 0.003


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_window_with_too_few_rows_has_no_mean(count):
    times, rows, centre = irregular(0, 3)
    assert window_mean(centre, times[:count], rows[:count]) is None
