"""Rate-limited hand-over of the estimate to controllers, physically consistent at every step."""

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

__all__ = ["HandOver"]


class HandOver:
    """Moves published parameters towards the estimate at a limited rate.

    A convex combination of two pseudo-inertias is a pseudo-inertia, and the pseudo-inertia is linear in
    the parameters, so (1 - s) pi_published + s pi_estimate is consistent for every s in [0, 1] (F IV-B
    limits the mass to 3 kg/s). Changes of first and second moments are measured as masses at the gyration
    radius, up to the body's own mass, so a change of only the centre of mass is limited as well.
    """

    def __init__(self, nominal_C: Array, rate: float) -> None:
        """Start at nominal.

        Args:
            nominal_C: Parameters in C, lengths in units of the gyration radius, shape (10,).
            rate: Largest change [kg/s].
        """
        self.rate = rate
        self._nominal = nominal_C.copy()
        self.published: Array = nominal_C.copy()

    def reset(self) -> None:
        """Return to nominal at once."""
        self.published = self._nominal.copy()

    def advance(self, estimate_C: Array, dt: float) -> Array:
        """Move towards an estimate.

        Args:
            estimate_C: Parameters in C, shape (10,).
            dt: Time since the last call [s].

        Returns:
            Parameters to publish, in C, shape (10,).
        """
        change = estimate_C - self.published
        moments = float(np.abs(pseudo_inertia(change)).max())  # [kg], since lengths are dimensionless
        distance = max(abs(float(change[0])), min(moments, float(self.published[0])))
        share = 1.0 if distance <= self.rate * dt else self.rate * dt / distance
        self.published = self.published + share * change
        return self.published
