"""The moving robot: joints with actuators, points on the ground, one step after the other."""

from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import ModelError
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.models.stance_config import contact_points, stance_positions
from inertial_estimation.signals import Array
from inertial_estimation.simulation.contact_forces import PointContacts
from inertial_estimation.simulation.ground import terrain_from_config
from inertial_estimation.simulation.joint_actuators import JointActuators
from inertial_estimation.simulation.robot_build import build_robot
from inertial_estimation.simulation.simulation_config import SimulationConfig

__all__ = ["RobotPhysics"]

MAX_ITERATIONS = 60


class RobotPhysics:
    """State of a robot and its evolution.

    Between two steps MuJoCo's kinematics, mass matrix and bias forces are those of the state. The motion is
    integrated by symplectic Euler with contact, friction and end stops taken at the end of the step.

    Attributes:
        robot: Kinematic model.
        contacts: Its contacts.
        built: MuJoCo model and its mapping.
        data: MuJoCo's state.
        actuators: The joints' actuators.
        points: Contact points.
        point_slices: For each contact, its points.
    """

    def __init__(self, config: SimulationConfig, urdf: str) -> None:
        self.robot, self.contacts = robot_from_config(config.robot, urdf)
        self.built = build_robot(self.robot, config.step)
        self.model = self.built.model
        self.data: Any = mujoco.MjData(self.model)
        self._step = config.step
        self.actuators = JointActuators(self.robot, config.actuators, config.step)
        self._stance = stance_positions(config.stance, self.robot)
        self.actuators.check_stance(self._stance)
        self._make_points(config)
        self._external = np.zeros(self.model.nv)
        self._solved = np.zeros((3 * len(self.points) + 1, self.model.nv))
        self._rows = np.zeros_like(self._solved)
        self.tau_link = np.zeros(self.robot.n_joints)
        self.place()

    def place(self) -> None:
        """Stand still in the home posture, soles where the ground carries the weight."""
        mujoco.mj_resetData(self.model, self.data)
        self.actuators.reset()
        self._external[:] = 0.0
        data = self.data
        data.qpos[self.built.qpos] = self._stance
        if self.robot.floating_base:
            data.qpos[:7] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            if len(self.points):
                self._put_on_ground()
        self.refresh()
        self.points.anchor_here()
        self.balance()

    def balance(self) -> None:
        """Move the base of the resting robot to where the springs of the ground carry it.

        Raises:
            ModelError: If the points cannot carry the robot in this posture.
        """
        if not (self.robot.floating_base and len(self.points)):
            return
        mujoco.mj_forward(self.model, self.data)
        for _ in range(MAX_ITERATIONS):
            self.points.hold_anchors()
            J = self.points.jacobian[:, :6]
            pull = J.T @ self.points.spring_forces().ravel() - self.data.qfrc_bias[:6]
            if np.abs(pull).max() < 1e-10 * max(1.0, abs(self.data.qfrc_bias[2])):
                return
            touching = np.repeat(self.points.depth > 0.0, 3)
            stiffness = self.points.stiffness * J[touching].T @ J[touching]
            step = np.zeros(self.model.nv)
            step[:6] = np.linalg.lstsq(
                stiffness + 1e-9 * self.points.stiffness * np.eye(6), pull, rcond=None
            )[0]
            mujoco.mj_integratePos(self.model, self.data.qpos, np.clip(step, -0.01, 0.01), 1.0)
            self.refresh()
        raise ModelError(
            "the robot cannot stand still in its stance: the centre of mass is at "
            f"{np.round(self.data.subtree_com[1], 3).tolist()}, expected above the polygon of the contact points "
            f"{np.round(self.points.position_W, 3).tolist()}"
        )

    def refresh(self) -> None:
        """Compute kinematics, mass matrix, bias forces and contact points of the present state."""
        self.model.dof_armature[self.built.dof] = self.actuators.inertia(self.q, self.v)
        mujoco.mj_step1(self.model, self.data)
        self.points.locate(self.data)

    @property
    def q(self) -> Array:
        """Joint positions in the robot's order, shape (n_joints,)."""
        q: Array = self.data.qpos[self.built.qpos]
        return q

    @property
    def v(self) -> Array:
        """Joint velocities in the robot's order, shape (n_joints,)."""
        v: Array = self.data.qvel[self.built.dof]
        return v

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
        """Integrate one step with the torques commanded."""
        model, data, h = self.model, self.data, self._step
        self.actuators.step()
        n = 3 * len(self.points)
        rows = self._rows
        rows[:n] = self.points.jacobian
        rows[n] = self._external - data.qfrc_bias
        rows[n][self.built.dof] += self.actuators.force(self.q, self.v)
        mujoco.mj_solveM(model, data, self._solved, rows)
        acceleration = self._solved[n]
        if n and self.points.any_near:
            u_free = self.points.jacobian @ (data.qvel + h * acceleration)
            force = self.points.end_of_step_forces(h, u_free, self.points.jacobian @ self._solved[:n].T)
            acceleration = acceleration + force.ravel() @ self._solved[:n]
        data.qvel += h * acceleration
        data.time += h
        mujoco.mj_integratePos(model, data.qpos, data.qvel, h)
        self.refresh()
        self.points.update_anchors()

    def accelerate(self) -> None:
        """Find accelerations and joint torques of this instant, with the torques held until now.

        `data.qacc`, `data.cacc` and `tau_link` are then those of the state.
        """
        data, dof = self.data, self.built.dof
        generalised = self._external - data.qfrc_bias
        generalised[dof] += self.actuators.force(self.q, self.v)
        if len(self.points):
            generalised += self.points.jacobian.T @ self.points.forces().ravel()
        out = np.zeros((1, self.model.nv))
        mujoco.mj_solveM(self.model, data, out, generalised[None])
        data.qacc[:] = out[0]
        self.tau_link = self.actuators.force(self.q, self.v) - self.model.dof_armature[dof] * out[0][dof]
        mujoco.mj_rnePostConstraint(self.model, data)

    def rest(self) -> None:
        """Set accelerations to zero and joint torques to those of the static equilibrium."""
        data = self.data
        carried = data.qfrc_bias.copy()
        if len(self.points):
            carried -= self.points.jacobian.T @ self.points.spring_forces().ravel()
        data.qacc[:] = 0.0
        self.tau_link = carried[self.built.dof]
        mujoco.mj_rnePostConstraint(self.model, data)

    def _put_on_ground(self) -> None:
        self.refresh()
        low = float(self.points.position_W[:, 2].min())
        _, normal = self.points.ground_below(np.zeros(3))
        height, _ = self.points.ground_below(np.zeros(3))
        self.data.qpos[:3] = -low * normal + np.array([0.0, 0.0, height])
        w = np.sqrt(0.5 * (1.0 + normal[2]))  # the rotation that takes the vertical to the normal
        self.data.qpos[3:7] = [w, -normal[1] / (2.0 * w), normal[0] / (2.0 * w), 0.0]
        self.refresh()
        self.data.qpos[:3] -= normal * (1e-3 - float(self.points.depth.max()))

    def _make_points(self, config: SimulationConfig) -> None:
        robot = self.robot
        bodies: list[int] = []
        points: list[Array] = []
        slices: list[slice] = []
        for contact, points_C in zip(
            self.contacts, contact_points(config.stance, config.robot.contacts), strict=True
        ):
            frame = robot.model.frames[robot.frame_id(contact.frame)]
            T = frame.placement
            slices.append(slice(len(bodies), len(bodies) + len(points_C)))
            bodies += [self.built.bodies[frame.parentJoint]] * len(points_C)
            points += [T.act(point) for point in points_C]
        self.point_slices = tuple(slices)
        self.points = PointContacts(
            self.model, bodies, np.reshape(points, (-1, 3)), terrain_from_config(config.ground), config.ground
        )
