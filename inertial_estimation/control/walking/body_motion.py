"""Motion of the centre of mass along its paths, which are replanned after a jump of its estimate."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.walking.body_path import BodyPath, path_duration
from inertial_estimation.control.walking.walking_config import CrawlConfig
from inertial_estimation.signals import Array

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
