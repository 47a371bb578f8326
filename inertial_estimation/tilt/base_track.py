"""Orientation, position and velocity of the base, from velocity and vertical of the IMU.

The tilt is that of the observer. The yaw is that of a reference, or the integral of the rate. The position is
dead reckoning over contacts: one that comes into use gets an anchor, its position in the world at that time,
and the base is at p_WB = sum_i s_i (anchor_i - R_WB p_BC,i). Without contact the velocity is integrated.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, skew, unit_quaternion, with_vertical
from inertial_estimation.spatial.vectors import matrix_of
from inertial_estimation.tilt.error_state import TiltState


class Mounting(NamedTuple):
    """Pose of the IMU in the base.

    Attributes:
        R_BI: Its orientation, shape (3, 3).
        p_BI: Its position [m], shape (3,).
    """

    R_BI: MutableTable
    p_BI: MutableColumn


class BaseMotion(NamedTuple):
    """Pose and twist of the base.

    Attributes:
        R_WB: Its orientation, shape (3, 3).
        quaternion: The same, x y z w, shape (4,).
        p_WB: Its position [m], shape (3,).
        v_WB_B: Its velocity, in its frame [m/s], shape (3,).
        w_WB_B: Its angular velocity, in its frame [rad/s], shape (3,).
        up_B: The vertical in its frame, shape (3,).
    """

    R_WB: MutableTable
    quaternion: MutableColumn
    p_WB: MutableColumn
    v_WB_B: MutableColumn
    w_WB_B: MutableColumn
    up_B: MutableColumn

    @classmethod
    def empty(cls) -> "BaseMotion":
        """Return one with arbitrary numbers."""
        return cls(np.empty((3, 3)), np.empty(4), np.empty(3), np.empty(3), np.empty(3), np.empty(3))


class BaseUncertainty(NamedTuple):
    """Covariances of the errors of the base, in its frame.

    Attributes:
        rotation: Of small rotations [rad^2], shape (3, 3).
        velocity: [m^2/s^2], shape (3, 3).
        bias: Variances of the gyroscope's bias, across and along the vertical [rad^2/s^2].
        speed: Standard deviation of the velocity, of one axis [m/s].
    """

    rotation: Array
    velocity: Array
    bias: tuple[float, float]
    speed: float

    @classmethod
    def of(cls, imu: TiltState, mounting: Mounting) -> "BaseUncertainty":
        """Return that which follows from the IMU's, mounted in this pose."""
        P, R_BI, z = imu.covariance, mounting.R_BI, imu.vertical
        lever, of_bias = skew(mounting.p_BI) @ R_BI, P[6:9, 6:9]
        velocity = R_BI @ P[0:3, 0:3] @ R_BI.T + lever @ of_bias @ lever.T
        along = float(z @ of_bias @ z)
        bias, speed = (0.5 * (float(of_bias.trace()) - along), along), max(float(velocity.trace()) / 3.0, 0.0)
        return cls(R_BI @ P[3:6, 3:6] @ R_BI.T, velocity, bias, math.sqrt(speed))


@compiled
def move(
    R_WB: Table,
    p_WB: Column,
    v_WB_B: Column,
    after: BaseMotion,
    h: float,
    imu: TiltState,
    mean_rate: Column,
    rate: Column,
    mounted: Mounting,
    mounting: Mounting,
    yaw_known: bool,
) -> None:
    """Compute the motion of the base at the end of a step from that of the IMU.

    Args:
        R_WB: Orientation at the begin of the step, or that of a reference, whose yaw is taken, shape (3, 3).
        p_WB: Position at the begin [m], shape (3,).
        v_WB_B: Velocity at the begin, in the base frame [m/s], shape (3,).
        after: Takes the result; changed.
        h: Duration of the step [s].
        imu: Velocity and vertical of the IMU at the end.
        mean_rate: Mean reading of the gyroscope over the step [rad/s], shape (3,).
        rate: Its reading at the end [rad/s], shape (3,).
        mounted: Pose of the IMU in the base at the begin.
        mounting: The same at the end.
        yaw_known: Whether the yaw is that of a reference, and not integrated.
    """
    R_BI, p_BI, bias = mounting.R_BI, mounting.p_BI, imu.bias
    T = R_BI @ mounted.R_BI.T  # its turn over the step is small
    w_BI = (0.5 / h) * np.array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
    v_BI = (p_BI - mounted.p_BI) / h
    lever, up = skew(p_BI), R_BI @ imu.vertical
    after.up_B[:] = up
    after.w_WB_B[:] = R_BI @ (rate - bias) - w_BI
    after.v_WB_B[:] = R_BI @ imu.velocity - v_BI + lever @ after.w_WB_B
    turn = exp_so3(h * (R_BI @ (mean_rate - bias) - w_BI)) if not yaw_known else np.eye(3)
    R = with_vertical(R_WB @ turn, up)
    after.R_WB[:] = R
    q = after.quaternion
    q[0], q[1], q[2], q[3] = unit_quaternion(matrix_of(R.reshape(9), 0))
    after.p_WB[:] = p_WB + 0.5 * h * (R @ (after.v_WB_B + v_WB_B))


class BaseTrack:
    """Orientation and position of the base in the world.

    Attributes:
        motion: At the end of the last step.
        uncertainty: At the last look.
        position_variance: Of its position, of one axis [m^2]: grows where no contact holds it.
    """

    def __init__(self) -> None:
        """Begin above the origin of the world."""
        self.reset()

    def reset(self) -> None:
        """Return to the origin, with zero yaw."""
        self.motion = BaseMotion.empty()
        for part in self.motion:
            part[:] = 0.0
        self.motion.R_WB[:] = np.eye(3)
        self.position_variance, self._height_known = 0.0, False
        self.uncertainty = BaseUncertainty(np.zeros((3, 3)), np.zeros((3, 3)), (0.0, 0.0), 0.0)
        self._anchors: dict[int, Array] = {}  # positions of the contacts in use, by their numbers
        self.remount()

    def remount(self) -> None:
        """Take the IMU for fixed to the base until the end of the next step."""
        self._mounted: Mounting | None = None

    def advance(
        self,
        h: float,
        imu: TiltState,
        mean_rate: Array,
        rate: Array,
        mounting: Mounting,
        R_reference: Array | None,
    ) -> BaseMotion:
        """Advance by one step of h seconds; see `move`.

        Args:
            h: Duration of the step [s].
            imu: Velocity and vertical of the IMU at its end.
            mean_rate: Mean reading of the gyroscope over it [rad/s], shape (3,).
            rate: Its reading at the end [rad/s], shape (3,).
            mounting: Pose of the IMU in the base at the end.
            R_reference: Orientation whose yaw is taken; None integrates.

        Returns:
            The motion at the end, a value of its own.
        """
        before, after, known = self.motion, BaseMotion.empty(), R_reference is not None
        R_WB = before.R_WB if R_reference is None else R_reference
        mounted = self._mounted or mounting
        move(R_WB, before.p_WB, before.v_WB_B, after, h, imu, mean_rate, rate, mounted, mounting, known)
        self.motion, self._mounted = after, mounting
        moved = h * self.uncertainty.speed
        self.position_variance += moved * moved + 2.0 * moved * math.sqrt(self.position_variance)
        return after

    def stand(self, points_B: Array, shares: Array) -> None:
        """Let the contacts in use hold the position.

        Args:
            points_B: Contact points in the base frame [m], shape (n, 3).
            shares: Share of each in the weight, of sum one or zero, shape (n,).
        """
        motion, carrying = self.motion, {k: share for k, share in enumerate(shares.tolist()) if share > 0.0}
        anchors = {k: anchor for k, anchor in self._anchors.items() if k in carrying}
        levers = points_B @ motion.R_WB.T
        if carrying and not self._height_known:
            motion.p_WB[2], self._height_known = -float(shares @ levers[:, 2]), True
        if anchors:
            total = sum(carrying[k] for k in anchors)
            anchored = sum(carrying[k] * (anchor - levers[k]) for k, anchor in anchors.items())
            motion.p_WB[:] = anchored + (1.0 - total) * motion.p_WB
            self.position_variance *= (1.0 - total) ** 2
        self._anchors = {k: anchors[k] if k in anchors else motion.p_WB + levers[k] for k in carrying}
