"""Decides in each tick whether new torques are sent, the last ones are kept, or the joints are damped."""

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
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample
from inertial_estimation.spatial import linear_algebra

# Largest plausible speed of a base [m/s] and angular rate of a base [rad/s], and smallest limit that is used
# for a joint [rad/s]: URDFs limit some joints of hands and heads to 1 rad/s and less.
PLAUSIBLE_SPEED = 10.0
FALLBACK_DAMPING = 5.0  # d of tau = -d v, while the state cannot be used; less for light joints [Nms/rad]
HOLD_S = 0.02  # age up to which a contact force and the torques of the last solution remain valid
STABLE_SHARE = 0.5  # share of the damping that would stop a single joint within one period


class FaultCause(Enum):
    """Why a joint state is not answered by a solution of the tasks; `health` counts each by its value."""

    IMPOSSIBLE = "impossible reading"
    JOINT_SPEED = "joint speed implausible"
    BASE_SPEED = "base speed implausible"
    BASE_RATE = "base rate implausible"
    FALLEN = "base tilted beyond recovery"
    UNSOLVED = "program not solved"
    COMPUTATION = "computation failed"
    OUTPUT = "torques out of bounds"


class StateFault(NamedTuple):
    """Reason why a state is not used."""

    cause: FaultCause
    text: str  # names the input and the numbers, for messages


@dataclass(slots=True)
class ControllerStepCounts:
    """Outcomes of the joint states since the start."""

    steps: int = 0  # joint states answered
    damped: int = 0  # of them, those answered by damping alone
    held: int = 0  # of them, those answered by the torques of the last solution
    gaps: int = 0  # restarts of control after a gap of the inputs
    unmatched: int = 0  # joint states for which no base state arrived
    faults: Counter[FaultCause] = field(default_factory=Counter)  # joint states not answered by control
    last_fault: str = ""  # text of the last fault
    last_fault_ns: int | None = None  # stamp of the last fault [ns]


class ControlSupervisor:
    """Steps a controller on plausible states, and bounds what is sent.

    An implausible state, a failed computation or torques that are not finite never raise: the joints are
    damped, or the last torques are kept for at most `HOLD_S`, and the cause is counted. When control returns,
    its references start from the measured state.

    Attributes:
        controller: The controller.
        counts: Outcomes of the joint states.
    """

    def __init__(self, config: ControllerConfig, controller: WholeBodyController) -> None:
        """Derive limits and damping of the joints.

        Args:
            config: All parameters.
            controller: The controller of the robot.
        """
        self.controller = controller
        dynamics, self._tau_max = controller.dynamics, controller.tau_max
        robot, speed = dynamics.robot, dynamics.limits.velocity
        scaled = np.maximum(VELOCITY_FACTOR * speed, PLAUSIBLE_SPEED)
        self._speed: Array = np.where(np.isfinite(speed), scaled, FREE_VELOCITY)  # largest plausible [rad/s]
        self._n_contacts = len(config.robot.contacts) if robot.floating_base else 0
        # A joint that is moved alone has the inertia I = 1 / (M^-1)_jj; a damping d takes the share d h / I
        # of its speed in a period h.
        inverse_mass = linear_algebra.inv(dynamics.at_rest(stance_positions(config.stance, robot)).M)
        mobility = np.diag(inverse_mass)[robot.n_base :]
        self._damping = np.minimum(FALLBACK_DAMPING, STABLE_SHARE * config.rate / mobility)
        self.reset()

    def reset(self) -> None:
        """Reset everything but the inertias in force."""
        self.controller.reset()
        self.counts = ControllerStepCounts()
        self._fault: FaultCause | None = None
        self._solution: tuple[int, Array] | None = None  # stamp [ns] and torques of the last solution

    def step(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None] = ()
    ) -> ControlResult:
        """Return the torques for one state of the robot.

        Args:
            h: Time since the last step [s]; 0 at the first.
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            forces: Measured normal force of each contact [N]; None where none is known.

        Returns:
            Torques that are finite and within their limits.
        """
        self.counts.steps += 1
        if h > GAP_S:  # what the drives did without commands is not known
            self.counts.gaps += 1
            self.controller.interrupted = True
            h = 0.0
        result = self._controlled(h, base, joints, forces)
        if isinstance(result, StateFault):
            return self._answer_fault(result, joints)
        self._fault, self._solution = None, (joints.stamp_ns, result.tau)
        return result

    def refuse(self, stamp_ns: int, text: str, v: Array) -> ControlResult:
        """Return torques that damp the joints, because a reading was impossible.

        Args:
            stamp_ns: Time of the reading [ns].
            text: The input and what is wrong with it.
            v: Velocities of the joints as far as they are known [rad/s], shape (n_joints,).
        """
        joints = JointSample(stamp_ns, np.zeros(len(v)), v)
        self.counts.steps += 1
        return self._answer_fault(StateFault(FaultCause.IMPOSSIBLE, text), joints)

    def _controlled(
        self, h: float, base: BaseMotion | None, joints: JointSample, forces: Sequence[float | None]
    ) -> ControlResult | StateFault:
        fault = self._joint_fault(joints) or (None if base is None else self._base_fault(base))
        if fault is not None:
            return fault
        try:
            result = self.controller.step(h, base, joints, forces)
        except NumericalError as error:
            return StateFault(FaultCause.UNSOLVED, str(error))
        except (ArithmeticError, ValueError, InertialEstimationError) as error:
            text = f"the computation failed: {type(error).__name__}: {error}"
            return StateFault(FaultCause.COMPUTATION, text)
        if not (np.abs(result.tau) <= self._tau_max).all():  # also true for NaN
            return StateFault(FaultCause.OUTPUT, "the torques are not finite or beyond their limits")
        return result

    def _joint_fault(self, joints: JointSample) -> StateFault | None:
        """Return a fault if the speed of a joint is not plausible, else None."""
        limit = self._speed * self._narrowed(FaultCause.JOINT_SPEED)
        i = int(np.argmax(np.abs(joints.v) - limit))
        if not abs(joints.v[i]) > limit[i]:
            return None
        text = f"moves at {joints.v[i]:.4g}, plausible are at most {limit[i]:.4g} rad/s"
        name = self.controller.dynamics.robot.joint_names[i]
        return StateFault(FaultCause.JOINT_SPEED, f"joint_states: '{name}' {text}")

    def _base_fault(self, base: BaseMotion) -> StateFault | None:
        """Return a fault if the base moves implausibly fast or has fallen, else None."""
        x, y, _z, _w = base.quaternion_xyzw.tolist()
        tilt = math.degrees(math.acos(max(-1.0, min(1.0, 1.0 - 2.0 * (x * x + y * y)))))
        speed, rate = math.hypot(*base.v_WB_B.tolist()), math.hypot(*base.w_WB_B.tolist())
        moves = "base_state: the base moves at {:.4g}, plausible are at most {:.4g} "
        fallen = (
            "the robot has fallen: base_state is tilted by {:.0f} deg, at most {:.0f} deg can be controlled"
        )
        for cause, value, limit, text in (
            (FaultCause.BASE_SPEED, speed, PLAUSIBLE_SPEED, moves + "m/s"),
            (FaultCause.BASE_RATE, rate, PLAUSIBLE_SPEED, moves + "rad/s"),
            (FaultCause.FALLEN, tilt, math.degrees(FALLEN_RAD), fallen),
        ):
            if value > limit * self._narrowed(cause):
                return StateFault(cause, text.format(value, limit))
        return None

    def _narrowed(self, cause: FaultCause) -> float:
        """Return the share of a limit in force: below 1 after a fault of its cause, as a hysteresis."""
        return RETURN_SHARE if self._fault is cause else 1.0

    def _answer_fault(self, fault: StateFault, joints: JointSample) -> ControlResult:
        """Keep the last torques if only the computation failed and they are recent, else damp the joints."""
        counts, (cause, text), last = self.counts, fault, self._solution
        counts.faults[cause] += 1
        counts.last_fault, counts.last_fault_ns = text, joints.stamp_ns
        self._fault = cause
        failed = cause in (FaultCause.UNSOLVED, FaultCause.COMPUTATION, FaultCause.OUTPUT)
        if failed and last is not None and joints.stamp_ns - last[0] <= HOLD_S * NANOSECONDS:
            state, tau = ControlState.HOLDING, last[1]
            counts.held += 1
        else:  # a joint whose speed is implausible or NaN is not damped
            v = np.where(np.abs(joints.v) <= self._speed, joints.v, 0.0)
            state, tau = ControlState.DAMPING, np.clip(-self._damping * v, -self._tau_max, self._tau_max)
            counts.damped += 1
            self._solution, self.controller.interrupted = None, True
        nothing = np.zeros(self.controller.dynamics.nv), np.zeros((self._n_contacts, 6))
        return ControlResult(joints.stamp_ns, state, text, tau, *nothing)
