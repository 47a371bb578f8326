"""Replay of a recording through the pipelines, with the steps of a live node but faster."""

import gc
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.diagnosis.diagnose import diagnose
from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.errors import MeasurementError, RecordingError, listing
from inertial_estimation.inertial.pipeline import InertialPipeline
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.messages import CONVERSIONS, MessageReader
from inertial_estimation.inputs.robot_inputs import BASE_STATE, YAW_REFERENCE, Readers, RobotInputs
from inertial_estimation.inputs.robot_streams import CHECKED_S
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.payload.pipeline import TrunkPayloadPipeline
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import Recording
from inertial_estimation.recordings.robot_streams import Take, clock_offset_ns, connect, read_streams
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseEstimate,
    Health,
    InertialEstimate,
    JointReading,
    seconds,
)
from inertial_estimation.tilt.pipeline import TiltPipeline

OPTIONAL = (BASE_STATE, YAW_REFERENCE)  # inputs that a recording may lack
PROGRESS_NS = 200_000_000  # time of the recording between two reports of progress


@dataclass
class ReplayRun:
    """Results of a replay."""

    base: list[BaseEstimate] = field(default_factory=list)  # base estimates in order
    inertial: list[InertialEstimate] = field(default_factory=list)  # inertial estimates in order
    # estimates of the trunk and its payload in order
    payload: list[PayloadEstimate] = field(default_factory=list)
    # joint readings, kept only when the inertial pipeline ran, for the torque error
    efforts: list[JointReading] = field(default_factory=list)
    # mean time of a step in each tick with estimates, by node [ns]
    tick_ns: dict[str, list[float]] = field(default_factory=dict)
    data_s: float = 0.0  # duration of the replayed part of the recording [s]
    wall_s: float = 0.0  # wall time of the replay, including the reading of the recording [s]
    health: list[Health] = field(default_factory=list)  # health of the pipelines and their inputs at the end
    checks: list[Finding] = field(default_factory=list)  # verdicts on the data, if they were checked
    start_ns: int = 0  # stamp of the start of the recording [ns]
    begin_ns: int = 0  # stamp from which on it was replayed [ns]
    end_ns: int = 0  # stamp of the end of the recording [ns]
    clock_offset_ns: int = 0  # stamp minus log time if the two are of different clocks, else zero [ns]

    @property
    def realtime_factor(self) -> float:
        """Seconds of recording per second of wall clock."""
        return self.data_s / self.wall_s if self.wall_s > 0.0 else 0.0


class ReplayWatcher(ABC):
    """Receives joint states and estimates during a replay, without affecting the estimates."""

    def push_joints(self, reading: JointReading) -> None:  # noqa: B027, most watchers do not need it
        """Take a joint state, before the estimates that follow from it."""

    @abstractmethod
    def push_estimates(
        self,
        base: Sequence[BaseEstimate],
        inertial: Sequence[InertialEstimate],
        payload: Sequence[PayloadEstimate],
    ) -> None:
        """Take the estimates of one tick, in order of time; any of the sequences may be empty."""


class ReplayReaders(NamedTuple):
    """The pipelines that read a recording; None for none."""

    tilt: TiltPipeline | None = None
    inertial: InertialPipeline | None = None
    payload: TrunkPayloadPipeline | None = None


class Replay:
    """Pushes the messages of a recording in the order of their log times, and ticks after each, as a node.

    Steps are driven by the stamps of the data and the order of the messages; the time of a tick only decides
    which inputs are stale. The base estimates of the tilt pipeline are the base states of the other
    pipelines, as over DDS.

    Attributes:
        run: The results so far.
        topics: Topics that are read.
        counts: Number of messages by topic.
        hold_out_ns: Log time from which on the inertial filter no longer learns [ns]; None: never.
    """

    def __init__(
        self,
        recording: Recording,
        topics: RecordedTopics,
        readers: ReplayReaders,
        watcher: ReplayWatcher | None = None,
    ) -> None:
        """Connect the topics of a recording with the pipelines.

        Args:
            recording: The recording.
            topics: Topics of the inputs.
            readers: The pipelines.
            watcher: Receives joint states and estimates during the replay; None: nobody does.

        Raises:
            RecordingError: If a topic is missing or of the wrong type.
        """
        self.run, self.counts = ReplayRun(), Counter[str]()
        self.hold_out_ns: int | None = None
        self._recording, self._readers, self._watcher = recording, readers, watcher
        self._takers: dict[str, list[Take]] = {}
        self._message_readers: Readers = {}
        tilt, inertial, payload = readers
        every = {TILT_NODE: tilt, INERTIAL_NODE: inertial, PAYLOAD_NODE: payload}
        self._nodes: dict[str, Any] = {node: one for node, one in every.items() if one is not None}
        self._fed = [one.inputs for one in (inertial, payload) if one is not None] if tilt is not None else []
        for pipeline in self._nodes.values():
            self._connect(pipeline.inputs, topics)
            if (checks := getattr(pipeline, "checks", None)) is not None:
                checks.execute = None  # the recording is judged once, by `_checked`
        self.topics = list(self._takers)
        if inertial is not None and topics.joints in self._takers:
            self._listen(topics.joints, self.run.efforts.append)
        if watcher is not None:
            self._listen(topics.joints, watcher.push_joints)
        run = self.run
        self._estimates: dict[str, list[Any]] = dict(
            zip(every, (run.base, run.inertial, run.payload), strict=True)
        )

    def _connect(self, inputs: RobotInputs, topics: RecordedTopics) -> None:
        """Connect the inputs of a pipeline, except for a base state that the tilt pipeline provides."""
        recorded = self._recording.topics
        without = {name for name in OPTIONAL if topics.of(name) not in recorded}
        without |= {BASE_STATE} if inputs in self._fed else set()
        takers = connect(inputs, self._recording, topics, without, self._message_readers)
        for topic, take in takers.items():
            self._takers.setdefault(topic, []).append(take)

    def _listen(self, topic: str, push: Callable[[Any], None]) -> None:
        """Push the joint readings of a topic also to a listener that does not affect the estimates."""
        kind = self._recording.topics.get(topic)
        if kind not in CONVERSIONS:
            return
        own = MessageReader(kind, self._recording.deserializer(topic))
        reader = self._message_readers.get((JOINTS, False), own)

        def take(content: Any, arrival_ns: int) -> None:
            with suppress(MeasurementError):  # the inputs count these errors
                reading = reader.read(content)
                push(reading if reading.stamp_ns else replace(reading, stamp_ns=arrival_ns))

        self._takers.setdefault(topic, []).append(take)

    def steps(self, begin_ns: int | None = None) -> Iterator[int]:
        """Push and tick; yield the log time periodically [ns].

        Args:
            begin_ns: Log time to start from [ns]; None: that of the first message.
        """
        next_report, log_ns = 0, 0
        offset_ns = clock_offset_ns(self._recording, self.topics, begin_ns)
        self.run.clock_offset_ns = offset_ns
        for message in self._recording.unread(self.topics, begin_ns):
            log_ns = message.log_ns
            if self.hold_out_ns is not None and log_ns >= self.hold_out_ns:
                self.hold_out_ns = None
                if self._readers.inertial is not None:
                    self._readers.inertial.set_enabled(False)
            for take in self._takers[message.topic]:
                take(message.content, log_ns + offset_ns)
            self.counts[message.topic] += 1
            self._tick(log_ns + offset_ns)
            if log_ns >= next_report:
                yield log_ns
                next_report = log_ns + PROGRESS_NS
        for pipeline in self._nodes.values():
            self.run.health.extend(pipeline.health(log_ns + offset_ns))
        yield log_ns

    def _tick(self, now_ns: int) -> None:
        """Tick all pipelines, first the tilt pipeline, whose estimates are the base states of the others."""
        results: dict[str, Sequence[Any]] = {}
        for node, pipeline in self._nodes.items():
            begin_ns = time.perf_counter_ns()
            if not (estimates := pipeline.tick(now_ns)):
                continue
            spent_ns = (time.perf_counter_ns() - begin_ns) / len(estimates)
            self.run.tick_ns.setdefault(node, []).append(spent_ns)
            self._estimates[node].extend(estimates)
            results[node] = estimates
            for inputs in self._fed if node == TILT_NODE else ():
                for estimate in estimates:
                    inputs.push(BASE_STATE, estimate.state, now_ns)
        if self._watcher is not None and results:
            self._watcher.push_estimates(*(results.get(node, ()) for node in self._estimates))


def replay_recording(
    recording: Recording,
    topics: RecordedTopics,
    readers: ReplayReaders,
    *,
    robot: tuple[RobotSetup, RobotConfig] | None = None,
    start_s: float = 0.0,
    hold_out_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    watcher: ReplayWatcher | None = None,
) -> ReplayRun:
    """Replay a recording from a time on; see `Replay`.

    Args:
        recording: The recording.
        topics: Topics of the inputs.
        readers: The pipelines.
        robot: The robot and its parameters, with which the data are checked; None: they are not checked.
        start_s: Time from which on to replay, since the start of the recording [s].
        hold_out_s: Time from the start of the recording after which the inertial filter no longer learns
            [s]; None: never.
        progress: Called periodically with the replayed duration [s].
        watcher: Receives joint states and estimates during the replay; None: nobody does.

    Returns:
        The estimates and the times of their computation.

    Raises:
        RecordingError: If a topic is missing or of the wrong type, or if a topic has no message after the
            start and there is no estimate.
    """
    replay = Replay(recording, topics, readers, watcher)
    _check_times(recording, start_s, hold_out_s)
    begin_ns = recording.start_ns + round(start_s * NANOSECONDS)
    if hold_out_s is not None:
        replay.hold_out_ns = recording.start_ns + round(hold_out_s * NANOSECONDS)
    started = time.perf_counter()
    with no_cycle_collection():
        for log_ns in replay.steps(begin_ns):
            if progress is not None:
                progress(seconds(log_ns - begin_ns))
    run = replay.run
    run.checks = [] if robot is None else _checked(recording, topics, robot, begin_ns, readers.tilt)
    run.wall_s = time.perf_counter() - started
    run.data_s = seconds(recording.end_ns - begin_ns)
    times_ns = (recording.start_ns, begin_ns, recording.end_ns)
    run.start_ns, run.begin_ns, run.end_ns = (time_ns + run.clock_offset_ns for time_ns in times_ns)
    silent = [topic for topic in replay.topics if topic not in replay.counts]
    if silent and not (run.base or run.inertial or run.payload):
        raise RecordingError(f"no message on {listing(silent)} in '{recording.name}' after {start_s:g} s")
    return run


def _checked(
    recording: Recording,
    topics: RecordedTopics,
    robot: tuple[RobotSetup, RobotConfig],
    begin_ns: int,
    tilt: TiltPipeline | None,
) -> list[Finding]:
    """Return the findings of a diagnosis of the first part of a replay; none without joint states."""
    setup, config = robot
    try:
        span_ns = begin_ns, begin_ns + round(CHECKED_S * NANOSECONDS)
        sources = () if tilt is None else tilt.config.contact.source
        streams = read_streams(recording, topics, setup, config, span_ns, sources)
    except RecordingError:
        return []
    return [one for one in diagnose(streams, setup, config).findings if one.verdict is not Verdict.UNKNOWN]


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


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Pause the garbage collector, which would only traverse all stored estimates repeatedly."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
