"""Memory of an aligner: integers and numbers of all of its inputs, where compiled functions find them.

Three arrays hold everything, since each array that a compiled function is given costs time: the integers
`n`, the figures `s` of the regulators of stamps, and the other numbers `x`. The first integers are
those of the aligner; a section of equal size follows for each input, the driver's first. Numbers of an input
lie in parts of the width of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import Column, Integers, inlined, integers, numbers
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, FIRST
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models import stamp_regulator
from inertial_estimation.signals import NANOSECONDS, Array

# Integers of the aligner: whether a row has come that may make a step ready, input without which none is (-1:
# unknown), number of inputs, rows of the driver that have made no step yet, rows of the driver until now;
# widest gap that is interpolated over, longest wait for an input, time beyond a step up to which inputs must
# have arrived [ns]; whether steps carry numbers; shortest time between two steps [ns], time of the last one
# [ns] and whether there is one, rows in the mean of the next one; stamp of the last complete step or of the
# first reading [ns] and whether there is one; stamp and time of the step that is ready [ns], whether all of
# its rows are there; readings of the driver at the last tick. Then the last stamps of the driver [ns], as a
# ring.
CHANGED, AWAITED, INPUTS, PENDING, APPENDED, MAX_GAP_NS, MAX_WAIT_NS, HALF_WINDOW_NS, NUMBERS = range(9)
PERIOD_NS, DUE_NS, DUE_KNOWN, AVERAGED, WATCH_NS, WATCH_KNOWN = range(9, 15)
STEP_STAMP_NS, STEP_TIME_NS, COMPLETE, SEEN = range(15, 19)
STAMPS = 19
HEAD = STAMPS + CAPACITY

# Integers of an input: stamp of the last stored row [ns], whether there is one, delay [ns], longest step that
# needs no judgement [ns], whether readings on another clock contest it, readings received, stamp of the row
# that comes in [ns], width of a row, how many of its first numbers are never all zero, place of its numbers
# in `x`, its row of `s`, whether steps need it, whether the step that is ready has a row of it. Then those of
# the regulator of its stamps, and those of its buffer.
LAST_NS, KNOWN, DELAY_NS, LONGEST_NS, CONTESTED, RECEIVED, ROW_NS = range(7)
WIDTH, NEVER_ZERO, NUMBERS_AT, FIGURES_AT, REQUIRED, FOUND, REGULATOR = range(7, 14)
BUFFER = REGULATOR + stamp_regulator.INTEGERS
SECTION = BUFFER + FIRST + 2 * CAPACITY

# Parts of the numbers of an input: the row that comes in, ends of its range; the buffer.
ROW, LOWER, UPPER, KEPT = range(4)


@inlined
def stream_of(k: int, n: Integers) -> Integers:
    """Return the integers of an input of an aligner."""
    return n[HEAD + k * SECTION : HEAD + (k + 1) * SECTION]


@inlined
def part_of(which: int, m: Integers, x: Column) -> Column:
    """Return a part of the numbers of an input, shape (width,).

    Args:
        which: The part, `ROW` to `UPPER`.
        m: Integers of the input.
        x: Numbers of the aligner.
    """
    begin = m[NUMBERS_AT] + which * m[WIDTH]
    return x[begin : begin + m[WIDTH]]


@inlined
def buffer_rows(m: Integers, x: Column) -> Column:
    """Return the rows of the buffer of an input, one after the other, shape (2 CAPACITY width,).

    Args:
        m: Integers of the input.
        x: Numbers of the aligner.
    """
    begin = m[NUMBERS_AT] + KEPT * m[WIDTH]
    return x[begin : begin + 2 * CAPACITY * m[WIDTH]]


@dataclass(frozen=True, eq=False)
class StreamMemory:
    """The memory of one input.

    Attributes:
        cells: Its integers, as Python reads and writes them.
        numbers: Its numbers without its buffer, shape (KEPT, width).
        regulator: Memory of the regulator of its stamps.
        buffer: Memory of its buffer.
    """

    cells: Any
    numbers: Array
    regulator: tuple[Any, Any, Any]
    buffer: tuple[Any, Any, Array]

    @property
    def newest(self) -> tuple[int, Array]:
        """Stamp [ns] and numbers of the row that has come in last, usual or not."""
        return self.cells[ROW_NS], self.numbers[ROW].copy()


class AlignerMemory:
    """The memory of an aligner, as compiled functions take it.

    Attributes:
        n: Integers.
        cells: The same, as Python reads and writes them.
        s: Figures of the regulators of stamps, a row of each input.
        x: Numbers.
        streams: Memory of each input.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        """Begin without a reading.

        Args:
            widths: Numbers in a row of each input, the driver first.
        """
        self.n, self.cells = integers(HEAD + len(widths) * SECTION)
        self.s = numbers(np.zeros((len(widths), stamp_regulator.FIGURES)))
        self.x: Array = np.zeros(sum(widths) * (KEPT + 2 * CAPACITY) + widths[0])
        self.cells[INPUTS] = len(widths)
        self.streams = []
        numbers_at = widths[0]  # the sum of the driver's rows until a step comes first
        for k, width in enumerate(widths):
            cells = self.cells[HEAD + k * SECTION : HEAD + (k + 1) * SECTION]
            cells[WIDTH], cells[NUMBERS_AT], cells[FIGURES_AT] = width, numbers_at, k
            self.streams.append(self._stream(k, numbers_at, width))
            numbers_at += width * (KEPT + 2 * CAPACITY)
        self.clear_steps()

    def set_limits(self, config: InputConfig, half_window: float, rate: float, *, numbers: bool) -> None:
        """Note the limits of the inputs; arguments are those of `SignalAligner`."""
        cells = self.cells
        cells[MAX_GAP_NS] = round(config.max_gap * NANOSECONDS)
        cells[MAX_WAIT_NS] = round(config.max_wait * NANOSECONDS)
        cells[HALF_WINDOW_NS] = round(half_window * NANOSECONDS)
        cells[PERIOD_NS], cells[NUMBERS] = int(NANOSECONDS / rate) if rate > 0.0 else 0, numbers

    def clear_steps(self) -> None:
        """Forget the steps that wait, and the last one."""
        cells, width = self.cells, self.streams[0].cells[WIDTH]
        for cell in (PENDING, WATCH_KNOWN, DUE_KNOWN, AVERAGED):
            cells[cell] = 0
        cells[AWAITED], cells[CHANGED] = -1, 1
        self.x[:width] = 0.0  # the sum of the rows since the last step

    def _stream(self, k: int, at: int, width: int) -> StreamMemory:
        begin, rows_at = HEAD + k * SECTION, at + KEPT * width
        of_regulator = slice(begin + REGULATOR, begin + BUFFER)
        of_buffer = slice(begin + BUFFER, begin + SECTION)
        return StreamMemory(
            self.cells[begin : begin + SECTION],
            self.x[at:rows_at].reshape(KEPT, width),
            (self.n[of_regulator], self.cells[of_regulator], self.s[k]),
            (self.n[of_buffer], self.cells[of_buffer], self.x[rows_at : rows_at + 2 * CAPACITY * width]),
        )
