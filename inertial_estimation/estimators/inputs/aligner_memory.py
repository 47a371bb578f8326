"""Memory of an aligner: integers and numbers of all of its inputs, where compiled functions find them.

Three arrays hold everything, since each array that a compiled function is given costs time: the integers
`n`, the states `s` of sensors and of regulators of stamps, and the other numbers `x`. The first integers are
those of the aligner; a section of equal size follows for each input, the driver's first. Numbers of an input
lie in parts of the width of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.compilation import Column, Integers, inlined, integers
from inertial_estimation.estimators.inputs.reading_steps import STATE_SIZE, new_states
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, FIRST
from inertial_estimation.models import stamp_regulator
from inertial_estimation.models.robot_config import InputConfig
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
# needs no judgement [ns], whether readings on another clock contest it, readings received, plausible rows
# since the begin and those that are remembered, width of a row, place of its numbers in `x`, its first row of
# `s`, number of quantities, whether steps need it, whether the step that is ready has a row of it; number of
# groups of single numbers that are followed, whether one of them is suspect; first and last column of each of
# two groups, and number of looks at it. Then those of the regulator of its stamps, and those of its buffer.
LAST_NS, KNOWN, DELAY_NS, LONGEST_NS, CONTESTED, RECEIVED, ROWS, REMEMBERED = range(8)
WIDTH, NUMBERS_AT, STATES_AT, QUANTITIES, REQUIRED, FOUND, GROUPS, SUSPECT, GROUP = range(8, 17)
FIRST_COLUMN, STOP_COLUMN, LOOKS, GROUP_SIZE = range(4)
REGULATOR = GROUP + 2 * GROUP_SIZE
BUFFER = REGULATOR + stamp_regulator.INTEGERS
SECTION = BUFFER + FIRST + 2 * CAPACITY

# Parts of the numbers of an input: the row that comes in, ends of its range, usual readings of its
# quantities; of single numbers, their share of turns and the look at which each has repeated; the last
# plausible rows, as a ring; the buffer.
ROW, LOWER, UPPER, USUAL, TURNS, REPEATED_AT, RECENT = range(7)
ROWS_REMEMBERED = 4
KEPT = RECENT + ROWS_REMEMBERED


@inlined
def stream_of(k: int, n: Integers) -> Integers:
    """Return the integers of an input of an aligner."""
    return n[HEAD + k * SECTION : HEAD + (k + 1) * SECTION]


@inlined
def part_of(which: int, m: Integers, x: Column) -> Column:
    """Return a part of the numbers of an input, shape (width,).

    Args:
        which: The part, `ROW` to `RECENT`, or one of the remembered rows.
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
        states: States of its quantities, as `reading_steps.follow` changes them.
        regulator: Memory of the regulator of its stamps.
        buffer: Memory of its buffer.
    """

    cells: Any
    numbers: Array
    states: Any
    regulator: tuple[Any, Any, Any]
    buffer: tuple[Any, Any, Array]


class AlignerMemory:
    """The memory of an aligner, as compiled functions take it.

    Attributes:
        n: Integers.
        cells: The same, as Python reads and writes them.
        s: States, shape (., STATE_SIZE).
        x: Numbers.
        streams: Memory of each input.
    """

    def __init__(self, widths: Sequence[int], quantities: Sequence[Sequence[Sequence[float]]]) -> None:
        """Begin without a reading.

        Args:
            widths: Numbers in a row of each input, the driver first.
            quantities: Constants of the quantities of each, as `new_states` takes them.
        """
        self.n, self.cells = integers(HEAD + len(widths) * SECTION)
        empty = (0.0,) * STATE_SIZE
        self.s = new_states([row for known in quantities for row in (empty, *known)])
        self.x: Array = np.zeros(sum(widths) * (KEPT + 2 * CAPACITY) + widths[0])
        self.cells[INPUTS] = len(widths)
        self.streams = []
        numbers_at, states_at = widths[0], 0  # the sum of the driver's rows until a step comes first
        for k, (width, known) in enumerate(zip(widths, quantities, strict=True)):
            cells = self.cells[HEAD + k * SECTION : HEAD + (k + 1) * SECTION]
            cells[WIDTH], cells[NUMBERS_AT], cells[STATES_AT] = width, numbers_at, states_at
            cells[QUANTITIES] = len(known)
            self.streams.append(self._stream(k, numbers_at, width, states_at, len(known)))
            numbers_at += width * (KEPT + 2 * CAPACITY)
            states_at += 1 + len(known)
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

    def _stream(self, k: int, at: int, width: int, state: int, quantities: int) -> StreamMemory:
        begin, rows_at = HEAD + k * SECTION, at + KEPT * width
        of_regulator = slice(begin + REGULATOR, begin + BUFFER)
        of_buffer = slice(begin + BUFFER, begin + SECTION)
        return StreamMemory(
            self.cells[begin : begin + SECTION],
            self.x[at:rows_at].reshape(KEPT, width),
            self.s[state + 1 : state + 1 + quantities],
            (self.n[of_regulator], self.cells[of_regulator], self.s[state]),
            (self.n[of_buffer], self.cells[of_buffer], self.x[rows_at : rows_at + 2 * CAPACITY * width]),
        )
