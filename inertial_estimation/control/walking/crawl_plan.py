"""Plan of a crawl: next swing foot, its foothold, the rest of the walk, path of the centre of mass."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.balance import Point, nearest_within
from inertial_estimation.control.references import SMOOTH_S, WalkCommand
from inertial_estimation.control.walking.ground import turn_between
from inertial_estimation.signals import Array

LEAST_MARGIN = 1e-3  # smallest margin of a point that is inside a polygon by more than round-off [m]


def rest_point(polygons: Sequence[Sequence[Point]], preferred: Point, margin: float) -> Point:
    """Return where the centre of mass should rest, as near as possible to a preferred place.

    The feet that stand span a polygon (a triangle for a quadruped). A robot at rest does not tip over while
    its centre of mass is above it; a margin from every edge allows for errors of the model. The place is
    inside as many of the polygons, from the first swing on, as have a common point. If the first polygon
    alone is too narrow for the margin, the margin is halved until it fits; feet in a line give their middle.

    Args:
        polygons: Feet that stand in the coming swing, and in the swings after it.
        preferred: The place to be near to.
        margin: Distance from the edges [m].
    """
    if margin < LEAST_MARGIN:
        x, y = np.mean(polygons[0], axis=0).tolist()
        return x, y
    for count in range(len(polygons), 0, -1):
        point = nearest_within(polygons[:count], margin, preferred)
        if point is not None:
            return point
    return rest_point(polygons[:1], preferred, 0.5 * margin)


def foot_sequence(home: Array) -> list[int]:
    """Return the order in which the feet step: the left ones from rear to front, then the right ones.

    The polygons of two swings on one side overlap, so that the centre of mass can rest in both.

    Args:
        home: Places of the feet, x forwards, y to the left [m], shape (n, 2 or 3).
    """
    middle = float(home[:, 1].mean())
    return sorted(range(len(home)), key=lambda i: (home[i, 1] < middle, home[i, 0]))


class CrawlPlan:
    """Sequence of the feet, and their footholds: their home positions, moved forward along a line.

    The plan is kept over an interruption of the control.

    Attributes:
        heading: Direction of the line in the ground frame [rad].
    """

    def __init__(self) -> None:
        """Begin without a line; the first call of `stand` sets the home positions of the feet."""
        self._order: list[int] = []  # the feet, the next one first
        self._home, self._on_line = np.zeros((2, 0, 2))  # home about its centre at heading 0; on the line [m]
        self._forward, self.heading, self._length, self._aim = np.zeros(2), 0.0, 0.0, 0.0

    def stand(self, places: Array) -> None:
        """Place the line so that the home positions on it fit the feet as they are.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
        """
        centre = places[:, :2].mean(axis=0)
        if not self._order:
            self._home, self._order = places[:, :2] - centre, foot_sequence(places)
        self.heading = turn_between(self._home, places[:, :2] - centre)
        c, s = math.cos(self.heading), math.sin(self.heading)
        self._forward = np.array([c, s])
        self._on_line = centre + self._home @ np.array([[c, s], [-s, c]])

    def walk(self, places: Array, command: WalkCommand) -> None:
        """Plan a walk, up to the distance that every foot reaches with its steps.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            command: Number and length of the swings.
        """
        steps, n = command.steps, len(self._order)
        self._length = command.length
        reach = [
            self._advance(places, foot) + self._length * ((steps + n - 1 - k) // n)
            for k, foot in enumerate(self._order)
        ]
        self._aim = min(reach) if self._length >= 0.0 else max(reach)

    @property
    def foot(self) -> int:
        """The foot that swings, or does next."""
        return self._order[0]

    def foot_ahead(self, swings: int) -> int:
        """Return the foot that swings after a number of other swings."""
        return self._order[swings % len(self._order)]

    def landing(self, places: Array, foot: int) -> Array:
        """Return where a foot lands in its next swing, in the ground frame [m], shape (2,).

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            foot: The foot.
        """
        done, longest = self._advance(places, foot), abs(self._length)
        stride = max(-longest, min(longest, self._aim - done))
        place: Array = self._on_line[foot] + (done + stride) * self._forward
        return place

    def next_foot(self) -> None:
        """Go on to the next foot of the sequence."""
        self._order.append(self._order.pop(0))

    def _advance(self, places: Array, foot: int) -> float:
        """Return how far a foot has gone along the line [m]."""
        return float((places[foot, :2] - self._on_line[foot]) @ self._forward)


LEAP_M = 0.002  # an unpredicted motion of the centre of mass in a tick this large means new inertias [m]


class BodyMotion:
    """Path of the centre of mass in the ground frame: a straight line with the least jerk that ends at rest.

    c(t) is a polynomial of fifth order with given c, c', c'' at both ends. Unlike the DCM of a centre of
    pressure that moves linearly, it is at rest at its end, not only near it. With the inverted pendulum
    xi = c + c'/omega and p = c - c''/omega^2; both run along the same line.

    Attributes:
        goal: Where the path ends, at rest [m], shape (2,).
        duration: Time it takes [s].
    """

    def __init__(self, goal: Array) -> None:
        """Rest at a place [m], shape (2,), until the centre of mass is measured."""
        self._place: Array | None = None
        self.goal, self.duration, self._time = goal, 0.0, 0.0
        self._coefficients = np.zeros((6, 2))

    @property
    def arrived(self) -> bool:
        """Whether the path has come to its end."""
        return self._time >= self.duration

    def reference(self) -> tuple[Array, Array, Array]:
        """Return place [m], velocity [m/s] and acceleration [m/s^2] of the path now, shape (2,) each."""
        if self.arrived:
            return self.goal, np.zeros(2), np.zeros(2)
        T, C = self.duration, self._coefficients
        u = self._time / T
        place = np.array([1.0, u, u**2, u**3, u**4, u**5]) @ C
        velocity = np.array([0.0, 1.0, 2 * u, 3 * u**2, 4 * u**3, 5 * u**4]) @ C / T
        acceleration = np.array([0.0, 0.0, 2.0, 6 * u, 12 * u**2, 20 * u**3]) @ C / T**2
        return place, velocity, acceleration

    def advance(self, h: float) -> None:
        """Advance the path by a time step [s]."""
        self._time += h

    def move_to(self, goal: Sequence[float] | Array, acceleration: float) -> None:
        """Plan a path from the present reference.

        Args:
            goal: Where the centre of mass is to rest [m], shape (2,).
            acceleration: Largest acceleration on the way [m/s^2].
        """
        self._lay(*self.reference(), goal, acceleration)

    def follow(self, place: Array, velocity: Array, h: float, acceleration: float) -> bool:
        """Take the measured centre of mass; at the first call and after a jump, the path restarts from it.

        Args:
            place: Its place [m], shape (2,).
            velocity: Its velocity [m/s], shape (2,).
            h: Time since the last call [s].
            acceleration: Largest acceleration on the way [m/s^2].

        Returns:
            Whether the path has been restarted.
        """
        before, self._place = self._place, place
        if before is not None and float(np.abs(place - before - h * velocity).max()) < LEAP_M:
            return False
        self._lay(place, velocity, np.zeros(2), self.goal, acceleration)
        return True

    def _lay(
        self, start: Array, velocity: Array, acceleration: Array, goal: Sequence[float] | Array, limit: float
    ) -> None:
        self.goal, self._time = np.array(goal, dtype=float), 0.0
        d = self.goal - start
        peak = 10.0 / math.sqrt(3.0) * math.hypot(*d.tolist())  # from rest: largest acceleration times T^2
        T = max(SMOOTH_S, math.sqrt(peak / limit))
        v, a = T * velocity, T * T * acceleration
        cubic, quartic = 10.0 * d - 6.0 * v - 1.5 * a, -15.0 * d + 8.0 * v + 1.5 * a
        quintic = 6.0 * d - 3.0 * v - 0.5 * a
        self.duration = T
        self._coefficients = np.array([start, v, 0.5 * a, cubic, quartic, quintic])
