"""Rows of numbers by stamp: interpolated at a stamp, or taken over a window."""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array

__all__ = ["StampedBuffer", "interpolated_rows"]

Stamps = NDArray[np.int64]
RECENT = 8  # newest rows, among which a time is sought first


class StampedBuffer:
    """The last rows of one input, in order of their times.

    Attributes:
        width: Numbers in a row.
    """

    def __init__(self, width: int, capacity: int = 2048) -> None:
        self.width = width
        self._capacity = capacity
        self._times = np.empty(2 * capacity, dtype=np.int64)
        self._stamps = self._times.data  # the same memory; bisection over single numbers is much faster
        self._rows = np.empty((2 * capacity, width))
        self._begin = 0
        self._end = 0

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest row [ns], None while empty."""
        return self._stamps[self._end - 1] if self._end > self._begin else None

    @property
    def last_step_ns(self) -> int:
        """Time between the two newest rows [ns]; 0 while there are fewer."""
        if self._end - self._begin < 2:
            return 0
        return self._stamps[self._end - 1] - self._stamps[self._end - 2]

    def clear(self) -> None:
        """Forget all rows."""
        self._begin = self._end = 0

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row; the caller ensures that times increase.

        Args:
            time_ns: Its time [ns], after all others.
            row: Its numbers, shape (width,).
        """
        if self._end == 2 * self._capacity:
            self._drop_oldest()
        end = self._end
        self._stamps[end] = time_ns
        self._rows[end] = row
        self._end = end = end + 1
        if end - self._begin > self._capacity:
            self._begin = end - self._capacity

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly between the neighbours of a time.

        Args:
            time_ns: Time to interpolate at [ns].
            max_gap_ns: Widest distance between the two neighbours that is interpolated over [ns].

        Returns:
            The row, shape (width,), or None where the time is outside the rows or inside a gap.
        """
        stamps, begin, end = self._stamps, self._begin, self._end
        recent = end - RECENT  # most steps lie among the newest rows, where the bisection is short
        low = recent if recent > begin and stamps[recent] < time_ns else begin
        index = bisect_left(stamps, time_ns, low, end)
        if index == end:
            return None
        after = stamps[index]
        if after == time_ns:
            exact: Array = self._rows[index].copy()
            return exact
        if index == begin:
            return None
        before = stamps[index - 1]
        if after - before > max_gap_ns:
            return None
        weight = (time_ns - before) / (after - before)
        row: Array = (1.0 - weight) * self._rows[index - 1] + weight * self._rows[index]
        return row

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time, None where it is older than allowed."""
        index = bisect_right(self._stamps, time_ns, self._begin, self._end)
        if index == self._begin or time_ns - self._stamps[index - 1] > max_age_ns:
            return None
        row: Array = self._rows[index - 1].copy()
        return row

    def window(self, time_ns: int, half_width_ns: int) -> tuple[Stamps, Array]:
        """Return the rows within a half width of a time.

        Args:
            time_ns: Centre of the window [ns].
            half_width_ns: Half of its width, ends included [ns].

        Returns:
            Times relative to the centre [ns], shape (n,), and rows, shape (n, width): copies.
        """
        low = bisect_left(self._stamps, time_ns - half_width_ns, self._begin, self._end)
        high = bisect_right(self._stamps, time_ns + half_width_ns, low, self._end)
        return self._times[low:high] - time_ns, self._rows[low:high].copy()

    def _drop_oldest(self) -> None:
        kept = self._end - self._begin
        self._times[:kept] = self._times[self._begin : self._end]
        self._rows[:kept] = self._rows[self._begin : self._end]
        self._begin, self._end = 0, kept


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
