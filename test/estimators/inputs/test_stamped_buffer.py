import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.estimators.inputs.stamped_buffer import (
    FIRST,
    StampedBuffer,
    interpolated_rows,
    row_at,
    rows_between,
)

MS = 1_000_000


def filled(n=10, capacity=64):
    buffer = StampedBuffer(2, capacity)
    for i in range(n):
        buffer.append(i * MS, np.array([i, 10.0 * i]))
    return buffer


@given(st.integers(0, 9 * MS))
def test_interpolation_reproduces_a_line(time_ns):
    row = filled().at(time_ns, 2 * MS)
    np.testing.assert_allclose(row, [time_ns / MS, 10 * time_ns / MS], atol=1e-9)


def test_nothing_is_extrapolated():
    buffer = filled()
    assert buffer.at(-1, MS) is None
    assert buffer.at(9 * MS + 1, MS) is None
    assert StampedBuffer(1).at(0, MS) is None


def test_a_gap_is_not_interpolated_over():
    buffer = filled()
    buffer.append(20 * MS, np.zeros(2))
    assert buffer.at(15 * MS, 5 * MS) is None
    assert buffer.at(15 * MS, 20 * MS) is not None


def test_many_times_at_once_give_the_numbers_of_one_at_a_time():
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.integers(1, 4 * MS, 60))
    rows = rng.normal(size=(60, 3))
    buffer = StampedBuffer(3)
    for time, row in zip(times.tolist(), rows, strict=True):
        buffer.append(time, row)
    at = np.concatenate([times[::7], rng.integers(times[0] - 5 * MS, times[-1] + 5 * MS, 300)])
    found, valid = interpolated_rows(times, rows, at, 3 * MS)
    singles = [buffer.at(int(time), 3 * MS) for time in at]
    np.testing.assert_array_equal(valid, [single is not None for single in singles])
    np.testing.assert_array_equal(found[valid], [single for single in singles if single is not None])
    assert 50 < valid.sum() < 300


def test_nothing_is_interpolated_without_a_row():
    found, valid = interpolated_rows(np.empty(0, dtype=np.int64), np.empty((0, 2)), np.array([1, 2]), MS)
    assert found.shape == (2, 2)
    assert not valid.any()


def test_old_rows_are_forgotten_and_the_rest_stays_right():
    buffer = filled(1000, capacity=16)
    assert len(buffer) == 16
    assert buffer.at(984 * MS - 1, MS) is None
    np.testing.assert_allclose(buffer.at(984 * MS, MS), [984.0, 9840.0])
    np.testing.assert_allclose(buffer.at(990 * MS + MS // 2, MS), [990.5, 9905.0])


def test_window_is_centred_and_closed():
    buffer = filled()
    first, last = rows_between(3 * MS, 7 * MS, buffer.times)
    np.testing.assert_array_equal(buffer.times[FIRST + first : FIRST + last], np.array([3, 4, 5, 6, 7]) * MS)
    np.testing.assert_array_equal(buffer.rows[first:last, 0], [3, 4, 5, 6, 7])


@given(st.integers(-2 * MS, 12 * MS), st.integers(0, 12 * MS))
def test_rows_of_a_span_are_those_whose_times_lie_in_it(begin, length):
    buffer = filled()
    first, last = rows_between(begin, begin + length, buffer.times)
    inside = [row[0] for row in buffer.rows[:10] if begin <= row[0] * MS <= begin + length]
    np.testing.assert_array_equal(buffer.rows[first:last, 0], inside)


@given(st.integers(-2 * MS, 22 * MS), st.sampled_from([MS, 20 * MS]))
def test_a_row_of_no_numbers_is_there_where_one_can_be_interpolated(time_ns, max_gap_ns):
    buffer = filled()
    buffer.append(20 * MS, np.zeros(2))
    there = row_at(time_ns, max_gap_ns, buffer.times, buffer.rows.ravel(), np.empty(0))
    assert there == (buffer.at(time_ns, max_gap_ns) is not None)


def test_latest_is_at_or_before_and_not_too_old():
    buffer = filled()
    np.testing.assert_array_equal(buffer.latest(4 * MS + 5, MS), [4, 40])
    assert buffer.latest(12 * MS, 2 * MS) is None
    assert buffer.latest(-1, MS) is None


def test_latest_takes_a_row_of_the_very_stamp_and_of_the_very_age_allowed():
    buffer = filled()
    np.testing.assert_array_equal(buffer.latest(4 * MS, 0), [4, 40])
    np.testing.assert_array_equal(buffer.latest(11 * MS, 2 * MS), [9, 90])
    assert buffer.latest(11 * MS + 1, 2 * MS) is None


def test_an_empty_buffer_has_no_newest_row():
    for buffer in (StampedBuffer(2), filled(3)):
        buffer.clear()
        assert buffer.newest_ns is None
        assert len(buffer) == 0
        buffer.append(7 * MS, np.zeros(2))
        assert buffer.newest_ns == 7 * MS
        assert len(buffer) == 1
