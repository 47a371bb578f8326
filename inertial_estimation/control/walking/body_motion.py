"""Motion of the centre of mass along its paths, which are replanned after a jump of its estimate."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.walking.walking_config import CrawlConfig
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


LEAP_M = 0.002  # unpredicted change of the centre of mass between two ticks: its inertias have changed


class BodyMotion:
    """Path of the centre of mass in the ground frame, and the time since it was laid.

    The time is counted from the begin of the present phase of the gait.
    """

    def __init__(self, goal: Array) -> None:
        """Rest at a place until the centre of mass is measured.

        Args:
            goal: Where it is to rest [m], shape (2,).
        """
        self._place: Array | None = None
        self._elapsed = self._laid_at = 0.0
        self._path = BodyPath(goal, np.zeros(2), np.zeros(2), goal, 0.0)

    @property
    def goal(self) -> Array:
        """Where the path ends [m], shape (2,)."""
        return self._path.goal

    @property
    def arrived(self) -> bool:
        """Whether the path has come to its end."""
        return self._elapsed - self._laid_at >= self._path.duration

    def reference(self) -> tuple[Array, Array, Array]:
        """Return place [m], velocity [m/s] and acceleration [m/s^2] of the path now, shape (2,) each."""
        return self._path.at(self._elapsed - self._laid_at)

    def advance(self, h: float) -> None:
        """Let time pass [s]."""
        self._elapsed += h

    def begin_phase(self) -> None:
        """Count time from now; the centre of mass goes on along its path."""
        self._laid_at = -(self._elapsed - self._laid_at)
        self._elapsed = 0.0

    def move_to(self, goal: Sequence[float] | Array, crawl: CrawlConfig) -> None:
        """Lay a path from the reference of now.

        Args:
            goal: Where the centre of mass is to rest [m], shape (2,).
            crawl: Limits of the motion.
        """
        self._path = _path(self.reference(), goal, crawl)
        self._laid_at = self._elapsed

    def follow(self, place: Array, velocity: Array, h: float, crawl: CrawlConfig) -> bool:
        """Take the measured centre of mass; a first one, or one that has leapt, is followed from there.

        Args:
            place: Its place [m], shape (2,).
            velocity: Its velocity [m/s], shape (2,).
            h: Time since the last call [s].
            crawl: Limits of the motion.

        Returns:
            Whether the path begins anew.
        """
        before, self._place = self._place, place
        if before is not None and float(np.abs(place - before - h * velocity).max()) < LEAP_M:
            return False
        self._path = _path((place, velocity, np.zeros(2)), self.goal, crawl)
        self._laid_at = self._elapsed
        return True


def _path(motion: tuple[Array, Array, Array], goal: Sequence[float] | Array, crawl: CrawlConfig) -> BodyPath:
    place, velocity, acceleration = motion
    distance = math.hypot(goal[0] - place[0], goal[1] - place[1])
    duration = path_duration(distance, crawl.acceleration, crawl.least_transfer)
    return BodyPath(place, velocity, acceleration, np.array(goal), duration)
