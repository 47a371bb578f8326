"""Single-stage tilt observers that the two-stage one is compared with, and contact velocities for all.

The observer in R3 x S2 (Benallegue et al., V-A, its reference 18), and that after Hua, Martin and Hamel
(Automatica 63, 2016), are

    x1' = -S(w) x1 - g x2 + f + k1v e + k2v (e - x2 x2^T e),   e = y_v - x1
    x2' = -S(w + (k1r/g) S(x2) e) x2

with k2v = 0 for the former: k2v acts on the innovation across the vertical only. The publication of Hua et
al. was not available: gains and symbols are those quoted by Benallegue et al.; the form is the one that is
invariant to yaw and that makes this observer the slowest of the three with their gains, as they report.
"""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.models.contact_kinematics import ContactView
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3

LEAST_FORCE = 1.0  # of a contact that is in use [N]


class SingleStageGains(NamedTuple):
    """Gains of a single-stage observer.

    Attributes:
        k1v: On the velocity [1/s].
        k1r: On the vertical [1/s^2].
        k2v: Further gain on the velocity across the vertical [1/s].
    """

    k1v: float
    k1r: float
    k2v: float = 0.0


class SingleStageState(NamedTuple):
    """State of a single-stage observer, in the frame of the IMU.

    Attributes:
        velocity: x1 [m/s], shape (3,).
        vertical: x2, unit norm, shape (3,).
    """

    velocity: Array
    vertical: Array


def single_stage_step(
    state: SingleStageState, gains: SingleStageGains, h: float, rate: Array, force: Array, velocity: Array
) -> SingleStageState:
    """Advance by one step; the innovation is solved exactly, with the vertical of the middle.

    Args:
        state: At its begin.
        gains: Of the observer.
        h: Its duration [s].
        rate: Mean angular rate [rad/s], shape (3,).
        force: Mean specific force [m/s^2], shape (3,).
        velocity: y_v, of the IMU by the contacts, in its frame [m/s], shape (3,).
    """
    half = exp_so3(-0.5 * h * rate)
    x1, x2 = half @ state.velocity, half @ state.vertical
    along = np.outer(x2, x2)
    left, mean = np.zeros(3), np.zeros(3)
    for part, gain in ((along, gains.k1v), (np.eye(3) - along, gains.k1v + gains.k2v)):
        steady = -(part @ (force - STANDARD_GRAVITY * x2)) / gain  # of e' = -gain e - free
        rest = part @ (velocity - x1) - steady
        left += steady + math.exp(-gain * h) * rest
        mean += steady - math.expm1(-gain * h) / (gain * h) * rest
    turn = -gains.k1r / STANDARD_GRAVITY * np.cross(x2, mean)
    vertical = half @ (exp_so3(h * turn) @ x2)
    return SingleStageState(half @ (velocity - left), vertical / np.linalg.norm(vertical))


class SolePoints:
    """Centres of pressure of flat soles, as points of the IMU's frame, over a record.

    Attributes:
        now: Of the contacts at the end of every step, shape (n, contacts, 3).
        before: The same points of the soles at its begin, shape (n, contacts, 3).
        shares: Of the contacts in all forces, shape (n, contacts); all zero without contact.
    """

    def __init__(self, setup: RobotSetup, q: Array, wrench_F: Array, extent: float) -> None:
        """Compute them.

        Args:
            setup: The robot.
            q: Joint positions [rad], shape (n, n_joints).
            wrench_F: At each contact, in its frame [N, Nm], shape (n, contacts, 6).
            extent: Farthest a point may lie from the origin of its frame, along each axis [m].
        """
        view, n = ContactView(setup), len(q)
        origins, frames = [], []
        for positions in q:
            view.update(positions)
            origins.append(view.points)
            frames.append(view.rotations)
        p, R = np.array(origins), np.array(frames)
        c = np.zeros((n, p.shape[1], 3))
        for k, i in np.ndindex(c.shape[:2]):
            f, m = wrench_F[k, i, :3], wrench_F[k, i, 3:]
            pushed = f[2] > 0.0  # else a foot that tips still stands on the edge it tipped over
            c[k, i] = np.clip([-m[1] / f[2], m[0] / f[2], 0.0], -extent, extent) if pushed else c[k - 1, i]
        last = np.maximum(np.arange(n) - 1, 0)
        self.now = p + np.einsum("nkij,nkj->nki", R, c)
        self.before = p[last] + np.einsum("nkij,nkj->nki", R[last], c)
        loads = np.linalg.norm(wrench_F[:, :, :3], axis=2)
        loads[loads < LEAST_FORCE] = 0.0
        total = loads.sum(axis=1, keepdims=True)
        self.shares = np.divide(loads, total, out=np.zeros_like(loads), where=total > 0.0)

    def velocity(self, k: int, h: float, rate: Array) -> Array | None:
        """Return the mean velocity of the IMU over a step, in its frame at the end [m/s].

        None without contact.

        Args:
            k: Number of the step.
            h: Its duration [s].
            rate: Mean angular rate over it [rad/s], shape (3,).
        """
        if not self.shares[k].any():
            return None
        moved = self.before[k] @ exp_so3(-h * rate).T - self.now[k]
        y_v: Array = self.shares[k] @ moved / h
        return y_v
