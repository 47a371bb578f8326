"""Linear Kalman filter in the inertial parameters, the baseline without physical consistency (F 8-15)."""

import numpy as np

from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.signals import Array

__all__ = ["LinearKalman"]


class LinearKalman(InertialFilter):
    """The state is pi itself, so the measurement equation is linear and the update exact.

    The mass may become negative, and the principal moments may violate the triangle inequality.
    """

    linear = True

    def _coordinates(self, pi_C: Array) -> Array:
        coordinates: Array = pi_C.copy()
        return coordinates

    def _body_map(self, coordinates: Array) -> tuple[Array, Array]:
        return coordinates.copy(), np.broadcast_to(np.eye(10), (len(coordinates), 10, 10))
