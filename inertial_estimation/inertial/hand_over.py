"""Rate-limited hand-over of estimates to controllers, physically consistent at every step."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    warm_up,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import TO_PSEUDO_INERTIA


class HandOver:
    """Moves published parameters of bodies towards their estimates at a limited rate.

    A convex combination of two pseudo-inertias is a pseudo-inertia, and the pseudo-inertia is linear in
    the parameters, so (1 - s) pi_published + s pi_estimate is consistent for every s in [0, 1] (F IV-B
    limits the mass to 3 kg/s). Changes of first and second moments are measured as masses at the gyration
    radius, up to the body's own mass, so a change of only the centre of mass is limited as well. A body that
    is followed, and whose estimate has been reached, goes with it at any rate.

    Attributes:
        rate: Largest change [kg/s].
        published: Parameters to publish, in C, shape (n, 10).
    """

    def __init__(self, nominal_C: Array, rate: float) -> None:
        """Start at nominal.

        Args:
            nominal_C: Parameters in C, lengths in units of the gyration radius, shape (n, 10).
            rate: Largest change [kg/s].
        """
        warm_up()
        self.rate = rate
        self._nominal = nominal_C.copy()
        self.published: Array = nominal_C.copy()
        self._estimate: Array = nominal_C.copy()
        self._none = np.zeros(len(nominal_C))

    def reset(self) -> None:
        """Return to nominal at once."""
        self.published, self._estimate = self._nominal.copy(), self._nominal.copy()

    def advance(self, estimate_C: Array, dt: float, followed: Sequence[int] = ()) -> Array:
        """Move towards estimates.

        Args:
            estimate_C: Parameters in C, shape (n, 10).
            dt: Time since the last call [s].
            followed: Numbers of the bodies that are followed.

        Returns:
            Parameters to publish, in C, shape (n, 10).
        """
        moved = np.empty_like(self.published)
        moved_towards(self.published, estimate_C, self.rate * dt, self.reached(followed), moved)
        self.take(moved, estimate_C)
        return self.published

    def reached(self, followed: Sequence[int]) -> Array:
        """Return ones for followed bodies whose last estimate is published, zeros for others, shape (n,).

        Args:
            followed: Numbers of the bodies that are followed.
        """
        if not len(followed):
            return self._none
        reached = np.zeros(len(self.published))
        for body in followed:
            reached[body] = float(np.array_equal(self.published[body], self._estimate[body]))
        return reached

    def take(self, moved: Array, estimate_C: Array) -> None:
        """Publish parameters that `moved_towards` has moved.

        Args:
            moved: Parameters to publish, in C, shape (n, 10).
            estimate_C: What they were moved towards, shape (n, 10).
        """
        self.published, self._estimate = moved, estimate_C


def largest_moment(change: Array) -> float:
    """Return the largest magnitude of the entries of a pseudo-inertia.

    Args:
        change: Parameters in Pinocchio's order, shape (10,).
    """
    return float(np.abs(change @ TO_PSEUDO_INERTIA).max())


@in_place_of(largest_moment)
def _largest_moment(change: Array) -> float:
    half = 0.5 * (change[4] + change[6] + change[9])
    largest = max(abs(half - change[4]), abs(half - change[6]), abs(half - change[9]))
    for i in (0, 1, 2, 3, 5, 7, 8):
        largest = max(largest, abs(change[i]))
    return float(largest)


@compiled
def hand_over_distance(change: Column, mass: float) -> float:
    """Return how far a hand-over has to move the parameters of a body [kg].

    Args:
        change: Of the parameters in C, whose lengths are in units of the gyration radius, shape (10,).
        mass: Of the body before [kg]; first and second moments count up to it.
    """
    return float(max(abs(change[0]), min(largest_moment(change), mass)))


@compiled
def moved_towards(
    published: Table, estimate: Table, limit: float, reached: Column, moved: MutableTable
) -> None:
    """Write parameters that have moved towards others, each body by a limited distance.

    Args:
        published: Parameters in C, shape (n, 10).
        estimate: Those that they move towards, shape (n, 10).
        limit: The distance [kg].
        reached: Not zero for bodies that go with their estimate at any rate, shape (n,).
        moved: Written, shape (n, 10).
    """
    for i in range(len(published)):
        change = estimate[i] - published[i]
        distance = hand_over_distance(change, published[i, 0])
        moved[i] = published[i] + (change if distance <= limit else limit / distance * change)
        if reached[i] != 0.0:
            moved[i] = estimate[i]
