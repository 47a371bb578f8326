"""Path of the centre of mass between two places of rest."""

import math

import numpy as np

from inertial_estimation.signals import Array

PEAK_ACCELERATION_FACTOR = (
    5.7735  # of the acceleration of a minimum-jerk path: PEAK_ACCELERATION_FACTOR distance / duration^2
)


class BodyPath:
    """A straight line with the least jerk, from a place (in motion, perhaps) to rest at another.

    c(t) is a polynomial of fifth order with given c, c', c'' at both ends. Unlike the DCM of a centre of
    pressure that moves linearly, it is at rest at its end, not only near it. With the inverted pendulum
    xi = c + c'/omega and p = c - c''/omega^2; both run along the same line.

    Attributes:
        duration: Time it takes [s].
        goal: Where it ends [m], shape (2,).
    """

    def __init__(self, start: Array, velocity: Array, acceleration: Array, goal: Array, duration: float):
        """Lay the path.

        Args:
            start: Where it begins [m], shape (2,).
            velocity: Velocity there [m/s], shape (2,).
            acceleration: Acceleration there [m/s^2], shape (2,).
            goal: Where it ends, at rest [m], shape (2,).
            duration: How long it takes [s].
        """
        self.duration, self.goal = duration, np.array(goal, dtype=float)
        T, d = duration, self.goal - start
        v, a = T * velocity, T * T * acceleration
        self._coefficients = np.array(
            [
                start,
                v,
                0.5 * a,
                10.0 * d - 6.0 * v - 1.5 * a,
                -15.0 * d + 8.0 * v + 1.5 * a,
                6.0 * d - 3.0 * v - 0.5 * a,
            ]
        )

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return place, velocity and acceleration at a time since the begin, shape (2,) each."""
        if t >= self.duration:
            return self.goal, np.zeros(2), np.zeros(2)
        u, T = t / self.duration, self.duration
        C = self._coefficients
        place = np.array([1.0, u, u**2, u**3, u**4, u**5]) @ C
        velocity = np.array([0.0, 1.0, 2 * u, 3 * u**2, 4 * u**3, 5 * u**4]) @ C / T
        acceleration = np.array([0.0, 0.0, 2.0, 6 * u, 12 * u**2, 20 * u**3]) @ C / T**2
        return place, velocity, acceleration


def path_duration(distance: float, acceleration: float, least: float) -> float:
    """Return how long a path takes whose acceleration stays within a limit [s].

    Args:
        distance: Its length [m].
        acceleration: The limit [m/s^2].
        least: Shortest duration [s].
    """
    return max(least, math.sqrt(PEAK_ACCELERATION_FACTOR * distance / acceleration))
