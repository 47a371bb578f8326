"""Observers for comparison, whose steps are Python functions."""

from abc import abstractmethod

from inertial_estimation.estimators.tilt.observer_steps import (
    FLIGHT,
    GRAVITY_AIDED,
    VELOCITY_AIDED,
    advance_without_contact,
    lost_in_flight,
)
from inertial_estimation.estimators.tilt.tilt_observer import GainsT, TiltObserver
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import Vector, cross


class ComparisonObserver(TiltObserver[GainsT]):
    """An observer that says how it makes a step with contact."""

    def step(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None) -> None:
        """Advance by one step, as `TiltObserver.step`."""
        numbers = self._cells
        if y_v is None:
            numbers[FLIGHT] += h
            self._step_without_contact(h, w_I, f_I)
            return
        if not numbers[VELOCITY_AIDED]:
            self._land(y_v)
        numbers[VELOCITY_AIDED], numbers[GRAVITY_AIDED] = 1.0, 0.0
        self._step_with_contact(h, w_I, f_I, y_v)

    def _land(self, y_v: Vector) -> None:
        """Begin with the first contact velocity after a flight.

        The feet strike and skid at the moment of landing. After a short flight the integrated velocity is the
        better one; after a long one, or after a push in flight, the measured velocity is.
        """
        if lost_in_flight(self._cells[FLIGHT], self.x1, y_v):
            self.initialise(y_v, self.x2)
        self._cells[FLIGHT] = 0.0

    @abstractmethod
    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        """Advance by one step with the measured velocity; set `innovation` and `correction`."""

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        """Propagate (B 16); where |f| is near g0, rotate x2 towards f and decay x1 at the same rate."""
        advance_without_contact(h, w_I, f_I, self.shared)


def velocity_correction(x2: Vector, e: Vector, gain: float) -> Vector:
    """Return the angular velocity that moves x2 by the tangent part of -(gain/g0) e: -(gain/g0) x2 x e.

    Args:
        x2: A vertical.
        e: Error of a velocity [m/s].
        gain: Its gain [1/s].
    """
    scale = -gain / STANDARD_GRAVITY
    a = cross(x2, e)
    return scale * a[0], scale * a[1], scale * a[2]
