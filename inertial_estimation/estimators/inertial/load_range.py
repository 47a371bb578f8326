"""Masses that a body of a robot can have with a load, from the robot's own weight."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.linearisation import cholesky
from inertial_estimation.models.body_reference import BodyReference

SMALLEST_SHARE = 0.05  # of a body's nominal mass: a description is not wrong by more, and no load is negative


class LoadRange:
    """Plausible masses of the bodies: up to the robot's own weight more than nominal."""

    def __init__(self, bodies: Sequence[BodyReference], total_mass: float) -> None:
        """Determine the range.

        Args:
            bodies: The estimated bodies, in the order of the filter's state.
            total_mass: Nominal mass of the robot [kg].
        """
        nominal = np.array([body.nominal_C[0] for body in bodies])
        self._smallest, self._largest = SMALLEST_SHARE * nominal, nominal + total_mass

    def admits(self, filter_: InertialFilter) -> bool:
        """Return whether every mass is in its range, and no coordinate at its bound."""
        masses = filter_.parameters_in(filter_.state)[:, 0]
        inside = (masses >= self._smallest) & (masses <= self._largest)
        return bool(inside.all()) and not filter_.touches_bound(filter_.x)


def is_sound(filter_: InertialFilter) -> bool:
    """Return whether a filter's state is finite and its covariance positive definite."""
    if not (np.isfinite(filter_.x).all() and np.isfinite(filter_.P).all()):
        return False
    try:
        cholesky(filter_.P.copy())
    except MeasurementError:
        return False
    return True
