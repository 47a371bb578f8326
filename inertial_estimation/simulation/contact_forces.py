"""Compliant point contacts: unilateral spring-dampers along the normal, bristles with Coulomb's cone across.

A point p at depth d below the ground, the normal n outwards, feels

    f_n = max(0, K d + D d')            no adhesion, nothing above the ground,
    f_t = -K (p - anchor)_t - D v_t     while |f_t| <= mu f_n; else mu f_n along it, and the anchor follows.

K and D are the same across as along, so a sticking point is an isotropic spring-damper. A step of length h
takes the forces at its end (backward Euler): with u = J v the points' velocities, A = J M^-1 J',

    f = k - b u',   u' = u_free + h A f,   b = D + h K,   k the springs now,

a linear system in f, solved again when a point leaves or slips. So light feet on stiff ground are stable at
a step of 1 ms. Read off at an instant, the forces are the law above. All is in axes of the ground at each
point: two tangents, then the normal.
"""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgesv, dposv

from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground import Terrain, ground_axes
from inertial_estimation.simulation.simulation_config import GroundConfig

__all__ = ["PointContacts"]

MAX_SOLVES = 6
TURN = 1e-3  # of the direction of slip, at which the solution counts as found [rad]
TINY = 1e-300  # [N]
FASTEST = 10.0  # of a point towards the ground: what it may travel in a step counts as near [m/s]
Flags = NDArray[np.bool_]


class PointContacts:
    """All contact points of a robot, with the anchors of those that touch.

    Attributes:
        position_W: Points in the world [m], shape (n, 3).
        depth: Depths below the ground along the normal [m], shape (n,).
        near: Indices of the m points near the ground; the others feel nothing.
        jacobian: Jacobian of the near points in the axes of the ground, shape (3 m, nv).
    """

    def __init__(
        self, model: Any, bodies: Sequence[int], points_B: Array, terrain: Terrain, config: GroundConfig
    ) -> None:
        """Place the points.

        Args:
            model: MuJoCo's model.
            bodies: Body of each of the n points.
            points_B: The points in their bodies [m], shape (n, 3).
            terrain: Shape of the ground.
            config: Stiffness, damping, friction.
        """
        n = len(bodies)
        self._model, self._terrain = model, terrain
        self._K, self._D, self._mu = config.stiffness, config.damping, config.friction
        self._margin = FASTEST * model.opt.timestep
        self._ids = [int(body) for body in bodies]
        self._bodies = np.array(bodies, dtype=int)
        self._points_B = np.asarray(points_B, dtype=float).reshape(n, 3, 1)
        self._anchor = np.zeros((n, 3))
        self._axes: Array | None = None  # of the ground at the near points; None: those of the world
        self._slip_force = np.zeros((n, 2))
        self._slipping = np.zeros(n, dtype=bool)
        self._buffer = np.zeros((3 * n, model.nv))
        self._rows = [self._buffer[3 * k : 3 * k + 3] for k in range(n)]
        self.position_W = np.zeros((n, 3))
        self.depth = np.zeros(n)
        self.near = np.zeros(0, dtype=int)
        self.jacobian = self._buffer[:0]

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def stiffness(self) -> float:
        """Stiffness of each point [N/m]."""
        return self._K

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
        for row, k in zip(self._rows, self.near.tolist(), strict=False):
            mujoco.mj_jac(self._model, data, row, None, p[k], self._ids[k])
        m = len(self.near)
        self.jacobian = self._buffer[: 3 * m]
        if self._terrain.level:
            return
        self._axes = ground_axes(normals[self.near])
        if m:
            nv = self._model.nv
            self._buffer[: 3 * m] = (self._axes @ self.jacobian.reshape(m, 3, nv)).reshape(3 * m, nv)

    def follow(self, data: Any) -> None:
        """Let the anchors of free points go with them, and those of slipping points be dragged."""
        free = self.depth <= 0.0
        if any(free.tolist()):
            self._anchor[free] = self.position_W[free]
        if not any(self._slipping.tolist()):
            return
        slips = self._slipping[self.near] & ~free[self.near]
        way = np.zeros((len(self.near), 3))
        way[:, :2] = self._slip_force[self.near] + self._D * self._velocity(data)[:, :2]
        way = way if self._axes is None else np.einsum("kji,kj->ki", self._axes, way)
        moved = self.near[slips]
        self._anchor[moved] = self.position_W[moved] + way[slips] / self._K

    def anchor_here(self) -> None:
        """Put every point's anchor where the point is."""
        self._anchor[:] = self.position_W
        self._slipping[:] = False

    def spring_forces(self) -> Array:
        """Return the forces of the springs alone on the near points of a robot at rest, shape (m, 3)."""
        springs = self._springs()
        springs[self.depth[self.near] <= 0.0] = 0.0
        return springs

    def forces(self, data: Any) -> Array:
        """Return the forces on the near points at this instant [N], shape (m, 3)."""
        trial = self._springs() - self._D * self._velocity(data)
        return self._admissible(trial, self.depth[self.near] > 0.0)

    def in_world(self, force: Array) -> Array:
        """Return forces on all points in world axes [N], shape (n, 3), of those on the near, shape (m, 3)."""
        found = np.zeros((len(self), 3))
        found[self.near] = force if self._axes is None else np.einsum("kji,kj->ki", self._axes, force)
        return found

    def end_of_step_forces(self, h: float, u: Array, u_free: Array, A: Array) -> Array:
        """Return the forces of a step of length h on the near points, those of the law at its end.

        Args:
            h: Step [s].
            u: Velocities of the near points now [m/s], shape (3 m,).
            u_free: Their velocities at the end of the step without contact [m/s], shape (3 m,).
            A: J M^-1 J', shape (3 m, 3 m).

        Returns:
            Forces [N], shape (3 m,).
        """
        self._slipping[:] = False
        b = self._D + h * self._K
        springs = self._springs()
        depth = self.depth[self.near]
        candidates = depth > 0.0
        if not all(candidates.tolist()):  # some may touch before the end of the step
            candidates |= depth - h * np.minimum(u[2::3], u_free[2::3]) > 0.0
        if not any(candidates.tolist()):
            return np.zeros(len(u))
        right, hbA = springs.ravel() - b * u_free, h * b * A
        force = _sticking_forces(hbA, right, candidates)
        x, y, z = force.reshape(-1, 3).T
        if all(((z >= 0.0) & (x * x + y * y <= self._mu**2 * z * z)).tolist()):
            return force
        return self._solve_modes(hbA, right, candidates, force)

    def _solve_modes(self, hbA: Array, right: Array, candidates: Flags, sticking: Array) -> Array:
        """Find which points stick, slip or leave, from the forces with which all candidates stick.

        A slipping point's force across follows its normal force: f = P (right - h b A f), P by mode.
        """
        m = len(candidates)
        modes, direction, trial = (candidates.tolist(), [False] * m), np.zeros((m, 2)), sticking.reshape(m, 3)
        for solves in range(1, MAX_SOLVES + 1):
            size = np.hypot(trial[:, 0], trial[:, 1])
            loaded = candidates & (trial[:, 2] > 0.0)
            slips = loaded & (size > self._mu * trial[:, 2])
            found = loaded.tolist(), slips.tolist()
            turned = trial[:, :2] / np.maximum(size, TINY)[:, None]
            settled = found == modes and np.abs((turned - direction)[slips]).max(initial=0.0) < TURN
            if settled or solves == MAX_SOLVES:
                break
            modes, direction = found, turned
            trial = self._trial_forces(hbA, right, loaded & ~slips, slips, direction)
        limited = self._admissible(trial, candidates)
        self._slipping[self.near] = slips
        self._slip_force[self.near] = limited[:, :2]
        return limited.ravel()

    def _trial_forces(self, hbA: Array, right: Array, sticks: Flags, slips: Flags, direction: Array) -> Array:
        """Forces at the end of a step whose modes are given, those of Coulomb's law not yet, shape (m, 3)."""
        m = len(sticks)
        P = np.zeros((m, 3, 3))
        P[sticks] = np.eye(3)
        P[slips, 2, 2] = 1.0
        P[slips, :2, 2] = self._mu * direction[slips]
        left = (P @ hbA.reshape(m, 3, 3 * m)).reshape(3 * m, 3 * m)
        left.ravel()[:: 3 * m + 1] += 1.0
        force = dgesv(left, (P @ right.reshape(m, 3, 1)).ravel())[2]
        trial: Array = (right - hbA @ force).reshape(m, 3)
        return trial

    def _springs(self) -> Array:
        """K times depth along the normal, less K times the way from the anchor across it."""
        way = self.position_W[self.near] - self._anchor[self.near]
        if self._axes is not None:
            way = (self._axes @ way[:, :, None])[:, :, 0]
        springs: Array = -self._K * way
        springs[:, 2] = self._K * self.depth[self.near]
        return springs

    def _velocity(self, data: Any) -> Array:
        velocity: Array = (self.jacobian @ data.qvel).reshape(-1, 3)
        return velocity

    def _admissible(self, trial: Array, touching: Flags) -> Array:
        """Bring forces into the friction cone."""
        f_n = np.maximum(trial[:, 2], 0.0) * touching
        size = np.hypot(trial[:, 0], trial[:, 1])
        scale = np.minimum(self._mu * f_n / np.maximum(size, TINY), 1.0)
        force: Array = trial * scale[:, None]
        force[:, 2] = f_n
        return force


def _sticking_forces(hbA: Array, right: Array, candidates: Flags) -> Array:
    """Forces with which all candidates stick, shape (3 m,); the others feel nothing."""
    rows = np.repeat(candidates, 3).nonzero()[0]
    left = hbA.copy() if len(rows) == len(hbA) else hbA[rows[:, None], rows]
    left.ravel()[:: len(left) + 1] += 1.0
    force = np.zeros(len(right))
    force[rows] = dposv(left, right[rows])[1]
    return force
