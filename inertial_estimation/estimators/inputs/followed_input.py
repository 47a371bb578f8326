"""Sensor faults of one input, so that its readings are dropped rather than believed."""

from collections.abc import Callable, MutableSequence, Sequence

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inputs.reading_steps import new_states
from inertial_estimation.estimators.inputs.row_entry import EVERY, ROWS, SINGLE_NUMBERS, SUSPECT
from inertial_estimation.estimators.inputs.sensor_checks import (
    Quantity,
    QuantityCheck,
    QuantityWitness,
    SensorFault,
)
from inertial_estimation.estimators.inputs.stuck_columns import StuckColumns
from inertial_estimation.signals import Array

__all__ = ["FollowedInput"]


class FollowedInput:
    """What is followed of the rows of one input.

    `row_entry.accept` takes every plausible row into the states, and tells which ones have to be looked at.

    Attributes:
        states: Of the quantities, as `reading_steps.follow` changes them.
        checks: Of the quantities whose faults are recognised.
        witnesses: Of the other ones.
        last: The last plausible row; None before the first.
    """

    def __init__(self, quantities: tuple[Quantity, ...], integers: MutableSequence[int]) -> None:
        """Begin without a reading.

        Args:
            quantities: What the sensors of the input measure.
            integers: Those of the stream, as `row_entry.accept` changes them.
        """
        warm_up()
        self._n = integers
        may_fail = [quantity for quantity in quantities if quantity.may_fail]
        self.states = new_states([_constants(quantity) for quantity in may_fail])
        self.checks = tuple(map(QuantityCheck, may_fail, self.states))
        self.witnesses = tuple(QuantityWitness(quantity) for quantity in quantities if not quantity.may_fail)
        self._columns = _stuck_columns([quantity for quantity in quantities if not quantity.doubted])
        self._doubted = _stuck_columns([quantity for quantity in quantities if quantity.doubted])
        self._n[SINGLE_NUMBERS] = self._columns is not None or self._doubted is not None
        self.last: Array | None = None
        self._before: Array | None = None  # the row before the last one

    def reset(self) -> None:
        """Begin without a reading."""
        for check in self.checks:
            check.reset()
        for witness in self.witnesses:
            witness.reset()
        for columns in (self._columns, self._doubted):
            if columns is not None:
                columns.reset()
        self.last = self._before = None
        self._n[ROWS] = self._n[SUSPECT] = 0

    def passed(self, row: Array) -> None:
        """Note a plausible row that has not to be looked at, shape (width,)."""
        self._before, self.last = self.last, row
        for witness in self.witnesses:
            witness.add(row)

    def fault(self, row: Array, others_change: Callable[[QuantityCheck], bool]) -> str:
        """Look at a row; return what is wrong with its sensor, empty where nothing is.

        Args:
            row: Its numbers, taken into the states, shape (width,).
            others_change: Whether other quantities than a given one change.
        """
        last, before = self.last, self._before
        found = ""
        if last is not None:  # the first reading is not looked at
            for check in self.checks:
                check.look(row, last, others_change)
                found = found or check.text
        self.passed(row)
        due, stuck = self._n[ROWS] % EVERY == 0, ""
        if self._doubted is not None:
            self._doubted.update(row, last, before, due=due)
        if self._columns is not None:
            stuck = self._columns.update(row, last, before, due=due)
        self._n[SUSPECT] = any(each is not None and each.suspect for each in (self._columns, self._doubted))
        return found or (f"{stuck} is {SensorFault.STUCK.value}" if stuck else "")

    @property
    def doubt(self) -> str:
        """Which number is at a limit, of its sensor or of what it measures; empty for none."""
        if self._doubted is None or not self._doubted.found:
            return ""
        return f"{self._doubted.found} is exactly constant: at the limit of its sensor, or of the motor"


def _constants(quantity: Quantity) -> tuple[float, ...]:
    """Return the constants of a quantity in the order of the columns of the states."""
    columns, known = quantity.columns, (quantity.sign, quantity.stuck, quantity.zero, quantity.one_way)
    return columns.start, columns.stop, quantity.floor**2, *map(float, known)


def _stuck_columns(quantities: Sequence[Quantity]) -> StuckColumns | None:
    """Follow the named numbers of an input, whose columns are adjacent; None where none is named."""
    named = [quantity for quantity in quantities if quantity.numbers]
    if not named:
        return None
    names = [f"{quantity.name} {number}" for quantity in named for number in quantity.numbers]
    return StuckColumns(slice(named[0].columns.start, named[-1].columns.stop), names)
