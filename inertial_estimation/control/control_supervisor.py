"""Decides each tick whether the controller's torques are sent, the last ones kept, or the joints damped."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from inertial_estimation.control.control_result import ControlResult, ControlState
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.state_limits import FaultCause, StateFault, StateLimits
from inertial_estimation.control.whole_body_controller import WholeBodyController
from inertial_estimation.errors import InertialEstimationError, NumericalError
from inertial_estimation.inputs.joints import LARGEST_ACCELERATION
from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from inertial_estimation.signals import NANOSECONDS, Array, JointSample
from inertial_estimation.spatial import linear_algebra

LONGEST_TICK_S = 0.01  # time between two commands that counts: a late command does not make a larger step
UNLIMITED_TORQUE = 100.0  # taken for the rate of joints without an effort limit [Nm]


class TorqueReturn:
    """Moves the torques from those last sent to the wanted ones, at most by a share of the limits a tick.

    Once all torques have arrived it does nothing until the next `begin`.
    """

    def __init__(self, tau_max: Array, duration: float) -> None:
        """Set the rate.

        Args:
            tau_max: Torque limits [Nm], shape (n_joints,).
            duration: Time in which a torque may change by its limit [s].
        """
        self._rate = np.where(np.isfinite(tau_max), tau_max, UNLIMITED_TORQUE) / duration
        self._tau: Array | None = None

    def reset(self) -> None:
        """Let the next torques take effect at once."""
        self._tau = None

    def begin(self, tau: Array) -> None:
        """Start from torques [Nm], shape (n_joints,)."""
        self._tau = tau

    def limited(self, tau: Array, h: float) -> Array:
        """Return the torques to send.

        Args:
            tau: The wanted torques [Nm], shape (n_joints,).
            h: Time since the last command [s].
        """
        if self._tau is None:
            return tau
        step = self._rate * min(h, LONGEST_TICK_S)
        sent: Array = np.minimum(np.maximum(tau, self._tau - step), self._tau + step)
        self._tau = None if np.array_equal(sent, tau) else sent
        return sent


LEAST_JUMP = 0.02  # of a position beyond its largest speed, several counts of a coarse encoder [rad]
JOINTS, BASE = "joint_states", "base_state"


class InputJumps:
    """Keeps the first jump of each input in the last seconds, to name the input when a computation fails.

    A joint, or the base along or about an axis, is not accelerated by more than `LARGEST_ACCELERATION`, and
    does not move faster than its largest speed. A state after a jump may be plausible and its tasks solvable,
    and those after it not; a later jump may be the way back.
    """

    def __init__(self, names: Sequence[str], speed: Array, base_rate: float) -> None:
        """Begin without a state.

        Args:
            names: Names of the joints.
            speed: Largest plausible speed of each [rad/s], shape (n_joints,).
            base_rate: Largest plausible angular rate of the base [rad/s].
        """
        self._names, self._speed, self._base_rate = names, speed, base_rate
        self.reset()

    def reset(self) -> None:
        """Begin without a state."""
        self._first: dict[str, tuple[int, str]] = {}  # stamp [ns] and text of the jump of an input
        self._before: tuple[BaseMotion | None, JointSample] | None = None

    @property
    def text(self) -> str:
        """The jumps, for people; empty: there were none."""
        return "; ".join(f"{name}: the {what}" for name, (_stamp_ns, what) in self._first.items())

    def update(self, base: BaseMotion | None, joints: JointSample) -> None:
        """Take the next state.

        Args:
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
        """
        before, self._before = self._before, (base, joints)
        stamp_ns = joints.stamp_ns
        if self._first:
            kept = {name: jump for name, jump in self._first.items() if stamp_ns - jump[0] <= REPORTED_NS}
            self._first = kept
        if before is None:
            return
        base_before, joints_before = before
        h = (stamp_ns - joints_before.stamp_ns) / NANOSECONDS
        if JOINTS not in self._first:
            self._compare_joints(joints_before, joints, h)
        if base is not None and base_before is not None and BASE not in self._first:
            self._compare_bases(base_before, base, h, stamp_ns)

    def _compare_joints(self, before: JointSample, now: JointSample, h: float) -> None:
        changes, travel = now.v - before.v, now.q - before.q
        i, j = int(np.abs(changes).argmax()), int((np.abs(travel) - h * self._speed).argmax())
        v, q = float(changes[i]), float(travel[j])
        if abs(v) > LARGEST_ACCELERATION * h:
            what = f"velocity of '{self._names[i]}' changed by {v:.3g} rad/s in {h:.3g} s"
        elif abs(q) > self._speed[j] * h + LEAST_JUMP:
            what = f"position of '{self._names[j]}' changed by {q:.3g} rad in {h:.3g} s"
        else:
            return
        self._first[JOINTS] = now.stamp_ns, what

    def _compare_bases(self, before: BaseMotion, now: BaseMotion, h: float, stamp_ns: int) -> None:
        v, w = math.dist(now.v_WB_B, before.v_WB_B), math.dist(now.w_WB_B, before.w_WB_B)
        cosine = abs(float(now.quaternion_xyzw @ before.quaternion_xyzw))  # q and -q are the same rotation
        turned = 2.0 * math.acos(min(1.0, cosine))
        if w > LARGEST_ACCELERATION * h:
            what = f"angular velocity of the base changed by {w:.3g} rad/s in {h:.3g} s"
        elif v > LARGEST_ACCELERATION * h:
            what = f"velocity of the base changed by {v:.3g} m/s in {h:.3g} s"
        elif turned > self._base_rate * h + LEAST_JUMP:
            what = f"orientation of the base changed by {turned:.3g} rad in {h:.3g} s"
        else:
            return
        self._first[BASE] = stamp_ns, what


GAP_S = 0.1  # time without an answered joint state after which control begins anew from the robot's pose
STABLE_SHARE = 0.5  # of the damping that takes all speed of a single joint away within one period


@dataclass(slots=True)
class ControllerStepCounts:
    """What became of the joint states since the start.

    Attributes:
        steps: Joint states answered.
        damped: Of them, those answered by damping alone.
        held: Of them, those answered by the torques of the last solution.
        gaps: Times that control began anew after a gap of the inputs.
        unmatched: Joint states whose base orientation or base state never came.
        faults: Joint states not answered by control, by cause.
        last_fault: The last fault, for people.
        last_fault_ns: Stamp of the last fault [ns]; None before the first.
        take_overs: Times that control has begun: at the start, after damping, after a gap.
        take_over: How the controller found the robot when it last took over, for people.
    """

    steps: int = 0
    damped: int = 0
    held: int = 0
    gaps: int = 0
    unmatched: int = 0
    faults: Counter[FaultCause] = field(default_factory=Counter)
    last_fault: str = ""
    last_fault_ns: int | None = None
    take_overs: int = 0
    take_over: str = ""


class ControlSupervisor:
    """Steps a controller on plausible states, and bounds what is sent.

    A state that is not plausible, a computation that fails or torques that are not finite are never an
    exception: the joints are damped, or for a moment the last torques are kept, and the cause is counted.
    When control returns, its references begin where the robot is and its torques at those last sent.

    Attributes:
        controller: The controller.
        counts: What became of the joint states.
    """

    def __init__(self, config: ControllerConfig, robot: RobotModel, controller: WholeBodyController) -> None:
        """Derive limits and damping of the joints.

        Args:
            config: All parameters.
            robot: The robot.
            controller: The controller of this robot.
        """
        self.controller = controller
        self._limits = StateLimits(config.limits, robot, controller.dynamics.position_limits)
        self._tau_max = config.torque_scale * controller.dynamics.torque_limits
        self._return = TorqueReturn(self._tau_max, config.recovery.duration)
        self._hold_ns = round(NANOSECONDS * config.recovery.hold)
        self._jumps = InputJumps(robot.joint_names, self._limits.speed, config.limits.base_rate)
        self._home = stance_positions(config.stance, robot)
        self._n_contacts = len(config.robot.contacts) if robot.floating_base else 0
        self._most_damping = _most_damping(config.rate, self._home, controller.dynamics)
        self.set_config(config)
        self.reset()

    def set_config(self, config: ControllerConfig) -> None:
        """Take new gains; what is fixed at construction stays."""
        self.controller.set_config(config)
        self._damping = np.minimum(config.fallback_damping, self._most_damping)

    def reset(self) -> None:
        """Forget everything but the inertias in force."""
        self.controller.reset()
        self._return.reset()
        self.counts = ControllerStepCounts()
        self._fault: FaultCause | None = None
        self._sent: Array | None = None
        self._solution: tuple[JointSample, Array] | None = None  # state and torques of the last solution
        self._jumps.reset()

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
        if h > GAP_S:
            self._begin_anew(joints)
            h = 0.0
        self._jumps.update(base, joints)
        result = self._controlled(h, base, joints, forces)
        if isinstance(result, StateFault):
            result = self._answer_fault(result, joints)
        else:
            self._fault = None
            self._solution = joints, result.tau
        self.counts.steps += 1
        self._sent = result.tau
        return result

    def refuse(self, stamp_ns: int, text: str, v: Array) -> ControlResult:
        """Return torques that damp the joints, as a reading was impossible.

        Args:
            stamp_ns: Time of the reading [ns].
            text: The input and what is wrong with it.
            v: Velocities of the joints as far as they are known [rad/s], shape (n_joints,).
        """
        joints = JointSample(stamp_ns, np.zeros(len(v)), v)
        result = self._answer_fault(StateFault(FaultCause.IMPOSSIBLE, text), joints)
        self.counts.steps += 1
        self._sent = result.tau
        return result

    def _controlled(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None]
    ) -> ControlResult | StateFault:
        fault = self._limits.fault(base, joints, self._fault)
        if fault is not None:
            return fault
        taking_over = self.controller.interrupted
        try:
            result = self.controller.step(h, base, joints, forces)
        except NumericalError as error:
            return StateFault(FaultCause.UNSOLVED, str(error))
        except (ArithmeticError, ValueError, InertialEstimationError) as error:
            text = f"the computation failed: {type(error).__name__}: {error}"
            return StateFault(FaultCause.COMPUTATION, text)
        tau = self._return.limited(result.tau, h)
        if not (np.abs(tau) <= self._tau_max).all():  # also true for NaN
            return StateFault(FaultCause.OUTPUT, "the torques are not finite or beyond their limits")
        if taking_over:
            self.counts.take_overs += 1
            self.counts.take_over = self._description(result, joints, forces)
        return result if tau is result.tau else replace(result, tau=tau)

    def _description(self, result: ControlResult, joints: JointSample, forces: Sequence[float | None]) -> str:
        """Describe how far from its posture the robot is, and whether it stands on its feet."""
        away = np.abs(joints.q - self._home)
        i = int(np.argmax(away))
        name = self.controller.dynamics.robot.joint_names[i]
        text = f"'{name}' is {away[i]:.2f} rad from the home posture"
        if not self._n_contacts:
            return text
        home = self.controller.references.home_height
        text += f", the base {result.height:.3f} m above the feet (at home {home:.3f} m)"
        measured = [force for force in forces if force is not None]
        if len(measured) == self._n_contacts:
            text += f", the feet carry {sum(measured):.0f} N"
        return text

    def _answer_fault(self, fault: StateFault, joints: JointSample) -> ControlResult:
        """Keep the torques of the last solution if the state is good and they are new, else damp."""
        counts, nv = self.counts, self.controller.dynamics.nv
        failed = fault.cause in (FaultCause.UNSOLVED, FaultCause.COMPUTATION, FaultCause.OUTPUT)
        if failed and self._jumps.text:
            fault = StateFault(fault.cause, f"{fault.text}; {self._jumps.text}")
        counts.faults[fault.cause] += 1
        counts.last_fault, counts.last_fault_ns = fault.text, joints.stamp_ns
        self._fault = fault.cause
        last = self._solution
        if failed and last is not None and joints.stamp_ns - last[0].stamp_ns <= self._hold_ns:
            state, tau = ControlState.HOLDING, last[1]
            counts.held += 1
        else:
            state, tau = ControlState.DAMPING, self._damping_torque(joints)
            counts.damped += 1
            self._solution = None
            self.controller.interrupt()
        self._return.begin(tau)
        wrenches = np.zeros((self._n_contacts, 6))
        return ControlResult(joints.stamp_ns, state, fault.text, tau, np.zeros(nv), wrenches)

    def _damping_torque(self, joints: JointSample) -> Array:
        """Return tau = -d v within the limits; zero for a joint whose speed is not plausible [Nm]."""
        v = np.where(np.abs(joints.v) <= self._limits.speed, joints.v, 0.0)  # NaN is not plausible either
        tau: Array = np.clip(-self._damping * v, -self._tau_max, self._tau_max)
        return tau

    def _begin_anew(self, joints: JointSample) -> None:
        """Take over after a gap: meanwhile the drives did what they do without commands."""
        self.counts.gaps += 1
        self.controller.interrupt()
        measured, sent = joints.tau, self._sent
        start = sent if measured is None or not np.isfinite(measured).all() else measured
        if start is not None:
            self._return.begin(np.clip(start, -self._tau_max, self._tau_max))


def _most_damping(rate: float, home: Array, dynamics: WholeBodyDynamics) -> Array:
    """Return the damping of each joint that is stable at the rate of the commands [Nms/rad], (n_joints,).

    A joint with the inertia I at which a torque acts on it alone, 1 / (M^-1)_jj, loses the share d h / I of
    its speed in a period h.
    """
    mobility = np.diag(linear_algebra.inv(dynamics.at_rest(home).M))[dynamics.robot.n_base :]
    most: Array = STABLE_SHARE * rate / mobility
    return most
