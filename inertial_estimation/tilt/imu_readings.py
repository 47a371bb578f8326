"""Readings of the IMU for the observers: outliers replaced, noise measured, rest and clipping detected.

Statistics are updated over blocks of readings, from one look at the contacts to the next; they are those of
the means over the steps, which the observers integrate. Their noise is measured by fourth differences, which
remove whatever is smooth over five values. White noise of variance s^2 gives a fourth difference the variance
70 s^2, a motion at a tenth of the sampling rate 0.02 times its own. The noise density is s^2 times the step.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import MutableColumn, Table, compiled, inlined
from inertial_estimation.inputs.sensors import FORCE, RATE
from inertial_estimation.signals import Array

SPIKE = 20.0  # least change of an outlier between two readings, in rms changes
LEAST_SPIKE = np.repeat([20.0, 2.0], 3)  # least change of an outlier in any case [m/s^2, rad/s]
SPIKE_MEMORY = 1.0  # averaging time of squared changes [s]
NOISE_GAIN = 70.0  # variance of a fourth difference over that of the readings
RATE_MEMORY = 0.5  # averaging time of the noise of the gyroscope [s]
FORCE_MEMORY = 0.1  # averaging time of the noise of the accelerometer: impacts shake it as long [s]
REST_MEMORY = 0.25  # averaging time of mean and variance, by which rest is detected [s]
QUIET_RATE, QUIET_FORCE = 0.02, 0.2  # largest standard deviations of quiet readings [rad/s, m/s^2]
REST_TIME = 0.5  # time for which readings must be quiet before the robot counts as at rest [s]
LARGEST_RATE = 0.05  # largest mean rate, beyond the bias, of a body at rest [rad/s]
CLIPPED_RATE = 1.0  # least rate of clipping: above it only the end of the range repeats exactly [rad/s]
KEPT = 5  # readings before a block that its differences need


class ImuStatistics(NamedTuple):
    """Statistics of the readings at a look.

    Attributes:
        time: Time since the last look [s].
        rate: Mean reading of the gyroscope over this time [rad/s], shape (3,).
        rate_noise: Density of the gyroscope's noise, mean over its axes [rad^2/s].
        force_noise: Density of the accelerometer's noise, mean over its axes [m^2/s^3].
        rest_variance: Variance of the rate over a quarter of a second, mean over its axes [rad^2/s^2].
        at_rest: Whether the readings have been quiet for `REST_TIME`.
        clipped: Time that the gyroscope was at the end of its range, by axis [s], shape (3,).
    """

    time: float
    rate: Array
    rate_noise: float
    force_noise: float
    rest_variance: float
    at_rest: bool
    clipped: Array


class ImuMemory(NamedTuple):
    """Exponentially weighted statistics of each axis; changed in place.

    Attributes:
        change: Mean square of the change between two readings, shape (6,).
        mean: Mean, shape (6,).
        variance: Variance, shape (6,).
        noise: Noise density, shape (6,).
        clipped: Share of the last block at the end of the range, shape (6,).
    """

    change: MutableColumn
    mean: MutableColumn
    variance: MutableColumn
    noise: MutableColumn
    clipped: MutableColumn


@inlined
def gain(time: float, memory: float) -> float:
    """Return the weight of new data over a time [s] in an exponential mean with a time constant [s]."""
    return 1.0 - math.exp(-time / memory)


@compiled
def take_block(rows: Table, n: int, time: float, mean: MutableColumn, memory: ImuMemory) -> None:
    """Update the statistics by a block of readings.

    Args:
        rows: Up to `KEPT` readings before the block, at least one, then those of the block, shape (k, 6).
        n: Number of readings of the block.
        time: Duration of the block [s].
        mean: Mean over the steps of the block, shape (6,); changed.
        memory: Statistics; changed.
    """
    k, average = len(rows), 1.0 / n
    rest = gain(time, REST_MEMORY)
    for i in range(6):
        change, shift, square, power, repeated = 0.0, 0.0, 0.0, 0.0, 0
        for j in range(k - n, k):
            step = rows[j, i] - rows[j - 1, i]
            d = rows[j, i] - 0.5 * step - memory.mean[i]
            change, shift, square = change + step * step, shift + d, square + d * d
            same = step == 0.0 and rows[j - 1, i] == rows[j - 2, i]
            repeated += same and k > n + 1 and abs(rows[j, i]) > CLIPPED_RATE
        shift *= average
        inside = average * square - shift * shift
        mean[i] = memory.mean[i] + shift
        memory.change[i] += gain(time, SPIKE_MEMORY) * (average * change - memory.change[i])
        memory.mean[i] += rest * shift
        memory.variance[i] += rest * ((1.0 - rest) * shift * shift + inside - memory.variance[i])
        memory.clipped[i] = average * repeated
        if k > KEPT:
            for j in range(KEPT, k):
                outer, middle = rows[j, i] + rows[j - 5, i], rows[j - 2, i] + rows[j - 3, i]
                d = 0.5 * outer - 1.5 * (rows[j - 1, i] + rows[j - 4, i]) + middle
                power += d * d
            density = time / n * power / (NOISE_GAIN * (k - KEPT))
            memory.noise[i] += gain(time, FORCE_MEMORY if i < 3 else RATE_MEMORY) * (
                density - memory.noise[i]
            )


class ImuReadings:
    """Processes the readings of an IMU one by one, and their statistics block by block.

    The mean over a step is that of the readings at both of its ends, since joints and contacts are read at
    their stamps. For an IMU alone it is the reading at the end, which the low-pass filter of the sensor makes
    a mean over the step, or a later one; vertical and velocity are then those of half a step later.

    Attributes:
        now: The last reading, outliers replaced, shape (6,); None before the first.
        seen: Statistics at the last look.
    """

    def __init__(self, *, are_means: bool = False) -> None:
        """Start without a reading; a reading is the mean over the step before it if `are_means`."""
        self._are_means = are_means
        self.reset()

    def reset(self) -> None:
        """Discard all readings."""
        self.now: Array | None = None
        self._replaced = False
        self._take_largest(LEAST_SPIKE)
        self._rows: list[Array] = []  # up to `KEPT` earlier readings, then those of the block
        self._new, self._time, self._quiet = 0, 0.0, 0.0  # readings of the block; its time, quiet time [s]
        self._memory = ImuMemory(*(np.zeros(6) for _ in ImuMemory._fields))
        self.seen = ImuStatistics(0.0, np.zeros(3), 0.0, 0.0, 0.0, False, np.zeros(3))

    def add(self, h: float, reading: Array) -> Array:
        """Take a reading; return the mean over the step before it, shape (6,).

        A reading far from the previous one is replaced by the previous one; the next one is accepted.

        Args:
            h: Time since the previous reading [s].
            reading: Specific force then angular rate [m/s^2, rad/s], shape (6,).
        """
        last = self.now
        if last is None:
            self.now, self._memory.mean[:] = reading, reading
            self._rows.append(reading)
            return reading
        change = reading - last
        far = change.dot(change) > self._near and bool((np.abs(change) > self._largest).any())
        self._replaced = far and not self._replaced
        self.now = last if self._replaced else reading
        self._rows.append(self.now)
        self._new, self._time = self._new + 1, self._time + h
        return self.now if self._are_means else 0.5 * (last + self.now)

    def _take_largest(self, change: Array) -> None:
        """Set the change beyond which a reading is an outlier, and a squared norm below which none is."""
        self._largest, self._near = change, min(change.tolist()) ** 2

    def look(self, bias: Array) -> ImuStatistics:
        """Return the statistics, and start a new block.

        Args:
            bias: Bias of the gyroscope [rad/s], shape (3,).
        """
        rows, time, n, mean, memory = np.array(self._rows), self._time, self._new, np.empty(6), self._memory
        self._rows, self._time, self._new = self._rows[-KEPT:], 0.0, 0
        take_block(rows, n, time, mean, memory)
        self._take_largest(np.maximum(SPIKE * np.sqrt(memory.change), LEAST_SPIKE))
        variance, noise = memory.variance.tolist(), memory.noise.tolist()
        turning = max(abs(w) for w in (memory.mean[RATE] - bias).tolist()) > LARGEST_RATE
        quiet = max(variance[FORCE]) < QUIET_FORCE**2 and max(variance[RATE]) < QUIET_RATE**2 and not turning
        self._quiet = self._quiet + time if quiet else 0.0
        of_axes = noise[RATE], noise[FORCE], variance[RATE]
        rate_noise, force_noise, rest_variance = (sum(values) / 3.0 for values in of_axes)
        at_rest, clipped = self._quiet > REST_TIME, time * memory.clipped[RATE]
        self.seen = ImuStatistics(time, mean[RATE], rate_noise, force_noise, rest_variance, at_rest, clipped)
        return self.seen
