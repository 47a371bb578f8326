"""What a user asks of the controller."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import MeasurementError

__all__ = ["BaseReference", "WalkCommand"]


@dataclass(frozen=True, slots=True)
class BaseReference:
    """Where the base should be.

    Attributes:
        height: Height of the base origin above the soles [m].
        roll: Rotation about the x axis [rad].
        pitch: Rotation about the y axis, positive leans forward [rad].
        height_rate: Rate of the height [m/s]; zero for a fixed target.
        roll_rate: Rate of the roll [rad/s].
        pitch_rate: Rate of the pitch [rad/s].
    """

    height: float
    roll: float = 0.0
    pitch: float = 0.0
    height_rate: float = 0.0
    roll_rate: float = 0.0
    pitch_rate: float = 0.0

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in self.__slots__]
        if not np.isfinite(values).all():
            raise MeasurementError(f"base reference {values} is not finite")


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
