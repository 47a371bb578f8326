"""The parameters of a load that varies as they are by now: an estimate lags by half of the window."""

from collections import deque

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

__all__ = ["LoadExtrapolation"]

KEPT = 0.5  # share of the pseudo-inertia that an extrapolation leaves in every direction


class LoadExtrapolation:
    """Extrapolates the parameters of one body linearly over the lag of their estimate."""

    def __init__(self) -> None:
        """Begin without estimates."""
        self._past: deque[tuple[float, Array]] = deque()
        self._time = 0.0

    def ahead(self, pi_C: Array, dt: float, lead: float, least: float, most: float) -> Array:
        """Return the newest parameters, moved on by their change over the lead before.

        They stay physically consistent: the pseudo-inertia J + s dJ is positive definite where s times the
        least eigenvalue of dJ relative to J is above -1 (here -`KEPT`).

        Args:
            pi_C: Newest parameters in C, consistent, shape (10,).
            dt: Time since the last ones [s].
            lead: Time to look ahead [s].
            least: Least mass that the body has had [kg].
            most: Largest one [kg].

        Returns:
            Parameters in C, shape (10,), the mass within its range.
        """
        self._time += dt
        self._past.append((self._time, pi_C))
        while len(self._past) > 2 and self._time - self._past[1][0] >= lead:
            self._past.popleft()
        before, earlier = self._past[0]
        if self._time - before < 0.5 * lead:
            return pi_C
        step = lead / (self._time - before) * (pi_C - earlier)
        room = most - pi_C[0] if step[0] > 0.0 else pi_C[0] - least
        share = min(1.0, max(room, 0.0) / max(abs(step[0]), np.finfo(float).tiny))
        L = linear_algebra.cholesky(pseudo_inertia(pi_C))
        half = linear_algebra.solve(L, pseudo_inertia(step))
        shrinks = -float(linear_algebra.eigvalsh(linear_algebra.solve(L, half.T))[0])
        share = min(share, KEPT / max(shrinks, KEPT))
        ahead: Array = pi_C + share * step
        return ahead
