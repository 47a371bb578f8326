"""What a crawl is to do: the next swing foot, its foothold, what is left, the path of the centre of mass."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.balance import Point, nearest_inside, region_within
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.walking.ground import turn_between
from inertial_estimation.signals import Array

MOST_HALVINGS = 5  # of the margin, where the polygon is too narrow for it


def rest_point(polygons: Sequence[Sequence[Point]], preferred: Point, margin: float) -> Point:
    """Return where the centre of mass should rest, as near as possible to a preferred place.

    The feet that stand span a polygon (a triangle for a quadruped). A robot at rest does not tip over while
    its centre of mass is above it; a margin off every edge is left for what is not known. The place is inside
    all polygons if there is one, else inside the first ones: those of the swings to come first. A polygon
    too narrow for the margin has it halved until there is a place.

    Args:
        polygons: Feet that stand in the coming swing, and in the swings after it.
        preferred: The place to be near to.
        margin: Distance from the edges [m].
    """
    attempts = [(count, 1.0) for count in range(len(polygons), 1, -1)]
    for count, share in [*attempts, *((1, 0.5**k) for k in range(MOST_HALVINGS + 1))]:
        region = region_within(polygons[:count], share * margin)
        if region:
            return nearest_inside(region, preferred)
    feet = polygons[0]
    return sum(x for x, _ in feet) / len(feet), sum(y for _, y in feet) / len(feet)


def foot_sequence(home: Array) -> list[int]:
    """Return the order in which the feet step: those of the left from the rear to the front, then the right.

    Two swings of one side share a region for the centre of mass, and a rear foot goes before the front one.

    Args:
        home: Places of the feet, x forwards, y to the left [m], shape (n, 2 or 3).
    """
    middle = float(home[:, 1].mean())
    return sorted(range(len(home)), key=lambda i: (home[i, 1] < middle, home[i, 0]))


class CrawlPlan:
    """The requested walk: sequence of the feet, and footholds along a line of the ground.

    It outlives an interruption of the control. Feet land at their home places, moved forward along the line.

    Attributes:
        swings_left: Swings still to be made, the one under way included.
        heading: Direction of the line in the ground frame [rad].
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Stand on the contacts of these names."""
        self._names = tuple(names)
        self.reset()

    def reset(self) -> None:
        """Discard the requested steps and the initial positions of the feet."""
        self._order: list[int] = []  # the feet, the next one first
        self._home: Array | None = None  # places of the feet at heading zero about their middle [m]
        self.stand(np.zeros((len(self._names), 2)))
        self._home = None

    def stand(self, places: Array) -> None:
        """Stand on the feet as they are, and lay the line through them; their first places are their home.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
        """
        centre = places[:, :2].mean(axis=0)
        if self._home is None:
            self._home = places[:, :2] - centre
            self._order = foot_sequence(places)
        self.heading = turn_between(self._home, places[:, :2] - centre)
        c, s = math.cos(self.heading), math.sin(self.heading)
        self._forward = np.array([c, s])
        self._on_line: Array = centre + self._home @ np.array([[c, s], [-s, c]])
        self.swings_left, self._length, self._aim = 0, 0.0, 0.0

    def walk(self, places: Array, command: WalkCommand) -> None:
        """Plan a walk, as far as every foot gets with its steps.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            command: Number and length of the swings.
        """
        steps, length, n = command.steps, command.length, len(self._order)
        reach = [
            self.advance(places, foot) + length * ((steps + n - 1 - k) // n)
            for k, foot in enumerate(self._order)
        ]
        self.swings_left, self._length = steps, length
        self._aim = min(reach) if length >= 0.0 else max(reach)

    def advance(self, places: Array, foot: int) -> float:
        """Return how far a foot has gone along the line [m]."""
        return float((places[foot, :2] - self._on_line[foot]) @ self._forward)

    @property
    def foot(self) -> int:
        """The foot that swings, or does next."""
        return self._order[0]

    @property
    def foot_name(self) -> str:
        """Name of the foot that swings, or does next."""
        return self._names[self.foot]

    def foot_ahead(self, swings: int) -> int:
        """Return the foot that swings after a number of other swings."""
        return self._order[swings % len(self._order)]

    def landing(self, places: Array, foot: int) -> Array:
        """Return where a foot lands in its coming swing, on the ground frame [m], shape (2,).

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            foot: The foot.
        """
        done, longest = self.advance(places, foot), abs(self._length)
        stride = max(-longest, min(longest, self._aim - done))
        place: Array = self._on_line[foot] + (done + stride) * self._forward
        return place

    def count_landing(self) -> None:
        """Go on to the next foot of the sequence."""
        self.swings_left -= 1
        self._order.append(self._order.pop(0))


LEAST_TRANSFER_S = 0.2  # shortest duration of a path
LEAP_M = 0.002  # unpredicted change of the centre of mass between two ticks: its inertias have changed


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
        """Let time pass [s]."""
        self._time += h

    def move_to(self, goal: Sequence[float] | Array, acceleration: float) -> None:
        """Lay a path from the reference of now.

        Args:
            goal: Where the centre of mass is to rest [m], shape (2,).
            acceleration: Largest acceleration on the way [m/s^2].
        """
        self._lay(*self.reference(), goal, acceleration)

    def follow(self, place: Array, velocity: Array, h: float, acceleration: float) -> bool:
        """Take the measured centre of mass; a first one, or one that has leapt, is followed from there.

        Args:
            place: Its place [m], shape (2,).
            velocity: Its velocity [m/s], shape (2,).
            h: Time since the last call [s].
            acceleration: Largest acceleration on the way [m/s^2].

        Returns:
            Whether the path begins anew.
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
        T = max(LEAST_TRANSFER_S, math.sqrt(peak / limit))
        v, a = T * velocity, T * T * acceleration
        cubic, quartic = 10.0 * d - 6.0 * v - 1.5 * a, -15.0 * d + 8.0 * v + 1.5 * a
        quintic = 6.0 * d - 3.0 * v - 0.5 * a
        self.duration = T
        self._coefficients = np.array([start, v, 0.5 * a, cubic, quartic, quintic])
