"""Contact of a robot's points with the ground: its shape, where the points are, and the forces on them.

The force on a point p at depth d below the ground, with the outward normal n, is

    f_n = max(0, K d + D d')            no adhesion, nothing above the ground,
    f_t = -K (p - anchor)_t - D v_t     while |f_t| <= mu f_n; else mu f_n along it, and the anchor follows.

K and D are the same along the normal and across it, so a sticking point is an isotropic spring-damper. A step
of length h uses the forces at its end (backward Euler), so light feet on stiff ground are stable at a step of
1 ms: with the points' velocities u = J v, A = J M^-1 J', the spring forces k at its beginning and b = D + h K

    f = P t,   t = k - b u',   u' = u_free + h A f,

with P by mode: the identity for a sticking point, zero for one that leaves, and for a slipping one the
projection on its normal force and Coulomb's force across it. All vectors are in ground axes (two tangents,
then the normal). The forces at an instant (ground truth, sensors) follow the law above directly.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray
from scipy.linalg.lapack import dgesv, dposv

from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.robot_config import contact_points
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array
from inertial_estimation.simulation.config import GroundConfig, SimulationConfig
from inertial_estimation.simulation.robot_build import BuiltRobot

MAX_SOLVES = 6
DIRECTION_TOLERANCE = 1e-3  # change of the direction of slip below which the modes are converged [rad]
TINY = np.finfo(float).tiny  # keeps the direction of a zero force finite [N]
Flags = NDArray[np.bool_]


def end_of_step_forces(hbA: Array, right: Array, candidates: Flags, mu: float) -> tuple[Array, Flags]:
    """Compute the forces and the set of slipping points, by alternating between modes and forces.

    Args:
        hbA: h b A, shape (3 m, 3 m).
        right: k - b u_free [N], shape (3 m,).
        candidates: Points that may touch the ground in this step, shape (m,).
        mu: Coulomb friction coefficient.

    Returns:
        Forces [N], shape (m, 3), and whether each point slips, shape (m,).
    """
    trial = _sticking_forces(hbA, right, candidates)
    fx, fy, fz = trial.T
    sticks, slips = candidates, np.zeros(len(candidates), dtype=bool)
    if all(((fz >= 0.0) & (fx * fx + fy * fy <= mu**2 * fz * fz)).tolist()):
        return trial, slips
    direction = np.zeros((len(candidates), 2))
    for _ in range(MAX_SOLVES):
        size = np.hypot(trial[:, 0], trial[:, 1])
        loaded = candidates & (trial[:, 2] > 0.0)
        before = sticks, slips, direction
        slips = loaded & (size > mu * trial[:, 2])
        sticks = loaded & ~slips
        direction = trial[:, :2] / np.maximum(size, TINY)[:, None]
        turn = np.abs((direction - before[2])[slips]).max(initial=0.0)
        same = (sticks == before[0]).all() and (slips == before[1]).all()
        if same and turn < DIRECTION_TOLERANCE:
            break
        trial = _trial_forces(hbA, right, sticks, slips, mu * direction)
    return friction_cone_forces(trial, candidates, mu), slips


def friction_cone_forces(trial: Array, touching: Flags, mu: float) -> Array:
    """Project forces to the friction cone.

    Args:
        trial: Forces of the springs and dampers [N], shape (m, 3).
        touching: Points that touch the ground; the others have zero force, shape (m,).
        mu: Coulomb friction coefficient.

    Returns:
        Normal forces of at least zero, forces across of at most mu times that [N], shape (m, 3).
    """
    f_n = np.maximum(trial[:, 2], 0.0) * touching
    size = np.hypot(trial[:, 0], trial[:, 1])
    scale = np.minimum(mu * f_n, size) / np.maximum(size, TINY)
    force: Array = trial * scale[:, None]
    force[:, 2] = f_n
    return force


def _sticking_forces(hbA: Array, right: Array, candidates: Flags) -> Array:
    """Return the forces with which all candidates stick, shape (m, 3); zero at the other points."""
    rows = np.repeat(candidates, 3).nonzero()[0]
    left = hbA.copy() if len(rows) == len(hbA) else hbA[rows[:, None], rows]
    left.ravel()[:: len(left) + 1] += 1.0
    force = np.zeros(len(right))
    force[rows] = dposv(left, right[rows])[1]
    return force.reshape(-1, 3)


def _trial_forces(hbA: Array, right: Array, sticks: Flags, slips: Flags, mu_direction: Array) -> Array:
    """Return t, the forces of springs and dampers at the end of a step with given modes, shape (m, 3)."""
    m = len(sticks)
    P = np.zeros((m, 3, 3))
    P[sticks] = np.eye(3)
    P[slips, 2, 2] = 1.0
    P[slips, :2, 2] = mu_direction[slips]
    left = np.eye(3 * m) + (P @ hbA.reshape(m, 3, 3 * m)).reshape(3 * m, 3 * m)
    force = dgesv(left, (P @ right.reshape(m, 3, 1)).ravel())[2]
    trial: Array = (right - hbA @ force).reshape(m, 3)
    return trial


class GroundContact:
    """The contact points of a robot with their anchors, and the forces of the ground on them.

    Vectors "in ground axes" are in two tangents and the normal of the ground at each point.

    Attributes:
        config: Shape, stiffness, damping and friction of the ground.
        position_W: Points in the world [m], shape (n, 3).
        depth: Depths below the ground along the normal [m], shape (n,).
        jacobian: Jacobian of the points in ground axes, shape (3 n, nv).
    """

    def __init__(
        self, model: Any, bodies: Sequence[int], points_B: Array, config: GroundConfig, seed: int
    ) -> None:
        """Attach n points to their bodies in MuJoCo's model, in whose frames they are [m], shape (n, 3).

        The seed is that of random heights.
        """
        n = len(bodies)
        self._model, self._surface = model, ground_surface(config, seed)
        self.config = config
        self._bodies = np.array(bodies, dtype=int)
        self._points_B = np.reshape(points_B, (n, 3, 1))
        self._axes: Array | None = None  # ground axes at the points, shape (n, 3, 3); None: world axes
        self.position_W, self._anchor_W, self._slip_force = np.zeros((3, n, 3))
        self.depth, self._slipping = np.zeros(n), np.zeros(n, dtype=bool)
        self.jacobian = np.zeros((3 * n, model.nv))

    def ground_below(self, p_W: Array) -> tuple[float, Array]:
        """Return height [m] and normal of the ground below a point, shape (3,)."""
        if self._surface is None:
            return 0.0, np.array([0.0, 0.0, 1.0])
        height, gradient = self._surface(np.reshape(p_W[:2], (1, 2)))
        return float(height[0]), ground_normals(gradient)[0]

    def locate(self, data: Any) -> None:
        """Find points, depths and Jacobians of a state whose kinematics are known."""
        R = data.xmat.reshape(-1, 3, 3)[self._bodies]
        p = self.position_W = data.xpos[self._bodies] + (R @ self._points_B)[:, :, 0]
        jacobians = np.zeros((len(p), 3, self._model.nv))
        for rows, point, body in zip(jacobians, p, self._bodies.tolist(), strict=True):
            mujoco.mj_jac(self._model, data, rows, None, point, body)
        self.depth = -p[:, 2]
        if self._surface is not None:
            height, gradients = self._surface(p[:, :2])
            normals = ground_normals(gradients)
            self.depth, self._axes = (height - p[:, 2]) * normals[:, 2], ground_axes(normals)
            jacobians = self._axes @ jacobians
        self.jacobian = jacobians.reshape(-1, self._model.nv)

    def anchor_here(self) -> None:
        """Set every anchor to the position of its point."""
        self._anchor_W[:] = self.position_W
        self._slipping[:] = False

    def follow(self, data: Any) -> None:
        """Move the anchors of free points with the points, and drag those of slipping points."""
        free = self.depth <= 0.0
        self._anchor_W[free] = self.position_W[free]
        slips = self._slipping & ~free
        if any(slips.tolist()):
            stretch = (self._slip_force + self.config.damping * self._velocity(data)) * (1.0, 1.0, 0.0)
            dragged = self.position_W + self.in_world(stretch) / self.config.stiffness
            self._anchor_W[slips] = dragged[slips]

    def resting_forces(self) -> Array:
        """Return the spring forces on the points of a robot at rest [N], shape (n, 3)."""
        return self._springs() * (self.depth > 0.0)[:, None]

    def forces(self, data: Any) -> Array:
        """Return the forces on the points at this instant, in ground axes [N], shape (n, 3)."""
        trial = self._springs() - self.config.damping * self._velocity(data)
        return friction_cone_forces(trial, self.depth > 0.0, self.config.friction)

    def end_of_step_forces(self, h: float, u: Array, u_free: Array, A: Array) -> Array:
        """Return the forces on the points over a step of length h, by the contact law at its end.

        Args:
            h: Step [s].
            u: Velocities of the points now [m/s], shape (3 n,).
            u_free: Their velocities at the end of the step without contact [m/s], shape (3 n,).
            A: J M^-1 J', shape (3 n, 3 n).

        Returns:
            Forces [N], shape (3 n,).
        """
        depth = self.depth
        candidates = np.maximum(depth, depth - h * np.minimum(u[2::3], u_free[2::3])) > 0.0  # before its end
        self._slipping[:] = False
        if not any(candidates.tolist()):
            return np.zeros(len(u))
        b = self.config.damping + h * self.config.stiffness
        right = self._springs().ravel() - b * u_free
        self._slip_force, self._slipping = end_of_step_forces(
            h * b * A, right, candidates, self.config.friction
        )
        return self._slip_force.ravel()

    def in_world(self, vectors: Array) -> Array:
        """Transform vectors at the points from ground axes to world axes, shape (n, 3)."""
        return vectors if self._axes is None else np.einsum("kji,kj->ki", self._axes, vectors)

    def _velocity(self, data: Any) -> Array:
        """Return the velocities of the points in ground axes [m/s], shape (n, 3)."""
        velocity: Array = (self.jacobian @ data.qvel).reshape(-1, 3)
        return velocity

    def _springs(self) -> Array:
        """K times depth along the normal, minus K times the displacement from the anchor, shape (n, 3)."""
        moved = self.position_W - self._anchor_W
        if self._axes is not None:
            moved = (self._axes @ moved[:, :, None])[:, :, 0]
        springs: Array = -self.config.stiffness * moved
        springs[:, 2] = self.config.stiffness * self.depth
        return springs


class ContactPatch(NamedTuple):
    """The points of one contact."""

    name: str
    wrench_frame: str  # frame about whose origin the wrench is
    where: slice  # indices of its points among all points
    points_F: Array  # its points in the wrench frame [m], shape (k, 3)


def make_contact(
    robot: RobotModel, contacts: Sequence[ContactFrames], built: BuiltRobot, config: SimulationConfig
) -> tuple[GroundContact, tuple[ContactPatch, ...]]:
    """Place the contact points of a robot: the corners of its soles, or the origins of its contact frames.

    Returns:
        The contact of all points, and for each contact which of them are its own.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the stance and the contacts are inconsistent.
    """
    bodies: list[int] = []
    points_B: list[Array] = []
    patches: list[ContactPatch] = []
    for contact, points in zip(contacts, contact_points(config.stance, config.robot.contacts), strict=True):
        frame = robot.model.frames[robot.frame_id(contact.frame)]
        T_FC = robot.fixed_transform(contact.wrench_frame, contact.frame)
        where = slice(len(bodies), len(bodies) + len(points))
        points_F = np.array([T_FC.act(point) for point in points])
        patches.append(ContactPatch(contact.name, contact.wrench_frame, where, points_F))
        bodies += [built.bodies[frame.parentJoint]] * len(points)
        points_B += [frame.placement.act(point) for point in points]
    ground = GroundContact(built.model, bodies, np.array(points_B), config.ground, config.seed)
    return ground, tuple(patches)


LATTICE_CELLS = 64  # number of cells after which the heights repeat


Surface = Callable[[Array], tuple[Array, Array]]
"""Returns heights [m], shape (n,), and their gradients, shape (n, 2), at points [m], shape (n, 2)."""


def ground_surface(config: GroundConfig, seed: int = 0) -> Surface | None:
    """Return the surface of the ground, None for the plane z = 0; the seed determines random heights."""
    if config.terrain == "ramp":
        return partial(_ramp, math.tan(config.slope), config.begin)
    if config.terrain == "rough":
        shape = LATTICE_CELLS, LATTICE_CELLS
        lattice = config.roughness * default_rng(seed).uniform(-1.0, 1.0, shape)
        return partial(_rough, lattice, config.cell, config.begin)
    return None


def _ramp(tangent: float, begin: float, xy: Array) -> tuple[Array, Array]:
    """Flat before `begin`, then a plane that rises along x."""
    tangents = np.where(xy[:, 0] > begin, tangent, 0.0)
    return tangents * (xy[:, 0] - begin), tangents[:, None] * (1.0, 0.0)


def _rough(lattice: Array, cell: float, begin: float, xy: Array) -> tuple[Array, Array]:
    """Heights on a square lattice with cubic interpolation, which has zero slope at the nodes."""
    corner = np.floor(xy / cell)
    s = xy / cell - corner
    weight, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / cell
    i, j = (k + np.array([[0], [1]]) for k in corner.astype(int).T)
    h = lattice[(i % LATTICE_CELLS)[:, None], (j % LATTICE_CELLS)[None]]  # shape (2, 2, n): x, y, n
    h *= (i * cell > begin)[:, None]
    along_x = h[1] - h[0]
    low, high = h[0] + along_x * weight[:, 0]
    gx = slope[:, 0] * (along_x[0] + (along_x[1] - along_x[0]) * weight[:, 1])
    return low + (high - low) * weight[:, 1], np.column_stack([gx, slope[:, 1] * (high - low)])


def ground_normals(gradients: Array) -> Array:
    """Return the unit normals of a surface from its gradients, shape (n, 3) of (n, 2)."""
    normals = np.column_stack([-gradients, np.ones(len(gradients))])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals


def ground_axes(normals: Array) -> Array:
    """Return axes of the ground at points: two tangents, the first along x seen from above, then the normal.

    Args:
        normals: Unit normals that point upwards, shape (n, 3).

    Returns:
        Rotations from the world into these axes, shape (n, 3, 3).
    """
    nx, _ny, nz = normals.T
    level = np.hypot(nx, nz)
    first = np.column_stack([nz / level, np.zeros(len(normals)), -nx / level])
    return np.stack([first, np.cross(normals, first), normals], axis=1)
