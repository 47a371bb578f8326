"""Positions, penetration depths and velocities of a robot's contact points."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground import Terrain, ground_axes

MAX_APPROACH_SPEED = 10.0  # [m/s]; a point that could reach the ground in one step at this speed is near


class ContactPoints:
    """All contact points of a robot above, on and in the ground.

    Vectors "in ground axes" are in two tangents and the normal of the ground at each point.

    Attributes:
        position_W: Points in the world [m], shape (n, 3).
        depth: Depths below the ground along the normal [m], shape (n,).
        near: Indices of the m points near enough to touch the ground within a step.
        jacobian: Jacobian of the near points in ground axes, shape (3 m, nv).
    """

    def __init__(self, model: Any, bodies: Sequence[int], points_B: Array, terrain: Terrain) -> None:
        """Attach the points to their bodies.

        Args:
            model: MuJoCo's model.
            bodies: Body of each of the n points.
            points_B: The points in their bodies [m], shape (n, 3).
            terrain: Shape of the ground.
        """
        n = len(bodies)
        self._model, self._terrain = model, terrain
        self._margin = MAX_APPROACH_SPEED * model.opt.timestep
        self._bodies = np.array(bodies, dtype=int)
        self._points_B = np.asarray(points_B, dtype=float).reshape(n, 3, 1)
        self._axes: Array | None = None  # of the ground at the near points; None: those of the world
        self._buffer = np.zeros((3 * n, model.nv))
        self.position_W = np.zeros((n, 3))
        self.depth = np.zeros(n)
        self.near = np.zeros(0, dtype=int)
        self.jacobian = self._buffer[:0]

    def __len__(self) -> int:
        return len(self._bodies)

    def ground_below(self, p_W: Array) -> tuple[float, Array]:
        """Return height [m] and normal of the ground below a point, shape (3,)."""
        height, normal = self._terrain.surface(np.reshape(p_W[:2], (1, 2)))
        return float(height[0]), normal[0]

    def locate(self, data: Any) -> None:
        """Find points, depths and Jacobians of a state whose kinematics are known."""
        R = data.xmat.reshape(-1, 3, 3)[self._bodies]
        p: Array = data.xpos[self._bodies] + (R @ self._points_B)[:, :, 0]
        self.position_W = p
        if self._terrain.level:
            self.depth = -p[:, 2]
        else:
            height, normals = self._terrain.surface(p[:, :2])
            self.depth = (height - p[:, 2]) * normals[:, 2]
        self.near = (self.depth > -self._margin).nonzero()[0]
        for row, k in enumerate(self.near.tolist()):
            rows = self._buffer[3 * row : 3 * row + 3]
            mujoco.mj_jac(self._model, data, rows, None, p[k], self._bodies[k])
        m = len(self.near)
        self.jacobian = self._buffer[: 3 * m]
        if self._terrain.level:
            return
        self._axes = ground_axes(normals[self.near])
        if m:
            nv = self._model.nv
            self._buffer[: 3 * m] = (self._axes @ self.jacobian.reshape(m, 3, nv)).reshape(3 * m, nv)

    def velocity(self, data: Any) -> Array:
        """Return the velocities of the near points in ground axes [m/s], shape (m, 3)."""
        velocity: Array = (self.jacobian @ data.qvel).reshape(-1, 3)
        return velocity

    def displacement(self, origin_W: Array) -> Array:
        """Return the displacements from n given points to the near points in ground axes [m], shape (m, 3).

        Args:
            origin_W: One point in the world for each contact point [m], shape (n, 3).
        """
        way: Array = self.position_W[self.near] - origin_W[self.near]
        return way if self._axes is None else (self._axes @ way[:, :, None])[:, :, 0]

    def in_world(self, vectors: Array) -> Array:
        """Transform vectors at the near points from ground axes to world axes, shape (m, 3)."""
        return vectors if self._axes is None else np.einsum("kji,kj->ki", self._axes, vectors)
