"""Vertical and velocity of an IMU in motion by least squares over a window.

In a frame that turns with the gyroscope from the start of the window on, v(t) = v0 + F(t) - g0 t z with the
integrated specific force F, the velocity v0 and the vertical z at the start. Every measured velocity y gives
d(t) = F(t) - y(t) = -v0 + g0 t z: a straight line, whose slope is the vertical. Unlike the mean of the
accelerometer, which the mean acceleration of the window turns, it is exact in any motion. Older samples are
forgotten exponentially.
"""

import math

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    add,
    combine,
    dot,
    norm,
    product,
    rotation,
    times,
    transposed_times,
)

LEAST_SAMPLES = 8
CORRELATED = 0.1  # time over which errors of the contact velocity are alike [s]
MEMORY = 1.0  # time constant with which samples are forgotten [s]


class VerticalFit:
    """Least squares line through the velocities that gravity has added since the start.

    Attributes:
        duration: Time since the first sample [s].
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self.duration = 0.0
        self._begun = False
        self._R: Matrix = IDENTITY  # from the present IMU frame to the one at the start
        self._F: Vector = ZERO
        self._samples = 0
        self._n, self._t, self._tt, self._dd = 0.0, 0.0, 0.0, 0.0
        self._d: Vector = ZERO
        self._td: Vector = ZERO

    def add(self, h: float, force: Vector, rate: Vector) -> None:
        """Integrate over one step.

        Args:
            h: Duration of the step [s]; not used at the first, which sets the start.
            force: Specific force, mean over the step [m/s^2].
            rate: Angular rate, bias removed, mean over the step [rad/s].
        """
        if self._begun:
            self.duration += h
            half = rotation((0.5 * h * rate[0], 0.5 * h * rate[1], 0.5 * h * rate[2]))
            middle = product(self._R, half)
            self._F = combine(self._F, h, times(middle, force))
            self._R = product(middle, half)
        self._begun = True

    def measure(self, h: float, y_v: Vector) -> None:
        """Add a velocity at the present time, the end of the last step.

        Args:
            h: Duration of the step that it ends [s].
            y_v: Velocity of the IMU in its frame from contacts [m/s].
        """
        self._forget(math.exp(-h / MEMORY))
        t, d = self.duration, self._added_by_gravity(y_v)
        self._samples += 1
        self._n += 1.0
        self._t += t
        self._tt += t * t
        self._dd += dot(d, d)
        self._d = add(self._d, d)
        self._td = combine(self._td, t, d)

    def _forget(self, keep: float) -> None:
        d, td = self._d, self._td
        self._n *= keep
        self._t *= keep
        self._tt *= keep
        self._dd *= keep
        self._d = (keep * d[0], keep * d[1], keep * d[2])
        self._td = (keep * td[0], keep * td[1], keep * td[2])

    @property
    def determined(self) -> bool:
        """Whether there are samples enough for a line."""
        return self._samples >= LEAST_SAMPLES and self._spread > 0.0

    def solve(self) -> tuple[Vector, Vector]:
        """Return velocity [m/s] and vertical in the present IMU frame.

        The vertical has the length |slope|/g0, which is 1 for readings that agree; only for `determined`.
        """
        slope, start = self._line()
        now = combine(combine(self._F, -self.duration, slope), -1.0, start)
        scale = 1.0 / STANDARD_GRAVITY
        up = (scale * slope[0], scale * slope[1], scale * slope[2])
        return transposed_times(self._R, now), transposed_times(self._R, up)

    def scatter(self) -> float:
        """Root mean square distance of the velocities from the line, of each axis [m/s]."""
        slope, _ = self._line()
        n = self._n
        left = self._dd - dot(self._d, self._d) / n - dot(slope, slope) * self._spread
        return math.sqrt(max(left, 0.0) / (3.0 * max(n - 2.0, 1.0)))

    def sigma(self) -> float:
        """Standard deviation of the vertical's direction from the scatter about the line [rad].

        Errors of the contact velocity last for a good part of a step of the gait: samples within `CORRELATED`
        count as one, however fast they arrive.
        """
        together = max(1.0, CORRELATED * self._samples / max(self.duration, CORRELATED))
        return self.scatter() / (math.sqrt(self._spread / together) * STANDARD_GRAVITY)

    def misfit(self, y_v: Vector) -> float:
        """Return the distance of a velocity at the present time from the line [m/s].

        Args:
            y_v: Velocity of the IMU in its frame from contacts [m/s].
        """
        slope, start = self._line()
        d = self._added_by_gravity(y_v)
        return norm(combine(combine(d, -self.duration, slope), -1.0, start))

    def _added_by_gravity(self, y_v: Vector) -> Vector:
        """D = F - y in the frame at the start, the point of a velocity at the present time [m/s]."""
        y = times(self._R, y_v)
        return self._F[0] - y[0], self._F[1] - y[1], self._F[2] - y[2]

    @property
    def _spread(self) -> float:
        """Sum of squared distances of the times from their mean [s^2]."""
        return self._tt - self._t * self._t / self._n

    def _line(self) -> tuple[Vector, Vector]:
        """Slope [m/s^2] and value at the start [m/s]."""
        share = 1.0 / self._n
        covariance = combine(self._td, -self._t * share, self._d)
        scale = 1.0 / self._spread
        slope = (scale * covariance[0], scale * covariance[1], scale * covariance[2])
        start = combine(self._d, -self._t, slope)
        return slope, (share * start[0], share * start[1], share * start[2])
