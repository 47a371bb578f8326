"""Sensor faults of all inputs, so that their readings are dropped rather than believed."""

from collections.abc import Callable, Mapping, Sequence

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inputs.reading_steps import follow, new_states
from inertial_estimation.estimators.inputs.sensor_checks import (
    Quantity,
    QuantityCheck,
    QuantityWitness,
    SensorFault,
)
from inertial_estimation.estimators.inputs.stuck_columns import StuckColumns
from inertial_estimation.signals import Array

__all__ = ["SensorMonitor"]


class SensorMonitor:
    """Follows the quantities of each input.

    A quantity that is exactly constant is at fault only while another input changes: all inputs of a robot at
    rest in a simulation without noise are constant.
    """

    def __init__(self, quantities: Mapping[str, tuple[Quantity, ...]]) -> None:
        """Begin without a reading.

        Args:
            quantities: Of each input, by its name; inputs without an entry are not followed.
        """
        self._inputs = {name: _FollowedInput(of_input) for name, of_input in quantities.items() if of_input}

    def clear(self) -> None:
        """Forget all readings, as after a jump of the clock."""
        for followed in self._inputs.values():
            followed.reset()

    def fault(self, stream: str, row: Array) -> str:
        """Take a row of an input; return what is wrong with its sensor, empty where nothing is.

        Args:
            stream: Name of the input.
            row: Its numbers, finite and within their range, shape (width,).
        """
        followed = self._inputs.get(stream)
        return "" if followed is None else followed.fault(row, self._others_change)

    def doubt(self, stream: str) -> str:
        """Say which number of an input's last row is doubtful although it is used; empty for none."""
        followed = self._inputs.get(stream)
        return "" if followed is None else followed.doubt

    def _others_change(self, own: QuantityCheck) -> bool:
        """Whether another quantity changes from reading to reading."""
        return any(
            any(check.changes for check in followed.checks if check is not own)
            or any(witness.changes for witness in followed.witnesses)
            for followed in self._inputs.values()
        )


class _FollowedInput:
    """What is followed of the rows of one input.

    Attributes:
        checks: Of the quantities that can be told to be at fault.
        witnesses: Of the other ones.
    """

    def __init__(self, quantities: tuple[Quantity, ...]) -> None:
        warm_up()
        may_fail = [quantity for quantity in quantities if quantity.may_fail]
        self._states = new_states([_constants(quantity) for quantity in may_fail])
        self.checks = tuple(map(QuantityCheck, may_fail, self._states))
        self.witnesses = tuple(QuantityWitness(quantity) for quantity in quantities if not quantity.may_fail)
        self._columns = _stuck_columns([quantity for quantity in quantities if not quantity.doubted])
        self._doubted = _stuck_columns([quantity for quantity in quantities if quantity.doubted])
        self._last: Array | None = None
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
        self._last = self._before = None

    def fault(self, row: Array, others_change: Callable[[QuantityCheck], bool]) -> str:
        """Take a row; return what is wrong with its sensor, empty where nothing is.

        Args:
            row: Its numbers, shape (width,).
            others_change: Whether other quantities than a given one change.
        """
        last, before = self._last, self._before
        self._last, self._before = row, last
        found = ""
        if self.checks and follow(row, row if last is None else last, self._states):
            assert last is not None, "the first reading is not looked at"
            for check in self.checks:
                check.look(row, last, others_change)
                found = found or check.text
        for witness in self.witnesses:
            witness.add(row)
        if self._doubted is not None:
            self._doubted.update(row, last, before)
        stuck = "" if self._columns is None else self._columns.update(row, last, before)
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
