"""Finds numbers that are sent again until the next measurement: inputs with a lower rate than their messages.

A driver may publish joint states at 250 Hz whose efforts come from a bus at 10 Hz. The stamp of such an
effort is wrong by up to 0.1 s, and no check of stamps shows it, but the value repeats bit by bit.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.compilation import (
    Integers,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    warm_up,
)
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.signals import NANOSECONDS, Array, seconds

CHECK = "held values"
MEMORY = 0.95  # weight of the blocks before, in a node: some seconds
HELD_BELOW = (
    80.0  # rate of changes; at 100 Hz masses are as good as without holding, at 50 Hz 13 % worse [Hz]
)
HELD_ABOVE = 2.0  # rate of changes; rarer ones are those of a robot at rest without noise [Hz]
CONSECUTIVE = 0.2  # share of the changes that follow one another immediately, next to none of held numbers
TOGETHER = 0.5  # share of the changing numbers that change at once, if all are held together
FEWEST_TOGETHER = 3  # numbers that change together
FEWEST_CHANGES = 2.5  # of theirs: three, of which the older ones have less weight
FEWEST_ALONE = 8  # changes of a number that is held alone
QUANTA = 3.0  # mean change over the smallest one; a quantised number changes by one quantum, now and then
LARGEST = 1e100  # change; the sum of many such ones is finite
LONGEST_STEP_NS = NANOSECONDS  # between two readings; a longer one is a gap
REMEDY = "publish every value when it is measured; estimates that use held values are late and may be wrong"

STEPS, SPAN_S, READINGS, READINGS_IN_A_ROW = range(4)  # totals: of the steps, and of those with any change
CHANGES, IN_A_ROW, SUM, SMALLEST = range(4)  # of each number: changes, those in a row, their sum and smallest


class HeldValues:
    """Counts how often the numbers of one quantity change between readings, in constant memory.

    Held numbers change rarely, never twice in a row, and by more than a quantum. If all of them change at the
    same readings, three changes suffice to tell; noise and quantisation do not do that.
    """

    def __init__(self, subject: str, quantity: str, *, forgets: bool) -> None:
        """Begin without a reading.

        Args:
            subject: Input for people.
            quantity: What is measured, in the plural ("efforts").
            forgets: Whether the last seconds count rather than all readings.
        """
        self._subject, self._quantity = subject, quantity
        self._memory = MEMORY if forgets else 1.0
        self._totals: Array = np.zeros(READINGS_IN_A_ROW + 1)
        self._counts: Array = np.zeros((SMALLEST + 1, 0))  # of each number
        warm_up()

    def push(self, stamps_ns: NDArray[np.int64], values: Array) -> None:
        """Count the changes from each reading to the next one; what was counted before has less weight.

        Args:
            stamps_ns: Stamps of m readings [ns], shape (m,).
            values: Their numbers, shape (m, n).
        """
        if self._counts.shape[1] != values.shape[1]:
            self._totals = np.zeros(READINGS_IN_A_ROW + 1)
            self._counts = np.zeros((SMALLEST + 1, values.shape[1]))
            self._counts[SMALLEST] = np.inf
        stamps, numbers = np.array(stamps_ns, dtype=np.int64), np.ascontiguousarray(values)
        _count(stamps, numbers, self._memory, self._totals, self._counts)

    def results(self, names: Sequence[str]) -> list[CheckResult]:
        """Return what is held: the whole quantity in one result, or single numbers.

        Args:
            names: Names of the numbers, n of them.
        """
        steps, span_s, readings = self._totals[: READINGS + 1].tolist()
        if not span_s:
            return []
        rate, of = readings / span_s, steps / span_s
        if self._all_held():
            said = f"{self._quantity} change at {rate:.2g} Hz only of {of:.3g} Hz, and are held in between"
            return [CheckResult(CHECK, self._subject, Verdict.WARN, rate, "Hz", said, REMEDY)]
        found: list[CheckResult] = []
        changes = self._counts[CHANGES]
        if len(names) != len(changes):  # other joints than in the readings that are counted
            return found
        alone = np.empty(len(changes), dtype=np.int64)
        for j in alone[: _held_alone(self._counts, span_s, alone)].tolist():
            rate = float(changes[j] / span_s)
            said = f"{self._quantity} of {names[j]} change at {rate:.2g} Hz only of {of:.3g} Hz"
            subject = f"{self._subject} {names[j]}"
            found.append(CheckResult(CHECK, subject, Verdict.WARN, rate, "Hz", said, REMEDY))
        return found

    def _all_held(self) -> bool:
        """Return whether all numbers that change do so at once, and rarely."""
        _steps, span_s, readings, in_a_row = self._totals.tolist()
        rare = HELD_ABOVE * span_s <= readings <= HELD_BELOW * span_s
        apart = in_a_row <= CONSECUTIVE * readings
        if readings < FEWEST_CHANGES or not (rare and apart):
            return False
        changes = self._counts[CHANGES]
        n = np.count_nonzero(changes >= 0.5)
        return bool(n >= FEWEST_TOGETHER and changes.sum() >= TOGETHER * n * readings)


@compiled
def _held_alone(counts: Table, span_s: float, found: Integers) -> int:
    """Note which numbers change rarely, and by more than a quantum; return how many.

    Args:
        counts: `CHANGES` to `SMALLEST` of each number, shape (4, n).
        span_s: Time in which they are counted [s].
        found: Their places; written, shape (n,).
    """
    n = 0
    for i in range(counts.shape[1]):
        changes, smallest = counts[CHANGES, i], counts[SMALLEST, i]
        rare = HELD_ABOVE * span_s <= changes <= HELD_BELOW * span_s
        apart = counts[IN_A_ROW, i] <= CONSECUTIVE * changes and changes >= FEWEST_ALONE
        quantum = smallest if math.isfinite(smallest) else 0.0
        if rare and apart and counts[SUM, i] > QUANTA * quantum * changes:
            found[n] = i
            n += 1
    return n


def counted(stamps: Integers, values: Table, totals: MutableColumn, counts: MutableTable) -> None:
    """Count the changes between readings whose stamps step forward by a second at most.

    Args:
        stamps: Stamps of m readings [ns], shape (m,).
        values: Their numbers, shape (m, n).
        totals: `STEPS` to `READINGS_IN_A_ROW`, shape (4,); changed.
        counts: `CHANGES` to `SMALLEST` of each number, shape (4, n); changed.
    """
    steps = np.diff(np.asarray(stamps))
    good = (steps > 0) & (steps <= LONGEST_STEP_NS)
    with np.errstate(all="ignore"):  # infinite numbers; NaN does not change
        changes = np.minimum(np.abs(np.diff(values, axis=0))[good], LARGEST)
    changed = changes > 0.0
    of_any = np.atleast_1d(changed.any(axis=1))
    in_a_row = np.count_nonzero(of_any[1:] & of_any[:-1])
    totals[:] = len(changes), seconds(int(steps[good].sum())), np.count_nonzero(of_any), in_a_row
    counts[CHANGES], counts[IN_A_ROW] = changed.sum(axis=0), (changed[1:] & changed[:-1]).sum(axis=0)
    counts[SUM] = np.where(changed, changes, 0.0).sum(axis=0)
    if len(changes):
        counts[SMALLEST] = np.where(changed, changes, np.inf).min(axis=0)


@in_place_of(counted)
def _counted(stamps: Integers, values: Table, totals: MutableColumn, counts: MutableTable) -> None:
    n, span, last_any = values.shape[1], 0, False
    last = np.zeros(n)  # whether each number has changed at the last good step
    for k in range(1, len(stamps)):
        step = stamps[k] - stamps[k - 1]
        if not 0 < step <= LONGEST_STEP_NS:
            continue
        span += step
        of_any = False
        for i in range(n):
            change = abs(values[k, i] - values[k - 1, i])
            if not change > 0.0:
                last[i] = 0.0
                continue
            change = min(change, LARGEST)
            counts[CHANGES, i] += 1.0
            counts[IN_A_ROW, i] += last[i]
            counts[SUM, i] += change
            counts[SMALLEST, i] = min(counts[SMALLEST, i], change)
            last[i], of_any = 1.0, True
        totals[STEPS] += 1.0
        totals[READINGS] += 1.0 if of_any else 0.0
        totals[READINGS_IN_A_ROW] += 1.0 if of_any and last_any else 0.0
        last_any = of_any
    totals[SPAN_S] = span * 1e-9


@compiled
def _count(
    stamps: Integers, values: Table, memory: float, totals: MutableColumn, counts: MutableTable
) -> None:
    """Add what readings count; what was before is weighted by `memory`. Others are those of `counted`."""
    new_totals, new = np.zeros(len(totals)), np.zeros(counts.shape)
    new[SMALLEST] = np.inf
    counted(stamps, values, new_totals, new)
    totals[:] = memory * totals + new_totals
    counts[:SMALLEST] = memory * counts[:SMALLEST] + new[:SMALLEST]
    counts[SMALLEST] = np.minimum(counts[SMALLEST], new[SMALLEST])
