"""The whole-body controller: from the state of the robot to joint torques, once a tick.

xi = c + c'/omega obeys xi' = omega (xi - p), p the centre of pressure (Englsberger et al. 2013). For the
error e = xi - xi_ref to decay as e' = -k e the centre of pressure must be

    p = p_ref + (1 + k/omega) e + (k_i/omega) int e dt

and the centre of mass then accelerates with c'' = omega^2 (c - p) (Benallegue et al. V-B).
"""

import fnmatch
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.control.contact_constraints import ForceAxes, make_contacts
from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.controller_config import BalanceConfig, ControllerConfig, PostureConfig
from inertial_estimation.control.inverse_dynamics_problem import (
    ContactDemand,
    InverseDynamicsProblem,
    ProblemBuilder,
)
from inertial_estimation.control.quadratic_program import QpSolution, QuadraticProgram
from inertial_estimation.control.reference_tracker import ReferenceTracker
from inertial_estimation.control.support_polygon import nearest_in_hull
from inertial_estimation.control.support_target import SupportTarget
from inertial_estimation.control.tasks import (
    BaseHeightTask,
    BaseOrientationTask,
    ComTask,
    ContactRestTask,
    FootMotionTask,
    PostureTask,
    Task,
    TaskStack,
)
from inertial_estimation.control.walking.feet import SolePlaces, load_shares
from inertial_estimation.control.walking.gait_choice import make_gait
from inertial_estimation.errors import ConfigurationError, NumericalError, did_you_mean
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import ContactFrames
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion, DynamicsState, WholeBodyDynamics
from inertial_estimation.signals import Array, JointSample
from inertial_estimation.spatial.rotations import roll_pitch_of


class PostureGains:
    """Stiffness, damping and weight of every joint.

    Attributes:
        stiffness: [1/s^2], shape (n_joints,).
        damping: [1/s], shape (n_joints,).
        weight: Shape (n_joints,).
    """

    def __init__(self, config: PostureConfig, joint_names: Sequence[str], legs: NDArray[np.bool_]) -> None:
        """Resolve the patterns.

        Args:
            config: Gains, with exceptions by joint.
            joint_names: Names in the model's order.
            legs: Which joints carry a contact, shape (n_joints,).

        Raises:
            ConfigurationError: If a pattern matches no joint, or their number is not that of the values.
        """
        if len(config.joints) != len(config.stiffnesses):
            raise ConfigurationError(
                f"'posture.stiffnesses' has {len(config.stiffnesses)} values, expected one for each of the "
                f"{len(config.joints)} 'posture.joints'"
            )
        self.stiffness = np.full(len(joint_names), config.stiffness)
        for pattern, stiffness in zip(config.joints, config.stiffnesses, strict=True):
            found = [i for i, name in enumerate(joint_names) if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise ConfigurationError(
                    f"no joint matches '{pattern}' of 'posture.joints'"
                    f"{did_you_mean(pattern, joint_names, 'the model has')}"
                )
            self.stiffness[found] = stiffness
        self.damping: Array = 2.0 * config.damping_ratio * np.sqrt(self.stiffness)
        self.weight: Array = np.where(legs, config.leg_weight, config.weight)


LOWEST_PENDULUM = 0.1  # of the height of the centre of mass [m]


def pendulum_frequency(height: float) -> float:
    """Return omega = sqrt(g / height) of the linear inverted pendulum [1/s]."""
    return math.sqrt(STANDARD_GRAVITY / max(height, LOWEST_PENDULUM))


def divergent_component(com: Array, com_velocity: Array, omega: float) -> Array:
    """Return xi = c + c'/omega in the horizontal plane [m], shape (2,)."""
    return com[:2] + com_velocity[:2] / omega


class DcmFeedback:
    """Finds the centre of pressure that brings the DCM to its reference.

    Attributes:
        integral: Shift of the centre of pressure by the integral, world axes [m], shape (2,).
        saturated: Whether the last centre of pressure was moved back into the support polygon.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the integral."""
        self.integral = np.zeros(2)
        self.saturated = False

    def centre_of_pressure(
        self,
        config: BalanceConfig,
        error: Array,
        p_ref: Array,
        support: Array,
        omega: float,
        h: float,
    ) -> Array:
        """Return the centre of pressure to apply.

        Args:
            config: Gains.
            error: xi - xi_ref [m], shape (2,).
            p_ref: Centre of pressure of the reference [m], shape (2,).
            support: Points of the soles that carry, margin taken off [m], shape (k, 2), k at least 1.
            omega: Frequency of the pendulum [1/s].
            h: Time since the last call [s].

        Returns:
            Centre of pressure inside the support polygon [m], shape (2,).
        """
        ex, ey = error.tolist()
        x, y = self.integral.tolist()
        if not self.saturated:
            share = h * config.integral / omega
            x, y = x + share * ex, y + share * ey
            length, limit = math.hypot(x, y), config.integral_limit
            if length > limit:
                x, y = x * (limit / length), y * (limit / length)
            self.integral = np.array([x, y])
        px, py = p_ref.tolist()
        gain = 1.0 + config.gain / omega
        wanted = (px + gain * ex + x, py + gain * ey + y)
        reached = nearest_in_hull(support, wanted)
        self.saturated = reached != wanted
        return np.array(reached)


class WholeBodyController:
    """Balance, posture and gait of one robot.

    Attributes:
        config: The parameters in force.
        dynamics: The model, with the inertias in force.
        references: References of base and joints.
        gait: Which feet stand and swing.
        interrupted: Whether the next step takes over: references and gait then begin where the robot is.
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
        self.dynamics = WholeBodyDynamics(robot, contact_frames, armature=config.armature)
        self._tau_max = config.torque_scale * self.dynamics.torque_limits
        self._legs = self.dynamics.supporting_joints(contact_frames)
        home = stance_positions(config.stance, robot)
        self.references = ReferenceTracker(config.references, home, self._home_height(home))
        self.gait = make_gait(contacts, config)
        self._feedback = DcmFeedback()
        self._force_axes = ForceAxes(contacts)
        self._builder = ProblemBuilder(
            contacts, self.dynamics.nv, robot.n_joints, self._tau_max, config.contact.force_weight
        )
        builder, solver = self._builder, config.solver
        self._program = QuadraticProgram(builder.n, builder.n_base, builder.n_rows, solver)
        self.set_config(config)
        self.interrupted = True

    def set_config(self, config: ControllerConfig) -> None:
        """Take new gains; what is fixed at construction stays."""
        self.config = config
        self.gait.set_config(config.walking, config.crawl)
        self._soles = SolePlaces(self._builder.contacts, config.balance.margin)
        joints = self.dynamics.robot.joint_names
        self._posture = PostureGains(config.posture, joints, self._legs)

    def reset(self) -> None:
        """Forget everything but the inertias in force."""
        self.references.reset()
        self.gait.reset()
        self._feedback.reset()
        self._program.reset()
        self.interrupted = True

    def step(
        self,
        h: float,
        base: BaseMotion | None,
        joints: JointSample,
        forces: Sequence[float | None] = (),
    ) -> ControlResult:
        """Compute the torques for one state of the robot.

        Args:
            h: Time since the last step [s]; 0 at the first.
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            forces: Measured normal force of each contact [N]; None where there is none.

        Returns:
            Torques within their limits.

        Raises:
            NumericalError: If the program of this state has no solution, or none within the iterations.
        """
        state = self.dynamics.compute(base, joints.q, joints.v)
        if self.interrupted:
            self._take_over(state)
        self.references.step(h)
        if base is None:
            return self._solve(joints, self._stack(state, None, []), [])
        return self._legged(h, joints, state, forces)

    def sliding_error(self, joints: JointSample) -> Array:
        """Return s = (v - v_ref) + sqrt(k) (q - q_ref) of the joints that follow their posture [rad/s].

        Args:
            joints: Joint state in the model's order.

        Returns:
            Shape (n_joints,); 0 for the joints of the legs of a floating base, which carry it.
        """
        reference, slope = self.references.joints, np.sqrt(self._posture.stiffness)
        s: Array = (joints.v - reference.rate) + slope * (joints.q - reference.position)
        return np.where(self._legs, 0.0, s) if self.dynamics.robot.floating_base else s

    def interrupt(self) -> None:
        """Let references and gait begin at the next step from where the robot is then."""
        self.interrupted = True

    def _home_height(self, home: Array) -> float:
        """Height of the base above the contacts in the home posture, upright [m]; 0 for a fixed base."""
        if not self.dynamics.robot.floating_base:
            return 0.0
        return _height(self.dynamics.at_rest(home))

    def _take_over(self, state: DynamicsState) -> None:
        """Start references and gait from where the robot is."""
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
        config = self.config
        centres, corners = self._soles.now(state.places)
        ground = sum(float(centre[2]) for centre in centres) / len(centres)
        omega = pendulum_frequency(float(state.com[2]) - ground)
        dcm = divergent_component(state.com, state.com_velocity, omega)
        target = self.gait.target(state, centres, omega, dcm, h, forces)
        if target.fresh:
            self._feedback.reset()
        support = self._soles.standing(corners, target.capacity)
        cop = self._feedback.centre_of_pressure(
            config.balance, dcm - target.dcm, target.zmp, support, omega, h
        )
        x, y = (omega**2 * (state.com[:2] - cop)).tolist()
        tasks = self._stack(state, target.R_WG, self._tasks(target, (x, y)))
        loads = self._loads(state.mass, centres, target, cop)
        balance = {
            "phase": target.phase,
            "activity": target.activity,
            "com": state.com,
            "dcm": dcm,
            "dcm_ref": target.dcm,
            "cop": cop,
            "height": -target.support_height,
        }
        result = self._solve(joints, tasks, loads, balance)
        if target.R_WG is not None:
            result.wrenches_C[:, :3] = result.wrenches_C[:, :3] @ target.R_WG.T
        return result

    def _stack(self, state: DynamicsState, R_WG: Array | None, tasks: list[Task]) -> TaskStack:
        """Return the tasks of a state with the posture; R_WG as in `SupportTarget`."""
        return TaskStack(state, self._force_axes.motions(state, R_WG), tasks, self._posture_task())

    def _tasks(self, target: SupportTarget, com_acceleration: tuple[float, float]) -> list[Task]:
        config = self.config
        tasks = [ComTask(com_acceleration, config.balance.com_weight), *self._base_tasks(target)]
        rest, contacts = config.contact, self._builder.contacts
        for contact, rows, capacity in zip(contacts, self._force_axes.rows, target.capacity, strict=True):
            if capacity > 0.0:
                tasks.append(ContactRestTask(contact.name, rows, rest.damping, rest.weight))
        if target.swing is not None and target.swing_reference is not None:
            foot, sole = config.foot, contacts[target.swing].is_sole
            swing = FootMotionTask(
                target.swing, target.swing_reference, foot.stiffness, foot.damping, foot.weight, turn=sole
            )
            tasks.append(swing)
        return tasks

    def _base_tasks(self, target: SupportTarget) -> list[Task]:
        height, turn = self.config.base_height, self.config.base_orientation
        z, tilt = self.references.height, self.references.tilt
        roll, pitch = tilt.position.tolist()
        leaning_roll, leaning_pitch = target.tilt
        angles = (roll + leaning_roll, pitch + leaning_pitch, target.yaw)
        rate, acceleration = target.support_motion
        z_ref = (float(z.position[0]), float(z.rate[0]) + rate, float(z.acceleration[0]) + acceleration)
        return [
            BaseHeightTask(-target.support_height, z_ref, height.stiffness, height.damping, height.weight),
            BaseOrientationTask(
                angles, tilt.rate, tilt.acceleration, turn.stiffness, turn.damping, turn.weight
            ),
        ]

    def _loads(
        self, mass: float, centres: Sequence[Array], target: SupportTarget, cop: Array
    ) -> list[ContactDemand]:
        weight = STANDARD_GRAVITY * mass
        shares = load_shares(centres, target.capacity, cop)
        limit = self.config.contact.force_limit * weight
        return [
            ContactDemand(share * weight, capacity * limit, capacity > 0.0)
            for share, capacity in zip(shares, target.capacity, strict=True)
        ]

    def _posture_task(self) -> PostureTask:
        gains, joints = self._posture, self.references.joints
        return PostureTask(
            joints.position, joints.rate, joints.acceleration, gains.stiffness, gains.damping, gains.weight
        )

    def _solve(
        self,
        joints: JointSample,
        tasks: TaskStack,
        loads: list[ContactDemand],
        balance: Mapping[str, Any] = MappingProxyType({}),
    ) -> ControlResult:
        problem = self._builder.build(tasks, loads)
        solution = self._program.solve(problem)
        if not solution.solved:
            raise NumericalError(f"the quadratic program is not solved: {solution.status}")
        return self._result(joints, problem, solution, balance)

    def _result(
        self,
        joints: JointSample,
        problem: InverseDynamicsProblem,
        solution: QpSolution,
        balance: Mapping[str, Any],
    ) -> ControlResult:
        """Return the result of a solution; `balance` are the fields of `ControlResult` of a legged robot."""
        x = solution.x
        tau, wrenches = self._builder.answer(problem, x)
        a = x[: self.dynamics.nv]
        return ControlResult(
            joints.stamp_ns,
            ControlState.CONTROL,
            "",
            tau,
            a,
            wrenches,
            problem.tasks,
            solution.status,
            solution.iterations,
            height_ref=float(self.references.height.position[0]),
            q_ref=self.references.joints.position.copy(),
            **balance,
        )


def _height(state: DynamicsState) -> float:
    """Return the height of the base above the mean of the contacts [m]."""
    return -float(np.mean([motion.p_BF_W[2] for motion in state.frames]))
