"""The whole-body controller: from the state of the robot to joint torques, once a tick."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.balance import DcmFeedback, load_shares, pendulum_frequency
from inertial_estimation.control.config import ControllerConfig, PostureConfig
from inertial_estimation.control.inverse_dynamics import (
    Contact,
    ContactLoad,
    ProgramBuilder,
    QpSolver,
    make_contacts,
)
from inertial_estimation.control.references import References
from inertial_estimation.control.tasks import (
    Reference,
    Task,
    com_task,
    foot_task,
    height_task,
    orientation_task,
    rest_task,
)
from inertial_estimation.control.walking.biped import BipedGait
from inertial_estimation.control.walking.crawl import CrawlGait
from inertial_estimation.control.walking.gait import Gait, GaitPhase, SupportTarget, Tick
from inertial_estimation.errors import ConfigurationError, NumericalError
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.robot_model import RobotModel, matching
from inertial_estimation.models.whole_body_dynamics import (
    BaseMotion,
    DynamicsState,
    MotionRows,
    WholeBodyDynamics,
)
from inertial_estimation.signals import Array, JointSample
from inertial_estimation.spatial.rotations import roll_pitch_of

LEGS_TO_CRAWL = 4  # three are left to stand on
LEG_WEIGHT, REDUNDANT_LEG_WEIGHT = 1e-4, 0.1  # posture weight of the joints of a limb with a contact
FORCE_LIMIT = 2.5  # largest normal force of one contact, as a multiple of the robot's weight


class ControlState(Enum):
    """Kind of the torques of a step."""

    CONTROL = "control"  # the torques solve the tasks
    HOLDING = "holding"  # no usable solution: the torques of the last one are kept for at most HOLD_S
    DAMPING = "damping"  # the torques only damp the joints: no usable state, or no solution for too long


NO_VECTOR = np.array([])


class ControlResult(NamedTuple):
    """Torques, with the quantities that show whether they can be trusted.

    Positions are relative to the base origin, in world axes.
    """

    stamp_ns: int  # stamp of the joint state answered [ns]
    state: ControlState  # whether the torques control the robot, are kept, or only damp its joints
    reason: str  # why the torques do not control the robot; empty in control
    tau: Array  # joint torques [Nm], shape (n_joints,)
    acceleration: Array  # wanted acceleration (base, joints), shape (nv,)
    # Wanted wrench of each contact, in its frame (a point: world axes) [N, Nm], shape (m, 6)
    wrenches_C: Array
    qp_status: str = "not run"  # status that the solver reports
    qp_iterations: int = 0
    height_ref: float = 0.0  # reference of the height of the base [m]
    q_ref: Array = NO_VECTOR  # reference of the joints [rad], shape (n_joints,)
    phase: GaitPhase | None = None  # None without a gait: a fixed base, or damping
    activity: str = ""  # phase and foot in words
    com: Array = NO_VECTOR  # centre of mass [m], shape (3,)
    dcm: Array = NO_VECTOR  # divergent component of motion [m], shape (2,)
    dcm_ref: Array = NO_VECTOR  # reference of the DCM [m], shape (2,)
    height: float = 0.0  # height of the base above the support [m]


def posture_stiffness(config: PostureConfig, joint_names: Sequence[str]) -> Array:
    """Return the stiffness of every joint [1/s^2], shape (n_joints,): `posture.joints` name exceptions.

    Raises:
        ConfigurationError: If a pattern matches no joint, or patterns and values differ in number.
    """
    if len(config.joints) != len(config.stiffnesses):
        raise ConfigurationError(
            f"'posture.stiffnesses' has {len(config.stiffnesses)} values, expected one for each of the "
            f"{len(config.joints)} 'posture.joints'"
        )
    k = np.full(len(joint_names), config.stiffness)
    for pattern, stiffness in zip(config.joints, config.stiffnesses, strict=True):
        k[matching([pattern], joint_names, "joint", "'posture.joints'")] = stiffness
    return k


def posture_weights(robot: RobotModel, frames: Sequence[str], contacts: Sequence[Contact]) -> Array:
    """Return the posture weight of every joint, shape (n_joints,).

    It is small for joints of a limb with a contact, which the tasks of base and feet determine. It is larger
    for a limb with more joints than coordinates of its foot (6 of a sole, 3 of a point), which they do not.
    """
    weights = np.ones(robot.n_joints)
    limbs = [(robot.joints_to(frame), contact) for frame, contact in zip(frames, contacts, strict=True)]
    redundant = [limb for limb, contact in limbs if len(limb) > (6 if contact.is_sole else 3)]
    for limb, _contact in limbs:
        weights[limb] = LEG_WEIGHT
    for limb in redundant:
        weights[limb] = REDUNDANT_LEG_WEIGHT
    return weights


def inner_points(contact: Contact) -> Array:
    """Return the corners of a sole moved inwards by its margin, in the contact frame [m], shape (k, 3)."""
    arms = contact.points_C - contact.centre_C
    return contact.centre_C + np.copysign(np.maximum(np.abs(arms) - contact.margin, 0.0), arms)


class WholeBodyController:
    """Balance, posture and gait of one robot.

    Attributes:
        config: The parameters in force.
        dynamics: The model, with the inertias in force.
        tau_max: Torque limits [Nm], shape (n_joints,).
        references: References of base and joints.
        gait: Which feet stand and swing.
        interrupted: Whether references and gait start from the measured state in the next step.
    """

    def __init__(self, config: ControllerConfig, robot: RobotModel, frames: Sequence[ContactFrames]) -> None:
        """Build model, contacts and program.

        Args:
            config: All parameters.
            robot: The robot.
            frames: Its contacts.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a name or a size is wrong.
        """
        contacts = make_contacts(config.stance, [frame.name for frame in frames], config.contact.friction)
        contact_frames = [frame.frame for frame in frames]
        rotors = config.robot.nominal_friction.of_joints("armature", robot)
        self.dynamics = WholeBodyDynamics(robot, contact_frames, armature=rotors)
        self.tau_max = config.torque_scale * self.dynamics.limits.effort
        self._posture_weights = posture_weights(robot, contact_frames, contacts)
        home = stance_positions(config.stance, robot)
        height = _height(self.dynamics.at_rest(home)) if robot.floating_base else 0.0
        self.references = References(robot, self.dynamics.limits, home, height)
        crawls = len(contacts) >= LEGS_TO_CRAWL and not any(contact.is_sole for contact in contacts)
        kind = CrawlGait if crawls else BipedGait
        self.gait: Gait = kind(contacts, config, height, STANDARD_GRAVITY * robot.total_mass)
        self._feedback = DcmFeedback()
        self._builder = ProgramBuilder(contacts, self.dynamics.nv, self.tau_max)
        self._solver = QpSolver(self._builder.size)
        self._support = [inner_points(contact) for contact in contacts]
        self._joint_rows = np.eye(self.dynamics.nv)[robot.n_base :]
        self.set_config(config)
        self.interrupted = True

    def set_config(self, config: ControllerConfig) -> None:
        """Apply the gains of a new config; what is fixed at construction stays as it is."""
        self._stiffness = posture_stiffness(config.posture, self.dynamics.robot.joint_names)
        self.config = self.gait.config = config

    def reset(self) -> None:
        """Reset everything but the inertias in force."""
        self.references.reset()
        self.gait.reset()
        self._feedback.reset()
        self._solver.reset()
        self.interrupted = True

    def step(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None] = ()
    ) -> ControlResult:
        """Compute the torques for one state of the robot.

        Args:
            h: Time since the last step [s]; 0 at the first.
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            forces: Measured normal force of each contact [N]; None where none is known.

        Returns:
            Torques within their limits.

        Raises:
            NumericalError: If the program has no solution, or is not solved within the iterations.
        """
        state = self.dynamics.compute(base, joints.q, joints.v)
        if self.interrupted:
            self._take_over(state)
        self.references.step(h)
        if base is None:
            return self._solve(joints, state, [])
        return self._legged(h, joints, state, forces)

    def _take_over(self, state: DynamicsState) -> None:
        """Start references and gait from the measured state."""
        height = roll = pitch = 0.0
        if self.dynamics.robot.floating_base:
            roll, pitch = roll_pitch_of(state.base.R_WF)
            self.gait.start(state)
            height = _height(state)
        self.references.restart(state.q, height, roll, pitch)
        self._feedback.reset()
        self.interrupted = False

    def _legged(
        self, h: float, joints: JointSample, state: DynamicsState, forces: Sequence[float | None]
    ) -> ControlResult:
        """Balance on legs: target of the gait, centre of pressure, then the tasks and contact loads."""
        feet = list(zip(self._builder.contacts, state.frames, strict=False))
        centres = [frame.p_BF_W + frame.R_WF @ contact.centre_C for contact, frame in feet]
        ground = sum(float(centre[2]) for centre in centres) / len(centres)
        omega = pendulum_frequency(float(state.com[2]) - ground)
        dcm = state.com[:2] + state.com_motion.velocity[:2] / omega
        target = self.gait.target(Tick(state, centres, omega, dcm, h, forces))
        if target.fresh:
            self._feedback.reset()
        balance, error = self.config.balance, dcm - target.dcm
        corners = [
            frame.p_BF_W[:2] + points @ frame.R_WF[:2].T
            for points, (_, frame), capacity in zip(self._support, feet, target.capacity, strict=True)
            if capacity > 0.0
        ]
        cop = self._feedback.centre_of_pressure(balance, error, target.zmp, np.vstack(corners), omega, h)
        motions = [contact.motion(frame, target.R_WG) for contact, frame in feet]
        tasks = self._tasks(state, target, omega**2 * (state.com[:2] - cop), motions)
        weight = STANDARD_GRAVITY * state.mass
        shares = weight * load_shares(centres, target.capacity, cop)
        loads = [
            ContactLoad(share, capacity * FORCE_LIMIT * weight)
            for share, capacity in zip(shares.tolist(), target.capacity, strict=True)
        ]
        result = self._solve(joints, state, tasks, motions, loads)
        if target.R_WG is not None:
            result.wrenches_C[:, :3] = result.wrenches_C[:, :3] @ target.R_WG.T
        return result._replace(
            phase=target.phase,
            activity=target.activity,
            com=state.com,
            dcm=dcm,
            dcm_ref=target.dcm,
            height=-target.support_height,
        )

    def _tasks(
        self,
        state: DynamicsState,
        target: SupportTarget,
        com_acceleration: Array,
        motions: Sequence[MotionRows],
    ) -> list[Task]:
        config, z, tilt = self.config, self.references.height, self.references.tilt
        rate, acceleration = target.support_motion
        error = float(z.position[0]) + target.support_height
        height = Reference(error, float(z.rate[0]) + rate, float(z.acceleration[0]) + acceleration)
        angles, stiffness = (*tilt.position.tolist(), target.yaw), config.base_orientation.stiffness
        tasks = [
            com_task(state, com_acceleration),
            height_task(state, height, config.base_height.stiffness),
            orientation_task(state, angles, tilt.rate, tilt.acceleration, stiffness),
        ]
        tasks += [
            rest_task(m) for m, capacity in zip(motions, target.capacity, strict=True) if capacity > 0.0
        ]
        if target.swing is not None:
            i, wanted = target.swing
            tasks.append(foot_task(state.frames[i], wanted, turn=self._builder.contacts[i].is_sole))
        return tasks

    def _posture_task(self, state: DynamicsState) -> Task:
        """Return the task that draws every joint to its reference, critically damped."""
        k, wanted = self._stiffness, self.references.joints
        v = state.v[len(state.v) - len(state.q) :]
        pull = k * (wanted.position - state.q) + 2.0 * np.sqrt(k) * (wanted.rate - v)
        return Task(self._joint_rows, wanted.acceleration + pull, self._posture_weights)

    def _solve(
        self,
        joints: JointSample,
        state: DynamicsState,
        tasks: Sequence[Task],
        motions: Sequence[MotionRows] = (),
        loads: Sequence[ContactLoad] = (),
    ) -> ControlResult:
        program = self._builder.build(state, (self._posture_task(state), *tasks), motions, loads)
        solution = self._solver.solve(program)
        if not solution.solved:
            raise NumericalError(f"the quadratic program is not solved: {solution.status}")
        x = solution.x
        return ControlResult(
            joints.stamp_ns,
            ControlState.CONTROL,
            "",
            np.clip(program.torques(x), -self.tau_max, self.tau_max),
            x[: self.dynamics.nv],
            self._builder.wrenches(x),
            solution.status,
            solution.iterations,
            float(self.references.height.position[0]),
            self.references.joints.position.copy(),
        )


def _height(state: DynamicsState) -> float:
    """Return the height of the base above the mean of the contacts [m]."""
    return -float(np.mean([motion.p_BF_W[2] for motion in state.frames]))
