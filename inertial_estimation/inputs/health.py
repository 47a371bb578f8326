"""What is odd about the inputs, for people: silence, drops, repetition, and units, with what mends it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.inputs.config import DEGREE, IMU_UNITS, JOINT_UNITS, RobotInputConfig, unit_factors
from inertial_estimation.inputs.sensors import FORCE, RATE
from inertial_estimation.inputs.stream import PERIODIC, REPORTED_NS, Stream
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import possible_positions, urdf_limits
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import NANOSECONDS, Array, Health, HealthLevel, seconds

AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause
REPEATED = 10  # newest rows that are the same
REPEATED_NS = round(0.3 * NANOSECONDS)  # time that they span


def stream_health(stream: Stream, now_ns: int, timeout: float, notes: Sequence[str]) -> Health:
    """Report the state of an input now [ns], one sentence a cause; notes say what else is odd about it.

    It is lost from an age of the timeout on [s].
    """
    drops, clock, newest = stream.drops, stream.clock, stream.ring.newest_ns
    remarks = stream.notes
    times_ns, _rows = stream.ring.newest(PERIODIC)
    period = float(np.diff(times_ns).mean()) / NANOSECONDS if len(times_ns) == PERIODIC else 0.0
    age, message, level = 0.0 if newest is None else seconds(now_ns - newest), "", HealthLevel.OK
    if newest is None:
        level = HealthLevel.STALE if stream.spec.required else HealthLevel.OK
        message = f"none usable: {drops.summary}" if drops.total else "waiting for the first reading"
        level = max(level, HealthLevel.WARN) if drops.total else level
    elif age > timeout and not stream.spec.holds:
        level = HealthLevel.ERROR if stream.spec.required else HealthLevel.WARN
        message = f"lost: last reading {age:.2f} s ago, limit {timeout:g} s"
        if clock.odd is not None and clock.last_ns is not None:
            message += f"; its stamps are now {seconds(clock.odd.last_ns - clock.last_ns):+.2f} s off"
        elif drops.total and drops.arrival_ns == stream.arrival_ns:
            message += f"; readings arrive but are dropped: {drops.summary}"
        elif age > OTHER_CLOCK_S:
            message += "; are its stamps of another clock (use_sim_time)?"
    elif drops.total and stream.arrival_ns - drops.arrival_ns < REPORTED_NS:
        remarks.append(f"{drops.total} of {stream.received} readings dropped, last: {drops.summary}")
    if age < -AHEAD_S:
        remarks.append(f"its stamps are {-age:.2f} s ahead of the clock: of another one (use_sim_time)?")
    found = [text for text in (message, *remarks, *notes) if text]
    if found and not message:
        level = HealthLevel.WARN
    values = {
        "received": str(stream.received),
        **drops.values(),
        "rate [Hz]": f"{1.0 / period:.1f}" if period else "unknown",
        "stamps": "made even (they come in bursts)" if clock.even.even else "as they come",
        **({} if newest is None else {"age [s]": f"{age:.3f}"}),
    }
    return Health(stream.spec.name, level, "; ".join(found) or "arriving", values)


def repeats(streams: Sequence[Stream]) -> dict[str, str]:
    """Return a sentence by the name of each input whose last rows are the same while others change.

    The inputs are those with noise, which do not repeat while the robot moves. Nothing is dropped for it.
    """
    latest = max((stream.ring.newest_ns or 0 for stream in streams), default=0)
    windows = {stream.spec.name: stream.ring.window(latest - REPEATED_NS, latest)[1] for stream in streams}
    rows = {name: rows for name, rows in windows.items() if len(rows) >= REPEATED}
    still = [name for name, values in rows.items() if (values == values[0]).all()]
    stuck = "repeats exactly while others change: is it stuck?"
    return dict.fromkeys(still, stuck) if len(still) < len(rows) else {}


SHORTEST_NS = round(0.8 * NANOSECONDS)  # that rows span in which units are sought
NEAR = 1.4  # factor by which a ratio may differ from that of two units, while a robot walks
NO_GRAVITY = 0.05  # of a g; less is a sensor from whose readings gravity was subtracted
TURN_TIME = 0.1  # over which rotations are compared [s]
LEAST_TURN = 0.3  # rms rotation over it by a gyroscope in rad/s, from which degrees show [rad]
SHOWN = 0.5  # of this rotation, that the force shows at least if the rate is in rad/s
BEYOND, MANY = 0.3, 0.2  # beyond the limits [rad]; share of positions there that are in another unit
MOVING = 0.05  # rms speed of a joint, from which its velocity is compared with its positions [rad/s]
LARGEST = 1e9  # number that a unit explains
TOO_STRONG, MILLI = 5.0, 60.0  # times the effort limit: in another unit; in thousandths of it


class UnitDetector:
    """Recognises units of the inputs of a robot by what is possible for it."""

    def __init__(self, robot: RobotModel, config: RobotInputConfig) -> None:
        """Take the robot, and the units that the parameters say, to which rows have been converted."""
        self._effort, self._turning = urdf_limits(robot).effort, robot.turning_joints
        self._lower, self._upper = possible_positions(robot)
        self._imu = {"force": 1.0, "rate": 1.0} | unit_factors(config.imu.units, IMU_UNITS)
        factors = unit_factors(config.joint_states.units, JOINT_UNITS)
        self._si = {what for what in ("position", "velocity", "effort") if factors.get(what, 1.0) == 1.0}

    def imu(self, times_ns: Times, rows: Array) -> str:
        """Return which units of an IMU differ, and the remedy; empty where none does, or too little is known.

        Rows are of specific force and angular rate, impossible ones included, shape (n, 6).
        """
        finite = (np.abs(rows) < LARGEST).all(axis=1)
        times_ns, rows = times_ns[finite], rows[finite]
        if len(times_ns) < PERIODIC or times_ns[-1] - times_ns[0] < SHORTEST_NS:
            return ""
        size, found = float(np.median(np.linalg.norm(rows[:, FORCE], axis=1))), {}
        sent = size / self._imu["force"]
        for unit in ("m/s^2", "g", "mg"):
            factor = IMU_UNITS[unit][1]
            if _near(sent, STANDARD_GRAVITY / factor) and factor != self._imu["force"]:
                found[unit] = f"specific force in {unit} (|f| at rest {sent:.2f})"
        if not found and size < NO_GRAVITY * STANDARD_GRAVITY:
            found[""] = f"specific force without gravity (|f| {size:.2f} m/s^2), which must not be subtracted"
        turn, share = _turned(times_ns, rows)
        if self._imu["rate"] == 1.0 and turn > LEAST_TURN and share < SHOWN:
            what = f"the vertical turns by {share * turn / TURN_TIME:.2g} rad/s rms"
            found["deg/s"] = f"angular rate in deg/s ({turn / TURN_TIME:.3g}, while {what})"
        return _sentence(found, "imu.units")

    def joints(self, joints: NDArray[np.int64], times_ns: Times, rows: Array) -> str:
        """Return which units of joint states of some joints differ, and the remedy; empty where none does.

        Rows are of positions, velocities (NaN: none), possibly efforts, impossible ones included.
        """
        m, found = len(joints), dict[str, str]()
        rows = np.where(np.abs(rows) < LARGEST, rows, np.nan)
        q, v = rows[:, :m], rows[:, m : 2 * m]
        if len(q) < PERIODIC or times_ns[-1] - times_ns[0] < SHORTEST_NS or not np.isfinite(q).all():
            return ""
        low, high, limits = self._lower[joints], self._upper[joints], self._effort[joints]
        angles, unit = np.isin(joints, self._turning) & np.isfinite(low), 1.0
        outside = [((s * q < low - BEYOND) | (s * q > high + BEYOND))[:, angles] for s in (1.0, DEGREE)]
        beyond = outside[0].sum() > MANY * outside[0].size and not outside[1].any()
        if "position" in self._si and (beyond or _near(_speed_ratio(times_ns, q, v), DEGREE)):
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


def _turned(times_ns: Times, rows: Array) -> tuple[float, float]:
    """Return the rms rotation of the vertical by the gyroscope [rad], and how much of it the force shows.

    In the axes of an IMU the vertical turns by d up / dt = up x w.
    """
    starts = np.flatnonzero(np.diff(times_ns // round(TURN_TIME * NANOSECONDS), prepend=-1))
    means = np.add.reduceat(rows, starts) / np.diff(starts, append=len(rows))[:, None]
    up = means[:, FORCE] / np.maximum(np.linalg.norm(means[:, FORCE], axis=1, keepdims=True), 1e-9)
    both = means[1:] + means[:-1]
    turns = 0.25 * TURN_TIME * np.cross(up[1:] + up[:-1], both[:, RATE])
    square = float(np.sum(turns**2))
    shown = float(np.sum(turns * np.diff(up, axis=0)))
    return float(np.sqrt(square / max(len(turns), 1))), shown / max(square, 1e-9)


def _speed_ratio(times_ns: Times, q: Array, v: Array) -> float:
    """Return by what velocities exceed the change of positions, the median over joints that move, or 0."""
    speed = np.diff(q, axis=0) / np.maximum(np.diff(times_ns)[:, None] * 1e-9, 1e-9)
    mean = 0.5 * (v[1:] + v[:-1])
    square = np.mean(speed**2, axis=0)
    moving = (square > MOVING**2) & np.isfinite(mean).all(axis=0)
    ratios = np.abs(np.mean(speed * mean, axis=0)[moving]) / square[moving]
    return float(np.median(ratios)) if moving.any() else 0.0
