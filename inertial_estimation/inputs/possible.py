"""Is a reading possible: finite, and inside what the sensor and the robot can give. Nothing else is dropped."""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from inertial_estimation.inputs.config import STANDARD_GRAVITY, RangeConfig
from inertial_estimation.models.joint_limits import urdf_limits, with_another_turn
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array

FREE_POSITION = 1e4  # largest position of a joint without limits [rad or m]
FREE_VELOCITY = 100.0  # largest velocity of a joint without a limit [rad/s or m/s]
LEAST_VELOCITY = 30.0  # largest velocity whatever the URDF's limit is: many are too low [rad/s or m/s]
FREE_LEVER = 10.0  # on which the weight gives the largest effort of a joint without a limit [m]
LEAST_LEVER = 0.5  # on which the weight gives the largest effort whatever the URDF's limit is [m]
LEAST_FORCE = 300.0  # largest contact force of light robots [N]
REPORTED_NS = 10 * NANOSECONDS  # for which a drop stays in the diagnostics, whose rate is low
LONGEST_EXAMPLE = 160  # characters of an example that are kept
AXES = ("x", "y", "z")


class DropReason(Enum):
    """Why a reading is dropped; diagnostics show the value.

    Attributes:
        NOT_FINITE: It holds NaN or an infinite value.
        OUT_OF_RANGE: A value lies beyond what the sensor or the robot can give.
        CONTRADICTION: Joint positions contradict the velocities of the same messages.
        NO_VELOCITY: Its velocities have to be derived from positions, of which there are not enough yet.
        ZERO_STAMP: Its stamp is zero although stamps were set before.
        EQUAL_STAMP: Its stamp is that of the reading before.
        BACKWARD_STAMP: Its stamp lies shortly before that of the reading before.
        STRAY_STAMP: Its stamp lies far from those of the readings before and after it.
        OVERRUN: It waited for the other inputs until the buffer was full.
        UNFIT: Its names or lengths do not fit the model.
        NO_DIRECTION: Its quaternion has no direction.
    """

    NOT_FINITE = "not finite"
    OUT_OF_RANGE = "out of range"
    CONTRADICTION = "contradiction"
    NO_VELOCITY = "no velocity yet"
    ZERO_STAMP = "stamp is zero (not set)"
    EQUAL_STAMP = "equal stamp"
    BACKWARD_STAMP = "backward stamp"
    STRAY_STAMP = "stray stamp"
    OVERRUN = "overrun"
    UNFIT = "does not fit the model"
    NO_DIRECTION = "quaternion without direction"


Fault = tuple[DropReason, str]  # why a reading is dropped, with an example for people


class Drops:
    """Numbers of dropped readings by reason, with the latest example of each; bounded in memory.

    Attributes:
        total: Number of dropped readings.
        counts: By reason.
        examples: By reason.
        last: Reason of the last dropped reading; None before the first.
        arrival_ns: Arrival of the last dropped reading [ns].
    """

    def __init__(self) -> None:
        self.total = 0
        self.counts: dict[DropReason, int] = {}
        self.examples: dict[DropReason, str] = {}
        self.last: DropReason | None = None
        self.arrival_ns = 0

    def add(self, reason: DropReason, example: str, arrival_ns: int, count: int = 1) -> None:
        """Count dropped readings; a long example is cut."""
        self.total += count
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.last, self.arrival_ns = reason, arrival_ns
        if example:
            cut = len(example) > LONGEST_EXAMPLE
            self.examples[reason] = example[:LONGEST_EXAMPLE] + "..." if cut else example

    def recent(self, arrival_ns: int) -> bool:
        """Return whether a reading was dropped in the 10 s before an arrival [ns]."""
        return self.total > 0 and arrival_ns - self.arrival_ns < REPORTED_NS

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
        self,
        lower: Array,
        upper: Array,
        names: Sequence[str],
        units: Sequence[str],
        optional: slice | None = None,
    ) -> None:
        """Take the ranges.

        Args:
            lower: Smallest values, shape (width,).
            upper: Largest values, shape (width,).
            names: What each number is, for people.
            units: Unit of each number.
            optional: Numbers that may be NaN, as velocities that are not measured.
        """
        self._lower, self._upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        self._names, self._units = tuple(names), tuple(units)
        self._optional = optional
        within = np.maximum(np.minimum(-self._lower, self._upper), 1e-9)
        self._scale = 1.0 / within  # a row of sum (scale x)^2 <= 1 is inside, which takes two calls to see

    def fault(self, row: Array) -> Fault | None:
        """Return why a row of shape (width,) is impossible; None where it is possible."""
        scaled = row * self._scale
        if scaled.dot(scaled) <= 1.0:
            return None
        if self._optional is not None:
            row = row.copy()
            row[self._optional][np.isnan(row[self._optional])] = 0.0
        if ((row >= self._lower) & (row <= self._upper)).all():
            return None
        finite = np.isfinite(row)
        if not finite.all():
            which = int(np.argmin(finite))
            return DropReason.NOT_FINITE, f"{self._names[which]} is {row[which]}"
        which = int(np.argmax((row < self._lower) | (row > self._upper)))
        limit = (self._upper if row[which] > self._upper[which] else self._lower)[which]
        unit = f" {self._units[which]}".rstrip()
        example = f"{self._names[which]} is {row[which]:.4g}{unit}, limit {limit:.4g}"
        return DropReason.OUT_OF_RANGE, example


def _symmetric(limits: Sequence[float], quantities: Sequence[str], units: Sequence[str]) -> RowRange:
    """Return the range of vectors of three numbers, one after the other."""
    upper = np.repeat(limits, 3)
    names = [f"{quantity} {axis}" for quantity in quantities for axis in AXES]
    return RowRange(-upper, upper, names, [unit for unit in units for _ in AXES])


def imu_range(config: RangeConfig) -> RowRange:
    """Return the range of specific force, then angular rate."""
    limits = [config.accelerometer, config.gyro]
    return _symmetric(limits, ("specific force", "angular rate"), ("m/s^2", "rad/s"))


def wrench_range(config: RangeConfig, robot: RobotModel) -> RowRange:
    """Return the range of contact force, then moment."""
    force = max(config.force_factor * STANDARD_GRAVITY * robot.total_mass, LEAST_FORCE)
    return _symmetric([force, config.moment_arm * force], ("force", "moment"), ("N", "Nm"))


def scalar_range(lower: float, upper: float, name: str, unit: str = "") -> RowRange:
    """Return the range of one number."""
    return RowRange(np.array([lower]), np.array([upper]), [name], [unit])


def base_state_range(config: RangeConfig) -> RowRange:
    """Return the range of velocity, angular velocity, then the vertical, all in the base frame."""
    limits = [config.base_speed, config.gyro, 2.0]
    return _symmetric(limits, ("velocity", "angular velocity", "vertical"), ("m/s", "rad/s", ""))


def quaternion_range() -> RowRange:
    """Return the range of a quaternion; it need not be normalised exactly."""
    return RowRange(np.full(4, -2.0), np.full(4, 2.0), [f"quaternion {axis}" for axis in "xyzw"], [""] * 4)


def joint_range(config: RangeConfig, robot: RobotModel, joints: Sequence[int], *, effort: bool) -> RowRange:
    """Return the range of positions, velocities (NaN: not measured) and, if needed, efforts of some joints.

    Args:
        config: Margins and factors on the limits of the URDF.
        robot: The model.
        joints: Indices of the joints.
        effort: Whether the row has efforts.
    """
    limits, weight = urdf_limits(robot).of(joints), STANDARD_GRAVITY * robot.total_mass
    ranged = np.isfinite(limits.lower)
    lower, upper = with_another_turn(limits.lower, limits.upper)
    speed = np.maximum(config.velocity_factor * limits.velocity, LEAST_VELOCITY)
    speed = np.where(np.isfinite(speed), speed, FREE_VELOCITY)
    strength = np.maximum(config.effort_factor * limits.effort, LEAST_LEVER * weight)
    strength = np.where(np.isfinite(strength), strength, FREE_LEVER * weight)
    highest = np.where(ranged, upper + config.position_margin, FREE_POSITION)
    lowest = np.where(ranged, lower - config.position_margin, -FREE_POSITION)
    parts = [("position", "rad", lowest, highest), ("velocity", "rad/s", -speed, speed)]
    parts += [("effort", "Nm", -strength, strength)] if effort else []
    names = [f"{what} of {robot.joint_names[j]}" for what, _unit, _low, _high in parts for j in joints]
    units = [unit for _what, unit, _low, _high in parts for _ in joints]
    ends = [np.concatenate([part[end] for part in parts]) for end in (2, 3)]
    return RowRange(ends[0], ends[1], names, units, slice(len(joints), 2 * len(joints)))
