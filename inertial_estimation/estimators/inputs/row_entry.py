"""The way of a usual row into the buffer of its input: its range, its stamp; arithmetic."""

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    MutableTable,
    compiled,
    inlined,
)
from inertial_estimation.estimators.inputs.aligner_memory import (
    APPENDED,
    AWAITED,
    BUFFER,
    CHANGED,
    CONTESTED,
    DELAY_NS,
    FIGURES_AT,
    KEPT,
    KNOWN,
    LAST_NS,
    LONGEST_NS,
    LOWER,
    NEVER_ZERO,
    NUMBERS_AT,
    PENDING,
    RECEIVED,
    REGULATOR,
    ROW,
    ROW_NS,
    STAMPS,
    UPPER,
    WATCH_KNOWN,
    WATCH_NS,
    WIDTH,
    part_of,
    stream_of,
)
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, append_row
from inertial_estimation.models.input_ranges import within
from inertial_estimation.models.stamp_regulator import TIME, regular_stamp

# What became of a row: stored; a number is out of range; its stamp does not continue those before; its stamp
# does not give its time. REFUSED is a joint state that contradicts those before.
STORED, IMPLAUSIBLE, CLOCK, IRREGULAR, REFUSED = range(5)
ANOTHER = 5  # what became of a message: it is of another layout, or not a usual one, and nothing has changed


@inlined
def accept(stamp: int, k: int, n: Integers, s: MutableTable, x: MutableColumn) -> int:
    """Store the row that has come in, part `ROW` of an input, if nothing about it is unusual.

    Args:
        stamp: Its stamp [ns].
        k: Number of the input.
        n: Integers of the aligner; changed.
        s: Figures of its regulators; changed.
        x: Its numbers; changed.

    Returns:
        What became of the row.
    """
    m = stream_of(k, n)
    row = part_of(ROW, m, x)
    m[RECEIVED] += 1
    m[ROW_NS] = stamp
    impossible = m[NEVER_ZERO] > 0 and not np.any(row[: m[NEVER_ZERO]])
    if impossible or not within(row, part_of(LOWER, m, x), part_of(UPPER, m, x)):
        return IMPLAUSIBLE
    return enter(stamp, m[LONGEST_NS] if m[CONTESTED] == 0 else 0, k, row, n, s, x)


@compiled
def accept_row(stamp: int, k: int, row: Column, n: Integers, s: MutableTable, x: MutableColumn) -> int:
    """Take a row, shape (width,); other arguments and the result are those of `accept`."""
    part_of(ROW, stream_of(k, n), x)[:] = row
    return accept(stamp, k, n, s, x)


@compiled
def enter_row(
    stamp: int, longest: int, k: int, row: Column, n: Integers, s: MutableTable, x: MutableColumn
) -> int:
    """Store a row if its stamp continues those before; return what became of it.

    Args:
        stamp: Its stamp [ns].
        longest: Longest time since the last stored row that needs no judgement [ns]; -1: any.
        k: Number of the input.
        row: Its numbers, shape (width,).
        n: Integers of the aligner; changed.
        s: Figures of its regulators; changed.
        x: Its numbers; changed.
    """
    return enter(stamp, longest, k, row, n, s, x)


@compiled
def store_row(time: int, stamp: int, k: int, row: Column, n: Integers, x: MutableColumn) -> None:
    """Store a row whose time [ns] is known; other arguments are those of `enter_row`."""
    store(time, stamp, k, row, n, x)


@inlined
def enter(
    stamp: int, longest: int, k: int, row: Column, n: Integers, s: MutableTable, x: MutableColumn
) -> int:
    """Check a stamp, regularise it and store its row; see `enter_row`."""
    m = stream_of(k, n)
    if longest >= 0 and m[KNOWN] != 0 and not 0 < stamp - m[LAST_NS] <= longest:
        return CLOCK
    m[LAST_NS], m[KNOWN] = stamp, 1
    if not regular_stamp(stamp, m[REGULATOR:BUFFER], s[m[FIGURES_AT]]):
        return IRREGULAR
    store(m[REGULATOR + TIME], stamp, k, row, n, x)
    return STORED


@inlined
def store(time: int, stamp: int, k: int, row: Column, n: Integers, x: MutableColumn) -> None:
    """Append a row to the buffer of its stream; see `enter_row`."""
    m = stream_of(k, n)
    begin, width = m[NUMBERS_AT] + KEPT * m[WIDTH], m[WIDTH]
    append_row(time - m[DELAY_NS], row, m[BUFFER:], x[begin : begin + 2 * CAPACITY * width])
    if k == 0:
        n[STAMPS + n[APPENDED] % CAPACITY] = stamp
        n[APPENDED] += 1
        n[PENDING] += 1
        if n[WATCH_KNOWN] == 0:
            n[WATCH_NS], n[WATCH_KNOWN] = stamp, 1
    if k == 0 or k == n[AWAITED]:
        n[CHANGED] = 1
