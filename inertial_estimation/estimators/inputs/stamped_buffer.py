"""Rows of numbers by stamp: interpolated at a stamp, or those of a window."""

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    compiled,
    in_place_of,
    inlined,
    integers,
    warm_up,
)
from inertial_estimation.signals import Array

Stamps = NDArray[np.int64]
BEGIN, END, FIRST = range(3)  # integers of a buffer: places of the oldest row, behind the newest; then times
CAPACITY = 2048  # rows that are kept
RECENT = 8  # newest rows, among which a time is sought first


class StampedBuffer:
    """The last rows of one input, in order of their times.

    Attributes:
        times: Place of the oldest row, place behind the newest one, and times [ns], as `append_row` changes
            them.
        rows: The rows, shape (2 capacity, width), which it changes, too.
    """

    def __init__(
        self, width: int, capacity: int = CAPACITY, memory: tuple[Any, Any, Array] | None = None
    ) -> None:
        """Begin without a row.

        Args:
            width: Numbers in a row.
            capacity: Rows that are kept.
            memory: Where they are kept: the integers, as `integers` returns them, and the numbers of the
                rows, shape (2 capacity width,); None: in memory of its own.
        """
        room = 2 * capacity
        self.times, self._n, flat = memory or (*integers(FIRST + room), np.empty(room * width))
        self.rows = flat.reshape(room, width)
        self._flat = flat
        warm_up()

    def __len__(self) -> int:
        return int(self._n[END] - self._n[BEGIN])

    @property
    def kept(self) -> Array:
        """The rows that are kept, the oldest first, shape (n, width); a view that later rows change."""
        rows: Array = self.rows[self._n[BEGIN] : self._n[END]]
        return rows

    @property
    def kept_times(self) -> Stamps:
        """Times of the rows that are kept [ns], shape (n,)."""
        n = self._n
        return np.array(n[FIRST + n[BEGIN] : FIRST + n[END]], dtype=np.int64)

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest row [ns], None while empty."""
        n, end = self._n, self._n[END]
        return n[FIRST + end - 1] if end > n[BEGIN] else None

    @property
    def last_step_ns(self) -> int:
        """Time between the two newest rows [ns]; 0 while there are fewer."""
        newest = FIRST + self._n[END] - 1
        return int(self._n[newest] - self._n[newest - 1]) if len(self) >= 2 else 0

    def clear(self) -> None:
        """Forget all rows."""
        self._n[BEGIN] = self._n[END] = 0

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row; the caller ensures that times increase.

        Args:
            time_ns: Its time [ns], after all others.
            row: Its numbers, shape (width,).
        """
        append_row(time_ns, row, self._n, self._flat)

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly between the neighbours of a time.

        Args:
            time_ns: Time to interpolate at [ns].
            max_gap_ns: Widest distance between the two neighbours that is interpolated over [ns].

        Returns:
            The row, shape (width,), or None where the time is outside the rows or inside a gap.
        """
        row = np.empty(self.rows.shape[1])
        return row if _row_at(time_ns, max_gap_ns, self.times, self._flat, row) else None

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time, None where it is older than allowed."""
        n, begin = self._n, FIRST + self._n[BEGIN]
        index = bisect_right(n, time_ns, begin, FIRST + n[END])
        if index == begin or time_ns - n[index - 1] > max_age_ns:
            return None
        row: Array = self.rows[index - 1 - FIRST].copy()
        return row


@inlined
def append_row(time: int, row: Column, times: Integers, rows: MutableColumn) -> None:
    """Add a row to a buffer, in the place of the oldest one where it is full.

    Args:
        time: Its time [ns], after all others.
        row: Its numbers, shape (width,).
        times: `StampedBuffer.times`; changed.
        rows: The numbers of `StampedBuffer.rows`, one row after the other; changed.
    """
    room, width, end = len(times) - FIRST, len(row), times[END]
    if end == room:
        begin = times[BEGIN]
        times[FIRST : FIRST + end - begin] = times[FIRST + begin : FIRST + end]
        rows[: (end - begin) * width] = rows[begin * width : end * width]
        times[BEGIN], end = 0, end - begin
    times[FIRST + end] = time
    rows[end * width : (end + 1) * width] = row
    times[END] = end + 1
    if end + 1 - times[BEGIN] > room // 2:
        times[BEGIN] = end + 1 - room // 2


@inlined
def row_at(time: int, max_gap: int, times: Integers, rows: Column, out: MutableColumn) -> bool:
    """Write the row at a time, as `StampedBuffer.at`; return whether there is one.

    Args:
        time: Time to interpolate at [ns].
        max_gap: Widest distance between the two neighbours that is interpolated over [ns].
        times: `StampedBuffer.times`.
        rows: The numbers of `StampedBuffer.rows`, one row after the other.
        out: The row, shape (width,), or empty where only whether there is one is asked for; changed.
    """
    begin, end = FIRST + times[BEGIN], FIRST + times[END]
    recent, low = end - RECENT, begin
    if recent > begin and times[recent] < time:  # most steps lie among the newest rows
        low = recent
    high = end
    while low < high:  # the first row at or after the time
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low == end:
        return False
    place, width = low - FIRST, len(out)
    if times[low] == time:
        out[:] = rows[place * width : (place + 1) * width]
        return True
    before, after = times[low - 1], times[low]
    if low == begin or after - before > max_gap:
        return False
    weight = (time - before) / (after - before)
    last, new = rows[(place - 1) * width : place * width], rows[place * width : (place + 1) * width]
    out[:] = (1.0 - weight) * last + weight * new
    return True


@compiled
def _row_at(time: int, max_gap: int, times: Integers, rows: Column, out: MutableColumn) -> bool:
    return row_at(time, max_gap, times, rows, out)


def rows_between(begin: int, end: int, times: Integers) -> tuple[int, int]:
    """Return the place of the first row of a time span, and that behind its last row.

    Args:
        begin: First time of the span [ns].
        end: Last time of the span [ns].
        times: `StampedBuffer.times`.
    """
    behind = FIRST + times[END]
    low = bisect_left(times, begin, FIRST + times[BEGIN], behind)
    return low - FIRST, bisect_right(times, end, low, behind) - FIRST


@in_place_of(rows_between)
def _rows_between(begin: int, end: int, times: Integers) -> tuple[int, int]:
    low, behind = FIRST + times[BEGIN], FIRST + times[END]
    high = behind
    while low < high:
        middle = (low + high) // 2
        if times[middle] < begin:
            low = middle + 1
        else:
            high = middle
    first, high = low, behind
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= end:
            low = middle + 1
        else:
            high = middle
    return first - FIRST, low - FIRST


def interpolated_rows(
    times_ns: Stamps, rows: Array, at_ns: Stamps, max_gap_ns: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Interpolate rows at many times at once, with the numbers of `StampedBuffer.at`.

    Args:
        times_ns: Times of the rows, increasing [ns], shape (n,).
        rows: The rows, shape (n, width).
        at_ns: Where to interpolate [ns], shape (k,).
        max_gap_ns: Widest distance between two neighbours that is interpolated over [ns].

    Returns:
        Rows, shape (k, width), and which of them are valid, shape (k,): those at the time of a row or between
        two neighbours that are close enough.
    """
    last = len(times_ns) - 1
    if last < 0:
        return np.zeros((len(at_ns), rows.shape[1])), np.zeros(len(at_ns), dtype=bool)
    before = np.searchsorted(times_ns, at_ns, side="right") - 1
    low, high = np.clip(before, 0, last), np.clip(before + 1, 0, last)
    exact = (before >= 0) & (times_ns[low] == at_ns)
    width = times_ns[high] - times_ns[low]
    between = (before >= 0) & (before < last) & (width <= max_gap_ns) & ~exact
    weight = np.where(between, (at_ns - times_ns[low]) / np.maximum(width, 1), 0.0)[:, None]
    interpolated: Array = (1.0 - weight) * rows[low] + weight * rows[high]
    return interpolated, exact | between
