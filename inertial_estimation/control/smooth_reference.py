"""References that never jump."""

import numpy as np

from inertial_estimation.signals import Array

__all__ = ["SmoothReference"]


class SmoothReference:
    """Follows a target with bounded rate and acceleration.

    A target that moves slower than the bounds is followed exactly, without lag; one that jumps is
    approached along a profile that speeds up, cruises and stops on it: v = sqrt(2 a |e|) is the speed from
    which braking with a ends at the target.

    Attributes:
        position: Reference now, shape (n,).
        rate: Its rate now, shape (n,).
        target: Where it goes, shape (n,).
    """

    def __init__(self, start: Array, max_rate: float, max_acceleration: float) -> None:
        self._max_rate = max_rate
        self._max_acceleration = max_acceleration
        self.reset(start)

    def reset(self, start: Array) -> None:
        """Stand still at a value."""
        self.position = np.array(start, dtype=float)
        self.rate = np.zeros_like(self.position)
        self.target = self.position.copy()
        self._target_rate = np.zeros_like(self.position)
        self._there = True

    def set_target(self, target: Array, rate: Array | None = None) -> None:
        """Set where to go.

        Args:
            target: Shape (n,).
            rate: Rate at which the target itself moves, shape (n,); None: zero.
        """
        self.target = np.array(target, dtype=float)
        self._target_rate = np.zeros_like(self.target) if rate is None else np.array(rate, dtype=float)
        self._there = False

    def step(self, h: float) -> None:
        """Advance by a time step [s]."""
        if h <= 0.0 or self._there:
            return
        error = self.target - self.position
        braking = np.sqrt(2.0 * self._max_acceleration * np.abs(error))
        reach = np.minimum(np.minimum(braking, np.abs(error) / h), self._max_rate)
        wanted = np.sign(error) * reach
        change = self._max_acceleration * h
        rate = np.clip(wanted, self.rate - change, self.rate + change)
        arrived = np.abs(error) <= np.maximum(self._max_acceleration * h * h, np.abs(self.rate) * h * 1.5)
        arrived &= np.abs(wanted - self.rate) <= 2.0 * change
        self.position = np.where(arrived, self.target, self.position + h * rate)
        self.rate = np.where(arrived, self._target_rate, rate)
        self._there = bool(arrived.all())
