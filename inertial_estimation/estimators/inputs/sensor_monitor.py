"""Sensor faults of all inputs, so that their readings are dropped rather than believed."""

from collections.abc import Mapping

from inertial_estimation.estimators.inputs.sensor_checks import Quantity, QuantityCheck, SensorFault
from inertial_estimation.estimators.inputs.stuck_columns import StuckColumns
from inertial_estimation.signals import Array

__all__ = ["SensorMonitor"]

READINGS_AT_REST = 3  # consecutive equal readings of an input that does not change


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
        self._checks = {
            name: tuple(QuantityCheck(quantity) for quantity in of_input)
            for name, of_input in quantities.items()
            if of_input
        }
        found = {name: _stuck_columns(of_input) for name, of_input in quantities.items()}
        self._columns = {name: columns for name, columns in found.items() if columns is not None}

    def clear(self) -> None:
        """Forget all readings, as after a jump of the clock."""
        for checks in self._checks.values():
            for check in checks:
                check.reset()
        for columns in self._columns.values():
            columns.reset()

    def fault(self, stream: str, row: Array) -> str:
        """Take a row of an input; return what is wrong with its sensor, empty where nothing is.

        Args:
            stream: Name of the input.
            row: Its numbers, finite and within their range, shape (width,).
        """
        checks = self._checks.get(stream)
        if checks is None:
            return ""
        found = ""
        for check in checks:
            if check.update(row, self._others_change) is not None:
                found = found or check.text
        columns = self._columns.get(stream)
        stuck = "" if columns is None else columns.update(row)
        return found or (f"{stuck} is {SensorFault.STUCK.value}" if stuck else "")

    def _others_change(self, own: QuantityCheck) -> bool:
        """Whether another quantity changes from reading to reading."""
        return any(
            check.changes(READINGS_AT_REST)
            for checks in self._checks.values()
            for check in checks
            if check is not own
        )


def _stuck_columns(quantities: tuple[Quantity, ...]) -> StuckColumns | None:
    """Follow the named numbers of an input, whose columns are adjacent; None where none is named."""
    named = [quantity for quantity in quantities if quantity.numbers]
    if not named:
        return None
    names = [f"{quantity.name} {number}" for quantity in named for number in quantity.numbers]
    return StuckColumns(slice(named[0].columns.start, named[-1].columns.stop), names)
