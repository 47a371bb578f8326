"""Hand-over of inertias to controllers: at a limited rate, consistent at every step, of real bodies only."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import TO_PSEUDO_INERTIA, second_moments


class HandOver:
    """Moves published parameters of bodies towards their estimates at a limited rate.

    A convex combination of two pseudo-inertias is a pseudo-inertia, and the pseudo-inertia is linear in
    the parameters, so (1 - s) pi_published + s pi_estimate is consistent for every s in [0, 1] (F IV-B
    limits the mass to 3 kg/s). Changes of first and second moments are measured as masses at the gyration
    radius, up to the body's own mass, so a change of only the centre of mass is limited as well. A body that
    is followed goes with its estimate at any rate, once it has been reached.

    Attributes:
        published: Parameters to publish, in C, shape (n, 10).
    """

    def __init__(self, nominal_C: Array) -> None:
        """Start at nominal.

        Args:
            nominal_C: Parameters in C, lengths in units of the gyration radius, shape (n, 10).
        """
        self._nominal = nominal_C.copy()
        self.reset()

    def reset(self) -> None:
        """Return to nominal at once."""
        self.published: Array = self._nominal.copy()
        self._arrived = np.ones(len(self.published), dtype=bool)  # bodies whose estimate is published
        self._followed: Sequence[int] = ()  # in the last step

    @property
    def has_arrived(self) -> bool:
        """Whether the last estimates of all bodies are published."""
        return bool(np.count_nonzero(self._arrived) == len(self._arrived))

    def advance(self, estimate_C: Array, limit: float, followed: Sequence[int] = ()) -> Array:
        """Move towards estimates; return the parameters to publish, in C, shape (n, 10).

        Args:
            estimate_C: Parameters in C, shape (n, 10).
            limit: Largest change [kg].
            followed: Numbers of the bodies that are followed.
        """
        change = estimate_C - self.published
        moments = np.abs(change @ TO_PSEUDO_INERTIA).max(axis=1)
        distance = np.maximum(np.abs(change[:, 0]), np.minimum(moments, self.published[:, 0]))
        arrives = distance <= limit
        for body in followed:
            arrives[body] |= self._arrived[body] and body in self._followed
        share = limit / np.maximum(distance, limit) if limit > 0.0 else np.zeros(len(distance))
        self.published = np.where(arrives[:, None], estimate_C, self.published + share[:, None] * change)
        self._arrived, self._followed = arrives, followed
        return self.published


def central_row(link: LinkInertia) -> Array:
    """Return mass, centre of mass and inertia about it in one row, shape (13,)."""
    return np.concatenate(([link.mass], link.com_L, link.inertia_Lcm.ravel()))


def published_defect(names: Sequence[str], published: Array) -> str:
    """Name a published inertia that is not finite, or that no body has; empty if there is none.

    Args:
        names: Names of n links.
        published: Their inertias as `central_row` returns them, shape (n, 13).
    """
    if not np.isfinite(published).all():
        return "a published inertia is not finite"
    mass, inertia = published[:, 0], published[:, 4:].reshape(-1, 3, 3)
    real = (mass > 0.0) & (linear_algebra.eigvalsh(second_moments(inertia))[:, 0] > 0.0)
    if real.all():
        return ""
    worst = int(real.argmin())
    return f"the published inertia of '{names[worst]}' belongs to no real body (mass {mass[worst]:.3g} kg)"
