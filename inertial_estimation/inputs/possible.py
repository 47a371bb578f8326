"""Is a reading possible: finite, inside what the sensor and the robot can give."""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits, with_another_turn
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array

POSITION_MARGIN = 1.0  # beyond the limits in the URDF [rad or m]
FREE_POSITION = 1e4  # largest position of a joint without limits [rad or m]
VELOCITY_FACTOR, LEAST_VELOCITY = 3.0, 30.0  # times the URDF's limit; many are too low [rad/s or m/s]
FREE_VELOCITY = 100.0  # largest velocity of a joint without a limit [rad/s or m/s]
EFFORT_FACTOR, LEAST_LEVER = 4.0, 0.5  # times the URDF's limit; lever of the weight, possible anyway [m]
FREE_LEVER = 10.0  # of the weight, for a joint without a limit [m]
FORCE_FACTOR, LEAST_FORCE = 8.0, 300.0  # times the weight; of light robots [N]
MOMENT_ARM = 0.5  # of the largest contact force [m]
LARGEST_SPECIFIC_FORCE = 320.0  # along one axis; accelerometers for impacts reach it, others half [m/s^2]
LARGEST_RATE = 40.0  # about one axis; common gyroscopes measure up to 35 [rad/s]
BASE_SPEED = 20.0  # largest along one axis [m/s]
REPORTED_NS = 10 * NANOSECONDS  # for which a drop stays in the diagnostics, whose rate is low
NONE = slice(0)  # of the numbers of a row
LONGEST_EXAMPLE = 160  # characters of an example that are kept


class DropReason(Enum):
    """Why a reading is dropped; diagnostics show the value."""

    NOT_FINITE = "not finite"
    OUT_OF_RANGE = "out of range"
    CONTRADICTION = "contradiction"  # of joint positions to the velocities of the same messages
    NO_VELOCITY = "no velocity yet"  # it is derived from positions, of which there are not enough
    ZERO_STAMP = "stamp is zero (not set)"  # although stamps were set before
    EQUAL_STAMP = "equal stamp"
    BACKWARD_STAMP = "backward stamp"  # shortly before that of the reading before
    STRAY_STAMP = "stray stamp"  # far from those of the readings before and after it
    OVERRUN = "overrun"  # it waited until the buffer was full
    UNFIT = "does not fit the model"  # names or lengths
    NO_DIRECTION = "quaternion without direction"


Fault = tuple[DropReason, str]  # why a reading is dropped, with an example for people


class Drops:
    """Numbers of dropped readings by reason, with the latest example of each; bounded in memory."""

    def __init__(self) -> None:
        self.total = self.arrival_ns = 0  # number of them; arrival of the last one [ns]
        self.counts: dict[DropReason, int] = {}
        self.examples: dict[DropReason, str] = {}
        self.last: DropReason | None = None

    def add(self, reason: DropReason, example: str, arrival_ns: int, count: int = 1) -> None:
        """Count dropped readings."""
        self.total += count
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.last, self.arrival_ns = reason, arrival_ns
        if example:
            cut = len(example) > LONGEST_EXAMPLE
            self.examples[reason] = example[:LONGEST_EXAMPLE] + "..." if cut else example

    @property
    def summary(self) -> str:
        """Reason of the last dropped reading with its example, as text; empty before the first."""
        if self.last is None:
            return ""
        example = self.examples.get(self.last, "")
        return f"{self.last.value}: {example}" if example else self.last.value

    def values(self) -> dict[str, str]:
        """Return counts and examples by name, for diagnostics."""
        counts = {f"dropped: {reason.value}": str(n) for reason, n in self.counts.items()}
        return counts | {f"last {reason.value}": text for reason, text in self.examples.items()}


class RowRange:
    """Smallest and largest possible value of each number of a row, and what the numbers are."""

    def __init__(
        self, low: Array, high: Array, names: list[str], units: list[str], lack: slice = NONE
    ) -> None:
        """Take ends of the ranges, names and units of the numbers, and which may be NaN (not measured)."""
        self._lower, self._upper, self._names, self._units = low, high, names, units
        self._optional = lack
        # Square of the norm of rows that are inside for certain.
        least = float(np.minimum(-low, high).min())
        self._within = least * abs(least)

    def fault(self, row: Array) -> Fault | None:
        """Return why a row of shape (width,) is impossible; None where it is possible."""
        if np.vdot(row, row) <= self._within:  # which overflows without a warning
            return None
        inside = (row >= self._lower) & (row <= self._upper)
        if np.count_nonzero(inside) == len(row):
            return None
        inside[self._optional] |= np.isnan(row[self._optional])
        if inside.all():
            return None
        which = int(inside.argmin())
        if not np.isfinite(row[which]):
            return DropReason.NOT_FINITE, f"{self._names[which]} is {row[which]}"
        limit = (self._upper if row[which] > self._upper[which] else self._lower)[which]
        what = f"{self._names[which]} is {row[which]:.4g} {self._units[which]}".rstrip()
        return DropReason.OUT_OF_RANGE, f"{what}, limit {limit:.4g}"


def _vectors(*quantities: tuple[str, str, float]) -> RowRange:
    """Return the range of vectors of three numbers: name, unit and limit of each."""
    upper = np.repeat([limit for _name, _unit, limit in quantities], 3)
    names = [f"{name} {axis}" for name, _unit, _limit in quantities for axis in "xyz"]
    return RowRange(-upper, upper, names, [unit for _name, unit, _limit in quantities for _ in range(3)])


def imu_range() -> RowRange:
    """Return the range of specific force, then angular rate."""
    return _vectors(
        ("specific force", "m/s^2", LARGEST_SPECIFIC_FORCE), ("angular rate", "rad/s", LARGEST_RATE)
    )


def largest_force(robot: RobotModel) -> float:
    """Return the largest component of a contact force [N]."""
    return max(FORCE_FACTOR * STANDARD_GRAVITY * robot.total_mass, LEAST_FORCE)


def wrench_range(robot: RobotModel) -> RowRange:
    """Return the range of contact force, then moment."""
    force = largest_force(robot)
    return _vectors(("force", "N", force), ("moment", "Nm", MOMENT_ARM * force))


def base_state_range(*, heading: bool = False) -> RowRange:
    """Return the range of velocity, angular velocity, vertical and, if needed, heading, in the base frame."""
    motion = ("velocity", "m/s", BASE_SPEED), ("angular velocity", "rad/s", LARGEST_RATE)
    return _vectors(*motion, ("vertical", "", 2.0), *([("heading", "", 2.0)] if heading else []))


def number_range(lower: float, upper: float, name: str, unit: str = "", count: int = 1) -> RowRange:
    """Return the range of numbers that are alike."""
    return RowRange(np.full(count, lower), np.full(count, upper), [name] * count, [unit] * count)


def joint_range(robot: RobotModel, joints: Sequence[int], *, effort: bool) -> RowRange:
    """Return the range of positions, velocities (NaN: not measured) and, if needed, efforts of some joints.

    A joint whose limits allow a whole turn may go one turn beyond them, as its limits are those of software.
    """
    limits, weight = urdf_limits(robot).of(joints), STANDARD_GRAVITY * robot.total_mass
    lower, upper = with_another_turn(limits.lower, limits.upper)
    highest = np.where(np.isfinite(upper), upper + POSITION_MARGIN, FREE_POSITION)
    lowest = np.where(np.isfinite(lower), lower - POSITION_MARGIN, -FREE_POSITION)
    speed = np.maximum(VELOCITY_FACTOR * limits.velocity, LEAST_VELOCITY)
    speed = np.where(np.isfinite(speed), speed, FREE_VELOCITY)
    strength = np.maximum(EFFORT_FACTOR * limits.effort, LEAST_LEVER * weight)
    strength = np.where(np.isfinite(strength), strength, FREE_LEVER * weight)
    parts = [("position", "rad", lowest, highest), ("velocity", "rad/s", -speed, speed)]
    parts += [("effort", "Nm", -strength, strength)] if effort else []
    names = [f"{what} of {robot.joint_names[j]}" for what, _unit, _low, _high in parts for j in joints]
    units = [unit for _what, unit, _low, _high in parts for _ in joints]
    low, high = (np.concatenate([part[end] for part in parts]) for end in (2, 3))
    return RowRange(low, high, names, units, slice(len(joints), 2 * len(joints)))
