"""Recognises that single numbers of an input are stuck or at a limit while its others still change."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.estimators.inputs.aligner_memory import (
    FIRST_COLUMN,
    GROUP,
    GROUP_SIZE,
    LOOKS,
    REPEATED_AT,
    STOP_COLUMN,
    TURNS,
    StreamMemory,
)
from inertial_estimation.estimators.inputs.reading_steps import (
    LOOKS_OF_NOISE,
    NOISE_SHARE,
    look_for_noise,
)
from inertial_estimation.signals import Array

READINGS_STUCK = 12  # readings of one value after which a number that never repeated is stuck or at a limit
COMES_BACK = 2  # readings of other values that one of the repeated value outweighs


class StuckColumns:
    """Follows some numbers of the rows of one input.

    A number is stuck where it repeats exactly for some readings, although it had noise and never repeated. At
    a limit the noise takes it away from there for some readings, and it comes back to the very same value.
    Quantised numbers repeat by chance, and smooth ones at rest; they are left alone.

    Attributes:
        found: Name of a number that is stuck; empty where there is none.
    """

    def __init__(
        self, columns: slice, names: Sequence[str], memory: StreamMemory, group: int, patience: int
    ) -> None:
        """Begin without a reading.

        Args:
            columns: Columns of the numbers in a row.
            names: Their names.
            memory: Memory of the input.
            group: Number of this group of numbers among those of the input.
            patience: Number of readings of other values after which it no longer repeats; 0 where it is stuck
                only while it is constant.
        """
        self._columns, self._names, self._patience = columns, tuple(names), patience
        self._turns, self._repeated_at = memory.numbers[TURNS, columns], memory.numbers[REPEATED_AT, columns]
        self._cells = memory.cells[GROUP + group * GROUP_SIZE : GROUP + (group + 1) * GROUP_SIZE]
        self._cells[FIRST_COLUMN], self._cells[STOP_COLUMN] = columns.start, columns.stop
        self.reset()

    def reset(self) -> None:
        """Begin without a reading."""
        self.found = ""
        self._turns[:] = self._repeated_at[:] = 0.0
        self._cells[LOOKS] = 0
        self._held: Array | None = None  # values that are repeated; None: no number repeats
        self._followed: NDArray[np.bool_] = np.zeros(len(self._names), dtype=bool)
        self._repeats: NDArray[np.int64] = np.zeros(len(self._names), dtype=np.int64)
        self._left: NDArray[np.int64] = np.zeros(len(self._names), dtype=np.int64)

    @property
    def suspect(self) -> bool:
        """Whether a number repeats, so that every row has to be taken."""
        return self._held is not None

    def update(self, row: Array, last: Array | None, before: Array | None, *, due: bool) -> str:
        """Take a row that is due, or any row while a number is suspect.

        Args:
            row: The row, shape (width,).
            last: The row before; None for the first one.
            before: The row before that; None for the first two.
            due: Whether the noise is to be looked at.

        Returns:
            The name of a number that is stuck, empty where there is none.
        """
        if self._held is not None:
            self._follow(row[self._columns] == self._held)
        elif due and before is not None and last is not None:
            self._look(row[self._columns], last[self._columns], before[self._columns])
        return self.found

    def _follow(self, equal: NDArray[np.bool_]) -> None:
        """Take which numbers have the value that is repeated."""
        self._repeats += equal
        self._left[:] = np.minimum(self._left + np.where(equal, COMES_BACK, -1), self._patience)
        self._followed &= self._left >= 0
        stuck = self._followed & (self._repeats >= READINGS_STUCK)
        self.found = self._names[int(np.argmax(stuck))] if stuck.any() else ""
        if not self._followed.any():
            self._held = None

    def _look(self, x: Array, last: Array, before: Array) -> None:
        """Note which numbers have noise; begin to follow those that had, and repeat."""
        looks, known = self._cells[LOOKS], (self._turns, self._repeated_at)
        if not look_for_noise(x, last, before, looks, *known):
            self._cells[LOOKS] = looks + 1
            return
        unrepeated = looks - self._repeated_at >= LOOKS_OF_NOISE
        self._followed = (x == last) & (self._turns > NOISE_SHARE) & unrepeated
        self._held = x.copy() if self._followed.any() else None
        self._repeats[:], self._left[:] = 0, self._patience
