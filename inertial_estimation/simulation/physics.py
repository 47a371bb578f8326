"""Physics of a robot: integration of joints with actuators and contact, and its equilibrium at rest."""

from typing import Any

import mujoco
import numpy as np

from inertial_estimation.errors import InertialEstimationError, ModelError
from inertial_estimation.models.robot_config import robot_from_config
from inertial_estimation.signals import Array, BaseState
from inertial_estimation.simulation.actuators import JointActuators
from inertial_estimation.simulation.config import SimulationConfig
from inertial_estimation.simulation.contact import make_contact
from inertial_estimation.simulation.robot_build import build_robot
from inertial_estimation.spatial import linear_algebra

MAX_SPEED = 1e4  # norm of the generalised velocity above which the motion has diverged [m/s, rad/s]
MAX_ITERATIONS = 60
LARGEST_MOVE = 0.01  # largest change of the base pose in one iteration [m, rad]
FORCE_TOLERANCE = 1e-10  # residual force and moment on the base, as a share of the weight


class RobotPhysics:
    """State of a robot and its evolution.

    Between two steps MuJoCo's kinematics, mass matrix and bias forces are those of the state. The motion is
    integrated by symplectic Euler; contact, friction and end stops act with their values at the step's end.

    Attributes:
        robot: Kinematic model.
        built: MuJoCo model and its mapping to the robot.
        data: MuJoCo's state.
        actuators: The joints' actuators.
        patches: The contact points of each contact.
        ground: The contact points, and the forces of the ground on them.
        tau_link: Torques on the links, of the last `accelerate` or `rest` [Nm], shape (n_joints,).
    """

    def __init__(self, config: SimulationConfig, urdf: str) -> None:
        """Build the robot with all joints at zero; `stand_at_rest` puts it on the ground.

        Raises:
            ~inertial_estimation.errors.ModelError: If a name does not exist or a moving link has no inertia.
            ~inertial_estimation.errors.ConfigurationError: If stance or contacts are inconsistent.
        """
        setup = robot_from_config(config.robot, urdf)
        self.robot, self.imu = setup.robot, setup.imu
        self.built = build_robot(self.robot, config.step)
        self.data: Any = mujoco.MjData(self.built.model)
        friction = config.robot.nominal_friction
        self.actuators = JointActuators(self.robot, config.actuators, config.step, friction)
        self.ground, self.patches = make_contact(self.robot, setup.contacts, self.built, config)
        self.tau_link = np.zeros(self.robot.n_joints)
        self._pushes = np.zeros(self.model.nv)
        self._armature = np.zeros(0)  # last values written to MuJoCo's model

    @property
    def model(self) -> Any:
        """MuJoCo's model."""
        return self.built.model

    @property
    def q(self) -> Array:
        """Joint positions in the robot's order, shape (n_joints,)."""
        return np.asarray(self.data.qpos[self.built.qpos])

    @property
    def v(self) -> Array:
        """Joint velocities in the robot's order, shape (n_joints,)."""
        return np.asarray(self.data.qvel[self.built.dof])

    @property
    def R_WB(self) -> Array:
        """Orientation of a floating base, shape (3, 3)."""
        return np.array(self.data.xmat[1].reshape(3, 3))

    @property
    def acceleration(self) -> Array:
        """Last computed acceleration in Pinocchio's coordinates: of the base in its axes, then of joints."""
        data = self.data
        joints: Array = np.array(data.qacc[self.built.dof])
        if not self.robot.floating_base:
            return joints
        linear = self.R_WB.T @ data.qacc[:3] - np.cross(data.qvel[3:6], self.R_WB.T @ data.qvel[:3])
        return np.concatenate([linear, data.qacc[3:6], joints])

    def base_state(self, stamp_ns: int) -> BaseState:
        """Return pose and twist of the base with a stamp [ns]; the origin at rest for a fixed base."""
        still, qpos, qvel = np.zeros(3), self.data.qpos, self.data.qvel
        if not self.robot.floating_base:
            return BaseState(stamp_ns, np.array([0.0, 0.0, 0.0, 1.0]), still, still, still)
        return BaseState(stamp_ns, qpos[[4, 5, 6, 3]], qpos[:3], self.R_WB.T @ qvel[:3], qvel[3:6])

    def refresh(self) -> None:
        """Compute kinematics, mass matrix, bias forces and contact points of the present state."""
        actuators, data = self.actuators, self.data
        actuators.evaluate(data.qpos[self.built.qpos], data.qvel[self.built.dof])
        if actuators.inertia is not self._armature:
            self._armature = actuators.inertia
            self.model.dof_armature[self.built.dof] = self._armature
        mujoco.mj_fwdPosition(self.model, data)
        mujoco.mj_fwdVelocity(self.model, data)
        self.ground.locate(data)

    def push(self, body: int, point_W: Array, force_W: Array) -> None:
        """Add a force [N] on a point [m] of a MuJoCo body that acts during the next step."""
        mujoco.mj_applyFT(self.model, self.data, force_W, np.zeros(3), point_W, body, self._pushes)

    def clear_pushes(self) -> None:
        """Remove all added forces."""
        self._pushes[:] = 0.0

    def step(self) -> None:
        """Integrate one step with the commanded torques.

        Raises:
            InertialEstimationError: If the motion diverges.
        """
        model, data, h = self.model, self.data, self.model.opt.timestep
        self.actuators.advance()
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
        h, J = self.model.opt.timestep, self.ground.jacobian
        solved = self._solve(np.concatenate([J, self._driving_force()[None]]))
        MinvJt = solved[:-1]
        acceleration: Array = solved[-1]
        if len(J):
            u = J @ qvel
            force = self.ground.end_of_step_forces(h, u, u + h * (J @ acceleration), J @ MinvJt.T)
            acceleration = acceleration + force @ MinvJt
        return acceleration

    def accelerate(self) -> Array:
        """Compute the current accelerations and joint torques under the last commanded torques.

        `data.qacc`, `data.cacc` and `tau_link` are then those of the state.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.ground.forces(self.data)
        driving = self._driving_force() + force.ravel() @ self.ground.jacobian
        self.data.qacc[:] = self._solve(driving[None])[0]
        self.tau_link = self.actuators.on_links(self.data.qacc[self.built.dof])
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.ground.in_world(force)

    def rest(self) -> Array:
        """Set accelerations to zero and joint torques to those of the static equilibrium.

        Returns:
            Forces of the ground on the contact points [N], world axes, shape (n, 3).
        """
        force = self.ground.resting_forces()
        carried = self.data.qfrc_bias - force.ravel() @ self.ground.jacobian
        self.data.qacc[:] = 0.0
        self.tau_link = carried[self.built.dof]
        self.actuators.rest(self.tau_link)
        mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.ground.in_world(force)

    def _solve(self, rows: Array) -> Array:
        """Return M^-1 of each row."""
        solved = np.empty_like(rows)
        mujoco.mj_solveM(self.model, self.data, solved, rows)
        return solved

    def _driving_force(self) -> Array:
        """Generalised forces without those of the ground, shape (nv,)."""
        force: Array = self._pushes - self.data.qfrc_bias
        force[self.built.dof] += self.actuators.force
        return force


def stand_at_rest(physics: RobotPhysics, q: Array) -> None:
    """Reset the robot to rest in a posture, with the contact points as deep as the ground carries its weight.

    Args:
        physics: The robot.
        q: Joint positions in the robot's order [rad], shape (n_joints,).

    Raises:
        ModelError: If the ground cannot carry the robot in this posture.
    """
    mujoco.mj_resetData(physics.model, physics.data)
    physics.actuators.release()
    physics.clear_pushes()
    physics.data.qpos[physics.built.qpos] = q
    on_ground = physics.robot.floating_base and len(physics.ground.depth) > 0
    if on_ground:
        _put_on_ground(physics)
    physics.refresh()
    physics.ground.anchor_here()
    if on_ground:
        _balance(physics)


def _put_on_ground(physics: RobotPhysics) -> None:
    """Place the base upright at the origin, with the lowest contact point on the surface."""
    ground = physics.ground
    height, normal = ground.ground_below(np.zeros(3))
    w = np.sqrt(0.5 * (1.0 + normal[2]))  # the rotation that takes the vertical to the normal
    qpos: Any = physics.data.qpos
    qpos[:7] = [0.0, 0.0, height, w, -normal[1] / (2.0 * w), normal[0] / (2.0 * w), 0.0]
    physics.refresh()
    lowest = float((ground.position_W @ normal).min()) - height * normal[2]
    qpos[:3] -= (lowest + 1e-3) * normal  # a millimetre deep, where the springs have begun to carry


def _balance(physics: RobotPhysics) -> None:
    """Find the base pose at which the springs carry the resting robot, by Newton's method."""
    ground, data = physics.ground, physics.data
    for _ in range(MAX_ITERATIONS):
        J = ground.jacobian[:, :6]
        pull = ground.resting_forces().ravel() @ J - data.qfrc_bias[:6]
        if np.abs(pull).max() < FORCE_TOLERANCE * max(1.0, float(np.abs(data.qfrc_bias[:3]).max())):
            return
        J = J[np.repeat(ground.depth > 0.0, 3)]
        stiffness = ground.config.stiffness * (J.T @ J + 1e-9 * np.eye(6))
        move = np.zeros(physics.model.nv)
        move[:6] = np.clip(linear_algebra.solve(stiffness, pull), -LARGEST_MOVE, LARGEST_MOVE)
        mujoco.mj_integratePos(physics.model, data.qpos, move, 1.0)
        physics.refresh()
    raise ModelError(
        "the robot cannot stand still in its stance: its centre of mass is at "
        f"{np.round(data.subtree_com[0], 3).tolist()}, expected above the contact points "
        f"{np.round(ground.position_W, 3).tolist()}"
    )
