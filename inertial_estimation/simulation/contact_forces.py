"""Compliant point contacts: unilateral spring-dampers along the normal, bristles with Coulomb's cone across it.

A point p at depth d below the ground, the normal n outwards, feels

    f_n = max(0, K d + D d')            no adhesion,
    f_t = -K (p - anchor)_t - D v_t     while |f_t| <= mu f_n; else mu f_n along it, and the anchor follows.

K and D are the same across as along, so a sticking point is an isotropic spring-damper. A step of length h
takes the forces at its end (backward Euler): with u = J v the points' velocities, A = J M^-1 J',

    f = k - b u',   u' = u_free + h A f,   b = D + h K,   k the springs now,

a linear system in f, solved again when a point leaves or slips. So light feet on stiff ground are stable at
a step of 1 ms. Read off at an instant, the forces are the law above.
"""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground import Terrain
from inertial_estimation.simulation.simulation_config import GroundConfig

__all__ = ["PointContacts"]

MAX_SOLVES = 6
NEAR = 0.005  # points further above the ground than this plus a step's travel are not looked at [m]


class PointContacts:
    """All contact points of a robot, with the anchors of those that touch.

    Attributes:
        position_W: Points in the world [m], shape (n, 3).
        velocity_W: Their velocities [m/s], shape (n, 3); of those near the ground.
        depth: Depths below the ground along the normal [m], shape (n,).
        normal_W: Normals of the ground, shape (n, 3).
        jacobian: Jacobian of the points, world axes, shape (3 n, nv); rows of far points are stale.
    """

    def __init__(
        self, model: Any, bodies: Sequence[int], points_B: Array, terrain: Terrain, config: GroundConfig
    ) -> None:
        n = len(bodies)
        self._model, self._terrain, self._config = model, terrain, config
        self._bodies = np.array(bodies, dtype=int)
        self._points_B = np.asarray(points_B, dtype=float).reshape(n, 3, 1)
        self._anchor = np.zeros((n, 3))
        self._touching = np.zeros(n, dtype=bool)
        self._near = np.zeros(n, dtype=bool)
        self.position_W, self.velocity_W, self.normal_W = np.zeros((3, n, 3))
        self.depth = np.zeros(n)
        self.jacobian = np.zeros((3 * n, model.nv))
        self._rows = [self.jacobian[3 * k : 3 * k + 3] for k in range(n)]

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def any_near(self) -> bool:
        """Whether any point is near the ground."""
        return bool(self._near.any())

    @property
    def stiffness(self) -> float:
        """Stiffness of each point [N/m]."""
        return self._config.stiffness

    def ground_below(self, p_W: Array) -> tuple[float, Array]:
        """Return height [m] and normal of the ground below a point, shape (3,)."""
        height, normal = self._terrain.surface(np.reshape(p_W[:2], (1, 2)))
        return float(height[0]), normal[0]

    def locate(self, data: Any) -> None:
        """Find points, depths, velocities and Jacobians of a state whose kinematics are known."""
        R = data.xmat.reshape(-1, 3, 3)[self._bodies]
        p = data.xpos[self._bodies] + (R @ self._points_B)[:, :, 0]
        height, self.normal_W = self._terrain.surface(p[:, :2])
        self.position_W = p
        self.depth = (height - p[:, 2]) * self.normal_W[:, 2]
        margin = NEAR
        self._near = self.depth > -margin
        for k in np.flatnonzero(self._near):
            mujoco.mj_jac(self._model, data, self._rows[k], None, p[k], self._bodies[k])
        self.velocity_W = (self.jacobian @ data.qvel).reshape(-1, 3)

    def update_anchors(self) -> None:
        """Drop the anchors of points that left, set those of points that came, drag those that slip."""
        touching = self.depth > 0.0
        fresh = touching & ~self._touching
        self._anchor[fresh] = self.position_W[fresh]
        self._touching = touching
        if not touching.any():
            return
        K, D = self._config.stiffness, self._config.damping
        force = self._trial()
        limited = self._in_cone(force)
        slipping = touching & (np.abs(force - limited).max(axis=1) > 0.0) & (self._normal(force) > 0.0)
        if slipping.any():
            f_t = limited - self._normal(limited)[:, None] * self.normal_W
            v_t = self.velocity_W - self._normal(self.velocity_W)[:, None] * self.normal_W
            anchor = self.position_W + (f_t + D * v_t) / K
            self._anchor[slipping] = anchor[slipping]

    def anchor_here(self) -> None:
        """Put every point's anchor where the point is, as if it had just touched."""
        self._anchor[:] = self.position_W
        self._touching[:] = self.depth > 0.0

    def hold_anchors(self) -> None:
        """Count the points below the ground as touching, their anchors where they are."""
        self._touching[:] = self.depth > 0.0

    def spring_forces(self) -> Array:
        """Return the forces of the springs alone on a resting robot [N], world axes, shape (n, 3)."""
        return np.where(self._touching[:, None], self._springs(), 0.0)

    def forces(self) -> Array:
        """Return the forces of the ground on the points at this instant [N], world axes, shape (n, 3)."""
        force = self._in_cone(self._trial())
        force[~self._touching] = 0.0
        return force

    def end_of_step_forces(self, h: float, u_free: Array, A: Array) -> Array:
        """Return the forces of a step of length h, those of the law at its end.

        Args:
            h: Step [s].
            u_free: Velocities of the points at the end of the step without contact [m/s], shape (3 n,).
            A: J M^-1 J', shape (3 n, 3 n).

        Returns:
            Forces [N], world axes, shape (n, 3).
        """
        n, K, D = len(self), self._config.stiffness, self._config.damping
        b = D + h * K
        normals = self.normal_W
        reach = self.depth - h * self._normal(u_free.reshape(-1, 3))
        candidates = self._near & ((reach > 0.0) | self._touching)
        if not candidates.any():
            return np.zeros((n, 3))
        springs = self._springs()
        P = np.zeros((n, 3, 3))
        P[candidates] = np.eye(3)
        mode = candidates.astype(int)
        force = np.zeros((n, 3))
        identity = np.eye(3 * n)
        for _ in range(MAX_SOLVES):
            right = (P @ (springs - b * u_free.reshape(-1, 3))[:, :, None]).ravel()
            left = identity + (h * b) * (P @ A.reshape(n, 3, 3 * n)).reshape(3 * n, 3 * n)
            solved = np.linalg.solve(left, right)
            trial = springs - b * (u_free + h * (A @ solved)).reshape(-1, 3)
            force = self._in_cone(trial)
            force[~candidates] = 0.0
            f_n = self._normal(trial)
            f_t = trial - f_n[:, None] * normals
            size = np.linalg.norm(f_t, axis=1)
            slips = size > self._config.friction * f_n
            found = np.where(candidates & (f_n > 0.0), np.where(slips, 2, 1), 0)
            if (found == mode).all() and not (found == 2).any():
                break
            mode = found
            P[:] = 0.0
            P[mode == 1] = np.eye(3)
            slip = mode == 2
            ray = normals[slip] + self._config.friction * f_t[slip] / size[slip, None]
            P[slip] = ray[:, :, None] * normals[slip][:, None, :]
        return force

    def _springs(self) -> Array:
        """K times depth along the normal, less K times the way from the anchor across it."""
        K = self._config.stiffness
        way = np.where(self._touching[:, None], self.position_W - self._anchor, 0.0)
        way = way - self._normal(way)[:, None] * self.normal_W
        springs: Array = K * (self.depth[:, None] * self.normal_W - way)
        return springs

    def _trial(self) -> Array:
        trial: Array = self._springs() - self._config.damping * self.velocity_W
        return trial

    def _in_cone(self, trial: Array) -> Array:
        f_n = np.maximum(self._normal(trial), 0.0)
        along = f_n[:, None] * self.normal_W
        across = trial - self._normal(trial)[:, None] * self.normal_W
        size = np.linalg.norm(across, axis=1)
        limit = self._config.friction * f_n
        scale = np.where(size > limit, limit / np.maximum(size, 1e-300), 1.0)
        force: Array = along + scale[:, None] * across
        return force

    def _normal(self, vectors: Array) -> Array:
        normal: Array = np.einsum("ij,ij->i", vectors, self.normal_W)
        return normal
