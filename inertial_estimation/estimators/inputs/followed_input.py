"""Sensor faults of one input, so that its readings are dropped rather than believed."""

from collections.abc import Callable, Sequence

from inertial_estimation.estimators.inputs.aligner_memory import (
    GROUPS,
    RECENT,
    REMEMBERED,
    ROWS,
    ROWS_REMEMBERED,
    SUSPECT,
    USUAL,
    StreamMemory,
)
from inertial_estimation.estimators.inputs.row_entry import EVERY
from inertial_estimation.estimators.inputs.sensor_checks import (
    Quantity,
    QuantityCheck,
    QuantityWitness,
    SensorFault,
)
from inertial_estimation.estimators.inputs.stuck_columns import StuckColumns
from inertial_estimation.signals import Array

AT_LIMIT = 8  # readings off a limit after which a number is no longer at it


class FollowedInput:
    """What is followed of the rows of one input.

    `row_entry.accept` takes every plausible row into the states, and tells which ones have to be looked at.

    Attributes:
        checks: Of the quantities whose faults are recognised.
        witnesses: Of the other ones.
    """

    def __init__(self, quantities: tuple[Quantity, ...], memory: StreamMemory) -> None:
        """Begin without a reading.

        Args:
            quantities: What the sensors of the input measure.
            memory: Memory of the input.
        """
        self._memory, self._n = memory, memory.cells
        may_fail = [quantity for quantity in quantities if quantity.may_fail]
        self.checks = tuple(
            QuantityCheck(quantity, state, memory.numbers[USUAL])
            for quantity, state in zip(may_fail, memory.states, strict=True)
        )
        self.witnesses = tuple(
            QuantityWitness(quantity, self._remembered) for quantity in quantities if not quantity.may_fail
        )
        groups = [[q for q in quantities if q.numbers and q.doubted == doubted] for doubted in (False, True)]
        used = [group for group in groups if group]
        made = [_stuck_columns(group, memory, k) for k, group in enumerate(used)]
        self._columns = made[0] if groups[0] else None
        self._doubted = made[-1] if groups[1] else None
        self._n[GROUPS] = len(used)

    def reset(self) -> None:
        """Begin without a reading."""
        for check in self.checks:
            check.reset()
        for columns in (self._columns, self._doubted):
            if columns is not None:
                columns.reset()
        self._n[REMEMBERED] = self._n[ROWS] = self._n[SUSPECT] = 0

    def fault(self, row: Array, others_change: Callable[[QuantityCheck], bool]) -> str:
        """Look at a row; return what is wrong with its sensor, empty where nothing is.

        Args:
            row: Its numbers, taken into the states, shape (width,).
            others_change: Whether other quantities than a given one change.
        """
        last, found = self._last(1), ""
        if last is not None:  # the first reading is not looked at
            for check in self.checks:
                check.look(row, last, others_change)
                found = found or check.text
        if not self._n[GROUPS]:  # no single numbers are followed
            self._pass(row)
            return found
        before, due, stuck, suspect = self._last(2), self._n[ROWS] % EVERY == 0, "", False
        self._pass(row)
        if self._doubted is not None:
            self._doubted.update(row, last, before, due=due)
            suspect = self._doubted.suspect
        if self._columns is not None:
            stuck = self._columns.update(row, last, before, due=due)
            suspect = suspect or self._columns.suspect
        self._n[SUSPECT] = suspect
        return found or (f"{stuck} is {SensorFault.STUCK.value}" if stuck else "")

    @property
    def doubt(self) -> str:
        """Which number is at a limit, of its sensor or of what it measures; empty for none."""
        if self._doubted is None or not self._doubted.found:
            return ""
        return f"{self._doubted.found} repeats exactly one value: at the limit of its sensor, or of the motor"

    def _pass(self, row: Array) -> None:
        """Remember a plausible row."""
        self._memory.numbers[RECENT + self._n[REMEMBERED] % ROWS_REMEMBERED] = row
        self._n[REMEMBERED] += 1

    def _last(self, age: int) -> Array | None:
        """Return a copy of the last plausible row (age 1) or of an earlier one; None where there is none."""
        place = self._n[REMEMBERED] - age
        if place < 0:
            return None
        row: Array = self._memory.numbers[RECENT + place % ROWS_REMEMBERED].copy()
        return row

    def _remembered(self, most: int) -> list[Array]:
        rows = (self._last(age) for age in range(min(most, ROWS_REMEMBERED), 0, -1))
        return [row for row in rows if row is not None]


def constants_of(quantities: Sequence[Quantity]) -> list[tuple[float, ...]]:
    """Return the constants of the quantities that may fail, as `reading_steps.new_states` takes them."""
    found = []
    for quantity in quantities:
        if quantity.may_fail:
            known = (quantity.sign, quantity.stuck, quantity.zero, quantity.one_way)
            begin, end = quantity.columns.start, quantity.columns.stop
            found.append((begin, end, quantity.floor**2, *map(float, known)))
    return found


def _stuck_columns(named: Sequence[Quantity], memory: StreamMemory, group: int) -> StuckColumns:
    """Follow the named numbers of an input, whose columns are adjacent."""
    names = [f"{quantity.name} {number}" for quantity in named for number in quantity.numbers]
    columns = slice(named[0].columns.start, named[-1].columns.stop)
    return StuckColumns(columns, names, memory, group, AT_LIMIT if named[0].doubted else 0)
