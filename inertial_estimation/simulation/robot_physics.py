"""The moving robot: joints with actuators, points on the ground, one step after the other."""

from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import InertialEstimationError, ModelError
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.stance_config import contact_points, stance_positions
from inertial_estimation.signals import Array
from inertial_estimation.simulation.contact_forces import PointContacts
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.joint_actuators import JointActuators
from inertial_estimation.simulation.robot_build import build_robot
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.spatial import linear_algebra

__all__ = ["RobotPhysics"]

MAX_ITERATIONS = 60
DIVERGED = 1e4  # of all velocities together: no robot is so fast [m/s, rad/s]
LARGEST_MOVE = 0.01  # of the base in one iteration [m, rad]
FIRST_DEPTH = 1e-3  # of the lowest point where the search for the equilibrium begins [m]


class RobotPhysics:
    """State of a robot and its evolution.

    Between two steps MuJoCo's kinematics, mass matrix and bias forces are those of the state. The motion is
    integrated by symplectic Euler, with contact, friction and end stops as they are at the end of the step.

    Attributes:
        robot: Kinematic model.
        contacts: Its contacts.
        built: MuJoCo model and its mapping.
        model: MuJoCo's model.
        data: MuJoCo's state.
        actuators: The joints' actuators.
        points: Contact points.
        point_slices: For each contact, which of the points are its own.
        points_C: For each contact, its points in the wrench frame [m], shape (k, 3).
        tau_link: Torques on the links as of the last `accelerate` or `rest` [Nm], shape (n_joints,).
    """

    def __init__(self, config: SimulationConfig, urdf: str) -> None:
        """Build the robot and stand it on the ground.

        Raises:
            ModelError: If a name does not exist, a moving link has no inertia, or it cannot stand.
            ~inertial_estimation.errors.ConfigurationError: If stance or contacts are inconsistent.
        """
        setup = robot_from_config(config.robot, urdf)
        self.robot, self.contacts, self.imu = setup.robot, setup.contacts, setup.imu
        self.built = build_robot(self.robot, config.step)
        self.model = self.built.model
        self.data: Any = mujoco.MjData(self.model)
        self._step = config.step
        self.actuators = JointActuators(
            self.robot, config.actuators, config.step, config.robot.nominal_friction
        )
        self._stance = stance_positions(config.stance, self.robot)
        self.actuators.check_stance(self._stance)
        self._make_points(config)
        self._external = np.zeros(self.model.nv)
        self._rows = np.zeros((3 * len(self.points) + 1, self.model.nv))
        self._solved = np.zeros_like(self._rows)
        self._inertia = np.zeros(0)  # beside the links', as last written to the model
        self._qpos, self._qvel, self._bias = self.data.qpos, self.data.qvel, self.data.qfrc_bias  # views
        self.tau_link = np.zeros(self.robot.n_joints)
        self.place()

    @property
    def q(self) -> Array:
        """Joint positions in the robot's order, shape (n_joints,)."""
        return np.array(self._qpos[self.built.qpos])

    @property
    def v(self) -> Array:
        """Joint velocities in the robot's order, shape (n_joints,)."""
        return np.array(self._qvel[self.built.dof])

    def place(self) -> None:
        """Stand still in the home posture, soles where the ground carries the weight.

        Raises:
            ModelError: If the ground cannot carry the robot in this posture.
        """
        data = self.data
        mujoco.mj_resetData(self.model, data)
        self.actuators.reset()
        self._external[:] = 0.0
        data.qpos[self.built.qpos] = self._stance
        if self.robot.floating_base and len(self.points):
            self._put_on_ground()
        self.refresh()
        self.points.anchor_here()
        if self.robot.floating_base and len(self.points):
            self._balance()

    def refresh(self) -> None:
        """Compute kinematics, mass matrix, bias forces and contact points of the present state."""
        actuators = self.actuators
        actuators.look(self._qpos[self.built.qpos], self._qvel[self.built.dof])
        if actuators.inertia is not self._inertia:
            self._inertia = actuators.inertia
            self.model.dof_armature[self.built.dof] = self._inertia
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        self.points.locate(self.data)

    def push(self, body: int, point_W: Array, force_W: Array) -> None:
        """Add a force that acts during the next step.

        Args:
            body: MuJoCo body.
            point_W: Point of application [m], shape (3,).
            force_W: Force [N], shape (3,).
        """
        mujoco.mj_applyFT(self.model, self.data, force_W, np.zeros(3), point_W, body, self._external)

    def clear_pushes(self) -> None:
        """End all pushes."""
        self._external[:] = 0.0

    def step(self) -> None:
        """Integrate one step with the torques commanded.

        Raises:
            InertialEstimationError: If the motion diverges.
        """
        model, data, h, points = self.model, self.data, self._step, self.points
        self.actuators.advance()
        J = points.jacobian
        n = len(J)
        rows, solved = self._rows[: n + 1], self._solved[: n + 1]
        rows[:n] = J
        rows[n] = self._driving_force()
        mujoco.mj_solveM(model, data, solved, rows)
        acceleration = solved[n]
        if n:
            u = J @ self._qvel
            force = points.end_of_step_forces(h, u, u + h * (J @ acceleration), J @ solved[:n].T)
            acceleration = acceleration + force @ solved[:n]
        self._qvel += h * acceleration
        if not float(self._qvel @ self._qvel) < DIVERGED**2:  # not a number is not below it either
            raise InertialEstimationError(
                f"the simulation diverges {data.time:g} s after the release; expected smaller torques or step"
            )
        data.time += h
        mujoco.mj_integratePos(model, self._qpos, self._qvel, h)
        self.refresh()
        points.follow(data)

    def accelerate(self) -> Array:
        """Find accelerations and joint torques of this instant, with the torques held until now.

        `data.qacc`, `data.cacc` and `tau_link` are then those of the state.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.points.forces(self.data)
        driving = (self._driving_force() + force.ravel() @ self.points.jacobian)[None]
        mujoco.mj_solveM(self.model, self.data, self._solved[:1], driving)
        self.data.qacc[:] = self._solved[0]
        self.tau_link = self.actuators.on_links(self._solved[0][self.built.dof])
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.points.in_world(force)

    def rest(self) -> Array:
        """Set accelerations to zero and joint torques to those of the static equilibrium.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.points.spring_forces()
        carried = self.data.qfrc_bias - force.ravel() @ self.points.jacobian
        self.data.qacc[:] = 0.0
        self.tau_link = carried[self.built.dof]
        self.actuators.rest(self.tau_link)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.points.in_world(force)

    def _driving_force(self) -> Array:
        """All generalised forces but those of the ground, shape (nv,)."""
        force: Array = self._external - self._bias
        force[self.built.dof] += self.actuators.force
        return force

    def _balance(self) -> None:
        """Move the base of the resting robot to where the springs carry it, by Newton's method."""
        points, data = self.points, self.data
        for _ in range(MAX_ITERATIONS):
            J = points.jacobian[:, :6]
            pull = points.spring_forces().ravel() @ J - data.qfrc_bias[:6]
            if np.abs(pull).max() < 1e-10 * max(1.0, float(np.abs(data.qfrc_bias[:3]).max())):
                return
            J = J[np.repeat(points.depth[points.near] > 0.0, 3)]
            stiffness = points.stiffness * (J.T @ J + 1e-9 * np.eye(6))
            move = np.zeros(self.model.nv)
            move[:6] = np.clip(linear_algebra.solve(stiffness, pull), -LARGEST_MOVE, LARGEST_MOVE)
            mujoco.mj_integratePos(self.model, data.qpos, move, 1.0)
            self.refresh()
        raise ModelError(
            "the robot cannot stand still in its stance: its centre of mass is at "
            f"{np.round(data.subtree_com[0], 3).tolist()}, expected above the contact points "
            f"{np.round(points.position_W, 3).tolist()}"
        )

    def _put_on_ground(self) -> None:
        """Put the base upright on the ground at the origin, lowest contact point just below the surface."""
        height, normal = self.points.ground_below(np.zeros(3))
        w = np.sqrt(0.5 * (1.0 + normal[2]))  # the rotation that takes the vertical to the normal
        self.data.qpos[:7] = [0.0, 0.0, height, w, -normal[1] / (2.0 * w), normal[0] / (2.0 * w), 0.0]
        self.refresh()
        lowest = float((self.points.position_W @ normal).min()) - height * normal[2]
        self.data.qpos[:3] -= (lowest + FIRST_DEPTH) * normal

    def _make_points(self, config: SimulationConfig) -> None:
        model, names = self.robot.model, config.robot.contacts
        bodies: list[int] = []
        points: list[Array] = []
        self.point_slices: list[slice] = []
        self.points_C: list[Array] = []
        for contact, points_F in zip(self.contacts, contact_points(config.stance, names), strict=True):
            frame = model.frames[self.robot.frame_id(contact.frame)]
            T_CF = self.robot.fixed_transform(contact.wrench_frame, contact.frame)
            self.point_slices.append(slice(len(bodies), len(bodies) + len(points_F)))
            self.points_C.append(np.array([T_CF.act(point) for point in points_F]))
            bodies += [self.built.bodies[frame.parentJoint]] * len(points_F)
            points += [frame.placement.act(point) for point in points_F]
        points_B, terrain = np.reshape(points, (-1, 3)), terrain_from_config(config.ground)
        self.points = PointContacts(self.model, bodies, points_B, terrain, config.ground)
