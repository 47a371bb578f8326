"""Replay of a recording through the pipelines, with the steps of a live node but faster."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.data_checks.check_result import CheckResult
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.models.contacts import ContactLoad
from inertial_estimation.recordings.marker_messages import MarkerPace
from inertial_estimation.recordings.message_conversion import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
)
from inertial_estimation.recordings.recorded_message import RecordedMessage, RecordedSamples
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording, check_topic
from inertial_estimation.replay.cycle_collection import no_cycle_collection
from inertial_estimation.replay.message_way import MessageWay
from inertial_estimation.replay.replay_watcher import ReplayWatcher
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseEstimate,
    Health,
    InertialEstimate,
    JointReading,
    WrenchSample,
    seconds,
)

__all__ = [
    "ReplayRun",
    "replay_recording",
    "required_topics",
]

REPORT_NS = 200_000_000  # time of the recording between two reports of progress
HEALTH_NS = NANOSECONDS  # between two reports of the health of the pipelines, as of the nodes
CLOCK_OFFSET_NS = 10_000_000_000  # log times further than this from the stamps are of another clock


@dataclass
class ReplayRun:
    """Results of a replay.

    Attributes:
        base: Base estimates in order.
        inertial: Inertial estimates in order.
        payload: Estimates of the trunk and its payload in order.
        efforts: Joint readings, kept only when the inertial pipeline ran, for the torque error; those of a
            bag are decoded when they are asked for.
        wrenches: Wrenches that were read, by contact; in the same way.
        tilt_tick_ns: Time of one step of the tilt pipeline, per tick that made one [ns].
        inertial_tick_ns: Time of one step of the inertial pipeline, per tick that made one [ns].
        payload_tick_ns: Time of one step of the trunk payload pipeline, per tick that made one [ns].
        data_s: Length of what was replayed [s].
        wall_s: How long it took, reading the recording included [s].
        health: Last health report of the pipelines about their inputs.
        reports: Every second of the recording, the health of each pipeline: stamp [ns], node, parts.
        contact_loads: The contacts of the tilt pipeline at 10 Hz of the stamps: stamp [ns] of the estimate
            and its contacts.
        checks: Verdicts on the data, where they were checked.
        start_ns: Stamp of the start of the recording [ns].
        begin_ns: Stamp from which on it was replayed [ns].
        end_ns: Stamp of its end [ns].
        clock_offset_ns: Stamp minus log time where the two are of different clocks, else zero [ns].
    """

    base: list[BaseEstimate] = field(default_factory=list)
    inertial: list[InertialEstimate] = field(default_factory=list)
    payload: list[PayloadEstimate] = field(default_factory=list)
    efforts: Sequence[JointReading] = ()
    wrenches: dict[str, Sequence[WrenchSample]] = field(default_factory=dict)
    tilt_tick_ns: list[float] = field(default_factory=list)
    inertial_tick_ns: list[float] = field(default_factory=list)
    payload_tick_ns: list[float] = field(default_factory=list)
    data_s: float = 0.0
    wall_s: float = 0.0
    health: list[Health] = field(default_factory=list)
    reports: list[tuple[int, str, list[Health]]] = field(default_factory=list)
    contact_loads: list[tuple[int, tuple[ContactLoad, ...]]] = field(default_factory=list)
    checks: list[CheckResult] = field(default_factory=list)
    start_ns: int = 0
    begin_ns: int = 0
    end_ns: int = 0
    clock_offset_ns: int = 0

    @property
    def realtime_factor(self) -> float:
        """Seconds of recording per second of wall clock."""
        return self.data_s / self.wall_s if self.wall_s > 0.0 else 0.0


def required_topics(recording: Recording, topics: RecordedTopics, *, use_base_state: bool) -> list[str]:
    """Check the topics against a recording and list those to read.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        use_base_state: Whether a recorded base state is wanted when there.

    Returns:
        The topics to read.

    Raises:
        RecordingError: If a required topic is missing or any is of the wrong type.
    """
    required = {topics.joints: JOINT_STATE_TYPE}
    if topics.imu:
        required[topics.imu] = IMU_TYPE
    required.update(dict.fromkeys(topics.wrenches.values(), WRENCH_TYPE))
    required.update(dict.fromkeys(topics.desired_wrenches.values(), WRENCH_TYPE))
    for topic, expected in required.items():
        check_topic(recording, topic, [expected])
    optional = {topics.yaw_reference: QUATERNION_TYPE}
    if use_base_state:
        optional[topics.base_state] = ODOMETRY_TYPE
    present = [topic for topic in optional if topic in recording.topics]
    for topic in present:
        check_topic(recording, topic, [optional[topic]])
    return [*required, *present]


def replay_recording(
    recording: Recording,
    topics: RecordedTopics,
    *,
    tilt: TiltPipeline | None = None,
    inertial: InertialPipeline | None = None,
    payload: TrunkPayloadPipeline | None = None,
    checks: DataChecks | None = None,
    start_s: float = 0.0,
    hold_out_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    watcher: ReplayWatcher | None = None,
) -> ReplayRun:
    """Push a recording's messages in the order they were logged, and tick after each, as a node does.

    Steps are driven by the stamps of the data and the order of the messages; the time of a tick only decides
    when an input is stale. The base estimate of the tilt pipeline is the base state of the others, as over
    DDS.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        tilt: Tilt pipeline, or None.
        inertial: Inertial pipeline, or None.
        payload: Trunk payload pipeline, or None.
        checks: Checks of the data, which read the same messages, or None.
        start_s: Where to begin, after the start of the recording [s].
        hold_out_s: Time from the start of the recording after which the inertial filter no longer learns
            [s]; None: never.
        progress: Called now and then with the seconds of data done.
        watcher: Looks on while the estimates are made; None: nobody.

    Returns:
        The estimates and how long they took.

    Raises:
        RecordingError: If a topic is missing or of the wrong type, or has no message after the start.
    """
    wanted = required_topics(
        recording, topics, use_base_state=tilt is None and (inertial or payload) is not None
    )
    _check_times(recording, start_s, hold_out_s)
    begin_ns = recording.start_ns + round(start_s * NANOSECONDS)
    driver = _Driver(topics, tilt, inertial, payload, checks)
    if hold_out_s is not None:
        driver.hold_out_ns = recording.start_ns + round(hold_out_s * NANOSECONDS)
    if watcher is not None:
        driver.admit(watcher, topics)
    started = time.perf_counter()
    with no_cycle_collection():
        for now_ns in driver.run(recording.unread(wanted, begin_ns)):
            if progress is not None:
                progress(seconds(now_ns - begin_ns))
    run = driver.run_record
    run.checks = checks.results() if checks is not None else []
    run.wall_s = time.perf_counter() - started
    run.data_s = seconds(recording.end_ns - begin_ns)
    times_ns = (recording.start_ns, begin_ns, recording.end_ns)
    run.start_ns, run.begin_ns, run.end_ns = (time_ns + run.clock_offset_ns for time_ns in times_ns)
    if driver.counts.keys() < set(wanted):
        silent = [topic for topic in wanted if topic not in driver.counts]
        raise RecordingError(f"no message on {listing(silent)} in '{recording.name}' after {start_s:g} s")
    return run


def _check_times(recording: Recording, start_s: float, hold_out_s: float | None) -> None:
    length_s = seconds(recording.end_ns - recording.start_ns)
    if not 0.0 <= start_s <= length_s:
        where = "past the end" if start_s > 0.0 else "before the start"
        raise RecordingError(f"--start {start_s:g} s is {where} of '{recording.name}' ({length_s:.1f} s)")
    if hold_out_s is not None and not start_s <= hold_out_s <= length_s:
        raise RecordingError(
            f"--hold-out is {hold_out_s:g} s, expected a time from the start ({start_s:g} s) to the end "
            f"({length_s:.1f} s) of '{recording.name}'"
        )


class _Driver:
    """Pushes messages and ticks the pipelines.

    A usual message of a bag takes one compiled call from its bytes into each pipeline, as in the nodes; the
    others are decoded and pushed.
    """

    def __init__(
        self,
        topics: RecordedTopics,
        tilt: TiltPipeline | None,
        inertial: InertialPipeline | None,
        payload: TrunkPayloadPipeline | None,
        checks: DataChecks | None,
    ) -> None:
        self.run_record = ReplayRun()
        self.hold_out_ns: int | None = None
        self.counts: dict[str, int] = {}
        self._tilt = tilt
        self._inertial = inertial
        self._payload = payload
        self._fed_by_base = [pipeline for pipeline in (inertial, payload) if pipeline is not None]
        every = {TILT_NODE: tilt, INERTIAL_NODE: inertial, PAYLOAD_NODE: payload}
        self._nodes = {node: pipeline for node, pipeline in every.items() if pipeline is not None}
        self._loads_pace = MarkerPace()
        self._clock_offset_ns: int | None = None
        self._watcher: ReplayWatcher | None = None
        self._kept: dict[str, RecordedSamples[Any]] = {}
        self._ways = self._subscriptions(topics)
        if tilt is not None and inertial is not None:
            inertial.entries.share_checks(tilt.entries)
        if checks is not None:
            self._subscribe(checks, topics)

    def admit(self, watcher: ReplayWatcher, topics: RecordedTopics) -> None:
        """Show the joint states and all estimates to a watcher."""
        self._watcher = watcher
        self._ways[topics.joints].append(MessageWay(watcher.push_joints))

    def run(self, messages: Iterator[RecordedMessage]) -> Iterator[int]:
        """Push and tick; yields the log time periodically, for progress."""
        next_report = 0
        log_ns = 0
        for message in messages:
            if self._clock_offset_ns is None and not self._meet_clock(message):
                continue
            if not self._push(message):
                continue
            log_ns = message.log_ns
            self._tick(log_ns)
            if log_ns >= next_report:
                self._report(log_ns)
                yield log_ns
                next_report = log_ns + REPORT_NS
        for late_ns in (0, 10_000_000, 20_000_000, 40_000_000, 60_000_000):  # no input follows: let them wait
            self._tick(log_ns + late_ns)
        now_ns = self._now(log_ns)
        for pipeline in (self._tilt, *self._fed_by_base):
            if pipeline is not None:
                self.run_record.health.extend(pipeline.health(now_ns))
        yield log_ns

    def _subscriptions(self, topics: RecordedTopics) -> dict[str, list[MessageWay]]:
        ways: dict[str, list[MessageWay]] = {}
        for pipeline in (self._tilt, *self._fed_by_base):
            if pipeline is None:
                continue
            entries = pipeline.entries
            if topics.imu:
                ways.setdefault(topics.imu, []).append(MessageWay(pipeline.push_imu, entries.imu.take))
            ways.setdefault(topics.joints, []).append(MessageWay(pipeline.push_joints, entries.joints.take))
            if pipeline is self._payload and self._payload.config.ground_forces != "measured":
                continue
            for contact, topic in topics.wrenches.items():
                entry, push = entries.wrenches.get(contact), partial(pipeline.push_wrench, contact)
                ways.setdefault(topic, []).append(MessageWay(push, None if entry is None else entry.take))
        for contact, topic in topics.wrenches.items():
            self._kept[topic] = self.run_record.wrenches[contact] = RecordedSamples()
        if self._tilt is not None:
            ways.setdefault(topics.yaw_reference, []).append(MessageWay(self._tilt.push_yaw_reference))
            for contact, topic in topics.desired_wrenches.items():
                ways.setdefault(topic, []).append(
                    MessageWay(partial(self._tilt.push_desired_wrench, contact))
                )
        elif self._fed_by_base:
            ways[topics.base_state] = [MessageWay(pipeline.push_base_state) for pipeline in self._fed_by_base]
        if self._inertial is not None:
            self._kept[topics.joints] = self.run_record.efforts = RecordedSamples()
        return ways

    def _subscribe(self, checks: DataChecks, topics: RecordedTopics) -> None:
        self._ways[topics.joints].append(MessageWay(checks.push_joints))
        if topics.imu:
            self._ways[topics.imu].append(MessageWay(checks.push_imu))
        for contact, topic in topics.wrenches.items():
            self._ways.setdefault(topic, []).append(MessageWay(partial(checks.push_wrench, contact)))

    def _push(self, message: RecordedMessage) -> bool:
        """Push a message to all that read its topic; return false where its fields do not fit together."""
        topic, data, sample = message.topic, message.data, None
        ways = self._ways.get(topic, ())
        if self.hold_out_ns is not None or not ways:
            sample = message.read()
            if sample is None:
                return False
            self._hold_out(message.log_ns, sample.stamp_ns)
        for push, take in ways:
            if data and take is not None and take(data):
                continue
            if sample is None:
                sample = message.read()
                if sample is None:  # and none before has taken it
                    return False
            push(sample)
        self.counts[topic] = self.counts.get(topic, 0) + 1
        kept = self._kept.get(topic)
        if kept is not None:
            kept.append(message)
        return True

    def _meet_clock(self, first: RecordedMessage) -> bool:
        """Detect whether log times and stamps come from one clock; return false without a stamp."""
        sample = first.read()
        if sample is None:
            return False
        offset = sample.stamp_ns - first.log_ns
        self._clock_offset_ns = offset if abs(offset) > CLOCK_OFFSET_NS else 0
        self.run_record.clock_offset_ns = self._clock_offset_ns
        return True

    def _hold_out(self, log_ns: int, stamp_ns: int) -> None:
        """End learning where it is time to, by the stamp of the next message."""
        if self.hold_out_ns is None or stamp_ns < self._now(self.hold_out_ns):
            return
        self.hold_out_ns = None
        if self._inertial is not None:
            self._tick(log_ns)
            self._inertial.set_enabled(False)

    def _report(self, log_ns: int) -> None:
        """Ask the pipelines how they are, as often as the nodes do."""
        now_ns, reports = self._now(log_ns), self.run_record.reports
        if reports and 0 <= now_ns - reports[-1][0] < HEALTH_NS:
            return
        for node, pipeline in self._nodes.items():
            reports.append((now_ns, node, pipeline.health(now_ns)))

    def _keep_loads(self, steps: Sequence[BaseEstimate]) -> None:
        """Keep the contacts of the newest estimate as often as the node draws them."""
        assert self._tilt is not None
        stamp_ns = steps[-1].state.stamp_ns
        if self._loads_pace.due(stamp_ns):
            self.run_record.contact_loads.append((stamp_ns, self._tilt.contact_loads))

    def _now(self, log_ns: int) -> int:
        return log_ns + (self._clock_offset_ns or 0)

    def _tick(self, log_ns: int) -> None:
        now_ns, run, clock_ns = self._now(log_ns), self.run_record, time.perf_counter_ns
        base: list[BaseEstimate] = []
        inertial: list[InertialEstimate] = []
        payload: list[PayloadEstimate] = []
        if self._tilt is not None:
            begin_ns = clock_ns()
            base = self._tilt.tick(now_ns)
            if base:
                run.tilt_tick_ns.append((clock_ns() - begin_ns) / len(base))
                run.base.extend(base)
                self._keep_loads(base)
                for pipeline in self._fed_by_base:
                    for step in base:
                        pipeline.push_base_state(step.state)
        if self._inertial is not None:
            begin_ns = clock_ns()
            inertial = self._inertial.tick(now_ns)
            if inertial:
                run.inertial_tick_ns.append((clock_ns() - begin_ns) / len(inertial))
                run.inertial.extend(inertial)
        if self._payload is not None:
            begin_ns = clock_ns()
            payload = self._payload.tick(now_ns)
            if payload:
                run.payload_tick_ns.append((clock_ns() - begin_ns) / len(payload))
                run.payload.extend(payload)
        if self._watcher is not None:
            self._watcher.see(base, inertial, payload)
