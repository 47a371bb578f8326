"""Checks that need no description: names, timestamps, gaps, clocks; stuck, silent and saturated values."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.diagnosis.finding import Finding, Fix, Verdict, cannot_tell
from inertial_estimation.errors import listing
from inertial_estimation.inputs.joints import JOINTS, JUMP, LARGEST_ACCELERATION
from inertial_estimation.inputs.robot_streams import FEWEST, IMU_AXES, RobotStreams, StreamRows, channels
from inertial_estimation.inputs.sensors import FORCE, IMU, RATE
from inertial_estimation.inputs.stream import DropReason
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.spatial.rotations import DEGREES

COARSE_STAMPS = 0.05  # share of equal timestamps above which they may come from a coarse clock
RARE = 0.001  # largest share of a sound stream of unordered timestamps, of gaps, or of values that are NaN
LOST = 0.01  # share of the time in gaps above which gaps are reported
SILENT_S = 1.0  # time without readings, while others arrive, from which an input is reported [s]
SLOWEST = 20.0  # rate below which windows of 0.1 s contain too few samples to differentiate [Hz]
MANY = 20  # least number of equal values that is significant
STUCK_S, STUCK_RUNS = 0.3, 10.0  # shortest time of a stuck value [s], and its ratio to the median run
TRAVELS = 0.08  # least travel of a joint that is text to move [rad]
MOVED, UNLIKE = 0.03, 6.0  # least travel by integrated velocity [rad], and its ratio to the integral's drift
STEPS, LIFTED = 8, 0.25  # least number of lifts and touch-downs of others; load of a lifted foot over q90
QUANTA = 2000.0  # range of a channel over its quantum below which the channel may legitimately stand still
COARSE = 4  # number of varying channels from which all stand still at once only if the sensor is stuck
FEWEST_JUMPS, LEAST_JUMP = 5, 0.1  # most position jumps that are spikes; least jump, share of the range
ALTERNATES = 3.0  # least ratio of the change between adjacent readings to that between every second one
SATURATED, FEWEST_SATURATED = 0.003, 10  # least share and number of saturated values at the extreme ...
NEAR, MOSTLY = 0.02, 3.0  # ... and their ratio to the number within this share of the range
REPEATS = "check cable, driver and timeouts of the sensor; it repeats its last value"
RIVAL = "another publisher, as a joint_state_publisher? ros2 topic info -v names them; one must end"
BY_TORQUES = (
    "without force sensors tilt_observer takes the contact forces from the efforts of joint_states: "
    "contact.source: joint_torques"
)


def stream_findings(streams: RobotStreams, max_gap_s: float) -> Iterator[Finding]:
    """Judge names, topics, timestamps and clocks; the nodes interpolate gaps of up to `max_gap_s` [s]."""
    if streams.missing:
        text = f"missing, of the joints of the description: {listing(streams.missing)}"
        remedy = "lock them (locked_joints), add their topic to joint_states.topics, or correct their names"
        yield Finding("joint names", JOINTS, Verdict.WRONG, float(len(streams.missing)), "", text, remedy)
    elif JOINTS in streams.by_name:
        yield Finding("joint names", JOINTS, Verdict.OK, 0.0, "", "all joints are there")
    n = streams.n_joints
    efforts = bool(np.isfinite(streams.joints.values[:, 2 * n :]).any())
    if streams.absent:
        why = "the recording has no messages of them: checks that need them are left out"
        lacking = any(topic.endswith("/wrench") for topic in streams.absent) and not streams.wrenches
        topics = listing(topic.strip("/") for topic in streams.absent)
        yield cannot_tell("topics", topics, why, BY_TORQUES if lacking and efforts else "")
    for name, stream in streams.by_name.items():
        found = [*_silence(name, streams.by_name)]
        found += [one for one in _stamps(name, stream, max_gap_s) if one.check != "gaps" or not found]
        rate = stream.rate
        yield from found or [Finding("stamps", name, Verdict.OK, rate, "Hz", f"{rate:.4g} Hz")]


def _silence(name: str, streams: Mapping[str, StreamRows]) -> Iterator[Finding]:
    """Find an input that is silent for a while, or ends, while other inputs continue."""
    own, others = streams[name].times_ns, [one.times_ns for key, one in streams.items() if key != name]
    times = np.append(own, max((int(one[-1]) for one in others if len(one)), default=0))
    if len(own) == 0 or np.diff(times).max() < SILENT_S * NANOSECONDS:
        return
    begin, end = times[(k := int(np.diff(times).argmax()))], times[k + 1]
    if any(((one > begin) & (one < end)).sum() > FEWEST for one in others):
        since, lasts = seconds(int(begin - own[0])), seconds(int(end - begin))
        text = f"no readings for {lasts:.3g} s, from {since:.3g} s on, while others arrive"
        remedy = "has its driver ended, or lost its connection? Estimates go on without it, less certain"
        yield Finding("silence", name, Verdict.WARN, lasts, "s", text, remedy)


def _stamps(name: str, stream: StreamRows, max_gap_s: float) -> Iterator[Finding]:
    notes, steps = stream.notes, np.diff(stream.times_ns)

    def unusual(check: str, value: float, unit: str, text: str, remedy: str) -> Finding:
        return Finding(check, name, Verdict.WARN, value, unit, text, remedy)

    if notes.unset:
        text = "the stamps are zero (not set): readings are used with the time of their arrival"
        remedy = "the driver must set header.stamp to the time of measurement; or set inputs.stamps: arrival"
        yield Finding("stamps", name, Verdict.WRONG, 0.0, "", text, remedy)
        return
    if notes.clock_s:
        side = "behind" if notes.clock_s > 0.0 else "ahead of"
        text = f"its stamps are {abs(notes.clock_s):.3g} s {side} those of the other inputs"
        remedy = f"another clock? Synchronise them (PTP, chrony), or set inputs.arrival: [{name}]"
        fix = Fix(parameters={"inputs.arrival": [name]})
        yield Finding("clock", name, Verdict.WRONG, notes.clock_s, "s", text, remedy, fix)
    elif notes.restarts:
        text = f"the stamps go back {'once' if notes.restarts == 1 else f'{notes.restarts} times'}"
        remedy = "a looped or joined recording, or a clock that was set? The nodes restart there"
        yield unusual("stamps", float(notes.restarts), "", text, remedy)
    back, same = (notes.dropped.get(r, 0) for r in (DropReason.BACKWARD_STAMP, DropReason.EQUAL_STAMP))
    if back + same > max(RARE * notes.received, 2):
        parts = ((back, "go back in time"), (same, "repeat the one before"))
        text = " and ".join(f"{count} of {notes.received} stamps {what}" for count, what in parts if count)
        remedy = "does more than one publisher send it?"
        if same > COARSE_STAMPS * notes.received > back:
            remedy = f"a clock of coarse steps? Set inputs.stamps: arrival; else, {remedy}"
        yield unusual("stamps", float(back + same), "", text, remedy)
    if notes.even:
        remedy = "stamp at the time of measurement; the nodes make the times even (inputs.stamps)"
        yield unusual("bursts", 1.0, "", "the stamps come in bursts: they are times of arrival", remedy)
        return
    gaps = steps[steps > max_gap_s * NANOSECONDS]
    if gaps.sum() > LOST * steps.sum() or len(gaps) > max(RARE * len(steps), 1):
        longest = seconds(int(gaps.max()))
        text = "a gap of" if len(gaps) == 1 else f"{len(gaps)} gaps, the longest of"
        remedy = "check quality of service and load; or raise inputs.timeout"
        yield unusual("gaps", longest, "s", f"{text} {longest:.3g} s", remedy)
    rate = stream.rate
    if 0.0 < rate < SLOWEST:
        remedy = "raise the rate of the driver, or inputs.timeout and window"
        yield unusual("rate", rate, "Hz", f"{rate:.3g} Hz, expected {SLOWEST:g} Hz or more", remedy)


def value_findings(streams: RobotStreams, joint_names: Sequence[str]) -> tuple[list[Finding], RobotStreams]:
    """Judge the values of every channel; return the findings, and the streams with stuck values as NaN."""
    found, streams = [*_numbers(streams, joint_names)], streams.whole()
    joints, kept, n = streams.joints, dict[str, Array](), streams.n_joints
    found += _positions(joints, joint_names, kept)
    found += _rivals(joints, joint_names)
    q = np.nan_to_num(joints.values[:, :n])
    moves = (np.diff(q, axis=0, prepend=np.nan) != 0.0).any(axis=1)  # at rest, efforts are constant
    efforts = channels(JOINTS, joint_names)[2 * n :]
    found += _judged(JOINTS, efforts, joints.times_ns[moves], joints.values[moves, 2 * n :], {})
    found += _dead_efforts(joints, joint_names, kept)
    for name, stream in ((name, one) for name, one in streams.by_name.items() if name != JOINTS):
        found += _judged(name, channels(name, joint_names), stream.times_ns, stream.values, kept)
        found += _alternating(name, stream)
    if streams.imu is not None:
        found += _silent(streams.imu)
    found += _dead_contacts({**streams.wrenches, **streams.loads}, kept)
    cleaned = streams.changed(lambda name, s: s.with_values(kept[name]) if name in kept else s)
    text = "no value is stuck, saturated or missing"
    return found or [Finding("sensors", "all inputs", Verdict.OK, 0.0, "", text)], cleaned


def _numbers(streams: RobotStreams, joint_names: Sequence[str]) -> Iterator[Finding]:
    """Find values that are not finite; a reading without a value that most readings have is not used."""
    for name, stream in streams.by_name.items():
        lack, notes, verdict = stream.lack, stream.notes, Verdict.WARN
        dropped = notes.dropped.get(DropReason.NOT_FINITE, 0) / max(notes.received, 1)
        lost = max(dropped, *(share for share in lack.tolist() if share < 1.0), 0.0)
        bad = np.flatnonzero((lack > RARE) & (lack < 1.0)).tolist()
        which = [f"{channels(name, joint_names)[k]} is nan" for k in bad]
        which += [notes.not_finite] * (dropped > RARE)
        text = f"no number in {100.0 * lost:.2g} % of the readings: {listing(which, limit=3)}"
        if (lack == 1.0).all():
            verdict, lost, text = Verdict.WRONG, 1.0, "none of its values is a number"
        if lost > RARE:
            remedy = "check the driver; the nodes do not use such values"
            yield Finding("missing values", name, verdict, lost, "", text, remedy)


def _radian(q: Array) -> float:
    """Return one radian in the unit of the positions: degrees if most joints exceed a whole turn."""
    return DEGREES if 2 * np.count_nonzero((np.abs(q) > math.tau).any(axis=0)) > q.shape[1] else 1.0


def _rivals(joints: StreamRows, joint_names: Sequence[str]) -> Iterator[Finding]:
    """Find positions that jump away and back within two joint states, as those of two publishers do."""
    q, t = joints.values[:, : len(joint_names)], 1e-9 * joints.times_ns
    if len(q) < 3:
        return
    rad = _radian(q)

    def distance(a: Array, b: Array) -> Array:
        turn = rad * math.tau
        apart: Array = np.abs(np.mod(a - b + 0.5 * turn, turn) - 0.5 * turn)  # modulo whole turns
        return apart

    away = np.minimum(distance(q[1:-1], q[:-2]), distance(q[1:-1], q[2:]))
    moved = rad * (JUMP + 0.5 * LARGEST_ACCELERATION * (t[2:] - t[:-2])[:, None] ** 2)
    jumps = away > np.maximum(moved + distance(q[2:], q[:-2]), LEAST_JUMP * np.ptp(np.nan_to_num(q), axis=0))
    count = int(jumps.any(axis=1).sum())
    if count > max(FEWEST_JUMPS, RARE * len(q)):
        which = listing([joint_names[j] for j in np.flatnonzero(jumps.any(axis=0)).tolist()], limit=6)
        largest = float(away[jumps].max())
        text = f"{which}: {count} of {len(q)} positions jump by up to {largest:.2g} rad (m), and back at once"
        yield Finding("rivals", JOINTS, Verdict.WRONG, float(count), "", text, RIVAL)


def _alternating(name: str, stream: StreamRows) -> Iterator[Finding]:
    """Find readings that alternate between two values, as those of two publishers on one topic do."""
    units = ("m/s^2", "rad/s") if name == IMU else ("N", "Nm")
    for columns, unit in zip((FORCE, RATE), units, strict=True):
        x = stream.values[:, columns]
        away, apart = np.linalg.norm(np.diff(x, axis=0), axis=1), np.linalg.norm(x[2:] - x[:-2], axis=1)
        least = ALTERNATES * apart + LEAST_JUMP * np.nanmedian(np.linalg.norm(x, axis=1))
        alternate = np.minimum(away[1:], away[:-1]) > least
        if alternate.sum() > 0.5 * len(apart):
            largest = float(away[1:][alternate].max())
            text = f"every other reading differs, by up to {largest:.2g} {unit}"
            yield Finding("rivals", name, Verdict.WRONG, largest, unit, text, RIVAL)
            return


def _judged(
    name: str, channels: Sequence[str], times: NDArray[np.int64], values: Array, stuck: dict[str, Array]
) -> Iterator[Finding]:
    """Find stuck or saturated values; put the values of a stuck input, NaN while stuck, into `stuck`."""
    runs, saturated = {}, {}
    varies = np.flatnonzero(np.diff(np.nan_to_num(values), axis=0).any(axis=0)).tolist()
    whole = _stuck(times, values[:, varies], whole=True) if len(varies) >= COARSE else []
    for column in np.flatnonzero(np.isfinite(values).any(axis=0)).tolist():
        finite = np.isfinite(values[:, column])
        if not whole and (share := _at_largest(values[finite, column])) > 0.0:
            saturated[channels[column]] = share
        elif found := whole if column in varies else _stuck(times, values[:, [column]], whole=False):
            runs[column] = found
    if runs:
        every = {run for found in runs.values() for run in found}
        longest = max(seconds(int(times[end - 1] - times[begin])) for begin, end in every)
        which = listing([channels[c] for c in runs], limit=6)
        text = f"{which}: the same value for up to {longest:.2g} s, otherwise it varies"
        yield Finding("stuck", name, Verdict.WRONG, longest, "s", text, REPEATS)
        stuck[name] = values.copy()
        for begin, end in every:
            stuck[name][begin:end] = np.nan
    if saturated:
        share = max(saturated.values())
        text = f"{listing(list(saturated), limit=6)}: up to {100 * share:.2g} % of the values are the largest"
        remedy = "raise the range of the sensor, or move less"
        yield Finding("saturated", name, Verdict.WARN, share, "", text, remedy)


def _runs(values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first index and end of all runs of equal rows of values, shape (m, c)."""
    changes = np.flatnonzero((np.diff(values, axis=0) != 0.0).any(axis=1)) + 1
    return np.concatenate(([0], changes)), np.concatenate((changes, [len(values)]))


def _stuck(times: NDArray[np.int64], values: Array, *, whole: bool) -> list[tuple[int, int]]:
    """Return the runs in which values are stuck; `whole` says that all varying channels are given.

    A single channel with coarse steps (an integer, a switch) may legitimately be constant, and one at zero is
    not stuck. A sensor of many channels that are all constant at the same time is stuck.
    """
    begins, ends = _runs(values)
    lengths = ends - begins
    if len(lengths) < 10:
        return []  # constant throughout: a quantity that is not measured is often sent as a constant
    if not whole and _coarse(values[:, 0]):
        return []
    rest = np.delete(lengths, int(lengths.argmax()))  # a value may be stuck for most of the time
    median = float(np.median(np.repeat(rest, rest)))
    spans = times[ends - 1] - times[begins]
    long = (lengths >= MANY) & (lengths > STUCK_RUNS * median) & (spans > STUCK_S * NANOSECONDS)
    long &= np.nan_to_num(values[begins]).any(axis=1)
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


def _at_largest(values: Array) -> float:
    """Return the share of values at the largest or smallest one, 0 unless far more lie there than near it.

    It is 0, too, if none lie near: a switch, or a channel with coarse steps, is often at its extreme.
    """
    share, width = 0.0, NEAR * float(np.ptp(values))
    for end in {max(float(values.max()), 0.0), min(float(values.min()), 0.0)} - {0.0}:
        away = np.abs(values - end)
        at, near = int((away == 0.0).sum()), int(((away > 0.0) & (away < width)).sum())
        if near and at >= FEWEST_SATURATED and at > max(SATURATED * len(values), MOSTLY * near):
            share = max(share, at / len(values))
    return share


def _positions(joints: StreamRows, names: Sequence[str], kept: dict[str, Array]) -> Iterator[Finding]:
    """Find positions that are constant while the joint moves by its velocity, or while most others move.

    How accurate velocities are, in whatever unit, follows from the median difference between positions and
    integrated velocities over other time spans of the same length.
    """
    n, t = len(names), (joints.times_ns - joints.times_ns[0]) / NANOSECONDS
    Q, V = joints.values[:, :n], np.nan_to_num(joints.values[:, n : 2 * n])
    travel = np.cumsum(V * np.diff(t, prepend=t[0])[:, None], axis=0)
    ranges, rad = np.ptp(Q, axis=0), _radian(Q)
    for j, name in enumerate(names):
        begins, ends = _runs(Q[:, [j]])
        long = (ends - begins >= MANY) & (t[ends - 1] - t[begins] > STUCK_S)
        for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
            k, lasts = end - begin - 1, float(t[end - 1] - t[begin])
            moved = float(np.ptp(travel[begin:end, j]))
            drift = np.nan_to_num(np.median(np.abs((Q - travel)[k:] - (Q - travel)[: len(t) - k]), axis=0))
            expected = float(drift[j] if 2 * k < len(t) else np.median(drift))
            others = np.ptp(Q[begin:end], axis=0) > np.maximum(rad * TRAVELS, 0.5 * ranges)
            if moved > max(rad * MOVED, UNLIKE * expected):
                moves = f"it moves over {moved:.2g} rad by its velocity"
            elif ranges[j] > rad * TRAVELS and lasts > SILENT_S and others.sum() > 0.5 * (n - 1):
                moves = "most others move over half their range"
            else:
                continue
            text = f"its position stays the same for {lasts:.2g} s while {moves}"
            yield Finding("stuck", name, Verdict.WRONG, lasts, "s", text, REPEATS)
            kept.setdefault(JOINTS, joints.values.copy())[begin:end] = np.nan
            break


def _dead_efforts(joints: StreamRows, names: Sequence[str], kept: dict[str, Array]) -> Iterator[Finding]:
    """Find efforts that are all zero, or constant while the joint moves and other efforts change."""
    n, times = len(names), joints.times_ns
    q, tau = joints.values[:, :n], joints.values[:, 2 * n :]
    if np.isfinite(tau).any() and not np.nan_to_num(tau).any():
        text, remedy = "the efforts of all joints are exactly zero", "are they measured? Check the driver"
        yield Finding("effort silent", JOINTS, Verdict.WARN, 0.0, "", text, remedy)
    for j in np.flatnonzero(np.isfinite(tau).any(axis=0)).tolist():
        begins, ends = _runs(tau[:, [j]])
        k = int(np.argmax(ends - begins))
        run = slice(begins[k], ends[k])
        lasts = seconds(int(times[run][-1] - times[run][0]))
        whole = ends[k] - begins[k] == len(tau)
        moves = np.ptp(q[run, j]) > TRAVELS and np.ptp(np.nan_to_num(tau[run]), axis=0).any()
        if moves and (whole or (lasts > SILENT_S and not _coarse(tau[:, j]))):
            span = "in all readings" if whole else f"for {lasts:.3g} s"
            text = f"its effort is {tau[begins[k], j]:.3g} {span}, though it moves"
            remedy = "is it measured? Check the driver, or leave it out of torque_rows"
            yield Finding("effort silent", names[j], Verdict.WARN, 0.0, "", text, remedy)
            kept.setdefault(JOINTS, joints.values.copy())[run, 2 * n + j] = np.nan


def _coarse(values: Array) -> bool:
    """Return whether a channel has coarse steps, as an integer or a switch has, and may be constant."""
    steps = np.abs(np.diff(values))
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    return not len(steps) or bool(np.ptp(values[np.isfinite(values)]) < QUANTA * steps.min())


def _dead_contacts(wrenches: Mapping[str, StreamRows], kept: dict[str, Array]) -> Iterator[Finding]:
    """Find contacts with constant readings while all others are put down and lifted more than once."""
    loads = {name: np.linalg.norm(stream.values[:, :3], axis=1) for name, stream in wrenches.items()}
    for name, stream in wrenches.items():
        begins, ends = _runs(stream.values)
        k = int(np.argmax(ends - begins))
        first, last = stream.times_ns[begins[k]], stream.times_ns[ends[k] - 1]
        lasts = seconds(int(last - first))
        steps = []
        for other in loads.keys() - {name}:
            load, times = loads[other], wrenches[other].times_ns
            load = load[(times >= first) & (times <= last)] / max(np.nanquantile(load, 0.9), 1e-9)  # impacts
            down = load[(load < LIFTED) | (load > 1.0 - LIFTED)] > 0.5
            steps.append(np.count_nonzero(np.diff(down)))
        # Between two steps of one foot, each other foot is lifted and put down only once.
        if lasts > SILENT_S and min(steps, default=0) > 2 and sum(steps) >= STEPS:
            text = f"its readings do not change for {lasts:.3g} s, while all others are put down and lifted"
            yield Finding("stuck", f"{name}/wrench", Verdict.WRONG, lasts, "s", text, REPEATS)
            kept.setdefault(f"{name}/wrench", stream.values.copy())[begins[k] : ends[k]] = np.nan


def _silent(imu: StreamRows) -> Iterator[Finding]:
    """Find axes of an IMU whose values never change."""
    ranges = np.ptp(np.nan_to_num(imu.values), axis=0)
    still = [name for name, size in zip(IMU_AXES, ranges.tolist(), strict=True) if size == 0.0]
    if still and ranges.any():
        text = f"{listing(still, limit=6)}: one and the same value in all {imu.size} readings"
        remedy = "is the axis connected, and sent by the driver?"
        yield Finding("silent", IMU, Verdict.WRONG, float(len(still)), "", text, remedy)
