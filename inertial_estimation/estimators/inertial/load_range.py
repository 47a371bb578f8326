"""Masses that a body of a robot can have with a load, from the robot's own weight."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.inertial_filter import FilterState, InertialFilter
from inertial_estimation.estimators.inertial.linearisation import cholesky
from inertial_estimation.models.body_reference import BodyReference

__all__ = ["LoadRange", "is_sound"]

SMALLEST_SHARE = 0.05  # of a body's nominal mass: a description is not wrong by more, and no load is negative

LEAST_WITHOUT_LOAD = 0.5  # of a body's own mass: what is left when a load is taken off, within the accuracy


class LoadRange:
    """Plausible masses of the bodies: up to the robot's own weight more than nominal."""

    def __init__(self, bodies: Sequence[BodyReference], total_mass: float) -> None:
        """Determine the range.

        Args:
            bodies: The estimated bodies, in the order of the filter's state.
            total_mass: Nominal mass of the robot [kg].
        """
        nominal = np.array([body.nominal_C[0] for body in bodies])
        self._nominal = nominal
        self._smallest, self._largest = SMALLEST_SHARE * nominal, nominal + total_mass

    def admits(self, filter_: InertialFilter) -> bool:
        """Return whether every mass is in its range, and no coordinate at its bound."""
        masses = filter_.masses_of(filter_.x)
        inside = (masses >= self._smallest) & (masses <= self._largest)
        return bool(inside.all()) and not filter_.touches_bound(filter_.x)

    def is_load(self, filter_: InertialFilter, before: FilterState) -> bool:
        """Return whether the bodies can have come from an earlier state by loads put on or taken off.

        Args:
            filter_: The filter.
            before: The earlier state.
        """
        earlier = filter_.masses_of(before.x)
        least = LEAST_WITHOUT_LOAD * np.minimum(earlier, self._nominal)
        return self.admits(filter_) and bool((filter_.masses_of(filter_.x) >= least).all())


def is_sound(filter_: InertialFilter) -> bool:
    """Return whether a filter's state is finite and its covariance positive definite."""
    if not (np.isfinite(filter_.x).all() and np.isfinite(filter_.P).all()):
        return False
    try:
        cholesky(filter_.P.copy())
    except MeasurementError:
        return False
    return True
