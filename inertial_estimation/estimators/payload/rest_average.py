"""Mean of the readings of one stretch of rest."""

import math

import numpy as np

from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading
from inertial_estimation.signals import Array


class RestAverage:
    """Averages mass and centre of mass.

    Attributes:
        duration: Time averaged over [s].
    """

    def __init__(self) -> None:
        self.duration = 0.0
        self._count = 0
        self._mass = self._spread = 0.0
        self._com_B: Array = np.zeros(3)

    def add(self, reading: TrunkReading, dt: float) -> None:
        """Add a reading that represents dt [s]."""
        self.duration += dt
        self._count += 1
        before = reading.mass - self._mass
        self._mass += before / self._count
        self._spread += before * (reading.mass - self._mass)
        self._com_B = self._com_B + (reading.com_B - self._com_B) / self._count

    @property
    def mass(self) -> float:
        """Mean mass of the trunk [kg]."""
        return self._mass

    @property
    def com_B(self) -> Array:
        """Mean centre of mass across gravity, base frame [m], shape (3,)."""
        return self._com_B

    def mass_sigma(self, window: float) -> float:
        """Return the standard deviation of the mean mass [kg], of noise alone.

        Args:
            window: Length of the windows the readings are means of [s]; they overlap, so only as many are
                independent as fit into the duration.
        """
        if self._count < 2:
            return math.inf
        independent = max(1.0, min(float(self._count), self.duration / window))
        return math.sqrt(self._spread / (self._count - 1) / independent)
