"""Linear Kalman filter in the inertial parameters, the baseline without physical consistency (F 8-15)."""

import numpy as np

from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.linearisation import block_diagonal
from inertial_estimation.models.inertia_posterior import (
    InertiaPosterior,
    TruncatedPosterior,
    square_root,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


class LinearKalman(InertialFilter):
    """The state is pi itself, so the measurement equation is linear and the update exact.

    The mass may become negative, and the principal moments may violate the triangle inequality.
    """

    linear = True

    def posterior_of(self, x: Array, P: Array) -> InertiaPosterior:
        """Return the normal distribution of the parameters, truncated to consistent bodies."""
        n = self._n_inertial
        to_link = block_diagonal(np.array([body.to_link for body in self.bodies]), n)
        mean, factor = to_link @ x[:n], to_link @ square_root(P[:n, :n])
        nominal = linear_algebra.solve(factor, to_link @ self._x_nominal[:n] - mean)
        return TruncatedPosterior(mean.reshape(-1, 10), factor, nominal)

    def _coordinates(self, pi_C: Array) -> Array:
        coordinates: Array = pi_C.copy()
        return coordinates

    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        return coordinates.copy(), np.broadcast_to(np.eye(10), (len(coordinates), 10, 10))
