"""What the checks of the data keep of every reading of one input: counts of its stamps, the last readings.

The last readings are looked at in blocks for values that are held (`HeldValues`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    compiled,
    inlined,
    integers,
    warm_up,
)
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.data_checks.held_values import HeldValues
from inertial_estimation.data_checks.stream_statistics import (
    COUNT,
    FIGURES,
    SIZE,
    StreamStatistics,
    note_stamp,
)
from inertial_estimation.signals import Array

EMPTY: Array = np.empty(0)
BLOCK = 32  # steps from reading to reading that are looked at at once

# Integers of an input, behind those of its statistics: numbers in a part, readings kept, parts that one of
# them or the last of them does not have (bits), whether their names differ, number of the set of names;
# stamps from which on and up to which the checks want readings themselves [ns], or those outside of them;
# whether nothing is counted, since other checks see the same readings; then the stamps of the readings [ns].
WIDTH, KEPT, LACKED, LACKS, MIXED, NAMES, BEGIN_NS, END_NS, OUTSIDE, UNCOUNTED = range(SIZE, SIZE + 10)
STAMPS = SIZE + 10
SECTION = STAMPS + BLOCK + 1


class CheckedInput:
    """What is kept of one input.

    Attributes:
        statistics: Counts of its stamps.
        held: Of each part of its readings, what its numbers say of values that are held.
        names: Of the numbers of a part of the last reading.
        n: Integers, as compiled functions change them.
        x: Figures of the statistics and numbers of the last readings, part by part.
    """

    def __init__(
        self,
        name: str,
        max_gap_s: float,
        held: Sequence[HeldValues],
        names: tuple[str, ...] = (),
        memory: tuple[Any, Any, Array] | None = None,
    ) -> None:
        """Begin without a reading.

        Args:
            name: The input.
            max_gap_s: Longest step of its stamps that is no gap [s].
            held: Of each part of its readings.
            names: Of the numbers of a part, where they are known.
            memory: Where it is kept: SECTION integers, as `integers` returns them, and its numbers;
                None: in memory of its own, whose size follows the names.
        """
        self.held = tuple(held)
        self.n, self._cells = integers(SECTION) if memory is None else memory[:2]
        self.names, self._name, self._max_gap_s = names, name, max_gap_s
        self._set_width(len(names), None if memory is None else memory[2])
        warm_up()

    def push(self, stamp_ns: int, parts: Sequence[Array | None], names: tuple[str, ...]) -> None:
        """Take a reading.

        Args:
            stamp_ns: Its stamp [ns].
            parts: Its numbers; None for parts that it does not have.
            names: Of the numbers of a part.
        """
        if names is not self.names and names != self.names:
            self._cells[MIXED] = self._cells[KEPT] > 0
            self._cells[NAMES] += 1
            self._set_width(len(names))
        self.names = names
        lacks = sum(1 << k for k, values in enumerate(parts) if values is None)
        first, second, third = (EMPTY if values is None else values for values in (*parts, None, None)[:3])
        _take_reading(stamp_ns, len(parts), lacks, first, second, third, self.n, self.x)
        self.look()

    def look(self) -> None:
        """Count the readings that are kept if they are a block; the last of them begins the next one."""
        cells = self._cells
        if cells[KEPT] <= BLOCK:
            return
        stamps = self.n[STAMPS:]
        for k, held in enumerate(self.held):
            rows = self._rows(k)
            if not cells[MIXED] and not cells[LACKED] >> k & 1:
                held.push(stamps, rows)
            rows[0] = rows[BLOCK]
        cells[STAMPS] = cells[STAMPS + BLOCK]
        cells[KEPT], cells[MIXED], cells[LACKED] = 1, 0, cells[LACKS]

    def results(self) -> list[CheckResult]:
        """Return what is held now; nothing where nothing is."""
        return [result for held in self.held for result in held.results(self.names)]

    def newest(self) -> tuple[int, list[Array | None]]:
        """Return the stamp of the last reading [ns] and copies of its parts, None for those that it lacks."""
        last, lacks = max(self._cells[KEPT] - 1, 0), self._cells[LACKS]
        width, parts = self._cells[WIDTH], []
        for k in range(len(self.held)):
            part = None
            if not lacks >> k & 1:
                begin = FIGURES + (k * (BLOCK + 1) + last) * width
                part = self.x[begin : begin + width].copy()
                part.setflags(write=False)
            parts.append(part)
        return self._cells[STAMPS + last], parts

    @property
    def set_of_names(self) -> int:
        """Number of the set of names, which changes with them."""
        return int(self._cells[NAMES])

    def want(self, begin_ns: int, end_ns: int, *, outside: bool = False) -> None:
        """Say which readings the checks want to see themselves.

        Args:
            begin_ns: First stamp of a span [ns].
            end_ns: Stamp behind the last one of it [ns].
            outside: Whether those outside of the span are wanted, instead of those in it.
        """
        self._cells[BEGIN_NS], self._cells[END_NS], self._cells[OUTSIDE] = begin_ns, end_ns, outside

    def stop_counting(self) -> None:
        """Keep only the last reading from now on, in the place of the first, and want none."""
        self._cells[UNCOUNTED], self._cells[KEPT] = 1, 0

    def _rows(self, part: int) -> Array:
        """Return the numbers of a part of the readings that are kept, shape (BLOCK + 1, width)."""
        size = (BLOCK + 1) * self._cells[WIDTH]
        rows: Array = self.x[FIGURES + part * size : FIGURES + (part + 1) * size]
        return rows.reshape(BLOCK + 1, -1)

    def _set_width(self, width: int, room: Array | None = None) -> None:
        """Make room for readings of a width; those that are kept are lost, not the counts of the stamps."""
        before = self.x[:FIGURES] if self._cells[COUNT] else np.zeros(FIGURES)
        self.x: Array = np.zeros(numbers_kept(len(self.held), width)) if room is None else room
        self.x[:FIGURES] = before
        self._cells[WIDTH] = width
        self.statistics = StreamStatistics(self._name, self._max_gap_s, (self.n, self._cells, self.x))


def numbers_kept(parts: int, width: int) -> int:
    """Return how many numbers an input keeps whose readings have some parts of a width."""
    return FIGURES + parts * (BLOCK + 1) * width


@compiled
def _take_reading(
    stamp: int,
    parts: int,
    lacks: int,
    first: Column,
    second: Column,
    third: Column,
    n: Integers,
    x: MutableColumn,
) -> None:
    """Take a reading of one to three parts, some of which it lacks (bits)."""
    begin_reading(stamp, n, x)
    n[LACKS] = lacks
    for k in range(parts):
        if not (lacks >> k) & 1:
            part_to_keep(k, n, x)[:] = first if k == 0 else second if k == 1 else third
    end_reading(stamp, n)


@inlined
def begin_reading(stamp: int, n: Integers, x: MutableColumn) -> None:
    """Count the stamp [ns] of a reading; `part_to_keep` follows for its parts, then `end_reading`."""
    if n[UNCOUNTED] == 0:
        note_stamp(stamp, n, x)
    n[LACKS] = 0


@inlined
def part_to_keep(part: int, n: Integers, x: MutableColumn) -> MutableColumn:
    """Return the memory of a part of the reading that has begun, shape (width,).

    Args:
        part: Number of the part.
        n: Integers of the input.
        x: Its numbers.
    """
    begin = FIGURES + (part * (BLOCK + 1) + n[KEPT]) * n[WIDTH]
    return x[begin : begin + n[WIDTH]]


@inlined
def end_reading(stamp: int, n: Integers) -> bool:
    """Note that a reading is kept; return whether the checks want it, or to look at those that are kept.

    Args:
        stamp: Its stamp [ns].
        n: Integers of the input; changed.
    """
    n[STAMPS + n[KEPT]] = stamp
    if n[UNCOUNTED] != 0:
        return False
    n[LACKED] |= n[LACKS]
    n[KEPT] += 1
    within = n[BEGIN_NS] <= stamp < n[END_NS]
    return bool(n[KEPT] > BLOCK or within != (n[OUTSIDE] != 0))
