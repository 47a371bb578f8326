"""Feedback of the divergent component of motion (DCM) through the contact forces.

xi = c + c'/omega obeys xi' = omega (xi - p), p the centre of pressure (Englsberger et al. 2013). For the
error e = xi - xi_ref to decay as e' = -k e the centre of pressure must be

    p = p_ref + (1 + k/omega) e + (k_i/omega) int e dt

and the centre of mass then accelerates with c'' = omega^2 (c - p) (Benallegue et al. V-B).
"""

import math

import numpy as np

from inertial_estimation.control.controller_config import BalanceConfig
from inertial_estimation.control.support_polygon import nearest_in_hull
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array

LOWEST_PENDULUM = 0.1  # of the height of the centre of mass [m]


def pendulum_frequency(height: float) -> float:
    """Return omega = sqrt(g / height) of the linear inverted pendulum [1/s]."""
    return math.sqrt(STANDARD_GRAVITY / max(height, LOWEST_PENDULUM))


def divergent_component(com: Array, com_velocity: Array, omega: float) -> Array:
    """Return xi = c + c'/omega in the horizontal plane [m], shape (2,)."""
    return com[:2] + com_velocity[:2] / omega


class DcmFeedback:
    """Finds the centre of pressure that brings the DCM to its reference.

    Attributes:
        integral: Shift of the centre of pressure by the integral, world axes [m], shape (2,).
        saturated: Whether the last centre of pressure was moved back into the support polygon.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the integral."""
        self.integral = np.zeros(2)
        self.saturated = False

    def centre_of_pressure(
        self,
        config: BalanceConfig,
        error: Array,
        p_ref: Array,
        support: Array,
        omega: float,
        h: float,
    ) -> Array:
        """Return the centre of pressure to apply.

        Args:
            config: Gains.
            error: xi - xi_ref [m], shape (2,).
            p_ref: Centre of pressure of the reference [m], shape (2,).
            support: Points of the soles that carry, margin taken off [m], shape (k, 2), k at least 1.
            omega: Frequency of the pendulum [1/s].
            h: Time since the last call [s].

        Returns:
            Centre of pressure inside the support polygon [m], shape (2,).
        """
        ex, ey = error.tolist()
        x, y = self.integral.tolist()
        if not self.saturated:
            share = h * config.integral / omega
            x, y = x + share * ex, y + share * ey
            length, limit = math.hypot(x, y), config.integral_limit
            if length > limit:
                x, y = x * (limit / length), y * (limit / length)
            self.integral = np.array([x, y])
        px, py = p_ref.tolist()
        gain = 1.0 + config.gain / omega
        wanted = (px + gain * ex + x, py + gain * ey + y)
        reached = nearest_in_hull(support, wanted)
        self.saturated = reached != wanted
        return np.array(reached)
