"""A foot whose force alone has changed: a fault of its sensors, for a load rests on several feet."""

import numpy as np

from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading
from inertial_estimation.signals import Array

FEWEST_FEET = 3  # two feet may share a change in any way: the load may be above one of them
LONE_SHARE = 0.9  # of the sum of all feet's changes, from which on one foot has changed alone


class LoneFoot:
    """Compares the vertical forces of the feet with those at the last rest without a difference.

    A load anywhere on the trunk changes the forces of several feet, by amounts that depend on where it is
    and on how stiff the legs are. A wrench sensor that fails, or an effort sensor of one leg, changes one.

    Attributes:
        foot: Position of the foot in the order of the contacts; None where no foot stands out.
    """

    def __init__(self) -> None:
        """Begin without forces to compare with."""
        self.foot: int | None = None
        self._usual: Array | None = None

    def confirm(self, reading: TrunkReading) -> None:
        """Take the forces of a reading that shows what is expected."""
        self.foot = None
        self._usual = reading.measurement.forces_W[:, 2]

    def stands_out(self, reading: TrunkReading) -> bool:
        """Return whether one foot's force alone has changed in a reading that differs; `foot` is set.

        Args:
            reading: The reading.
        """
        forces = reading.measurement.forces_W[:, 2]
        self.foot = None
        if self._usual is None or len(forces) < FEWEST_FEET:
            return False
        changes = np.abs(forces - self._usual)
        foot = int(np.argmax(changes))
        if changes[foot] > LONE_SHARE * changes.sum():
            self.foot = foot
        return self.foot is not None
