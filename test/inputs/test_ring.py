import numpy as np
from hypothesis import given, strategies

from inertial_estimation.inputs.stream import Ring


@given(strategies.lists(strategies.integers(1, 50), min_size=1, max_size=60), strategies.integers(0, 3000))
def test_rows_are_those_of_linear_interpolation_over_gaps_that_are_allowed(steps, at):
    times = np.cumsum(steps)
    ring = Ring(2, 64)
    for t in times.tolist():
        ring.append(t, t, np.array([t, 2.0 * t]))
    row = ring.at(at, 20)
    low = np.searchsorted(times, at, side="right") - 1
    inside = low >= 0 and (times[low] == at or (low + 1 < len(times) and times[low + 1] - times[low] <= 20))
    assert (row is not None) == inside
    if row is not None:
        np.testing.assert_allclose(row, [at, 2.0 * at])


def test_the_oldest_rows_give_way_and_numbers_stay():
    ring = Ring(1, 16)
    for k in range(100):
        ring.append(k, k, np.array([k]))
        assert ring.rows[ring.end - 1, 0] == k
        assert ring.end + ring.moved == k + 1
    assert len(ring) == 16
    assert ring.window(90, 95)[1][:, 0].tolist() == [90, 91, 92, 93, 94, 95]
    assert ring.at(50, 1000) is None
