"""Physics of a robot: integration of joints with actuators and contact points on the ground."""

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
from inertial_estimation.simulation.contact_points import ContactPoints
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.ground_contact import GroundContact
from inertial_estimation.simulation.joint_actuators import JointActuators
from inertial_estimation.simulation.robot_build import BuiltRobot, build_robot
from inertial_estimation.simulation.simulation_config import SimulationConfig


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
