"""Whether a robot is at rest, by the quiet of its IMU."""

import math

import numpy as np

from inertial_estimation.signals import Array

MEMORY = 0.25  # time constant of mean and variance [s]
QUIET_RATE, QUIET_FORCE = 0.02, 0.2  # largest standard deviations of quiet readings [rad/s, m/s^2]
REST_TIME = 0.5  # for which the readings are quiet before rest is believed [s]
LARGEST_RATE = 0.05  # largest mean rate, beyond the bias, of a body that is at rest [rad/s]


class RestDetector:
    """Mean and variance of the readings, and how long they have been quiet.

    Attributes:
        duration: Time for which the readings have been quiet [s].
        rate: Mean reading of the gyroscope [rad/s], shape (3,).
        rate_variance: Its variance, of one axis [rad^2/s^2].
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self.duration, self.rate, self.rate_variance = 0.0, np.zeros(3), 0.0
        self._mean: Array | None = None
        self._variance = np.zeros(6)

    def add(self, h: float, reading: Array, bias: Array) -> None:
        """Take one reading.

        Args:
            h: Time since the one before [s].
            reading: Specific force then angular rate [m/s^2, rad/s], shape (6,).
            bias: Of the gyroscope [rad/s], shape (3,).
        """
        if self._mean is None:
            self._mean = np.array(reading)
        gain = 1.0 - math.exp(-h / MEMORY)
        d = reading - self._mean
        self._mean += gain * d
        self._variance += gain * ((1.0 - gain) * d * d - self._variance)
        force, rate = math.sqrt(self._variance[:3].max()), math.sqrt(self._variance[3:].max())
        self.rate, self.rate_variance = self._mean[3:], float(self._variance[3:].mean())
        turning = float(np.abs(self.rate - bias).max()) > LARGEST_RATE
        quiet = force < QUIET_FORCE and rate < QUIET_RATE and not turning
        self.duration = self.duration + h if quiet else 0.0
