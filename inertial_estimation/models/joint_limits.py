"""Limits of joints from the URDF, and the values assumed where the URDF has none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import NO_LIMIT
from inertial_estimation.signals import Array

POSITION_DEFAULT = 1.5  # assumed limit on either side of zero [rad]
VELOCITY_DEFAULT = 2.0  # assumed speed limit [rad/s]
LIMIT_ROUNDING = 0.1  # by which the range of limits such as +-3.1 rad is less than a turn [rad]
_LARGEST_RANGE, _LARGEST_SPEED = 50.0, 1e3  # larger values count as no limit


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits in the model's joint order."""

    lower: Array  # smallest positions [rad or m], shape (n,)
    upper: Array  # largest positions, shape (n,)
    velocity: Array  # largest speeds [rad/s or m/s], shape (n,)
    effort: Array  # largest torques or forces [Nm or N], infinite where the URDF has none, shape (n,)
    assumed: tuple[str, ...] = ()  # assumptions where the URDF has no limit, one sentence each

    @property
    def middle(self) -> Array:
        """Middle of each joint's range, NaN where it has no limits, shape (n,)."""
        return 0.5 * (np.where(np.isfinite(self.lower), self.lower, np.nan) + self.upper)

    def within(
        self, names: tuple[str, ...], *, position_margin: float, velocity_share: float
    ) -> "JointLimits":
        """Return narrower limits.

        Args:
            names: Names of the joints, for the message.
            position_margin: Margin kept at either end of every range [rad or m].
            velocity_share: Share of every speed that is used.

        Raises:
            ConfigurationError: If the margins use up a joint's range.
        """
        lower, upper = self.lower + position_margin, self.upper - position_margin
        for name, low, high in zip(names, self.lower, self.upper, strict=True):
            if high - low <= 2.0 * position_margin:
                raise ConfigurationError(
                    f"joint '{name}' can move from {low:g} to {high:g}, which a margin of "
                    f"{position_margin:g} at either end uses up"
                )
        return replace(self, lower=lower, upper=upper, velocity=velocity_share * self.velocity)

    def of(self, joints: Sequence[int]) -> "JointLimits":
        """Return the limits of some joints, by their indices."""
        j = list(joints)
        return JointLimits(self.lower[j], self.upper[j], self.velocity[j], self.effort[j], self.assumed)


def urdf_limits(robot: RobotModel) -> JointLimits:
    """Read the limits of a robot's joints; infinite where the URDF has none."""
    model = robot.model
    joints = [model.getJointId(name) for name in robot.joint_names]
    first = [model.idx_qs[j] for j in joints]
    lower, upper = model.lowerPositionLimit[first], model.upperPositionLimit[first]
    velocity, effort = model.velocityLimit[robot.n_base :], model.effortLimit[robot.n_base :]
    ranged = (lower < upper) & (upper - lower < _LARGEST_RANGE)
    ranged &= np.array([model.nqs[j] == 1 for j in joints], dtype=bool)
    return JointLimits(
        np.where(ranged, lower, -np.inf),
        np.where(ranged, upper, np.inf),
        np.where((velocity > 0.0) & (velocity < _LARGEST_SPEED), velocity, np.inf),
        np.where((effort > 0.0) & (effort < float(NO_LIMIT)), effort, np.inf),
    )


def without_stops(robot: RobotModel) -> NDArray[np.bool_]:
    """Return which joints may turn any number of times, shape (n,): those whose limits allow a whole turn.

    Such limits are those of software, and descriptions often give half of them (UR10: +-pi for +-2 pi).
    Encoders count the turns, or from -pi to pi.
    """
    limits, turning = urdf_limits(robot), np.isin(np.arange(robot.n_joints), robot.turning_joints)
    free: NDArray[np.bool_] = turning & (limits.upper - limits.lower >= 2.0 * np.pi - LIMIT_ROUNDING)
    return free


def possible_positions(robot: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper limits, infinite for joints without stops [rad or m], shape (n,) each."""
    limits, free = urdf_limits(robot), without_stops(robot)
    return np.where(free, -np.inf, limits.lower), np.where(free, np.inf, limits.upper)


def joint_limits(robot: RobotModel) -> JointLimits:
    """Read the limits of a robot's joints, and assume those that the URDF lacks.

    A joint without a range (continuous, or with an empty or huge one) gets +-`POSITION_DEFAULT`; a joint
    without a velocity limit gets `VELOCITY_DEFAULT`.
    """
    known = urdf_limits(robot)
    ranged, fast = np.isfinite(known.lower), np.isfinite(known.velocity)
    assumed = []
    for given, what, value in (
        (ranged, "position", f"+-{POSITION_DEFAULT:g}"),
        (fast, "speed", f"{VELOCITY_DEFAULT:g} rad/s"),
    ):
        without = [name for name, k in zip(robot.joint_names, given, strict=True) if not k]
        if without:
            assumed.append(f"{what} limits of {listing(without)}: {value} (the URDF has none)")
    return JointLimits(
        np.where(ranged, known.lower, -POSITION_DEFAULT),
        np.where(ranged, known.upper, POSITION_DEFAULT),
        np.where(fast, known.velocity, VELOCITY_DEFAULT),
        known.effort,
        tuple(assumed),
    )
