"""Physics of a robot: integration of joints with actuators and contact points on the ground.

A point p at depth d below the ground, the normal n outwards, feels

    f_n = max(0, K d + D d')            no adhesion, nothing above the ground,
    f_t = -K (p - anchor)_t - D v_t     while |f_t| <= mu f_n; else mu f_n along it, and the anchor follows.

K and D are the same across as along, so a sticking point is an isotropic spring-damper. A step of length h
takes the forces at its end (backward Euler, `friction_modes`), so light feet on stiff ground are stable at a
step of 1 ms. Read off at an instant, the forces are the law above.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.models.robot_config import ContactFrames, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import contact_points
from inertial_estimation.signals import Array
from inertial_estimation.simulation.friction_modes import end_of_step_forces, friction_cone_forces
from inertial_estimation.simulation.ground import Terrain, ground_axes, terrain_from_config
from inertial_estimation.simulation.joint_actuators import JointActuators
from inertial_estimation.simulation.robot_build import BuiltRobot, build_robot
from inertial_estimation.simulation.simulation_config import GroundConfig, SimulationConfig

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


class GroundContact:
    """The forces of the ground on contact points, with the anchors of the touching points.

    Attributes:
        points: The contact points.
        stiffness: Stiffness of each point [N/m].
    """

    def __init__(self, points: ContactPoints, config: GroundConfig) -> None:
        """Start with every anchor at the origin; `anchor_here` moves them to the points.

        Args:
            points: The contact points.
            config: Stiffness, damping, friction.
        """
        n = len(points)
        self.points = points
        self.stiffness = config.stiffness
        self._damping, self._mu = config.damping, config.friction
        self._anchor_W = np.zeros((n, 3))
        self._slip_force = np.zeros((n, 2))
        self._slipping = np.zeros(n, dtype=bool)

    def anchor_here(self) -> None:
        """Set every anchor to the position of its point."""
        self._anchor_W[:] = self.points.position_W
        self._slipping[:] = False

    def follow(self, data: Any) -> None:
        """Move the anchors of free points with the points, and drag those of slipping points."""
        points = self.points
        free = points.depth <= 0.0
        if any(free.tolist()):
            self._anchor_W[free] = points.position_W[free]
        if not any(self._slipping.tolist()):
            return
        slips = self._slipping[points.near] & ~free[points.near]
        way = np.zeros((len(points.near), 3))
        way[:, :2] = self._slip_force[points.near] + self._damping * points.velocity(data)[:, :2]
        moved = points.near[slips]
        self._anchor_W[moved] = points.position_W[moved] + points.in_world(way)[slips] / self.stiffness

    def resting_forces(self) -> Array:
        """Return the spring forces on the near points of a robot at rest [N], shape (m, 3)."""
        springs = self._springs()
        springs[self.points.depth[self.points.near] <= 0.0] = 0.0
        return springs

    def forces(self, data: Any) -> Array:
        """Return the forces on the near points at this instant, in ground axes [N], shape (m, 3)."""
        trial = self._springs() - self._damping * self.points.velocity(data)
        return friction_cone_forces(trial, self.points.depth[self.points.near] > 0.0, self._mu)

    def in_world(self, force: Array) -> Array:
        """Return forces on all points in world axes [N], shape (n, 3), of those on the near, shape (m, 3)."""
        found = np.zeros((len(self.points), 3))
        found[self.points.near] = self.points.in_world(force)
        return found

    def end_of_step_forces(self, h: float, u: Array, u_free: Array, A: Array) -> Array:
        """Return the forces on the near points over a step of length h, by the contact law at its end.

        Args:
            h: Step [s].
            u: Velocities of the near points now [m/s], shape (3 m,).
            u_free: Their velocities at the end of the step without contact [m/s], shape (3 m,).
            A: J M^-1 J', shape (3 m, 3 m).

        Returns:
            Forces [N], shape (3 m,).
        """
        self._slipping[:] = False
        near = self.points.near
        depth = self.points.depth[near]
        candidates = depth > 0.0
        if not all(candidates.tolist()):  # some may touch before the end of the step
            candidates |= depth - h * np.minimum(u[2::3], u_free[2::3]) > 0.0
        if not any(candidates.tolist()):
            return np.zeros(len(u))
        b = self._damping + h * self.stiffness
        right = self._springs().ravel() - b * u_free
        force, slips = end_of_step_forces(h * b * A, right, candidates, self._mu)
        if any(slips.tolist()):
            self._slipping[near] = slips
            self._slip_force[near] = force.reshape(-1, 3)[:, :2]
        return force

    def _springs(self) -> Array:
        """K times depth along the normal, minus K times the displacement from the anchor, shape (m, 3)."""
        springs: Array = -self.stiffness * self.points.displacement(self._anchor_W)
        springs[:, 2] = self.stiffness * self.points.depth[self.points.near]
        return springs


@dataclass(frozen=True, eq=False)
class ContactPatch:
    """The points of one contact.

    Attributes:
        name: Name of the contact.
        wrench_frame: Frame its wrench is about.
        where: Which of all the points are its own.
        points_F: Its points in the wrench frame [m], shape (k, 3).
    """

    name: str
    wrench_frame: str
    where: slice
    points_F: Array


def make_contact_points(
    robot: RobotModel, contacts: Sequence[ContactFrames], built: BuiltRobot, config: SimulationConfig
) -> tuple[ContactPoints, tuple[ContactPatch, ...]]:
    """Place the contact points of a robot: the corners of its soles, or the origins of its contact frames.

    Args:
        robot: The robot.
        contacts: Its contacts.
        built: Its MuJoCo model.
        config: Stance and ground.

    Returns:
        All points, and for each contact which of them are its own.

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
    terrain = terrain_from_config(config.ground)
    return ContactPoints(built.model, bodies, np.reshape(points_B, (-1, 3)), terrain), tuple(patches)


MAX_SPEED = 1e4  # norm of the generalised velocity above which the motion has diverged [m/s, rad/s]


class RobotPhysics:
    """State of a robot and its evolution.

    Between two steps MuJoCo's kinematics, mass matrix and bias forces are those of the state. The motion is
    integrated by symplectic Euler, with contact, friction and end stops as they are at the end of the step.

    Attributes:
        robot: Kinematic model.
        built: MuJoCo model and its mapping.
        data: MuJoCo's state.
        actuators: The joints' actuators.
        points: Contact points.
        patches: For each contact, which of the points are its own.
        ground: Forces of the ground on the contact points.
        tau_link: Torques on the links as of the last `accelerate` or `rest` [Nm], shape (n_joints,).
    """

    def __init__(self, config: SimulationConfig, urdf: str) -> None:
        """Build the robot with all joints at zero; `standing.stand_at_rest` puts it on the ground.

        Raises:
            ~inertial_estimation.errors.ModelError: If a name does not exist or a moving link has no inertia.
            ~inertial_estimation.errors.ConfigurationError: If stance or contacts are inconsistent.
        """
        setup = robot_from_config(config.robot, urdf)
        self.robot, self.imu = setup.robot, setup.imu
        self.built = build_robot(self.robot, config.step)
        self.data: Any = mujoco.MjData(self.built.model)
        self.actuators = JointActuators(
            self.robot, config.actuators, config.step, config.robot.nominal_friction
        )
        self.points, self.patches = make_contact_points(self.robot, setup.contacts, self.built, config)
        self.ground = GroundContact(self.points, config.ground)
        self.tau_link = np.zeros(self.robot.n_joints)
        self._pushes = np.zeros(self.model.nv)
        self._rows = np.zeros((3 * len(self.points) + 1, self.model.nv))
        self._solved = np.zeros_like(self._rows)
        self._armature = np.zeros(0)  # last values written to MuJoCo's model

    @property
    def model(self) -> Any:
        """MuJoCo's model."""
        return self.built.model

    @property
    def q(self) -> Array:
        """Joint positions in the robot's order, shape (n_joints,)."""
        return np.array(self.data.qpos[self.built.qpos])

    @property
    def v(self) -> Array:
        """Joint velocities in the robot's order, shape (n_joints,)."""
        return np.array(self.data.qvel[self.built.dof])

    def reset(self) -> None:
        """Reset to the state at construction, without torques and forces; `refresh` must follow."""
        mujoco.mj_resetData(self.model, self.data)
        self.actuators.motors.reset()
        self.clear_pushes()

    def refresh(self) -> None:
        """Compute kinematics, mass matrix, bias forces and contact points of the present state."""
        actuators, data = self.actuators, self.data
        actuators.evaluate(data.qpos[self.built.qpos], data.qvel[self.built.dof])
        if actuators.inertia is not self._armature:
            self._armature = actuators.inertia
            self.model.dof_armature[self.built.dof] = self._armature
        mujoco.mj_fwdPosition(self.model, data)
        mujoco.mj_fwdVelocity(self.model, data)
        self.points.locate(data)

    def push(self, body: int, point_W: Array, force_W: Array) -> None:
        """Add a force that acts during the next step.

        Args:
            body: MuJoCo body.
            point_W: Point of application [m], shape (3,).
            force_W: Force [N], shape (3,).
        """
        mujoco.mj_applyFT(self.model, self.data, force_W, np.zeros(3), point_W, body, self._pushes)

    def clear_pushes(self) -> None:
        """Remove all added forces."""
        self._pushes[:] = 0.0

    def step(self) -> None:
        """Integrate one step with the torques commanded.

        Raises:
            InertialEstimationError: If the motion diverges.
        """
        model, data, h = self.model, self.data, self.model.opt.timestep
        self.actuators.motors.advance()
        qvel = data.qvel
        qvel += h * self._end_of_step_acceleration(qvel)
        if not float(qvel @ qvel) < MAX_SPEED**2:  # also true for NaN
            raise InertialEstimationError(
                f"the simulation diverges {data.time:g} s after the release; expected smaller torques or step"
            )
        data.time += h
        mujoco.mj_integratePos(model, data.qpos, qvel, h)
        self.refresh()
        self.ground.follow(data)

    def _end_of_step_acceleration(self, qvel: Array) -> Array:
        """Acceleration with the ground forces at the end of the step, shape (nv,)."""
        h, J = self.model.opt.timestep, self.points.jacobian
        n = len(J)
        rows, solved = self._rows[: n + 1], self._solved[: n + 1]
        rows[:n] = J
        rows[n] = self._driving_force()
        mujoco.mj_solveM(self.model, self.data, solved, rows)
        acceleration: Array = solved[n]
        if n:
            u = J @ qvel
            force = self.ground.end_of_step_forces(h, u, u + h * (J @ acceleration), J @ solved[:n].T)
            acceleration = acceleration + force @ solved[:n]
        return acceleration

    def accelerate(self) -> Array:
        """Compute the current accelerations and joint torques under the last commanded torques.

        `data.qacc`, `data.cacc` and `tau_link` are then those of the state.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.ground.forces(self.data)
        driving = (self._driving_force() + force.ravel() @ self.points.jacobian)[None]
        mujoco.mj_solveM(self.model, self.data, self._solved[:1], driving)
        self.data.qacc[:] = self._solved[0]
        self.tau_link = self.actuators.on_links(self._solved[0][self.built.dof])
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.ground.in_world(force)

    def rest(self) -> Array:
        """Set accelerations to zero and joint torques to those of the static equilibrium.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.ground.resting_forces()
        carried = self.data.qfrc_bias - force.ravel() @ self.points.jacobian
        self.data.qacc[:] = 0.0
        self.tau_link = carried[self.built.dof]
        self.actuators.rest(self.tau_link)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.ground.in_world(force)

    def _driving_force(self) -> Array:
        """Generalised forces without those of the ground, shape (nv,)."""
        force: Array = self._pushes - self.data.qfrc_bias
        force[self.built.dof] += self.actuators.force
        return force
