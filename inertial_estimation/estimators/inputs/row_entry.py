"""The way of a usual row into the buffer of its input: its range, its sensor, its stamp; arithmetic."""

from inertial_estimation.compilation import Column, Integers, MutableColumn, MutableTable, Table, compiled
from inertial_estimation.estimators.inputs.reading_steps import follow
from inertial_estimation.estimators.inputs.stamped_buffer import append_row
from inertial_estimation.models.input_ranges import within
from inertial_estimation.models.stamp_regulator import TIME, regular_stamp

__all__ = [
    "CLOCK",
    "DELAY_NS",
    "IMPLAUSIBLE",
    "IRREGULAR",
    "KNOWN",
    "LAST_NS",
    "LOOK_AT",
    "ROWS",
    "SINGLE_NUMBERS",
    "STORED",
    "SUSPECT",
    "accept",
    "enter",
]

EVERY = 8  # rows between two looks at the noise of single numbers

# What became of a row: stored; a number is out of range; the sensor has to be looked at; its stamp does not
# continue those before; its stamp does not give its time.
STORED, IMPLAUSIBLE, LOOK_AT, CLOCK, IRREGULAR = range(5)
# Integers of a stream: stamp of the last stored row [ns], whether there is one, delay of the input [ns],
# plausible rows since the begin, whether single numbers are followed, and whether one of them is suspect.
LAST_NS, KNOWN, DELAY_NS, ROWS, SINGLE_NUMBERS, SUSPECT, SIZE = range(7)


@compiled
def accept(
    stamp: int,
    longest_step: int,
    row: Column,
    last: Column,
    limits: Table,
    sensors: MutableTable,
    n: Integers,
    regulator: Integers,
    figures: MutableColumn,
    times: Integers,
    rows: MutableTable,
) -> int:
    """Store a row if nothing about it is unusual; return what became of it.

    Args:
        stamp: Its stamp [ns].
        longest_step: Longest time since the last stored row that needs no judgement [ns].
        row: Its numbers, shape (width,).
        last: The plausible row before it; the row itself where there is none.
        limits: Smallest and largest plausible values, shape (2, width).
        sensors: States of the quantities of the row (`reading_steps`); changed.
        n: Integers of the stream; changed.
        regulator: Integers of the regulator of its stamps; changed.
        figures: Figures of that regulator; changed.
        times: Times of the buffer; changed.
        rows: Rows of the buffer; changed.
    """
    if not within(row, limits[0], limits[1]):
        return IMPLAUSIBLE
    n[ROWS] += 1
    looked = len(sensors) > 0 and follow(row, last, sensors)
    if looked or (n[SINGLE_NUMBERS] != 0 and (n[SUSPECT] != 0 or n[ROWS] % EVERY == 0)):
        return LOOK_AT
    return enter(stamp, longest_step, row, n, regulator, figures, times, rows)


@compiled
def enter(
    stamp: int,
    longest_step: int,
    row: Column,
    n: Integers,
    regulator: Integers,
    figures: MutableColumn,
    times: Integers,
    rows: MutableTable,
) -> int:
    """Store a row of a sound sensor if its stamp continues those before; return what became of it.

    Arguments are those of `accept`; a longest step of -1 stores it whatever its stamp is.
    """
    if longest_step >= 0 and n[KNOWN] != 0 and not 0 < stamp - n[LAST_NS] <= longest_step:
        return CLOCK
    n[LAST_NS], n[KNOWN] = stamp, 1
    if not regular_stamp(stamp, regulator, figures):
        return IRREGULAR
    append_row(regulator[TIME] - n[DELAY_NS], row, times, rows)
    return STORED
