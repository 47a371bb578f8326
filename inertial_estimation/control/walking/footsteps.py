"""Where feet land, and the centre of pressure over the steps to come."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.control.support_polygon import Point
from inertial_estimation.control.walking.dcm_reference import PressureSegment
from inertial_estimation.control.walking.walking_config import WalkingConfig
from inertial_estimation.signals import Array

HORIZON_STEPS = (
    3  # number of steps planned ahead; further ones have no effect: e^{-omega T} of them is below 1 %
)


def between(a: Point, b: Point, s: float = 0.5) -> Point:
    """Return the point a + s (b - a)."""
    return a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])


class Footsteps:
    """Steps of equal length by two feet, the left one with index 0.

    Attributes:
        length: Distance of a step forward [m].
        width: Distance between the feet [m].
        left: Steps still to be made, the one under way included.
        closing: Whether the last one closes the feet.
    """

    def __init__(self, config: WalkingConfig) -> None:
        self.set_config(config)
        self.length = 0.0
        self.width = 0.2
        self.left = 0
        self.closing = True

    def set_config(self, config: WalkingConfig) -> None:
        """Take new durations."""
        self._config = config

    def landing(self, swing: int, left: int) -> Array:
        """Return where a foot lands, in the heading frame of the foot that stands [m], shape (3,).

        Args:
            swing: The foot in the air: 0 left, 1 right.
            left: Steps left, this one included; the last one closes the feet, if `closing`.
        """
        side = self.width if swing == 0 else -self.width
        return np.array([0.0 if left <= 1 and self.closing else self.length, side, 0.0])

    def pressure_plan(
        self, stance: Point, yaw: float, swing: int, remaining: float, shift: Point = (0.0, 0.0)
    ) -> list[PressureSegment]:
        """Return the centre of pressure from the swing under way on.

        Args:
            stance: Centre of the standing sole [m].
            yaw: Its heading [rad].
            swing: The foot in the air, or about to be.
            remaining: Time left of its swing [s].
            shift: By how much its landing is moved, heading frame [m].
        """
        config, c, s = self._config, math.cos(yaw), math.sin(yaw)
        segments: list[PressureSegment] = []
        for ahead in range(HORIZON_STEPS):
            left = self.left - ahead
            segments.append(PressureSegment(stance, stance, remaining))
            x, y, _ = self.landing(swing, left).tolist()
            x, y, shift = x + shift[0], y + shift[1], (0.0, 0.0)
            landing = (stance[0] + c * x - s * y, stance[1] + s * x + c * y)
            if left <= 1:
                segments.append(PressureSegment(stance, between(stance, landing), config.start_duration))
                break
            segments.append(PressureSegment(stance, landing, config.transfer_duration))
            stance, swing, remaining = landing, 1 - swing, config.swing_duration
        return segments


def first_swing(centres: Sequence[Array], yaw: float) -> int:
    """Return the foot that steps first: the one behind, the left one if they are level.

    Args:
        centres: Centres of both soles [m].
        yaw: Heading [rad].
    """
    ahead = (centres[0] - centres[1])[:2] @ np.array([math.cos(yaw), math.sin(yaw)])
    return 1 if ahead > 0.02 else 0
