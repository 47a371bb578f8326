"""The velocity of the IMU that standing contacts show, before a filter knows its own."""

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.tilt.observer import Feet


class ContactVelocity:
    """Turns contact points with the gyroscope alone: the distance to where joints see them is motion."""

    def __init__(self, radius: float, longest: float) -> None:
        """Begin without a look.

        Args:
            radius: Of round feet [m].
            longest: Interval beyond which a velocity does not follow from two looks [s].
        """
        self._radius, self._longest = radius, longest
        self._then: Feet | None = None
        self._turned, self._time = np.eye(3), 0.0

    def turn(self, h: float, rate: Array) -> None:
        """Take the mean angular rate, bias removed [rad/s], shape (3,), over a step of h seconds."""
        self._turned = exp_so3(-h * rate) @ self._turned
        self._time += h

    def look(self, feet: Feet, up_I: Array) -> tuple[float, Array] | None:
        """Return the interval since the last look [s], and the mean velocity over it in this frame [m/s].

        Args:
            feet: The contacts now.
            up_I: The vertical, shape (3,).

        Returns:
            None at the first look, without contact, and after too long an interval.
        """
        then, turned, interval = self._then, self._turned, self._time
        self._then, self._turned, self._time = feet, np.eye(3), 0.0
        if then is None or not 0.0 < interval <= self._longest or not feet.shares.any():
            return None
        below = -self._radius * up_I
        seen = feet.points + np.einsum("nij,nkj->nik", feet.rotations, then.rotations) @ below
        moved = (then.points + below) @ turned.T - seen
        return interval, feet.shares @ moved / interval
