"""Recognises that single numbers of an input are stuck or saturated while its others still change."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.inputs.sensor_checks import NOISE_SHARE
from inertial_estimation.signals import Array

__all__ = ["StuckColumns"]

EVERY = 8  # readings between two looks at the noise
NOISE_MEMORY = 0.9  # weight of the earlier looks in the share of turns
LOOKS_OF_NOISE = 16  # looks without a repeated value, after which one can be missed
READINGS_STUCK = 12  # readings over which a number that never repeated is constant


class StuckColumns:
    """Follows some numbers of the rows of one input.

    A number is stuck where it repeats exactly for some readings, although it had noise and never repeated.
    Quantised numbers repeat by chance, and smooth ones at rest; they are left alone.

    Attributes:
        found: Name of a number that is stuck; empty where there is none.
    """

    def __init__(self, columns: slice, names: Sequence[str]) -> None:
        """Begin without a reading.

        Args:
            columns: Columns of the numbers in a row.
            names: Their names.
        """
        self._columns, self._names = columns, tuple(names)
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        self.found = ""
        self._readings = 0
        self._last: Array | None = None
        self._before: Array | None = None
        self._turns: Array = np.zeros(len(self._names))
        self._looks = 0
        self._repeated_at: NDArray[np.int64] = np.zeros(len(self._names), dtype=np.int64)  # look
        self._equal: NDArray[np.bool_] | None = None  # numbers that repeat since the last look
        self._repeats = 0

    def update(self, row: Array) -> str:
        """Take a row; return the name of a number that is stuck, empty where there is none."""
        last, before = self._last, self._before
        self._last, self._before = row, last
        self._readings += 1
        if self._equal is None:
            if self._readings % EVERY == 0 and before is not None and last is not None:
                self._look(row[self._columns], last[self._columns], before[self._columns])
        elif last is not None:
            self._follow(self._equal & (row[self._columns] == last[self._columns]))
        return self.found

    def _follow(self, equal: NDArray[np.bool_]) -> None:
        """Take the numbers that still repeat."""
        if not equal.any():
            self.found, self._equal, self._repeats = "", None, 0
            return
        self._equal = equal
        self._repeats += 1
        if self._repeats >= READINGS_STUCK:
            self.found = self._names[int(np.argmax(equal))]

    def _look(self, x: Array, last: Array, before: Array) -> None:
        """Note which numbers have noise; begin to follow those that had, and repeat."""
        step = x - last
        if np.count_nonzero(step) != len(step):
            equal = step == 0.0
            unrepeated = self._looks - self._repeated_at >= LOOKS_OF_NOISE
            suspect = equal & (self._turns > NOISE_SHARE) & unrepeated
            if suspect.any() and not equal.all():
                self._equal = suspect
                return
            self._repeated_at[equal] = self._looks + 1
        self._looks += 1
        self._turns *= NOISE_MEMORY
        self._turns += (1.0 - NOISE_MEMORY) * (step * (last - before) < 0.0)
