"""Which units an input is in, from its numbers alone: all that differ at once, with the parameter that mends them."""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import DEGREE, IMU_UNITS, JOINT_UNITS, STANDARD_GRAVITY, RobotInputConfig, unit_factors
from inertial_estimation.inputs.imu import FORCE, RATE
from inertial_estimation.inputs.ring import Times
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, seconds

FEWEST_ROWS, LEAST_TIME = 50, 0.8  # that are looked at, and that they span [s]
NEAR = 1.4  # factor by which a ratio may differ from that of two units, while a robot walks
NO_GRAVITY = 0.05  # of a g; less is a sensor from whose readings gravity was subtracted
TURN_TIME = 0.1  # over which rotations are compared [s]
LEAST_TURN = 0.3  # rms rotation over it by a gyroscope in rad/s, from which degrees can be told [rad]
BETTER = 0.5  # of the error with radians, that with degrees has at most
BEYOND = 0.3  # beyond the limits, from which a position is impossible [rad]
MANY = 0.2  # share of positions beyond limits, from which they are in another unit
MOVING = 0.05  # rms speed of a joint, from which its velocity is compared with its positions [rad/s]
TOO_STRONG, MILLI = 5.0, 60.0  # times the effort limit, from which efforts are in another unit, and in thousandths


class UnitDetector:
    """Tells units of the inputs of a robot by what is possible for it; for replay, `check` and health alike."""

    def __init__(self, robot: RobotModel, config: RobotInputConfig) -> None:
        """Take the robot, and the units that the parameters say, to which rows have been converted."""
        self._limits = urdf_limits(robot)
        self._turning = np.isin(np.arange(robot.n_joints), robot.turning_joints)
        self._imu = {"force": 1.0, "rate": 1.0} | unit_factors(config.imu.units, IMU_UNITS)
        self._set = {what for what, factor in unit_factors(config.joint_states.units, JOINT_UNITS).items() if factor != 1.0}

    def imu(self, times_ns: Times, rows: Array) -> str:
        """Return what is wrong with the units of an IMU and the remedy; empty where nothing is, or too little is known.

        Args:
            times_ns: Times of its rows [ns], shape (n,).
            rows: Specific force, angular rate, impossible rows included, shape (n, 6).
        """
        times_ns, rows = _finite(times_ns, rows)
        if not _enough(times_ns):
            return ""
        size = float(np.median(np.linalg.norm(rows[:, FORCE], axis=1)))
        sent, units, said = size / self._imu["force"], [], []
        for unit in ("g", "mg", "m/s^2"):
            one = STANDARD_GRAVITY / IMU_UNITS[unit][1]
            if one / NEAR < sent < one * NEAR and IMU_UNITS[unit][1] != self._imu["force"]:
                units.append(unit)
                said.append(f"specific force in {unit} (|f| at rest {sent:.2f})")
        if not said and size < NO_GRAVITY * STANDARD_GRAVITY:
            said.append(f"specific force without gravity (|f| {size:.2f} m/s^2), which the sensor must not subtract")
        degrees = self._in_degrees(times_ns, rows) if self._imu["rate"] == 1.0 else ""
        if degrees:
            units.append("deg/s")
            said.append(f"angular rate in deg/s ({degrees})")
        return _sentence(said, [f"imu.units: [{', '.join(units)}]"] if units else [])

    def _in_degrees(self, times_ns: Times, rows: Array) -> str:
        """Compare turns of the specific force with those by the rate in radians and in degrees per second."""
        rate = float(np.sqrt(np.mean(np.sum(rows[:, RATE] ** 2, axis=1))))
        if rate * TURN_TIME < LEAST_TURN:
            return ""
        bounds = np.searchsorted(times_ns, np.arange(times_ns[0], times_ns[-1], round(TURN_TIME * 1e9)))
        means = np.array([rows[a:b].mean(axis=0) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b > a])
        if len(means) < 3:
            return ""
        up = means[:, FORCE] / np.maximum(np.linalg.norm(means[:, FORCE], axis=1, keepdims=True), 1e-9)
        turn = 0.5 * TURN_TIME * (means[1:, RATE] + means[:-1, RATE])
        radians, degrees = (float(np.median(_turned(up[:-1], scale * turn, up[1:]))) for scale in (1.0, DEGREE))
        moved = float(np.median(np.linalg.norm(np.diff(up, axis=0), axis=1))) / TURN_TIME
        return f"{rate:.3g} rms, while gravity turns by {moved:.2g} rad/s" if degrees < BETTER * radians else ""

    def joints(self, joints: NDArray[np.int64], times_ns: Times, rows: Array) -> str:
        """Return what is wrong with the units of joint states and the remedy; empty where nothing is.

        Args:
            joints: Indices of the joints.
            times_ns: Times of their rows [ns], shape (n,).
            rows: Positions, velocities (NaN: none) and possibly efforts, impossible rows included, shape (n, k m).
        """
        m = len(joints)
        q, v = rows[:, :m], rows[:, m : 2 * m]
        if not _enough(times_ns) or not np.isfinite(q).all():
            return ""
        units, said, remedies = [], [], []
        lower, upper = (end[joints][self._turning[joints]] for end in (self._limits.lower, self._limits.upper))
        outside = [
            float(np.mean((scale * q < lower - BEYOND) | (scale * q > upper + BEYOND)))
            for q in (q[:, self._turning[joints]],)
            for scale in (1.0, DEGREE)
        ] if np.isfinite(lower).any() else [0.0, 0.0]
        degrees = outside[0] > MANY and outside[1] == 0.0 and "position" not in self._set
        if degrees:
            units.append("deg")
            said.append(f"positions in deg (up to {np.abs(q).max():.0f})")
        ratio = _speed_ratio(times_ns, q * (DEGREE if degrees else 1.0), v)
        for unit in ("deg/s", "rpm"):
            expected = 1.0 / JOINT_UNITS[unit][1]
            if "velocity" not in self._set and expected / NEAR < ratio < expected * NEAR:
                units.append(unit)
                said.append(f"velocities in {unit} ({ratio:.3g} times the change of positions)")
        remedies += [f"joint_states.units: [{', '.join(units)}]"] if units else []
        limits = self._limits.effort[joints]
        if rows.shape[1] == 3 * m and np.isfinite(limits).any() and "effort" not in self._set:
            strength = float(np.median(np.median(np.abs(rows[:, 2 * m :]), axis=0)[np.isfinite(limits)] / limits[np.isfinite(limits)]))
            if strength > TOO_STRONG:
                guess = "in mNm or mA" if strength > MILLI else "in percent or of a current"
                said.append(f"efforts {strength:.0f} times the limits of the joints ({guess}?)")
                remedies.append("drive_gains or joint_states.units")
        return _sentence(said, remedies)


def _sentence(said: list[str], remedies: list[str]) -> str:
    return ", ".join(said) + (f": set {' and '.join(remedies)}" if remedies else "")


def _finite(times_ns: Times, rows: Array) -> tuple[Times, Array]:
    finite = np.isfinite(rows).all(axis=1)
    return times_ns[finite], rows[finite]


def _enough(times_ns: Times) -> bool:
    return len(times_ns) >= FEWEST_ROWS and seconds(int(times_ns[-1] - times_ns[0])) >= LEAST_TIME


def _turned(up: Array, turn: Array, after: Array) -> Array:
    """Return the distances between directions turned back by rotation vectors and those after, shape (n,)."""
    angle = np.maximum(np.linalg.norm(turn, axis=1, keepdims=True), 1e-12)
    axis = -turn / angle
    along = axis * np.sum(axis * up, axis=1, keepdims=True)
    turned = along + np.cos(angle) * (up - along) + np.sin(angle) * np.cross(axis, up)
    distance: Array = np.linalg.norm(turned - after, axis=1)
    return distance


def _speed_ratio(times_ns: Times, q: Array, v: Array) -> float:
    """Return by what velocities exceed the change of positions, the median over joints that move; 0 without any."""
    dt = np.diff(times_ns)[:, None] * 1e-9
    speed = np.diff(q, axis=0) / np.maximum(dt, 1e-9)
    mean = 0.5 * (v[1:] + v[:-1])
    by_positions = np.sqrt(np.mean(speed**2, axis=0))
    moving = (by_positions > MOVING) & np.isfinite(mean).all(axis=0)
    if not moving.any():
        return 0.0
    product = np.mean(speed * mean, axis=0)
    return float(np.median(np.abs(product[moving]) / by_positions[moving] ** 2))
