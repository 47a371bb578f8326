"""The way of a usual row into the buffer of its input: its range, its sensor, its stamp; arithmetic."""

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
    FIRST_COLUMN,
    GROUP,
    GROUP_SIZE,
    GROUPS,
    KEPT,
    KNOWN,
    LAST_NS,
    LONGEST_NS,
    LOOKS,
    LOWER,
    NUMBERS_AT,
    PENDING,
    QUANTITIES,
    RECEIVED,
    RECENT,
    REGULATOR,
    REMEMBERED,
    REPEATED_AT,
    ROW,
    ROWS,
    ROWS_REMEMBERED,
    STAMPS,
    STATES_AT,
    STOP_COLUMN,
    SUSPECT,
    TURNS,
    UPPER,
    USUAL,
    WATCH_KNOWN,
    WATCH_NS,
    WIDTH,
    part_of,
    stream_of,
)
from inertial_estimation.estimators.inputs.reading_steps import follow, note_noise, suspicious
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, append_row
from inertial_estimation.models.input_ranges import within
from inertial_estimation.models.stamp_regulator import TIME, regular_stamp

EVERY = 8  # rows between two looks at the noise of single numbers

# What became of a row: stored; a number is out of range; the sensor has to be looked at; its stamp does not
# continue those before; its stamp does not give its time.
STORED, IMPLAUSIBLE, LOOK_AT, CLOCK, IRREGULAR = range(5)
ANOTHER = 5  # what became of a message: it is of another layout, or not a usual one, and nothing has changed
WANTED = 8  # added where the checks of the data want to see a reading


@inlined
def accept(stamp: int, k: int, n: Integers, s: MutableTable, x: MutableColumn) -> int:
    """Store the row that has come in, part `ROW` of an input, if nothing about it is unusual.

    Args:
        stamp: Its stamp [ns].
        k: Number of the input.
        n: Integers of the aligner; changed.
        s: Its states; changed.
        x: Its numbers; changed.

    Returns:
        What became of the row.
    """
    m = stream_of(k, n)
    row = part_of(ROW, m, x)
    m[RECEIVED] += 1
    if not within(row, part_of(LOWER, m, x), part_of(UPPER, m, x)):
        return IMPLAUSIBLE
    m[ROWS] += 1
    if m[QUANTITIES] > 0:
        last = row if m[REMEMBERED] == 0 else _remembered(1, m, x)
        if follow(row, last, m[STATES_AT] + 1, m[QUANTITIES], s, part_of(USUAL, m, x)):
            return LOOK_AT
    if m[GROUPS] > 0 and (m[SUSPECT] != 0 or not _single_numbers_usual(row, m, x)):
        return LOOK_AT
    remember(row, m, x)
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
    """Store a row of a sound sensor if its stamp continues those before; return what became of it.

    Args:
        stamp: Its stamp [ns].
        longest: Longest time since the last stored row that needs no judgement [ns]; -1: any.
        k: Number of the input.
        row: Its numbers, shape (width,).
        n: Integers of the aligner; changed.
        s: Its states; changed.
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
    if not regular_stamp(stamp, m[REGULATOR:BUFFER], s[m[STATES_AT]]):
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


@inlined
def remember(row: Column, m: Integers, x: MutableColumn) -> None:
    """Remember a plausible row of an input, given its integers."""
    part_of(RECENT + m[REMEMBERED] % ROWS_REMEMBERED, m, x)[:] = row
    m[REMEMBERED] += 1


@inlined
def _remembered(age: int, m: Integers, x: Column) -> Column:
    """Return a plausible row before the one that has come in: the last of them at an age of 1."""
    return part_of(RECENT + (m[REMEMBERED] - age) % ROWS_REMEMBERED, m, x)


@inlined
def _single_numbers_usual(row: Column, m: Integers, x: MutableColumn) -> bool:
    """Return false where a single number may be stuck; look at their noise where it is time to."""
    if m[ROWS] % EVERY != 0 or m[REMEMBERED] < 2:
        return True
    last, before = _remembered(1, m, x), _remembered(2, m, x)
    turns, repeated_at = part_of(TURNS, m, x), part_of(REPEATED_AT, m, x)
    for group in range(m[GROUPS]):
        at = GROUP + group * GROUP_SIZE
        a, b = m[at + FIRST_COLUMN], m[at + STOP_COLUMN]
        if suspicious(row[a:b], last[a:b], float(m[at + LOOKS]), turns[a:b], repeated_at[a:b]):
            return False
    for group in range(m[GROUPS]):
        at = GROUP + group * GROUP_SIZE
        a, b = m[at + FIRST_COLUMN], m[at + STOP_COLUMN]
        looks = float(m[at + LOOKS])
        note_noise(row[a:b], last[a:b], before[a:b], looks, turns[a:b], repeated_at[a:b])
        m[at + LOOKS] += 1
    return True
