"""Checks of topics and stamps: gaps, bursts, stamps that are not set or begin anew, clocks that differ."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.bring_up.finding import Finding, cannot_tell, finding, plain
from inertial_estimation.bring_up.streams import RobotStreams, Stream
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.stream_checks import name_checks, stamp_checks
from inertial_estimation.data_checks.stream_statistics import StreamStatistics
from inertial_estimation.signals import NANOSECONDS

CLOCKS_S = 0.2  # between the clocks of two streams
UNSET = 0.05  # share of different stamps below which they are not set
FEWEST_STEPS = 100
REGULAR, MOST_REGULAR = 0.2, 0.95  # of a period; share of steps that are whole periods, of a regular stream
LOST_READINGS = 0.05
BY_TORQUES = (
    "record it, or without force sensors let tilt_observer take the contact forces from the efforts of "
    "joint_states: contact.source: joint_torques"
)
NO_FORCES = (
    "record it, or the efforts of joint_states, from which contact.source: joint_torques takes contact forces"
)


def stream_findings(streams: RobotStreams, max_gap_s: float) -> list[Finding]:
    """Check names, topics, stamps and clocks.

    Args:
        streams: The inputs.
        max_gap_s: Longest step that the nodes interpolate over (`inputs.max_gap`) [s].
    """
    found = [plain(result) for result in name_checks(streams.missing)]
    for topic in streams.absent:
        why = f"the recording has no messages on '{topic}'; its checks and those that need it are left out"
        remedy = ""
        if topic.endswith("/wrench") and not streams.wrenches:
            remedy = BY_TORQUES if _has_efforts(streams) else NO_FORCES
        found.append(cannot_tell("topic", topic.strip("/"), why, remedy))
    statistics = []
    unset = {name for name, stream in streams.by_name.items() if _is_unset(stream)}
    for name, stream in streams.by_name.items():
        if name in unset:
            continue
        counted = StreamStatistics(name, max_gap_s)
        for stamp in stream.stamps_ns.tolist():
            counted.push(stamp)
        statistics.append(counted)
    counts = stamp_checks(statistics)
    irregular = {result.subject for result in counts if result.failed}
    found += [plain(result) for result in counts]
    return [*found, *_stamps(streams, max_gap_s, irregular, unset), *_clocks(streams, unset)]


def _has_efforts(streams: RobotStreams) -> bool:
    n = streams.n_joints
    return bool(np.isfinite(streams.joints.values[:, 2 * n :]).any())


def _stamps(streams: RobotStreams, max_gap_s: float, irregular: set[str], unset: set[str]) -> list[Finding]:
    """Find stamps that are not set, that begin anew, and readings that are missing between others."""
    found = []
    for name, stream in streams.by_name.items():
        steps = np.diff(stream.stamps_ns)
        back = steps[steps < -max_gap_s * NANOSECONDS]
        if name in unset:
            said = f"{stream.size} readings have {len(np.unique(stream.stamps_ns))} different stamps"
            remedy = "the driver must set header.stamp to the time of measurement"
            mend = partial(_stamped_by_recording, name=name)
            found.append(finding("stamps", name, Verdict.WRONG, 0.0, "", said, remedy, mend=mend))
        elif len(back):
            s = float(-back.min()) / NANOSECONDS
            said = f"the stamps go back by {s:.3g} s{'' if len(back) == 1 else f', {len(back)} times'}"
            remedy = "a looped or joined recording, or a clock that was set? The nodes begin anew there"
            mend = partial(_joined, name=name, max_gap_s=max_gap_s)
            found.append(finding("stamps", name, Verdict.WARN, s, "s", said, remedy, mend=mend))
        elif name not in irregular and (lost := _lost_share(steps)) > LOST_READINGS:
            said = f"{100 * lost:.0f} % of the readings are missing between the others"
            remedy = "quality of service, queue or load: the driver sends more than is recorded"
            found.append(finding("lost readings", name, Verdict.WARN, lost, "", said, remedy))
    return found


def _is_unset(stream: Stream) -> bool:
    return len(np.unique(stream.stamps_ns)) < UNSET * stream.size


def _lost_share(steps: NDArray[np.int64]) -> float:
    """Return the share of readings that are missing of those at a regular period; 0 where it is not one."""
    if len(steps) < FEWEST_STEPS or (steps <= 0).any():
        return 0.0
    period = float(np.median(steps[steps <= 1.5 * np.quantile(steps, 0.02)]))
    count = steps / period
    whole = np.round(count)
    if (np.abs(count - whole) < REGULAR).mean() < MOST_REGULAR:
        return 0.0
    return 1.0 - len(steps) / float(whole.sum())


def _stamped_by_recording(streams: RobotStreams, name: str) -> RobotStreams:
    return streams.changed(lambda n, s: replace(s, stamps_ns=s.log_ns) if n == name else s)


def _joined(streams: RobotStreams, name: str, max_gap_s: float) -> RobotStreams:
    """Let stamps go on as the times of recording do, where they go back."""

    def join(stream: Stream) -> Stream:
        steps, logged = np.diff(stream.stamps_ns), np.diff(stream.log_ns)
        missed = np.where(steps < -max_gap_s * NANOSECONDS, np.maximum(logged, 0) - steps, 0)
        return replace(stream, stamps_ns=stream.stamps_ns + np.concatenate(([0], np.cumsum(missed))))

    return streams.changed(lambda n, s: join(s) if n == name else s)


def _clocks(streams: RobotStreams, unset: set[str]) -> list[Finding]:
    """Compare the clocks of the streams by the time from stamp to recording."""
    if "joint_states" in unset:
        return []
    late = {
        name: float(np.median(stream.log_ns - stream.stamps_ns)) / NANOSECONDS
        for name, stream in streams.by_name.items()
        if name not in unset
    }
    reference = late.pop("joint_states")
    found = []
    for name, seconds in late.items():
        apart = seconds - reference
        if abs(apart) > CLOCKS_S:
            said = f"its stamps are {-apart:+.3g} s from those of joint_states at the same time of recording"
            remedy = "another clock? Synchronise the clocks (PTP, chrony), or stamp where it is received"
            mend = partial(RobotStreams.delayed, seconds={name: apart})
            found.append(finding("clock", name, Verdict.WRONG, apart, "s", said, remedy, mend=mend))
    return found
