"""Requests of a user to the controller."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import MeasurementError


@dataclass(frozen=True, slots=True)
class WalkCommand:
    """Steps to take from now on; replaces what is left of an earlier command.

    Attributes:
        steps: Number of steps; 0 stops after the step that is under way.
        length: Distance of one step forward [m]; 0: in place. The last step closes the feet.
    """

    steps: int
    length: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 0 or not np.isfinite(self.length):
            raise MeasurementError(
                f"walk command of {self.steps} steps of {self.length} m, expected 0 or more steps of a "
                "finite length"
            )
