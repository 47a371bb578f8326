"""The requested walk of a crawl: next swing foot, its foothold, and the remaining steps."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.walking.ground_map import turn_between
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array


def foot_sequence(names: Sequence[str], asked: Sequence[str], home: Array) -> tuple[int, ...]:
    """Return the order in which the feet step.

    Without one asked for: the feet of the left side from the rear to the front, then those of the right. Two
    swings of one side then share a region for the centre of mass, and a rear foot goes before the front one.

    Args:
        names: Names of the contacts.
        asked: Names in the order wanted; empty: found from the places.
        home: Places of the feet, x forwards, y to the left [m], shape (n, 2 or 3).

    Raises:
        ConfigurationError: If the order asked for is not one of all the feet.
    """
    if asked:
        if sorted(asked) != sorted(names):
            raise ConfigurationError(
                f"crawl.sequence is {listing(asked)}, expected each contact once: {listing(names)}"
            )
        return tuple(list(names).index(name) for name in asked)
    middle = float(home[:, 1].mean())
    return tuple(sorted(range(len(names)), key=lambda i: (home[i, 1] < middle, home[i, 0])))


class Footholds:
    """Places where the feet land: their home places, moved forward along a line of the ground.

    Attributes:
        heading: Direction of the line in the ground frame [rad].
        left: Swings still to be made, the one under way included.
        length: Distance a foot goes forward in a swing [m].
    """

    def __init__(self, home: Array) -> None:
        """Stand at home.

        Args:
            home: Places of the feet at heading zero [m], shape (n, 2).
        """
        self._home = home - home.mean(axis=0)
        self._order: tuple[int, ...] = tuple(range(len(home)))
        self.left, self.length = 0, 0.0
        self.stand(home)

    def stand(self, places: Array) -> None:
        """Lay the line through the feet as they stand.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
        """
        centre = places[:, :2].mean(axis=0)
        self.heading = turn_between(self._home, places[:, :2] - centre)
        c, s = math.cos(self.heading), math.sin(self.heading)
        self._forward = np.array([c, s])
        self._on_line: Array = centre + self._home @ np.array([[c, -s], [s, c]]).T
        self._aim = 0.0

    def walk(self, places: Array, order: Sequence[int], steps: int, length: float) -> None:
        """Set where the walk goes: as far as every foot gets with its share of the steps.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            order: The feet in the order they step, the next one first.
            steps: Number of swings.
            length: Distance a foot goes forward in a swing [m].
        """
        self.left, self.length = steps, length
        n = len(order)
        swings = [(steps + n - 1 - k) // n for k in range(n)]
        reach = [self.advance(places, foot) + length * k for foot, k in zip(order, swings, strict=True)]
        self._aim = min(reach) if length >= 0.0 else max(reach)

    def advance(self, places: Array, foot: int) -> float:
        """Return how far a foot has gone along the line [m]."""
        return float((places[foot, :2] - self._on_line[foot]) @ self._forward)

    def landing(self, places: Array, foot: int) -> Array:
        """Return where a foot lands in its coming swing, on the ground frame [m], shape (2,).

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            foot: The foot.
        """
        to_go = self._aim - self.advance(places, foot)
        stride = max(-abs(self.length), min(abs(self.length), to_go))
        place: Array = self._on_line[foot] + (self.advance(places, foot) + stride) * self._forward
        return place


class CrawlPlan:
    """Commands, sequence and footholds; they outlive an interruption of the control.

    Attributes:
        held: Whether the robot is requested to stand, even during an unfinished walk.
        steps_made: Swings landed since the last reset.
    """

    def __init__(self, names: Sequence[str], asked_sequence: Sequence[str]) -> None:
        """Stand.

        Args:
            names: Names of the contacts.
            asked_sequence: Names in the order they step; empty: found from the places of the feet.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If the sequence is not one of all the feet.
        """
        self._names = tuple(names)
        self._asked_sequence = tuple(asked_sequence)
        self._sequence = foot_sequence(names, asked_sequence, np.zeros((len(names), 2)))
        self._next = 0
        self._has_home = False
        self._footholds = Footholds(np.zeros((len(names), 2)))
        self._asked: WalkCommand | None = None
        self.held = False
        self.steps_made = 0

    def reset(self) -> None:
        """Discard the requested and completed steps and the initial positions of the feet."""
        self._next = 0
        self._has_home = False
        self._footholds = Footholds(np.zeros((len(self._names), 2)))
        self._asked = None
        self.held = False
        self.steps_made = 0

    def stand(self, places: Array) -> None:
        """Stand on the feet as they are; their first places are their home.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 3).
        """
        if not self._has_home:
            home = places[:, :2].copy()
            self._footholds = Footholds(home)
            self._sequence = foot_sequence(self._names, self._asked_sequence, home)
            self._has_home = True
        self._footholds.stand(places)
        self._footholds.left = 0

    def command(self, command: WalkCommand) -> None:
        """Keep a command until the feet stand."""
        self._asked = command

    def take_command(self, places: Array) -> None:
        """Plan the walk requested since the last call, if any.

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 3).
        """
        if self._asked is None:
            return
        command, self._asked = self._asked, None
        order = [*self._sequence[self._next :], *self._sequence[: self._next]]
        self._footholds.walk(places, order, command.steps, command.length)

    @property
    def swings_left(self) -> int:
        """Swings still to be made, the one under way included."""
        return self._footholds.left

    @property
    def walking(self) -> bool:
        """Whether another swing is to be made now."""
        return self._footholds.left > 0 and not self.held

    @property
    def heading(self) -> float:
        """Direction of the walk in the ground frame [rad]."""
        return self._footholds.heading

    @property
    def foot(self) -> int:
        """The foot that swings, or does next."""
        return self.foot_ahead(0)

    @property
    def foot_name(self) -> str:
        """Name of the foot that swings, or does next."""
        return self._names[self.foot]

    def foot_ahead(self, swings: int) -> int:
        """Return the foot that swings after a number of other swings."""
        return self._sequence[(self._next + swings) % len(self._sequence)]

    def landing(self, places: Array, foot: int) -> Array:
        """Return where a foot lands in its coming swing [m], shape (2,).

        Args:
            places: Places of the feet in the ground frame [m], shape (n, 2 or 3).
            foot: The foot.
        """
        return self._footholds.landing(places, foot)

    def count_landing(self) -> None:
        """Go on to the next foot of the sequence."""
        self._footholds.left -= 1
        self.steps_made += 1
        self._next = (self._next + 1) % len(self._sequence)
