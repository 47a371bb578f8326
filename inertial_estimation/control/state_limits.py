"""Which states of a robot a controller can work with, and why not with the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.control.safety_config import StateLimitsConfig
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import Array, JointSample

LARGEST_POSITION = 1e3  # of a joint or its target, which matters where it has no limits, e.g. a wheel [rad]
LEAST_SPEED_LIMIT = 10.0  # URDFs limit some joints of hands and heads to 1 rad/s and less [rad/s]
RETURN_SHARE = 0.9  # of a limit, below which a state is taken again after it was beyond the limit


class FaultCause(Enum):
    """Why a joint state is not answered by the solution of the tasks; health counts them by value."""

    IMPOSSIBLE = "impossible reading"
    JOINT_POSITION = "joint position beyond its limits"
    JOINT_SPEED = "joint speed implausible"
    BASE_SPEED = "base speed implausible"
    BASE_RATE = "base rate implausible"
    FALLEN = "base tilted beyond recovery"
    UNSOLVED = "program not solved"
    COMPUTATION = "computation failed"
    OUTPUT = "torques out of bounds"


@dataclass(frozen=True, slots=True)
class StateFault:
    """Why a state is not used.

    Attributes:
        cause: The kind of fault.
        text: The input and the numbers, for people.
    """

    cause: FaultCause
    text: str


class StateLimits:
    """Limits of joints and base.

    Attributes:
        speed: Largest plausible speed of each joint [rad/s], shape (n_joints,).
    """

    def __init__(self, config: StateLimitsConfig, robot: RobotModel, position_limits: Array) -> None:
        """Derive the limits of the joints.

        Args:
            config: Margins, and the limits of the base.
            robot: The robot.
            position_limits: Lowest and highest joint positions of the URDF, shape (2, n_joints); infinite
                where there is none.
        """
        self._config = config
        self._names: Sequence[str] = robot.joint_names
        rated = np.array(robot.model.velocityLimit[robot.n_base :])
        scaled = np.maximum(config.speed_scale * rated, LEAST_SPEED_LIMIT)
        self.speed: Array = np.where((rated > 0.0) & (rated < 1e6), scaled, config.speed)
        self._low = np.maximum(position_limits[0] - config.position_margin, -LARGEST_POSITION)
        self._high = np.minimum(position_limits[1] + config.position_margin, LARGEST_POSITION)

    def fault(
        self, base: BaseMotion | None, joints: JointSample, before: FaultCause | None
    ) -> StateFault | None:
        """Return why a state cannot be used; None if it can.

        Args:
            base: Motion of a floating base; None for a fixed one.
            joints: Joint state in the model's order.
            before: Fault of the state before: its limit is narrower, so that the result does not alternate.
        """
        speed = RETURN_SHARE * self.speed if before is FaultCause.JOINT_SPEED else self.speed
        fault = self._joint_fault(joints, speed)
        return fault if fault is not None or base is None else self._base_fault(base, before)

    def _joint_fault(self, joints: JointSample, limit: Array) -> StateFault | None:
        beyond = (joints.q < self._low) | (joints.q > self._high)
        if beyond.any():
            i = int(np.argmax(beyond))
            return StateFault(
                FaultCause.JOINT_POSITION,
                f"joint_states: '{self._names[i]}' at {joints.q[i]:.4g}, plausible are {self._low[i]:.4g} to "
                f"{self._high[i]:.4g} rad",
            )
        fast = np.abs(joints.v) > limit
        if fast.any():
            i = int(np.argmax(fast))
            return StateFault(
                FaultCause.JOINT_SPEED,
                f"joint_states: '{self._names[i]}' moves at {joints.v[i]:.4g}, plausible are at most "
                f"{limit[i]:.4g} rad/s",
            )
        return None

    def _base_fault(self, base: BaseMotion, before: FaultCause | None) -> StateFault | None:
        x, y, _z, _w = base.quaternion_xyzw.tolist()
        twist = (*base.v_WB_B.tolist(), *base.w_WB_B.tolist())
        config = self._config
        for cause, rate, limit, unit in (
            (FaultCause.BASE_SPEED, math.hypot(*twist[:3]), config.base_speed, "m/s"),
            (FaultCause.BASE_RATE, math.hypot(*twist[3:]), config.base_rate, "rad/s"),
        ):
            if rate > limit * (RETURN_SHARE if before is cause else 1.0):
                text = f"base_state: the base moves at {rate:.4g}, plausible are at most {limit:.4g} {unit}"
                return StateFault(cause, text)
        upright = 1.0 - 2.0 * (x * x + y * y)
        tilt = config.tilt * (RETURN_SHARE if before is FaultCause.FALLEN else 1.0)
        if upright < math.cos(tilt):
            degrees = math.degrees(math.acos(max(-1.0, upright)))
            return StateFault(
                FaultCause.FALLEN,
                f"the robot has fallen: base_state is tilted by {degrees:.0f} deg, at most "
                f"{math.degrees(tilt):.0f} deg can be controlled",
            )
        return None
