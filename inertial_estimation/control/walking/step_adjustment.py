"""Where to land instead, when a push is more than the sole can correct."""

import math

import numpy as np

from inertial_estimation.control.smooth_reference import SmoothReference
from inertial_estimation.control.walking.walking_config import WalkingConfig
from inertial_estimation.signals import Array

SHIFT_RATE = 1.5  # how fast the place of landing moves [m/s]
SHIFT_ACCELERATION = 20.0  # [m/s^2]
LAST_CHANGE = 0.08  # before the touchdown the place is kept [s]


def uncorrected_error(error: Array, reach: Array, omega: float, remaining: float) -> Array:
    """Return the error of the DCM at touchdown that the centre of pressure cannot take away.

    The error grows as e' = omega (e - d), d the shift of the centre of pressure. With d at the edge of the
    sole all the time, |e(T)| = e^{omega T} |e| - (e^{omega T} - 1) reach; what is below zero is correctable.

    Args:
        error: Error now [m], shape (2,).
        reach: How far the centre of pressure can be moved along each axis [m], shape (2,).
        omega: Frequency of the pendulum [1/s].
        remaining: Time until touchdown [s].

    Returns:
        Error left [m], shape (2,).
    """
    growth = math.exp(omega * remaining)
    return np.copysign(np.maximum(growth * np.abs(error) - (growth - 1.0) * reach, 0.0), error)


class StepAdjustment:
    """Moves the place of landing of one step, smoothly, in the heading frame of the standing foot.

    Attributes:
        shift: Shift of the landing [m], shape (2,).
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new step."""
        self._reference = SmoothReference(np.zeros(2), SHIFT_RATE, SHIFT_ACCELERATION)
        self._target = (0.0, 0.0)

    @property
    def shift(self) -> Array:
        """Shift of the landing [m], shape (2,)."""
        return self._reference.position

    def update(
        self, config: WalkingConfig, left_over: Array, landing: Array, remaining: float, h: float
    ) -> None:
        """Follow what the sole cannot correct.

        Args:
            config: How far a step may be moved, and how near the feet may come.
            left_over: Error of the DCM at touchdown that will be left, heading frame [m], shape (2,).
            landing: Planned place of landing [m], shape (3,).
            remaining: Time until touchdown [s].
            h: Time since the last call [s].
        """
        if remaining > LAST_CHANGE:
            limit = config.step_adjustment
            x, y = np.clip(left_over, -limit, limit).tolist()
            side = math.copysign(1.0, float(landing[1]))
            nearest = side * min(config.least_width, abs(float(landing[1])))
            y = side * max(side * (float(landing[1]) + y), side * nearest) - float(landing[1])
            if (x, y) != self._target:
                self._target = (x, y)
                self._reference.set_target(np.array([x, y]))
        self._reference.step(h)
