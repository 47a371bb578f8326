"""Torques that return to control at a bounded rate."""

import numpy as np

from inertial_estimation.signals import Array

LONGEST_TICK_S = 0.01  # time between two commands that counts: a late command does not make a larger step
UNLIMITED_TORQUE = 100.0  # taken for the rate of joints without an effort limit [Nm]


class TorqueReturn:
    """Moves the torques from those last sent to the wanted ones, at most by a share of the limits a tick.

    Once all torques have arrived it does nothing until the next `begin`.
    """

    def __init__(self, tau_max: Array, duration: float) -> None:
        """Set the rate.

        Args:
            tau_max: Torque limits [Nm], shape (n_joints,).
            duration: Time in which a torque may change by its limit [s].
        """
        self._rate = np.where(np.isfinite(tau_max), tau_max, UNLIMITED_TORQUE) / duration
        self._tau: Array | None = None

    def reset(self) -> None:
        """Let the next torques take effect at once."""
        self._tau = None

    def begin(self, tau: Array) -> None:
        """Start from torques [Nm], shape (n_joints,)."""
        self._tau = tau

    def limited(self, tau: Array, h: float) -> Array:
        """Return the torques to send.

        Args:
            tau: The wanted torques [Nm], shape (n_joints,).
            h: Time since the last command [s].
        """
        if self._tau is None:
            return tau
        step = self._rate * min(h, LONGEST_TICK_S)
        sent: Array = np.minimum(np.maximum(tau, self._tau - step), self._tau + step)
        self._tau = None if np.array_equal(sent, tau) else sent
        return sent
