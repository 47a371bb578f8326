"""Initial alignment: velocity and vertical by least squares over a short window of any motion.

It is used at the start and after a gap. In the frame of the IMU at the start of the window, to which the
gyroscope rotates all later vectors, the velocity is

    v(t) = v(0) + F(t) - t gamma,   F(t) = int f dt,   gamma = g z.

Every velocity y measured by contacts gives a row y - F(t) = v(0) - t gamma for the two unknown vectors: a
straight line whose slope is gravity. Without contacts, gamma is the mean specific force, as at rest. If its
size is not that of gravity, the vertical is unknown: the driver subtracts gravity, or the robot falls.
"""

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3

STARTUP = 0.3  # length of the window, during which nothing is published [s]
UNKNOWN_SPEED = 1.0  # prior standard deviation of a velocity [m/s]
ACCELERATION_SIGMA = 1.0  # prior standard deviation of gamma minus the mean specific force [m/s^2]
CONTACT_SIGMA = 0.1  # standard deviation of a contact velocity [m/s]
OTHER_SIZE = 0.5  # least relative difference of |gamma| from gravity, with which the alignment fails


class InitialAlignment:
    """Accumulates the normal equations of one window.

    Attributes:
        time: Time since the start of the window [s].
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._R = np.eye(3)  # orientation of the present frame in that of the start
        self._F = np.zeros(3)
        self._normal = np.diag([1.0 / UNKNOWN_SPEED**2, 1.0 / ACCELERATION_SIGMA**2])
        self._right = np.zeros((2, 3))

    def propagate(self, h: float, rate: Array, force: Array) -> None:
        """Integrate the mean readings over a step.

        Args:
            h: Duration of the step [s].
            rate: Angular rate without bias [rad/s], shape (3,).
            force: Specific force [m/s^2], shape (3,).
        """
        middle = self._R @ exp_so3(0.5 * h * rate)
        self._F = self._F + h * (middle @ force)
        self._R = self._R @ exp_so3(h * rate)
        self.time += h

    def add_velocity(self, interval: float, velocity: Array) -> None:
        """Add the mean velocity that contacts measure over the last interval.

        Args:
            interval: Length of the interval [s].
            velocity: Velocity in the present frame [m/s], shape (3,).
        """
        t = self.time - 0.5 * interval
        row = np.array([1.0, -t]) / CONTACT_SIGMA
        value = (self._R @ velocity - self._F * (t / max(self.time, 1e-9))) / CONTACT_SIGMA
        self._normal += np.outer(row, row)
        self._right += np.outer(row, value)

    def solve(self) -> tuple[Array, Array, Array] | None:
        """Return velocity and vertical in the present frame, and the covariance of their errors of one axis.

        Returns:
            Velocity [m/s], shape (3,); vertical, unit norm, shape (3,); covariance of (dv [m/s], tilt
            [rad]), shape (2, 2). None if the size of gamma is not that of gravity.
        """
        right = self._right.copy()
        right[1] += self._F / max(self.time, 1e-9) / ACCELERATION_SIGMA**2
        covariance = linear_algebra.inv(self._normal)
        v0, gamma = covariance @ right
        size = float(np.linalg.norm(gamma))
        if abs(size - STANDARD_GRAVITY) > OTHER_SIZE * STANDARD_GRAVITY:
            return None
        now = np.array([[1.0, -self.time], [0.0, 1.0 / STANDARD_GRAVITY]])
        z = gamma / size
        velocity = self._R.T @ (v0 + self._F - self.time * STANDARD_GRAVITY * z)
        return velocity, self._R.T @ z, now @ covariance @ now.T
