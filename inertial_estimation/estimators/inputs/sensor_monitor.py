"""Sensor faults of all inputs, so that their readings are dropped rather than believed."""

from collections.abc import Mapping

from inertial_estimation.estimators.inputs.sensor_checks import (
    Quantity,
    QuantityCheck,
    QuantityWitness,
    SensorFault,
    VectorCheck,
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
        if followed is None:
            return ""
        found, others_change = "", self._others_change
        for check in followed.checks:
            if check.update(row, others_change) is not None:
                found = found or check.text
        for witness in followed.witnesses:
            witness.add(row)
        columns = followed.columns
        stuck = "" if columns is None else columns.update(row)
        return found or (f"{stuck} is {SensorFault.STUCK.value}" if stuck else "")

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
        columns: Follows the numbers that have names; None where none has.
    """

    def __init__(self, quantities: tuple[Quantity, ...]) -> None:
        self.checks = tuple(_check(quantity) for quantity in quantities if quantity.may_fail)
        self.witnesses = tuple(QuantityWitness(quantity) for quantity in quantities if not quantity.may_fail)
        self.columns = _stuck_columns(quantities)

    def reset(self) -> None:
        """Begin without a reading."""
        for check in self.checks:
            check.reset()
        for witness in self.witnesses:
            witness.reset()
        if self.columns is not None:
            self.columns.reset()


def _check(quantity: Quantity) -> QuantityCheck:
    columns = quantity.columns
    return VectorCheck(quantity) if columns.stop - columns.start == 3 else QuantityCheck(quantity)


def _stuck_columns(quantities: tuple[Quantity, ...]) -> StuckColumns | None:
    """Follow the named numbers of an input, whose columns are adjacent; None where none is named."""
    named = [quantity for quantity in quantities if quantity.numbers]
    if not named:
        return None
    names = [f"{quantity.name} {number}" for quantity in named for number in quantity.numbers]
    return StuckColumns(slice(named[0].columns.start, named[-1].columns.stop), names)
