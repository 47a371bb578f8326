"""Rate-limited hand-over of estimates to controllers, physically consistent at every step."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, warm_up
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import TO_PSEUDO_INERTIA

__all__ = ["HandOver", "hand_over_distance"]


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
        moved = self.published.copy()
        _move(moved, estimate_C, self.rate * dt)
        for body in followed:
            if np.array_equal(self.published[body], self._estimate[body]):
                moved[body] = estimate_C[body]
        self.published, self._estimate = moved, estimate_C
        return self.published


@compiled
def hand_over_distance(change: Column, mass: float) -> float:
    """Return how far a hand-over has to move the parameters of a body [kg].

    Args:
        change: Of the parameters in C, whose lengths are in units of the gyration radius, shape (10,).
        mass: Of the body before [kg]; first and second moments count up to it.
    """
    moments = np.abs(change @ TO_PSEUDO_INERTIA).max()
    return float(max(abs(change[0]), min(moments, mass)))


@compiled
def _move(published: MutableTable, estimate: Table, limit: float) -> None:
    """Move parameters towards others, each body by a limited distance [kg]."""
    for i in range(len(published)):
        change = estimate[i] - published[i]
        distance = hand_over_distance(change, published[i, 0])
        published[i] += change if distance <= limit else limit / distance * change
