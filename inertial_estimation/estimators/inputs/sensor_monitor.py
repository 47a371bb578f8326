"""Sensor faults of all inputs, so that their readings are dropped rather than believed."""

from collections.abc import Sequence

from inertial_estimation.estimators.inputs.followed_input import FollowedInput
from inertial_estimation.estimators.inputs.sensor_checks import QuantityCheck
from inertial_estimation.signals import Array


class SensorMonitor:
    """Looks at the rows of all inputs that are not usual.

    A quantity that is exactly constant is at fault only while another input changes: all inputs of a robot at
    rest in a simulation without noise are constant.
    """

    def __init__(self, inputs: Sequence[FollowedInput]) -> None:
        """Take what is followed of each input."""
        self._inputs = tuple(inputs)

    def clear(self) -> None:
        """Forget all readings, as after a jump of the clock."""
        for followed in self._inputs:
            followed.reset()

    def fault(self, followed: FollowedInput, row: Array) -> str:
        """Look at a row of an input; return what is wrong with its sensor, empty where nothing is.

        Args:
            followed: What is followed of the input.
            row: Its numbers, finite and within their range, taken into the states, shape (width,).
        """
        return followed.fault(row, self._others_change)

    def _others_change(self, own: QuantityCheck) -> bool:
        """Whether another quantity changes from reading to reading."""
        return any(
            any(check.changes for check in followed.checks if check is not own)
            or any(witness.changes for witness in followed.witnesses)
            for followed in self._inputs
        )
