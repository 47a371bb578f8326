"""References that never jump."""

import numpy as np

from inertial_estimation.signals import Array

RATE_HOLD = 0.05  # how long the rate of a target counts without a new target [s]


class SmoothReference:
    """Follows a target with bounded rate and acceleration.

    A target that moves slower than the bounds is followed exactly, without lag; one that jumps is
    approached along a profile that speeds up, cruises and stops on it.

    Attributes:
        position: Reference now, shape (n,).
        rate: Its rate now, shape (n,).
        acceleration: Its acceleration now, shape (n,): of the approach, or of the target's rates.
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
        self.acceleration = np.zeros_like(self.position)
        self._target_rate = np.zeros_like(self.position)
        self._target_acceleration = np.zeros_like(self.position)
        self._there, self._target_moves, self._age = True, False, 0.0

    def set_target(self, target: Array, rate: Array | None = None) -> None:
        """Set where to go.

        Args:
            target: Shape (n,).
            rate: Rate at which the target itself moves, shape (n,); None: zero. A target that is not
                renewed within `RATE_HOLD` stands still.
        """
        self.target = np.array(target, dtype=float)
        new_rate = np.zeros_like(self.target) if rate is None else np.array(rate, dtype=float)
        if 0.0 < self._age <= RATE_HOLD:
            change = (new_rate - self._target_rate) / self._age
            limit = self._max_acceleration
            self._target_acceleration = np.clip(change, -limit, limit)
        self._target_rate = new_rate
        self._there, self._target_moves, self._age = False, True, 0.0

    def step(self, h: float) -> None:
        """Advance by a time step [s]."""
        if h <= 0.0:
            return
        self._age += h
        if self._age > RATE_HOLD and self._target_moves:
            self._there = self._there and not (self._target_rate.any() or self._target_acceleration.any())
            self._target_rate = np.zeros_like(self.target)
            self._target_acceleration = np.zeros_like(self.target)
            self._target_moves = False
        if not self._there:
            self._approach(h)

    def _approach(self, h: float) -> None:
        """Steer the rate: v = a h (sqrt(1/4 + 2 |e| / (a h^2)) - 1/2) brakes on the target."""
        a = self._max_acceleration
        error = self.target - self.position - h * self._target_rate
        distance = np.abs(error)
        braking = a * h * (np.sqrt(0.25 + 2.0 * distance / (a * h * h)) - 0.5)
        wanted = self._target_rate + np.sign(error) * np.minimum(braking, distance / h)
        wanted = np.clip(wanted, -self._max_rate, self._max_rate)
        rate = np.clip(wanted, self.rate - a * h, self.rate + a * h)
        position = self.position + h * rate
        near = np.abs(self.target - position) <= 0.5 * a * h * h
        arrived = near & (np.abs(rate - self._target_rate) <= a * h)
        self.acceleration = np.where(arrived, self._target_acceleration, (rate - self.rate) / h)
        self.position = np.where(arrived, self.target, position)
        self.rate = np.where(arrived, self._target_rate, rate)
        self._there = bool(arrived.all())
