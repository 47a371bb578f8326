"""Plausible ranges of readings: what no sensor gives, and no robot of that weight and those joints."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import Column, in_place_of
from inertial_estimation.inputs.config import RangeConfig
from inertial_estimation.inputs.possible import (
    BASE_SPEED,
    EFFORT_FACTOR,
    FORCE_FACTOR,
    MOMENT_ARM,
    POSITION_MARGIN,
    VELOCITY_FACTOR,
)
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits, with_another_turn
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array

FREE_POSITION = 1e4  # largest position of a joint without limits [rad or m]
FREE_VELOCITY = 100.0  # largest velocity of a joint without a limit [rad/s or m/s]
LEAST_VELOCITY = 30.0  # largest velocity whatever the URDF's limit is: many are too low [rad/s or m/s]
FREE_LEVER = 10.0  # on which the weight gives the largest effort of a joint without a limit [m]
LEAST_LEVER = 0.5  # on which the weight gives the largest effort whatever the URDF's limit is [m]
LEAST_FORCE = 300.0  # largest contact force of light robots [N]
LARGEST_COMPONENT = 2.0  # of a unit vector or quaternion, with a margin
LARGEST_SIGN = 2.0  # of a sign of friction, with a margin


class RowRange:
    """Ends of the range of each number of a row, and what the numbers are: l_i <= x_i <= u_i for all i.

    Attributes:
        never_zero: Of how many of the first numbers at least one is not exactly zero; 0: they may all be.
    """

    def __init__(
        self,
        limits: Array,
        names: Sequence[str],
        units: Sequence[str],
        *,
        lower: Array | None = None,
        never_zero: int = 0,
    ) -> None:
        """Take the limits.

        Args:
            limits: Largest values, shape (width,).
            names: What each number is, for people.
            units: Unit of each number.
            lower: Smallest values, shape (width,); None: the negative of the largest.
            never_zero: Of how many of the first numbers at least one is not exactly zero.
        """
        self._upper = np.asarray(limits, dtype=float)
        self._lower = -self._upper if lower is None else np.asarray(lower, dtype=float)
        self._names, self._units = tuple(names), tuple(units)
        self.never_zero = never_zero

    @property
    def limits(self) -> Array:
        """Smallest and largest values, shape (2, width)."""
        return np.stack((self._lower, self._upper))

    def plausible(self, row: Array) -> bool:
        """Return whether every number of a row is finite and within its range, and the sensor not silent.

        Args:
            row: The numbers, shape (width,).
        """
        return within(row, self._lower, self._upper) and not self._silent(row)

    def fault(self, row: Array) -> tuple[DropReason, str] | None:
        """Return why a row is implausible, with an example; None where it is plausible.

        Args:
            row: Its numbers, shape (width,).
        """
        if self.plausible(row):
            return None
        beyond = np.isfinite(row) & ((row < self._lower) | (row > self._upper))
        if beyond.any():
            which = int(np.argmax(beyond))
            limit = (self._upper if row[which] > self._upper[which] else self._lower)[which]
            name, unit = self._names[which], self._units[which]
            return DropReason.OUT_OF_RANGE, f"{name} is {row[which]:.4g} {unit}, limit {limit:.4g}"
        if self._silent(row):
            return DropReason.OUT_OF_RANGE, f"{self._names[0][:-2]} is exactly zero"
        which = int(np.argmin(np.isfinite(row)))
        return DropReason.NOT_FINITE, f"{self._names[which]} is {row[which]}"

    def _silent(self, row: Array) -> bool:
        return self.never_zero > 0 and not row[: self.never_zero].any()


def within(row: Column, lower: Column, upper: Column) -> bool:
    """Return whether every number of a row is within its range; false for NaN."""
    return bool(((row >= lower) & (row <= upper)).all())


@in_place_of(within)
def _within(row: Column, lower: Column, upper: Column) -> bool:
    inside = True
    for i in range(len(row)):
        inside = inside and row[i] >= lower[i] and row[i] <= upper[i]
    return inside


def imu_range(config: RangeConfig) -> RowRange:
    """Return the range of a row of specific force, not zero even in free fall for its noise, then rate."""
    return RowRange(
        np.repeat([config.accelerometer, config.gyro], 3),
        [f"{what} {axis}" for what in ("specific force", "angular rate") for axis in "xyz"],
        ["m/s^2"] * 3 + ["rad/s"] * 3,
        never_zero=3,
    )


def wrench_range(config: RangeConfig, robot: RobotModel) -> RowRange:
    """Return the range of a row of contact force, then moment."""
    force = max(FORCE_FACTOR * STANDARD_GRAVITY * robot.total_mass, LEAST_FORCE)
    return RowRange(
        np.repeat([force, MOMENT_ARM * force], 3),
        [f"{what} {axis}" for what in ("force", "moment") for axis in "xyz"],
        ["N"] * 3 + ["Nm"] * 3,
    )


def base_state_range(config: RangeConfig) -> RowRange:
    """Return the range of a row of velocity, angular velocity, then the vertical."""
    return RowRange(
        np.repeat([BASE_SPEED, config.gyro, LARGEST_COMPONENT], 3),
        [f"{what} {axis}" for what in ("velocity", "angular velocity", "vertical") for axis in "xyz"],
        ["m/s"] * 3 + ["rad/s"] * 3 + [""] * 3,
    )


def quaternion_range() -> RowRange:
    """Return the range of a quaternion."""
    return RowRange(np.full(4, LARGEST_COMPONENT), [f"quaternion {axis}" for axis in "xyzw"], [""] * 4)


def joint_range(
    config: RangeConfig, robot: RobotModel, *, velocity: bool = True, effort: bool = False, sign: bool = False
) -> RowRange:
    """Return the range of a row of joint states: positions, velocities, efforts, signs of friction.

    Args:
        config: Margins and factors on the limits of the URDF.
        robot: The model.
        velocity: Whether the row has velocities.
        effort: Whether it has efforts.
        sign: Whether it has signs of friction.
    """
    limits, weight = urdf_limits(robot), STANDARD_GRAVITY * robot.total_mass
    n, ranged = robot.n_joints, np.isfinite(limits.lower)
    speed = np.maximum(VELOCITY_FACTOR * limits.velocity, LEAST_VELOCITY)
    most = np.maximum(EFFORT_FACTOR * limits.effort, LEAST_LEVER * weight)
    lower, upper = with_another_turn(limits.lower, limits.upper)
    highest = np.where(ranged, upper + POSITION_MARGIN, FREE_POSITION)
    lowest = np.where(ranged, lower - POSITION_MARGIN, -FREE_POSITION)
    others = [
        *([("velocity", "rad/s", np.where(np.isfinite(speed), speed, FREE_VELOCITY))] if velocity else []),
        *([("effort", "Nm", np.where(np.isfinite(most), most, FREE_LEVER * weight))] if effort else []),
        *([("friction sign", "", np.full(n, LARGEST_SIGN))] if sign else []),
    ]
    parts = [("position", "rad", highest), *others]
    return RowRange(
        np.concatenate([values for _what, _unit, values in parts]),
        [f"{what} of {name}" for what, _unit, _values in parts for name in robot.joint_names],
        [unit for _what, unit, _values in parts for _name in robot.joint_names],
        lower=np.concatenate([lowest, *(-values for _what, _unit, values in others)]),
    )
