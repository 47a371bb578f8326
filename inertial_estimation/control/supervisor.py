"""Decides each tick whether the controller's torques are sent, the last ones kept, or the joints damped."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.config import ControllerConfig
from inertial_estimation.control.controller import ControlResult, ControlState, WholeBodyController
from inertial_estimation.control.references import GAP_S, RETURN_SHARE
from inertial_estimation.errors import InertialEstimationError, NumericalError
from inertial_estimation.inputs.joints import FREE_VELOCITY, VELOCITY_FACTOR
from inertial_estimation.models.contacts import FALLEN_RAD
from inertial_estimation.models.friction import EFFORT_PER_KG
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample
from inertial_estimation.spatial import linear_algebra

LEAST_SPEED_LIMIT = 10.0  # URDFs limit some joints of hands and heads to 1 rad/s and less [rad/s]
BASE_SPEED, BASE_RATE = 10.0, 20.0  # largest plausible [m/s], [rad/s]
FALLBACK_DAMPING = 5.0  # d of tau = -d v, while the state cannot be used; less for light joints [Nms/rad]


class FaultCause(Enum):
    """Why a joint state is not answered by the solution of the tasks; health counts them by value."""

    IMPOSSIBLE = "impossible reading"
    JOINT_SPEED = "joint speed implausible"
    BASE_SPEED = "base speed implausible"
    BASE_RATE = "base rate implausible"
    FALLEN = "base tilted beyond recovery"
    UNSOLVED = "program not solved"
    COMPUTATION = "computation failed"
    OUTPUT = "torques out of bounds"


class StateFault(NamedTuple):
    """Why a state is not used."""

    cause: FaultCause
    text: str  # the input and the numbers, for people


class StateLimits:
    """Limits of joints and base, within which the controller can work with a state.

    Attributes:
        speed: Largest plausible speed of each joint [rad/s], shape (n_joints,).
    """

    def __init__(self, robot: RobotModel, limits: JointLimits) -> None:
        """Derive the limits of the joints.

        Args:
            robot: The robot.
            limits: Limits of its joints in the URDF.
        """
        self._names = robot.joint_names
        scaled = np.maximum(VELOCITY_FACTOR * limits.velocity, LEAST_SPEED_LIMIT)
        self.speed: Array = np.where(np.isfinite(limits.velocity), scaled, FREE_VELOCITY)

    def fault(
        self, base: BaseMotion | None, joints: JointSample, before: FaultCause | None
    ) -> StateFault | None:
        """Return why a state cannot be used; None if it can.

        Args:
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            before: Fault of the state before: its limit is narrower, so that the result does not alternate.
        """
        limit = self.speed * (RETURN_SHARE if before is FaultCause.JOINT_SPEED else 1.0)
        fast = np.abs(joints.v) > limit
        if fast.any():
            i = int(np.argmax(fast))
            text = f"moves at {joints.v[i]:.4g}, plausible are at most {limit[i]:.4g} rad/s"
            return StateFault(FaultCause.JOINT_SPEED, f"joint_states: '{self._names[i]}' {text}")
        return None if base is None else self._base_fault(base, before)

    def _base_fault(self, base: BaseMotion, before: FaultCause | None) -> StateFault | None:
        x, y, _z, _w = base.quaternion_xyzw.tolist()
        tilt = math.degrees(math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y)))))
        speed, rate = math.hypot(*base.v_WB_B.tolist()), math.hypot(*base.w_WB_B.tolist())
        moves = "base_state: the base moves at {:.4g}, plausible are at most {:.4g} "
        fallen = (
            "the robot has fallen: base_state is tilted by {:.0f} deg, at most {:.0f} deg can be controlled"
        )
        for cause, value, limit, text in (
            (FaultCause.BASE_SPEED, speed, BASE_SPEED, moves + "m/s"),
            (FaultCause.BASE_RATE, rate, BASE_RATE, moves + "rad/s"),
            (FaultCause.FALLEN, tilt, math.degrees(FALLEN_RAD), fallen),
        ):
            if value > limit * (RETURN_SHARE if before is cause else 1.0):
                return StateFault(cause, text.format(value, limit))
        return None


HOLD_S = 0.02  # for which a force and the torques of the last solution still hold, and a late command counts
STABLE_SHARE = 0.5  # of the damping that takes all speed of a single joint away within one period


class TorqueReturn:
    """Moves the torques from those last sent to the wanted ones, at most by a share of the limits a tick.

    Once all torques have arrived it does nothing until the next `begin`.
    """

    def __init__(self, tau_max: Array, unlimited: float) -> None:
        """Set the rate by the torque limits [Nm], shape (n_joints,), and one for joints without [Nm]."""
        self._rate = np.where(np.isfinite(tau_max), tau_max, unlimited) / GAP_S
        self._tau: Array | None = None

    def begin(self, tau: Array | None) -> None:
        """Start from torques [Nm], shape (n_joints,); None: the next ones take effect at once."""
        self._tau = tau

    def limited(self, tau: Array, h: float) -> Array:
        """Return the torques to send.

        Args:
            tau: The wanted torques [Nm], shape (n_joints,).
            h: Time since the last command [s].
        """
        if self._tau is None:
            return tau
        step = self._rate * min(h, HOLD_S)
        sent: Array = np.clip(tau, self._tau - step, self._tau + step)
        self._tau = None if np.array_equal(sent, tau) else sent
        return sent


@dataclass(slots=True)
class ControllerStepCounts:
    """What became of the joint states since the start."""

    steps: int = 0  # joint states answered
    damped: int = 0  # of them, those answered by damping alone
    held: int = 0  # of them, those answered by the torques of the last solution
    gaps: int = 0  # times that control began anew after a gap of the inputs
    unmatched: int = 0  # joint states whose base orientation or base state never came
    faults: Counter[FaultCause] = field(default_factory=Counter)  # joint states not answered by control
    last_fault: str = ""  # for people
    last_fault_ns: int | None = None  # its stamp [ns]


class ControlSupervisor:
    """Steps a controller on plausible states, and bounds what is sent.

    A state that is not plausible, a computation that fails or torques that are not finite are never an
    exception: the joints are damped, or for a moment the last torques are kept, and the cause is counted.
    When control returns, its references begin where the robot is and its torques at those last sent.

    Attributes:
        controller: The controller.
        counts: What became of the joint states.
    """

    def __init__(self, config: ControllerConfig, controller: WholeBodyController) -> None:
        """Derive limits and damping of the joints.

        Args:
            config: All parameters.
            controller: The controller of the robot.
        """
        dynamics = controller.dynamics
        self.controller = controller
        self._limits = StateLimits(dynamics.robot, dynamics.limits)
        self._return = TorqueReturn(controller.tau_max, EFFORT_PER_KG * dynamics.robot.total_mass)
        self._n_contacts = len(config.robot.contacts) if dynamics.robot.floating_base else 0
        # Of its speed, a joint that a torque moves alone, with the inertia I = 1 / (M^-1)_jj, loses the share
        # d h / I in a period h.
        mobility = np.diag(
            linear_algebra.inv(dynamics.at_rest(stance_positions(config.stance, dynamics.robot)).M)
        )[dynamics.robot.n_base :]
        self._damping = np.minimum(FALLBACK_DAMPING, STABLE_SHARE * config.rate / mobility)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the inertias in force."""
        self.controller.reset()
        self._return.begin(None)
        self.counts = ControllerStepCounts()
        self._fault: FaultCause | None = None
        self._sent: Array | None = None
        self._solution: tuple[int, Array] | None = None  # stamp [ns] and torques of the last solution

    def step(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None] = ()
    ) -> ControlResult:
        """Return the torques for one state of the robot.

        Args:
            h: Time since the last step [s]; 0 at the first.
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            forces: Measured normal force of each contact [N]; None where there is none.

        Returns:
            Torques that are finite and within their limits.
        """
        if h > GAP_S:  # meanwhile the drives did what they do without commands
            self.counts.gaps += 1
            self.controller.interrupted = True
            self._return.begin(self._sent)
            h = 0.0
        result = self._controlled(h, base, joints, forces)
        if isinstance(result, StateFault):
            return self._count(self._answer_fault(result, joints))
        self._fault, self._solution = None, (joints.stamp_ns, result.tau)
        return self._count(result)

    def refuse(self, stamp_ns: int, text: str, v: Array) -> ControlResult:
        """Return torques that damp the joints, as a reading was impossible.

        Args:
            stamp_ns: Time of the reading [ns].
            text: The input and what is wrong with it.
            v: Velocities of the joints as far as they are known [rad/s], shape (n_joints,).
        """
        joints = JointSample(stamp_ns, np.zeros(len(v)), v)
        return self._count(self._answer_fault(StateFault(FaultCause.IMPOSSIBLE, text), joints))

    def _count(self, result: ControlResult) -> ControlResult:
        self.counts.steps += 1
        self._sent = result.tau
        return result

    def _controlled(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None]
    ) -> ControlResult | StateFault:
        fault = self._limits.fault(base, joints, self._fault)
        if fault is not None:
            return fault
        try:
            result = self.controller.step(h, base, joints, forces)
        except NumericalError as error:
            return StateFault(FaultCause.UNSOLVED, str(error))
        except (ArithmeticError, ValueError, InertialEstimationError) as error:
            text = f"the computation failed: {type(error).__name__}: {error}"
            return StateFault(FaultCause.COMPUTATION, text)
        tau = self._return.limited(result.tau, h)
        if not (np.abs(tau) <= self.controller.tau_max).all():  # also true for NaN
            return StateFault(FaultCause.OUTPUT, "the torques are not finite or beyond their limits")
        return result if tau is result.tau else result._replace(tau=tau)

    def _answer_fault(self, fault: StateFault, joints: JointSample) -> ControlResult:
        """Keep the torques of the last solution if the state is good and they are new, else damp."""
        counts, (cause, text), last = self.counts, fault, self._solution
        counts.faults[cause] += 1
        counts.last_fault, counts.last_fault_ns = text, joints.stamp_ns
        self._fault = cause
        failed = cause in (FaultCause.UNSOLVED, FaultCause.COMPUTATION, FaultCause.OUTPUT)
        if failed and last is not None and joints.stamp_ns - last[0] <= HOLD_S * NANOSECONDS:
            state, tau = ControlState.HOLDING, last[1]
            counts.held += 1
        else:
            state, tau = ControlState.DAMPING, self._damping_torque(joints.v)
            counts.damped += 1
            self._solution = None
            self.controller.interrupted = True
        self._return.begin(tau)
        nothing = np.zeros(self.controller.dynamics.nv), np.zeros((self._n_contacts, 6))
        return ControlResult(joints.stamp_ns, state, text, tau, *nothing)

    def _damping_torque(self, v: Array) -> Array:
        """Return tau = -d v within the limits; zero for a joint whose speed is not plausible [Nm]."""
        v = np.where(np.abs(v) <= self._limits.speed, v, 0.0)  # NaN is not plausible either
        limit = self.controller.tau_max
        tau: Array = np.clip(-self._damping * v, -limit, limit)
        return tau
