"""Means of rows over the last stretch of time and over its two halves, by running sums."""

import math

import numpy as np

from inertial_estimation.inputs.alignment import DUE
from inertial_estimation.signals import NANOSECONDS, Array, seconds


class SlidingWindow:
    """The last rows of a signal; the cost of a row does not depend on how many there are.

    A half never runs empty: where rows are further apart than half a window, each holds one.
    """

    def __init__(self, width: int, duration: float, rate: float) -> None:
        """Begin empty.

        Args:
            width: Numbers in a row.
            duration: Length of the window [s].
            rate: Highest rate of rows [Hz].
        """
        self._duration_ns = round(duration * NANOSECONDS)
        self._half_ns = self._duration_ns // 2
        self._capacity = math.ceil(duration * rate / DUE) + 4
        self._rows = np.zeros((self._capacity, width))
        self._times = [0] * self._capacity
        self._early, self._late = np.zeros(width), np.zeros(width)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._next = self._n_early = self._n_late = 0
        self._early_ns = self._late_ns = 0  # sums of times since the start
        self._start_ns: int | None = None
        self._last_ns = 0
        self._early[:] = 0.0
        self._late[:] = 0.0

    @property
    def full(self) -> bool:
        """Whether rows have come for as long as the window is."""
        lasted = self._last_ns - self._start_ns if self._start_ns is not None else -1
        return self._n_early > 0 and lasted >= self._duration_ns

    def append(self, time_ns: int, row: Array) -> None:
        """Add a row; those that are now too old leave.

        Args:
            time_ns: Its time [ns], after all others.
            row: Its numbers, shape (width,).
        """
        if self._start_ns is None:
            self._start_ns = time_ns
        if self._n_early + self._n_late == self._capacity:
            self._drop_oldest()
        at = self._next
        self._rows[at] = row
        self._times[at] = time_ns
        self._last_ns = time_ns
        self._next = (at + 1) % self._capacity
        self._n_late += 1
        self._late += row
        self._late_ns += time_ns - self._start_ns
        while self._n_late > 1 and time_ns - self._times[self._middle] >= self._half_ns:
            self._move_middle()
        while self._n_early > 1 and time_ns - self._times[self._oldest] > self._duration_ns:
            self._drop_oldest()
        if self._next == 0:
            self._sum_anew()

    def mean(self) -> Array:
        """Return the mean of the rows, shape (width,)."""
        mean: Array = (self._early + self._late) / (self._n_early + self._n_late)
        return mean

    def change(self) -> tuple[Array, float]:
        """Return how much the mean of the later half differs from that of the earlier one.

        Returns:
            The difference, shape (width,), and the time between the centres of the halves [s]. Their
            ratio is a slope, hardly noisier than that of least squares.
        """
        difference = self._late / self._n_late - self._early / self._n_early
        apart_ns = self._late_ns / self._n_late - self._early_ns / self._n_early
        return difference, seconds(apart_ns)

    @property
    def _oldest(self) -> int:
        return (self._next - self._n_late - self._n_early) % self._capacity

    @property
    def _middle(self) -> int:
        return (self._next - self._n_late) % self._capacity

    def _since_start(self, at: int) -> int:
        assert self._start_ns is not None
        return self._times[at] - self._start_ns

    def _move_middle(self) -> None:
        at = self._middle
        row, since_ns = self._rows[at], self._since_start(at)
        self._late -= row
        self._early += row
        self._late_ns -= since_ns
        self._early_ns += since_ns
        self._n_late -= 1
        self._n_early += 1

    def _drop_oldest(self) -> None:
        if self._n_early == 0:
            self._move_middle()
        at = self._oldest
        self._early -= self._rows[at]
        self._early_ns -= self._since_start(at)
        self._n_early -= 1

    def _sum_anew(self) -> None:
        """Add up the rows once a round: what rounding has left in the sums goes."""
        first, middle = self._oldest, self._middle
        early = np.arange(first, first + self._n_early) % self._capacity
        late = np.arange(middle, middle + self._n_late) % self._capacity
        self._early[:] = self._rows[early].sum(axis=0)
        self._late[:] = self._rows[late].sum(axis=0)
