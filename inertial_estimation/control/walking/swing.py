"""Path of a foot through the air, relative to the foot that stands."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inertial_estimation.control.tasks import FootReference
from inertial_estimation.control.walking.walking_config import WalkingConfig
from inertial_estimation.models.whole_body_dynamics import FrameMotion
from inertial_estimation.signals import Array
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives
from inertial_estimation.spatial.rotations import exp_so3, log_so3, yaw_of

ARRIVED_SHARE = 0.9  # of the duration: the horizontal motion ends there, before the touchdown
APEX_SHARE = 0.5  # of the duration: the highest point


class Placed(Protocol):
    """What has an orientation and a place relative to the base origin, world axes: a foot, the ground."""

    @property
    def R_WF(self) -> Array:
        """Orientation, shape (3, 3)."""

    @property
    def p_BF_W(self) -> Array:
        """Origin [m], shape (3,)."""


@dataclass(frozen=True, slots=True, eq=False)
class SwingPath:
    """Minimum-jerk path from where the foot left the ground to where it lands.

    Everything is given in the heading frame of the standing foot: its origin, its yaw, z up.

    Attributes:
        start: Position at lift-off [m], shape (3,).
        turn: Orientation at lift-off as a rotation vector; it lands flat [rad], shape (3,).
        duration: Time until the planned touchdown [s].
        apex: Height of the highest point [m].
        touchdown_speed: Downward speed at touchdown, kept until the ground is there [m/s].
    """

    start: Array
    turn: Array
    duration: float
    apex: float
    touchdown_speed: float

    @classmethod
    def lift_off(cls, foot: FrameMotion, stance: FrameMotion, config: WalkingConfig) -> "SwingPath":
        """Begin at the foot's present pose.

        Args:
            foot: The foot that leaves the ground.
            stance: The foot that stands.
            config: Duration, height, touchdown speed.
        """
        R_HW = exp_so3(np.array([0.0, 0.0, -yaw_of(stance.R_WF)]))
        start = R_HW @ (foot.p_BF_W - stance.p_BF_W)
        apex = max(float(start[2]), 0.0) + config.swing_height
        turn = log_so3(R_HW @ foot.R_WF)
        return cls(start, turn, config.swing_duration, apex, config.touchdown_speed)

    def reference(self, t: float, landing: Array, stance: Placed) -> FootReference:
        """Return where the foot should be.

        Args:
            t: Time since lift-off [s]; after the duration the foot goes on down.
            landing: Where it lands, in the heading frame [m], shape (3,).
            stance: The foot that stands, now, or the frame of the ground the path is given in.
        """
        s, rate, curvature = _blend(t, ARRIVED_SHARE * self.duration)
        path = landing - self.start
        position, velocity, acceleration = self.start + s * path, rate * path, curvature * path
        position[2], velocity[2], acceleration[2] = self._vertical(t, float(landing[2]))
        R_WH = exp_so3(np.array([0.0, 0.0, yaw_of(stance.R_WF)]))
        return FootReference(
            R_WH @ exp_so3((1.0 - s) * self.turn),
            stance.p_BF_W + R_WH @ position,
            R_WH @ velocity,
            R_WH @ acceleration,
        )

    def _vertical(self, t: float, ground: float) -> tuple[float, float, float]:
        rise = APEX_SHARE * self.duration
        fall = self.duration - rise
        if t < rise:
            s, rate, curvature = _blend(t, rise)
            height = self.apex - float(self.start[2])
            return float(self.start[2]) + s * height, rate * height, curvature * height
        if t > self.duration:
            return ground - self.touchdown_speed * (t - self.duration), -self.touchdown_speed, 0.0
        s, rate, curvature = _blend(t - rise, fall)
        drop = ground - self.apex
        # Ends at speed -v without acceleration: plus v T u^3 (4 - 7 u + 3 u^2), zero at both ends.
        u = (t - rise) / fall
        v = self.touchdown_speed
        extra = v * fall * u**3 * (4.0 - 7.0 * u + 3.0 * u * u)
        extra_rate = v * u * u * (12.0 - 28.0 * u + 15.0 * u * u)
        extra_curvature = v / fall * u * (24.0 - 84.0 * u + 60.0 * u * u)
        return self.apex + s * drop + extra, rate * drop + extra_rate, curvature * drop + extra_curvature


def _blend(t: float, duration: float) -> tuple[float, float, float]:
    """Return the minimum-jerk blend with its first two derivatives in time."""
    s, rate, curvature = minimum_jerk_derivatives(min(1.0, max(0.0, t / duration)))
    return s, rate / duration, curvature / duration**2
