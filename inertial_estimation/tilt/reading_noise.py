"""Noise densities of gyroscope and accelerometer, measured by the fourth differences of their readings.

A fourth difference removes what is smooth over five readings: white noise of variance s^2 gives it the
variance
70 s^2, a motion at a tenth of the sampling rate 0.02 times its own. The density is s^2 times the step.
"""

import math

import numpy as np

from inertial_estimation.signals import Array

COEFFICIENTS = np.array([1.0, -4.0, 6.0, -4.0, 1.0])
GAIN = float(COEFFICIENTS @ COEFFICIENTS)  # variance of the difference over that of the readings
RATE_MEMORY, FORCE_MEMORY = 0.5, 0.1  # [s]; impacts shake the accelerometer for a tenth of a second


class ReadingNoise:
    """Densities of the white noise of an IMU, means over the three axes.

    Attributes:
        rate: Of the gyroscope [rad^2/s].
        force: Of the accelerometer [m^2/s^3].
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self.rate = self.force = 0.0
        self._readings = np.zeros((len(COEFFICIENTS), 6))
        self._count = self._next = 0
        self._turned = [np.roll(COEFFICIENTS, k) for k in range(len(COEFFICIENTS))]

    def add(self, h: float, reading: Array) -> None:
        """Take one reading.

        Args:
            h: Time since the one before [s].
            reading: Specific force then angular rate [m/s^2, rad/s], shape (6,).
        """
        self._readings[self._next] = reading
        self._next = (self._next + 1) % len(COEFFICIENTS)
        self._count += 1
        if self._count < len(COEFFICIENTS):
            return
        d = self._turned[self._next] @ self._readings
        scale = h / (3.0 * GAIN)
        self.force += (1.0 - math.exp(-h / FORCE_MEMORY)) * (scale * float(d[:3] @ d[:3]) - self.force)
        self.rate += (1.0 - math.exp(-h / RATE_MEMORY)) * (scale * float(d[3:] @ d[3:]) - self.rate)
