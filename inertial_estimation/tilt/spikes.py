"""Single readings of an IMU that are outliers, as a lost bit of a bus gives."""

import math

import numpy as np

from inertial_estimation.signals import Array

FACTOR = 20.0  # times the rms change from one reading to the next, beyond which a change is an outlier
LEAST = np.repeat([20.0, 2.0], 3)  # change that is never an outlier, specific force and rate [m/s^2, rad/s]
MEMORY = 1.0  # over which squared changes are averaged [s]


class SpikeGuard:
    """Replaces a reading far from the one before by that one; a second one as far is believed."""

    def __init__(self) -> None:
        """Begin without a reading."""
        self._last: Array | None = None
        self._power, self._replaced = np.zeros(6), False

    def checked(self, h: float, reading: Array) -> Array:
        """Return the reading, or the one before in the place of an outlier.

        Args:
            h: Time since the one before [s].
            reading: Specific force then angular rate [m/s^2, rad/s], shape (6,).
        """
        if self._last is None:
            self._last = reading
            return reading
        change = np.abs(reading - self._last)
        far = bool((change > np.maximum(FACTOR * np.sqrt(self._power), LEAST)).any())
        if far and not self._replaced:
            self._replaced = True
            return self._last
        self._power += (1.0 - math.exp(-h / MEMORY)) * (change**2 - self._power)
        self._last, self._replaced = reading, False
        return reading
