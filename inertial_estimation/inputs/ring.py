"""The last rows of one input in order of their times, contiguous in memory."""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array

CAPACITY = 2048  # rows that are kept
RECENT = 5  # newest rows, among which a time is sought first
Times = NDArray[np.int64]


class Ring:
    """Rows by time, at indices `begin` to `end` of the arrays; the oldest ones give way.

    Attributes:
        times: Times of measurement [ns], shape (2 capacity,).
        stamps: Stamps that outputs carry [ns], shape (2 capacity,).
        rows: Shape (2 capacity, width).
        begin: Index of the oldest row.
        end: Index behind the newest row.
        moved: By which rows have moved to the front; index + moved numbers rows for good.
        clears: Number of times that all rows were forgotten.
    """

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self.times: Times = np.zeros(2 * capacity, dtype=np.int64)
        self.stamps: Times = np.zeros(2 * capacity, dtype=np.int64)
        self.rows: Array = np.zeros((2 * capacity, width))
        self._t, self._s = self.times.data, self.stamps.data  # whose single numbers are read much faster
        self._capacity = capacity
        self.begin = self.end = self.moved = self.clears = 0

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest row [ns]; None while empty."""
        return self._t[self.end - 1] if self.end > self.begin else None

    def time(self, index: int) -> int:
        """Return the time of a row [ns]."""
        return self._t[index]

    def stamp(self, index: int) -> int:
        """Return the stamp of a row [ns]."""
        return self._s[index]

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        begin, end = self.begin, self.end
        if end == 2 * self._capacity:
            for array in (self.times, self.stamps, self.rows):
                array[: end - begin] = array[begin:end]
            self.begin, self.moved, end = 0, self.moved + begin, end - begin
        self._t[end], self._s[end] = time_ns, stamp_ns
        self.rows[end] = row
        self.end = end + 1
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
        t, end = self._t, self.end
        low = max(self.begin, end - RECENT)
        low = bisect_right(t, time_ns, low if low < end and t[low] <= time_ns else self.begin, end) - 1
        if low < self.begin:
            return None
        row: Array = self.rows[low]
        before = t[low]
        if before == time_ns:
            return row.copy()
        if low + 1 == end or t[low + 1] - before > max_gap_ns:
            return None
        between: Array = row + (self.rows[low + 1] - row) * ((time_ns - before) / (t[low + 1] - before))
        return between

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time [ns]; None where it is older than allowed [ns]."""
        index = bisect_right(self._t, time_ns, self.begin, self.end) - 1
        if index < self.begin or time_ns - self._t[index] > max_age_ns:
            return None
        row: Array = self.rows[index].copy()
        return row

    def window(self, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), of a span, ends included; views."""
        low = bisect_left(self._t, begin_ns, self.begin, self.end)
        high = bisect_right(self._t, end_ns, low, self.end)
        return self.times[low:high], self.rows[low:high]

    def newest(self, count: int) -> tuple[Times, Array]:
        """Return times and rows of the newest rows, at most a number of them; views."""
        low = max(self.begin, self.end - count)
        return self.times[low : self.end], self.rows[low : self.end]
