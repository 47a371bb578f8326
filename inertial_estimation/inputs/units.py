"""Which units an input is in, from its numbers: all that differ at once, and what mends them."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.config import DEGREE, IMU_UNITS, JOINT_UNITS, RobotInputConfig, unit_factors
from inertial_estimation.inputs.sensors import FORCE, RATE
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array

FEWEST_ROWS, LEAST_NS = 50, 8 * NANOSECONDS // 10  # that are looked at, and that they span
NEAR = 1.4  # factor by which a ratio may differ from that of two units, while a robot walks
NO_GRAVITY = 0.05  # of a g; less is a sensor from whose readings gravity was subtracted
TURN_TIME = 0.1  # over which rotations are compared [s]
LEAST_TURN = 0.3  # rms rotation over it by a gyroscope in rad/s, from which degrees show [rad]
BETTER = 0.5  # of the error with radians, that with degrees has at most
BEYOND, MANY = 0.3, 0.2  # beyond the limits [rad]; share of positions there that are in another unit
MOVING = 0.05  # rms speed of a joint, from which its velocity is compared with its positions [rad/s]
LARGEST = 1e9  # number that a unit explains
LONGEST_NS = 600 * NANOSECONDS  # between the first and the last of the rows
TOO_STRONG, MILLI = 5.0, 60.0  # times the effort limit: in another unit; in thousandths of it


class UnitDetector:
    """Recognises units of the inputs of a robot by what is possible for it."""

    def __init__(self, robot: RobotModel, config: RobotInputConfig) -> None:
        """Take the robot, and the units that the parameters say, to which rows have been converted."""
        self._limits, self._turning = urdf_limits(robot), robot.turning_joints
        self._imu = {"force": 1.0, "rate": 1.0} | unit_factors(config.imu.units, IMU_UNITS)
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        self._si = {what for what in ("position", "velocity", "effort") if factors.get(what, 1.0) == 1.0}

    def imu(self, times_ns: Times, rows: Array) -> str:
        """Return which units of an IMU differ, and the remedy; empty where none does, or too little is known.

        Rows are of specific force and angular rate, impossible ones included, shape (n, 6).
        """
        finite = (np.abs(rows) < LARGEST).all(axis=1)
        times_ns, rows = times_ns[finite], rows[finite]
        if len(times_ns) < FEWEST_ROWS or not LEAST_NS <= times_ns[-1] - times_ns[0] <= LONGEST_NS:
            return ""
        size, found = float(np.median(np.linalg.norm(rows[:, FORCE], axis=1))), {}
        sent = size / self._imu["force"]
        for unit in ("m/s^2", "g", "mg"):
            factor = IMU_UNITS[unit][1]
            if _near(sent, STANDARD_GRAVITY / factor) and factor != self._imu["force"]:
                found[unit] = f"specific force in {unit} (|f| at rest {sent:.2f})"
        if not found and size < NO_GRAVITY * STANDARD_GRAVITY:
            found[""] = f"specific force without gravity (|f| {size:.2f} m/s^2), which must not be subtracted"
        if self._imu["rate"] == 1.0 and (turns := _in_degrees(times_ns, rows)):
            found["deg/s"] = f"angular rate in deg/s ({turns})"
        return _sentence(found, "imu.units")

    def joints(self, joints: NDArray[np.int64], times_ns: Times, rows: Array) -> str:
        """Return which units of joint states of some joints differ, and the remedy; empty where none does.

        Rows are of positions, velocities (NaN: none), possibly efforts, impossible ones included.
        """
        m, found = len(joints), dict[str, str]()
        rows = np.where(np.abs(rows) < LARGEST, rows, np.nan)
        q, v = rows[:, :m], rows[:, m : 2 * m]
        if len(q) < FEWEST_ROWS or times_ns[-1] - times_ns[0] < LEAST_NS or not np.isfinite(q).all():
            return ""
        known = self._limits.of(joints.tolist())
        angles = np.isin(joints, self._turning) & np.isfinite(known.lower)
        low, high, unit, limits = known.lower - BEYOND, known.upper + BEYOND, 1.0, known.effort
        outside = [((s * q < low) | (s * q > high))[:, angles] for s in (1.0, DEGREE)]
        if outside[0].sum() > MANY * outside[0].size and not outside[1].any() and "position" in self._si:
            unit, found["deg"] = DEGREE, f"positions in deg (up to {np.abs(q).max():.0f})"
        ratio = _speed_ratio(times_ns, unit * q, v)
        for name in ("deg/s", "rpm"):
            if "velocity" in self._si and _near(ratio, 1.0 / JOINT_UNITS[name][1]):
                found[name] = f"velocities in {name} ({ratio:.3g} times the change of positions)"
        strong = np.isfinite(limits)
        if rows.shape[1] > 2 * m and strong.any() and "effort" in self._si:
            times = float(np.median(np.median(np.abs(rows[:, 2 * m :]), axis=0)[strong] / limits[strong]))
            guess = "in mNm or mA" if times > MILLI else "in percent or of a current"
            if times > TOO_STRONG:
                found[""] = f"efforts {times:.0f} times the limits of the joints ({guess}? drive_gains)"
        return _sentence(found, "joint_states.units")


def _sentence(found: dict[str, str], parameter: str) -> str:
    units = ", ".join(unit for unit in found if unit)
    return ", ".join(found.values()) + (f": set {parameter}: [{units}]" if units else "")


def _near(value: float, expected: float) -> bool:
    return expected / NEAR < value < expected * NEAR


def _in_degrees(times_ns: Times, rows: Array) -> str:
    """Compare turns of the specific force with those by the rate in radians and in degrees."""
    rate = float(np.sqrt(np.mean(np.sum(rows[:, RATE] ** 2, axis=1))))
    if rate * TURN_TIME < LEAST_TURN:
        return ""
    bounds = np.searchsorted(times_ns, np.arange(times_ns[0], times_ns[-1], round(TURN_TIME * NANOSECONDS)))
    means = np.array([rows[a:b].mean(axis=0) for a, b in pairwise(bounds) if b > a])
    if len(means) < 3:
        return ""
    up = means[:, FORCE] / np.maximum(np.linalg.norm(means[:, FORCE], axis=1, keepdims=True), 1e-9)
    turn = 0.5 * TURN_TIME * (means[1:, RATE] + means[:-1, RATE])
    radians, degrees = (np.median(_turned(up[:-1], scale * turn, up[1:])) for scale in (1.0, DEGREE))
    moved = float(np.median(np.linalg.norm(np.diff(up, axis=0), axis=1))) / TURN_TIME
    return f"{rate:.3g} rms, while gravity turns by {moved:.2g} rad/s" if degrees < BETTER * radians else ""


def _turned(up: Array, turn: Array, after: Array) -> Array:
    """Return the distances between directions turned back by rotation vectors and those after, shape (n,)."""
    angle = np.maximum(np.linalg.norm(turn, axis=1, keepdims=True), 1e-12)
    axis = -turn / angle
    along = axis * np.sum(axis * up, axis=1, keepdims=True)
    turned = along + np.cos(angle) * (up - along) + np.sin(angle) * np.cross(axis, up)
    distance: Array = np.linalg.norm(turned - after, axis=1)
    return distance


def _speed_ratio(times_ns: Times, q: Array, v: Array) -> float:
    """Return by what velocities exceed the change of positions, the median over joints that move, or 0."""
    speed = np.diff(q, axis=0) / np.maximum(np.diff(times_ns)[:, None] * 1e-9, 1e-9)
    mean = 0.5 * (v[1:] + v[:-1])
    square = np.mean(speed**2, axis=0)
    moving = (square > MOVING**2) & np.isfinite(mean).all(axis=0)
    ratios = np.abs(np.mean(speed * mean, axis=0)[moving]) / square[moving]
    return float(np.median(ratios)) if moving.any() else 0.0
