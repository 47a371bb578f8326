"""The last rows of one input in order of their times, contiguous in memory."""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array

CAPACITY = 2048  # rows that are kept
Times = NDArray[np.int64]


class Ring:
    """Rows by time, at indices `begin` to `end` of the arrays; the oldest ones give way."""

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self.times: Times = np.zeros(2 * capacity, dtype=np.int64)  # of measurement [ns]
        self.stamps: Times = np.zeros(2 * capacity, dtype=np.int64)  # that outputs carry [ns]
        self.rows: Array = np.zeros((2 * capacity, width))
        self.time, self.stamp = self.times.data, self.stamps.data  # whose single numbers are read much faster
        self._weights = np.zeros(2)  # of two rows
        self._capacity, self.begin, self.end = capacity, 0, 0
        self.total = self.moved = 0  # rows that came; moved to the front: index + moved numbers rows for good
        self.clears = 0  # number of times that all rows were forgotten

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest row [ns]; None while empty."""
        return self.time[self.end - 1] if self.end > self.begin else None

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        begin, end = self.begin, self.end
        if end == 2 * self._capacity:
            for array in (self.times, self.stamps, self.rows):
                array[: end - begin] = array[begin:end]
            self.begin, self.moved, end = 0, self.moved + begin, end - begin
        self.time[end], self.stamp[end] = time_ns, stamp_ns
        self.rows[end] = row
        self.end = end + 1
        self.total += 1
        if end >= self.begin + self._capacity:
            self.begin += 1

    def clear(self) -> None:
        """Forget all rows."""
        self.moved += self.end
        self.begin = self.end = 0
        self.clears += 1

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly between the neighbours of a time [ns], if they are at most `max_gap_ns` apart.

        Returns:
            The row, shape (width,); None where the time is outside the rows or in a gap.
        """
        t, begin, end = self.time, self.begin, self.end
        low = end - 2  # most steps lie between the two newest rows
        if low < begin or t[low] > time_ns or t[end - 1] <= time_ns:
            low = bisect_right(t, time_ns, begin, end) - 1
        if low < begin:
            return None
        before = t[low]
        if before == time_ns:
            same: Array = self.rows[low].copy()
            return same
        if low + 1 == end or t[low + 1] - before > max_gap_ns:
            return None
        weight = (time_ns - before) / (t[low + 1] - before)
        self._weights[0], self._weights[1] = 1.0 - weight, weight
        between: Array = self._weights.dot(self.rows[low : low + 2])
        return between

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time [ns]; None where it is older than allowed [ns]."""
        index = bisect_right(self.time, time_ns, self.begin, self.end) - 1
        if index < self.begin or time_ns - self.time[index] > max_age_ns:
            return None
        row: Array = self.rows[index].copy()
        return row

    def window(self, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), of a span, ends included; views."""
        low = bisect_left(self.time, begin_ns, self.begin, self.end)
        high = bisect_right(self.time, end_ns, low, self.end)
        return self.times[low:high], self.rows[low:high]

    def newest(self, count: int) -> tuple[Times, Array]:
        """Return times and rows of the newest rows, at most a number of them; views."""
        low = max(self.begin, self.end - count)
        return self.times[low : self.end], self.rows[low : self.end]
