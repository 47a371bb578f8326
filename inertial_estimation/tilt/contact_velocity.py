"""Contacts as joints and forces show them, and the velocity of the IMU that standing ones show."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3

LONGEST_INTERVAL = 0.1  # between two looks, beyond which a velocity does not follow from them [s]


class Feet(NamedTuple):
    """The contacts as joints and forces show them at one time.

    Attributes:
        points: Contact points in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from the frame of each contact, shape (n, 3, 3).
        shares: Share of each contact in the weight, zero where it is not in use, of sum one or zero, shape
            (n,).
        soles: Whether each contact is a sole that stands flat, shape (n,).
    """

    points: Array
    rotations: Array
    shares: Array
    soles: NDArray[np.bool_]

    def turns_since(self, then: "Feet") -> Array:
        """Return the rotations of the feet in the IMU frame since they were seen, shape (n, 3, 3)."""
        turns: Array = np.matmul(self.rotations, then.rotations.transpose(0, 2, 1))
        return turns


class ContactVelocity:
    """Turns contact points with the gyroscope alone: the distance to where joints see them is motion."""

    def __init__(self, radius: float) -> None:
        """Begin without a look.

        Args:
            radius: Of round feet [m].
        """
        self._radius = radius
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
        if then is None or not 0.0 < interval <= LONGEST_INTERVAL or not feet.shares.any():
            return None
        below = -self._radius * up_I
        moved = (then.points + below) @ turned.T - feet.points - feet.turns_since(then) @ below
        return interval, feet.shares @ moved / interval
