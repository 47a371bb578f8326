"""Finds numbers that are sent again until the next measurement: inputs with a lower rate than their messages.

A driver may publish joint states at 250 Hz whose efforts come from a bus at 10 Hz. The stamp of such an
effort is wrong by up to 0.1 s, and no check of stamps shows it, but the value repeats bit by bit.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.signals import NANOSECONDS, Array, seconds

CHECK = "held values"
HELD_BELOW = (
    80.0  # rate of changes; at 100 Hz masses are as good as without holding, at 50 Hz 13 % worse [Hz]
)
HELD_ABOVE = 2.0  # rate of changes; rarer ones are those of a robot at rest without noise [Hz]
CONSECUTIVE = 0.2  # share of the changes that follow one another immediately, next to none of held numbers
TOGETHER = 0.5  # share of the changing numbers that change at once, if all are held together
FEWEST_TOGETHER = 3  # numbers that change together
FEWEST_CHANGES = 3  # of theirs
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

    def __init__(self, subject: str, quantity: str) -> None:
        """Begin without a reading.

        Args:
            subject: Input for people.
            quantity: What is measured, in the plural ("efforts").
        """
        self._subject, self._quantity = subject, quantity
        self._totals: Array = np.zeros(READINGS_IN_A_ROW + 1)
        self._counts: Array = np.zeros((SMALLEST + 1, 0))  # of each number

    def push(self, stamps_ns: NDArray[np.int64], values: Array) -> None:
        """Count the changes from each reading to the next one, over steps of a second at most.

        Args:
            stamps_ns: Stamps of m readings [ns], shape (m,).
            values: Their numbers, shape (m, n).
        """
        if self._counts.shape[1] != values.shape[1]:
            self._totals = np.zeros(READINGS_IN_A_ROW + 1)
            self._counts = np.zeros((SMALLEST + 1, values.shape[1]))
            self._counts[SMALLEST] = np.inf
        steps = np.diff(stamps_ns)
        good = (steps > 0) & (steps <= LONGEST_STEP_NS)
        with np.errstate(all="ignore"):  # infinite numbers; NaN does not change
            changes = np.minimum(np.abs(np.diff(values, axis=0))[good], LARGEST)
        if not len(changes):
            return
        counts = self._counts
        changed: NDArray[np.bool_] = np.asarray(changes > 0.0)
        of_any: NDArray[np.bool_] = np.asarray(changed.any(axis=1))
        in_a_row = np.count_nonzero(of_any[1:] & of_any[:-1])
        span_s = seconds(int(steps[good].sum()))
        self._totals += np.array([len(changes), span_s, np.count_nonzero(of_any), in_a_row])
        counts[CHANGES] += changed.sum(axis=0)
        counts[IN_A_ROW] += (changed[1:] & changed[:-1]).sum(axis=0)
        counts[SUM] += np.where(changed, changes, 0.0).sum(axis=0)
        smallest = np.where(changed, changes, np.inf).min(axis=0)
        counts[SMALLEST] = np.minimum(counts[SMALLEST], smallest)

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
        for j in np.flatnonzero(self._held_alone(span_s)).tolist():
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
        n = np.count_nonzero(changes)
        return bool(n >= FEWEST_TOGETHER and changes.sum() >= TOGETHER * n * readings)

    def _held_alone(self, span_s: float) -> NDArray[np.bool_]:
        """Return which numbers change rarely, and by more than a quantum, in a time [s]."""
        changes, in_a_row, total, smallest = self._counts
        rare = (changes >= HELD_ABOVE * span_s) & (changes <= HELD_BELOW * span_s)
        apart = (in_a_row <= CONSECUTIVE * changes) & (changes >= FEWEST_ALONE)
        quantum = np.where(np.isfinite(smallest), smallest, 0.0)
        alone: NDArray[np.bool_] = rare & apart & (total > QUANTA * quantum * changes)
        return alone
