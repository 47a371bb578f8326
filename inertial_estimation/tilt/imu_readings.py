"""Readings of the IMU as the observers take them: outliers replaced, noise measured, rest and clipping seen.

Statistics are updated over blocks of readings, from one look at the contacts to the next, and are those of
the means over the steps, which the observers integrate. Their noise is measured by fourth differences: they
remove what is smooth over five values. White noise of variance s^2 gives a fourth difference the variance
70 s^2, a motion at a tenth of the sampling rate 0.02 times its own. The density is s^2 times the step.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.sensors import FORCE, RATE
from inertial_estimation.signals import Array

SPIKE = 20.0  # times the rms change from one reading to the next, beyond which a change is an outlier
LEAST_SPIKE = np.repeat([20.0, 2.0], 3)  # change that is never an outlier [m/s^2, rad/s]
SPIKE_MEMORY = 1.0  # over which squared changes are averaged [s]
NOISE_GAIN = 70.0  # variance of a fourth difference over that of the readings
RATE_MEMORY = 0.5  # of the noise of the gyroscope [s]
FORCE_MEMORY = 0.1  # of that of the accelerometer [s]: impacts shake it for a tenth of a second
REST_MEMORY = 0.25  # time constant of mean and variance, by which rest is seen [s]
QUIET_RATE, QUIET_FORCE = 0.02, 0.2  # largest standard deviations of quiet readings [rad/s, m/s^2]
REST_TIME = 0.5  # for which the readings are quiet before rest is believed [s]
LARGEST_RATE = 0.05  # largest mean rate, beyond the bias, of a body that is at rest [rad/s]
CLIPPED_RATE = 1.0  # that repeats exactly, twice in a row, at the end of the gyroscope's range alone [rad/s]
KEPT = 5  # readings before a block, for its differences


class ImuStatistics(NamedTuple):
    """What the readings since the last look, and those before, show.

    Attributes:
        time: Since the last look [s].
        rate: Mean reading of the gyroscope over it [rad/s], shape (3,).
        rate_noise: Density of the gyroscope's noise, mean over its axes [rad^2/s].
        force_noise: Density of the accelerometer's noise, the same [m^2/s^3].
        rest_variance: Of the rate over the last quarter of a second, of one axis [rad^2/s^2].
        at_rest: Whether the readings have been quiet for as long as rest is believed.
        clipped: For how much of the time the gyroscope was at the end of its range, by axis [s], shape (3,).
    """

    time: float
    rate: Array
    rate_noise: float
    force_noise: float
    rest_variance: float
    at_rest: bool
    clipped: Array


class ImuReadings:
    """Takes the readings of an IMU one by one, and their statistics block by block.

    Attributes:
        now: The last reading, outliers replaced, shape (6,); None before the first.
        seen: Statistics at the last look.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all readings."""
        self.now: Array | None = None
        self._replaced = False
        self._take_largest(LEAST_SPIKE)
        self._rows: list[Array] = []  # those kept, then the block
        self._new, self._time, self._quiet = 0, 0.0, 0.0  # readings of the block, its time; of quiet [s]
        self._change, self._mean, self._variance = np.zeros(6), np.zeros(6), np.zeros(6)
        self.seen = ImuStatistics(0.0, np.zeros(3), 0.0, 0.0, 0.0, False, np.zeros(3))

    def add(self, h: float, reading: Array) -> Array:
        """Take a reading; return the mean over the step before it, shape (6,).

        A reading far from the one before is replaced by that one; a second one as far is believed.

        Args:
            h: Time since the one before [s].
            reading: Specific force then angular rate [m/s^2, rad/s], shape (6,).
        """
        last = self.now
        if last is None:
            self.now, self._mean = reading, reading.copy()
            self._rows.append(reading)
            return reading
        change = reading - last
        far = change.dot(change) > self._near and bool((np.abs(change) > self._largest).any())
        self._replaced = far and not self._replaced
        self.now = last if self._replaced else reading
        self._rows.append(self.now)
        self._new, self._time = self._new + 1, self._time + h
        mean: Array = last + self.now
        mean *= 0.5
        return mean

    def _take_largest(self, change: Array) -> None:
        """Take the change beyond which a reading is an outlier, and a squared norm of one that is none."""
        self._largest, self._near = change, float(change.min()) ** 2

    def look(self, bias: Array) -> ImuStatistics:
        """Return the statistics, and begin a new block.

        Args:
            bias: Of the gyroscope [rad/s], shape (3,).
        """
        rows, time, n = np.array(self._rows), self._time, self._new
        self._rows, self._time, self._new = self._rows[-KEPT:], 0.0, 0
        average, changes = np.full(n, 1.0 / n), rows[-n:] - rows[-n - 1 : -1]
        means = 0.5 * (rows[1:] + rows[:-1])
        self._change += _gain(time, SPIKE_MEMORY) * (average @ (changes * changes) - self._change)
        self._take_largest(np.maximum(SPIKE * np.sqrt(self._change), LEAST_SPIKE))
        force_noise, rate_noise = self._noise(means, time / n, time)
        mean, gain = average @ means[-n:], _gain(time, REST_MEMORY)
        d, inside = mean - self._mean, means[-n:] - mean
        self._mean += gain * d
        self._variance += gain * ((1.0 - gain) * d * d + average @ (inside * inside) - self._variance)
        variance = self._variance.tolist()
        turning = max(abs(w) for w in (self._mean[RATE] - bias).tolist()) > LARGEST_RATE
        quiet = max(variance[FORCE]) < QUIET_FORCE**2 and max(variance[RATE]) < QUIET_RATE**2 and not turning
        self._quiet = self._quiet + time if quiet else 0.0
        rest_variance, at_rest = sum(variance[RATE]) / 3.0, self._quiet > REST_TIME
        clipped = (time / n) * _repeated(rows[:, RATE], n)
        self.seen = ImuStatistics(time, mean[RATE], rate_noise, force_noise, rest_variance, at_rest, clipped)
        return self.seen

    def _noise(self, x: Array, h: float, time: float) -> tuple[float, float]:
        """Return the noise densities of accelerometer and gyroscope after a block of some time [s]."""
        force, rate = self.seen.force_noise, self.seen.rate_noise
        if len(x) < KEPT:
            return force, rate
        d = x[4:] - 4.0 * (x[3:-1] + x[1:-3]) + 6.0 * x[2:-2] + x[:-4]
        scale = h / (NOISE_GAIN * 3 * len(d))  # mean over three axes, and over the block
        power_f, power_r = (float(part.dot(part)) for part in (d[:, FORCE].ravel(), d[:, RATE].ravel()))
        force += _gain(time, FORCE_MEMORY) * (scale * power_f - force)
        rate += _gain(time, RATE_MEMORY) * (scale * power_r - rate)
        return force, rate


def _gain(time: float, memory: float) -> float:
    return 1.0 - math.exp(-time / memory)


def _repeated(rates: Array, n: int) -> Array:
    """Return how many of the last n rates are large and repeat the two before, by axis, shape (3,)."""
    large = np.abs(rates[-n:]) > CLIPPED_RATE
    if not large.any() or len(rates) < n + 2:
        return np.zeros(3)
    same = rates[1:] == rates[:-1]
    found: Array = (large & same[-n:] & same[-n - 1 : -1]).sum(axis=0)
    return found
