"""Checks of single sensors that need no description: stuck, saturated, silent."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.finding import Finding, finding, plain
from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.checked_inputs import IMU_AXES, WRENCH_AXES
from inertial_estimation.data_checks.held_values import HeldValues
from inertial_estimation.errors import listing
from inertial_estimation.signals import NANOSECONDS, Array

STUCK_S = 0.3  # of one and the same value, of a sensor that otherwise varies
STUCK_RUNS = 10.0  # times the longest run of equal values that is usual of it
FEWEST_EQUAL = 20  # values of such a run
MOVES = 0.1  # speed by which a position must change [rad/s]
TRAVELS = 0.08  # distance, the same: more than a coarse encoder's count [rad]
SATURATED = 0.003  # share of the values at the very largest one
FEWEST_SATURATED = 10
LOST = 0.001  # share of values that are no number
REPEATS = "check cable, driver and timeouts of the sensor; it repeats its last value"


def sensor_checks(streams: RobotStreams, joint_names: tuple[str, ...]) -> list[Finding]:
    """Look for stuck, saturated and missing values, channel by channel.

    Args:
        streams: The inputs.
        joint_names: Joints in the order of the columns.
    """
    n = streams.n_joints
    joints = streams.joints
    q, v, tau = (joints.values[:, k * n : (k + 1) * n] for k in range(3))
    efforts = Stream(joints.stamps_ns, tau, joints.log_ns)
    found = _positions(joints.stamps_ns, q, v, joint_names)
    found += _channels(efforts, "joint_states", [f"effort of {name}" for name in joint_names])
    if streams.imu is not None:
        found += [*_constant(streams.imu), *_channels(streams.imu, "imu/data", IMU_AXES)]
    for contact, stream in streams.wrenches.items():
        found += _channels(stream, f"{contact}/wrench", WRENCH_AXES)
    found += [plain(result) for result in _held(streams, joint_names)]
    if found:
        return found
    count = len(streams.by_name)
    said = f"no value of {count} input{'s' if count > 1 else ''} is stuck, saturated or missing"
    return [finding("sensors", "all inputs", Verdict.OK, 0.0, "", said)]


def _held(streams: RobotStreams, joint_names: tuple[str, ...]) -> list[CheckResult]:
    """Find values that are sent again until the next measurement."""
    found: list[CheckResult] = []
    for name, stream in streams.by_name.items():
        quantities = {"readings": stream.values}
        names: tuple[str, ...] = IMU_AXES if stream is streams.imu else WRENCH_AXES
        if stream is streams.joints:
            names = joint_names
            parts = np.split(stream.values, 3, axis=1)
            quantities = dict(zip(("positions", "velocities", "efforts"), parts, strict=True))
        for quantity, values in quantities.items():
            held = HeldValues(name, quantity)
            held.push(stream.stamps_ns, values)
            found += held.results(names)
    return found


def _positions(stamps: NDArray[np.int64], q: Array, v: Array, names: tuple[str, ...]) -> list[Finding]:
    """Find positions that stay the same while the velocity that is sent says that the joint moves."""
    found = []
    t = (stamps - stamps[0]) / NANOSECONDS
    for j, name in enumerate(names):
        with np.errstate(divide="ignore", invalid="ignore"):  # stamps that repeat
            slope, sent = _size(np.gradient(q[:, j], t)), _size(v[:, j])
        factor = min(1.0, slope / max(sent, 1e-9)) if np.ptp(q[:, j]) > 0.0 else 1.0  # another unit
        for begin, end in _long_runs(q[:, j]):
            moves = _motion(t[begin:end], factor * v[begin:end, j])
            span = t[end - 1] - t[begin]
            if span > STUCK_S and moves:
                said = f"its position stays the same for {span:.2g} s while {moves}"
                found.append(finding("stuck", name, Verdict.WRONG, span, "s", said, REPEATS))
                break
    return found


def _motion(t: Array, velocity: Array) -> str:
    """Return in words how a joint moves by its velocity; empty if it does not."""
    finite = np.isfinite(velocity)
    if finite.sum() < 2:
        return ""
    mean = float(velocity[finite].mean())
    if abs(mean) > MOVES:
        return f"its velocity is {abs(mean):.2g} rad/s"
    travel = float(np.ptp(np.cumsum((velocity[finite] - mean)[1:] * np.diff(t[finite]))))
    return f"its velocity moves it over {travel:.2g} rad" if travel > TRAVELS else ""


def _size(values: Array) -> float:
    """Return the rms of what is finite, 0 where nothing is."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else 0.0


def _constant(imu: Stream) -> list[Finding]:
    """Find axes of an IMU whose value never changes; all of the accelerometer's are judged by its size."""
    ranges = np.ptp(imu.values, axis=0)
    still = [name for name, size in zip(IMU_AXES, ranges.tolist(), strict=True) if size == 0.0]
    if not still or not ranges.any() or (not ranges[:3].any() and ranges[3:].all()):
        return []
    said = f"{listing(still, limit=6)}: one and the same value in all {imu.size} readings"
    remedy = "is the axis connected, and sent by the driver?"
    count = float(len(still))
    return [finding("silent", "imu/data", Verdict.WRONG, count, "", said, remedy)]


def _channels(stream: Stream, subject: str, names: tuple[str, ...] | list[str]) -> list[Finding]:
    stuck, saturated, lost, longest, share = [], [], [], 0.0, 0.0
    for column, name in enumerate(names):
        values = stream.values[:, column]
        finite = np.isfinite(values)
        if not finite.any():
            continue
        if 1.0 - finite.mean() > LOST:
            lost.append(name)
        runs = _stuck(stream.stamps_ns, values)
        if runs:
            stuck.append(name)
            spans = [stream.stamps_ns[end - 1] - stream.stamps_ns[begin] for begin, end in runs]
            longest = max(longest, max(spans) / NANOSECONDS)
            continue
        part = _at_largest(values[finite])
        if part > 0.0:
            saturated.append(name)
            share = max(share, part)
    found = []
    if stuck:
        mend = partial(_without_stuck, subject=subject)
        said = f"{listing(stuck, limit=6)}: the same value for up to {longest:.2g} s, otherwise it varies"
        found.append(finding("stuck", subject, Verdict.WRONG, longest, "s", said, REPEATS, mend=mend))
    if saturated:
        said = (
            f"{listing(saturated, limit=6)}: up to {100 * share:.2g} % of the values are the very largest one"
        )
        remedy = "raise the range of the sensor in its driver, or move less"
        found.append(finding("saturated", subject, Verdict.WARN, share, "", said, remedy))
    if lost:
        said = f"{listing(lost, limit=6)}: more than {100 * LOST:g} % of the values are no number"
        remedy = "check the driver; the nodes drop such messages"
        found.append(finding("missing values", subject, Verdict.WARN, float(len(lost)), "", said, remedy))
    return found


def _runs(values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return begins and ends of all runs of equal values."""
    changes = np.flatnonzero(np.diff(values) != 0.0) + 1
    return np.concatenate(([0], changes)), np.concatenate((changes, [len(values)]))


def _long_runs(values: Array) -> list[tuple[int, int]]:
    """Return begin and end of runs of equal values of `FEWEST_EQUAL` or more."""
    begins, ends = _runs(values)
    long = ends - begins >= FEWEST_EQUAL
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


def _stuck(stamps: NDArray[np.int64], values: Array) -> list[tuple[int, int]]:
    """Return the runs in which a value is stuck; a value that rests at zero is not."""
    begins, ends = _runs(values)
    lengths = ends - begins
    if len(lengths) < 10:
        return []  # constant throughout: what is not measured is often sent as a constant
    usual = float(np.quantile(np.repeat(lengths, lengths), 0.5))
    return [
        (begin, end)
        for begin, end in _long_runs(values)
        if values[begin] != 0.0
        and end - begin > STUCK_RUNS * usual
        and stamps[end - 1] - stamps[begin] > STUCK_S * NANOSECONDS
    ]


def _without_stuck(streams: RobotStreams, subject: str) -> RobotStreams:
    """Make the readings of a stream unknown where any of its values is stuck; of joints only the efforts."""

    def unknown(name: str, stream: Stream) -> Stream:
        if name != subject:
            return stream
        values = stream.values.copy()
        first = 2 * streams.n_joints if name == "joint_states" else 0
        for column in range(first, values.shape[1]):
            for begin, end in _stuck(stream.stamps_ns, stream.values[:, column]):
                values[begin:end, first:] = np.nan
        return stream.with_values(values)

    return streams.changed(unknown)


def _at_largest(values: Array) -> float:
    """Return the share of values at the largest or smallest one, 0 where that is usual."""
    distinct, counts = np.unique(values, return_counts=True)  # in increasing order
    usual = max(SATURATED * len(values), 10 * float(np.median(counts)))
    next_most = int(np.sort(counts)[-2]) if len(counts) > 1 else 0
    count = max(
        int(counts[-1]) if distinct[-1] > 0.0 else 0,
        int(counts[0]) if distinct[0] < 0.0 else 0,
    )
    stands_out = count > 3 * next_most or len(counts) > 50
    return count / len(values) if count >= FEWEST_SATURATED and count > usual and stands_out else 0.0
