"""Orientation, position and velocity of the base, from velocity and vertical of the IMU.

The tilt is that of the filter. The yaw is that of a reference, or the integral of the rate. The position is
dead reckoning
over contacts: one that comes into use gets an anchor, its position in the world at that time, and the base
is at p_WB = sum_i s_i (anchor_i - R_WB p_BC,i). Without contact the velocity is integrated.
"""

import math

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, yaw_of
from inertial_estimation.spatial.vectors import align_rows, matrix, vector


class BaseTrack:
    """Orientation and position of the base in the world.

    Attributes:
        R_WB: Orientation of the base, shape (3, 3).
        p_WB: Its position [m], shape (3,).
        v_WB_B: Its velocity in the base frame [m/s], shape (3,).
        w_WB_B: Its angular velocity in the base frame [rad/s], shape (3,).
        position_variance: Of its position, horizontal [m^2]: grows where no contact holds it.
    """

    def __init__(self, contacts: int) -> None:
        """Begin above the origin of the world.

        Args:
            contacts: Number of contacts.
        """
        self._anchors = np.full((contacts, 3), math.nan)
        self.reset()

    def reset(self) -> None:
        """Return to the origin, with zero yaw."""
        self.R_WB, self.p_WB = np.eye(3), np.zeros(3)
        self.v_WB_B, self.w_WB_B = np.zeros(3), np.zeros(3)
        self.position_variance, self._height_known = 0.0, False
        self._anchors[:] = math.nan

    def turn(self, h: float, w_B: Array, up_B: Array, R_reference: Array | None) -> None:
        """Advance the orientation.

        Args:
            h: Duration of the step [s].
            w_B: Mean angular velocity of the base [rad/s], shape (3,).
            up_B: The vertical in the base frame at the end, shape (3,).
            R_reference: Orientation whose yaw is taken; None integrates.
        """
        R = self.R_WB @ exp_so3(h * w_B) if R_reference is None else R_reference
        self.R_WB = np.array(align_rows(matrix(R), vector(up_B)))
        self.w_WB_B = w_B

    def move(self, h: float, v_B: Array, velocity_variance: float) -> None:
        """Advance the position by the velocity.

        Args:
            h: Duration of the step [s].
            v_B: Velocity of the base at the end, base frame [m/s], shape (3,).
            velocity_variance: Of one of its axes [m^2/s^2].
        """
        self.p_WB = self.p_WB + 0.5 * h * (self.R_WB @ (v_B + self.v_WB_B))
        self.v_WB_B = v_B
        self.position_variance += h * h * velocity_variance + 2.0 * h * math.sqrt(
            self.position_variance * velocity_variance
        )

    def stand(self, points_B: Array, shares: Array) -> None:
        """Let the contacts in use hold the position.

        Args:
            points_B: Contact points in the base frame [m], shape (n, 3).
            shares: Share of each in the weight, of sum one or zero, shape (n,).
        """
        used = shares > 0.0
        self._anchors[~used] = math.nan
        if not used.any():
            return
        levers = points_B @ self.R_WB.T
        if not self._height_known:
            self.p_WB[2], self._height_known = -float(shares @ levers[:, 2]), True
        held = used & ~np.isnan(self._anchors[:, 0])
        if held.any():
            total = float(shares[held].sum())
            anchored = shares[held] @ (self._anchors[held] - levers[held])
            self.p_WB = anchored + (1.0 - total) * self.p_WB
            self.position_variance *= (1.0 - total) ** 2
        new = used & ~held
        self._anchors[new] = self.p_WB + levers[new]

    @property
    def yaw(self) -> float:
        """Yaw of the base [rad]."""
        return yaw_of(self.R_WB)
