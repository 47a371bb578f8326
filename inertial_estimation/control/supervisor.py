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
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample
from inertial_estimation.spatial import linear_algebra

# Largest plausible speed of a base [m/s], its rate, and the least limit of a joint [rad/s]: URDFs limit some
# joints of hands and heads to 1 rad/s and less.
PLAUSIBLE_SPEED = 10.0
FALLBACK_DAMPING = 5.0  # d of tau = -d v, while the state cannot be used; less for light joints [Nms/rad]
HOLD_S = 0.02  # for which a force and the torques of the last solution still hold, and a late command counts
STABLE_SHARE = 0.5  # of the damping that takes all speed of a single joint away within one period


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
    When control returns, its references begin where the robot is.

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
        self.controller = controller
        dynamics, self._tau_max = controller.dynamics, controller.tau_max
        robot, speed = dynamics.robot, dynamics.limits.velocity
        scaled = np.maximum(VELOCITY_FACTOR * speed, PLAUSIBLE_SPEED)
        self._speed: Array = np.where(np.isfinite(speed), scaled, FREE_VELOCITY)  # largest plausible [rad/s]
        self._n_contacts = len(config.robot.contacts) if robot.floating_base else 0
        # Of its speed, a joint that a torque moves alone, with the inertia I = 1 / (M^-1)_jj, loses the share
        # d h / I in a period h.
        inverse_mass = linear_algebra.inv(dynamics.at_rest(stance_positions(config.stance, robot)).M)
        mobility = np.diag(inverse_mass)[robot.n_base :]
        self._damping = np.minimum(FALLBACK_DAMPING, STABLE_SHARE * config.rate / mobility)
        self.reset()

    def reset(self) -> None:
        """Forget everything but the inertias in force."""
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
            forces: Measured normal force of each contact [N]; None where there is none.

        Returns:
            Torques that are finite and within their limits.
        """
        self.counts.steps += 1
        if h > GAP_S:  # meanwhile the drives did what they do without commands
            self.counts.gaps += 1
            self.controller.interrupted = True
            h = 0.0
        result = self._controlled(h, base, joints, forces)
        if isinstance(result, StateFault):
            return self._answer_fault(result, joints)
        self._fault, self._solution = None, (joints.stamp_ns, result.tau)
        return result

    def refuse(self, stamp_ns: int, text: str, v: Array) -> ControlResult:
        """Return torques that damp the joints, as a reading was impossible.

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
        """Return why the speeds of the joints are not plausible."""
        limit = self._speed * self._narrowed(FaultCause.JOINT_SPEED)
        i = int(np.argmax(np.abs(joints.v) - limit))
        if not abs(joints.v[i]) > limit[i]:
            return None
        text = f"moves at {joints.v[i]:.4g}, plausible are at most {limit[i]:.4g} rad/s"
        name = self.controller.dynamics.robot.joint_names[i]
        return StateFault(FaultCause.JOINT_SPEED, f"joint_states: '{name}' {text}")

    def _base_fault(self, base: BaseMotion) -> StateFault | None:
        """Return why the controller cannot work with a base."""
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
        """Return the share of a limit in force: less after a fault, so that the result does not alternate."""
        return RETURN_SHARE if self._fault is cause else 1.0

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
        else:  # a speed that is not plausible (nor is NaN) is not braked
            v = np.where(np.abs(joints.v) <= self._speed, joints.v, 0.0)
            state, tau = ControlState.DAMPING, np.clip(-self._damping * v, -self._tau_max, self._tau_max)
            counts.damped += 1
            self._solution, self.controller.interrupted = None, True
        nothing = np.zeros(self.controller.dynamics.nv), np.zeros((self._n_contacts, 6))
        return ControlResult(joints.stamp_ns, state, text, tau, *nothing)
