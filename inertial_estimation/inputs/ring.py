"""The last rows of one input in order of their times, contiguous in memory."""

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array

CAPACITY = 2048  # rows that are kept
Times = NDArray[np.int64]


class Ring:
    """Rows by time; the oldest ones give way. Rows lie at indices `begin` to `end` of the arrays.

    Attributes:
        times: Times of measurement [ns], shape (2 capacity,).
        stamps: Stamps that outputs carry [ns], shape (2 capacity,).
        rows: Shape (2 capacity, width).
        begin: Index of the oldest row.
        end: Index behind the newest row.
        moved: Number by which rows have moved towards the front; index + moved numbers rows for good.
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
        end = self.end
        if end == 2 * self._capacity:
            begin = self.begin
            for array in (self.times, self.stamps, self.rows):
                array[: end - begin] = array[begin:end]
            self.begin, self.moved, end = 0, self.moved + begin, end - begin
        self._t[end], self._s[end] = time_ns, stamp_ns
        self.rows[end] = row
        self.end = end = end + 1
        if end - self.begin > self._capacity:
            self.begin = end - self._capacity

    def clear(self) -> None:
        """Forget all rows."""
        self.moved += self.end
        self.begin = self.end = 0
        self.clears += 1

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly between the neighbours of a time.

        Args:
            time_ns: The time [ns].
            max_gap_ns: Widest distance between the two neighbours that is interpolated over [ns].

        Returns:
            The row, shape (width,); None where the time is outside the rows or in a gap.
        """
        t, begin, end = self._t, self.begin, self.end
        low = end - 1  # steps lie among the newest rows: a few looks from there on
        while low > begin and low > end - 5 and t[low] > time_ns:
            low -= 1
        if low < begin:
            return None
        if t[low] > time_ns:
            low = bisect_right(t, time_ns, begin, low) - 1
            if low < begin:
                return None
        before = t[low]
        if before == time_ns:
            return self.rows[low].copy()
        if low + 1 == end or t[low + 1] - before > max_gap_ns:
            return None
        row = self.rows[low]
        return row + (self.rows[low + 1] - row) * ((time_ns - before) / (t[low + 1] - before))

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time; None where it is older than allowed [ns]."""
        index = bisect_right(self._t, time_ns, self.begin, self.end) - 1
        if index < self.begin or time_ns - self._t[index] > max_age_ns:
            return None
        return self.rows[index].copy()

    def window(self, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), of a span, ends included; views."""
        low = bisect_left(self._t, begin_ns, self.begin, self.end)
        high = bisect_right(self._t, end_ns, low, self.end)
        return self.times[low:high], self.rows[low:high]

    def newest(self, count: int) -> tuple[Times, Array]:
        """Return times and rows of the newest rows, at most a number of them; views."""
        low = max(self.begin, self.end - count)
        return self.times[low : self.end], self.rows[low : self.end]
