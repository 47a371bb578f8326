"""Messages of a recording driven through the pipelines, one pipeline after the other by short stretches.

Each pipeline sees what it would see if every message were pushed into all of them, and all were ticked,
before the next message: the same readings, base states and ticks in the same order, since no pipeline depends
on a later one. It gets the messages of a stretch in a row because its instructions and numbers are then in
the caches of the processor, from which those of another pipeline would push them out with every message.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE
from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.estimators.inputs.message_run import MessageRun
from inertial_estimation.estimators.payload.payload_pipeline import TrunkPayloadPipeline
from inertial_estimation.estimators.tilt.tilt_pipeline import TiltPipeline
from inertial_estimation.recordings.marker_messages import MarkerPace
from inertial_estimation.recordings.recorded_message import RecordedMessage, RecordedSamples
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.replay.replay_lane import Made, MessageWay, PipelineLane, ReplayLane, Stretch
from inertial_estimation.replay.replay_run import ReplayRun
from inertial_estimation.replay.replay_watcher import ReplayWatcher
from inertial_estimation.replay.replay_ways import ways_into_checks, ways_into_fed, ways_into_tilt
from inertial_estimation.signals import NANOSECONDS, BaseEstimate

REPORT_NS = 200_000_000  # time of the recording between two reports of progress, and of the longest stretch
HEALTH_NS = NANOSECONDS  # between two reports of the health of the pipelines, as of the nodes
CLOCK_OFFSET_NS = 10_000_000_000  # log times further than this from the stamps are of another clock
LATE_NS = (0, 10_000_000, 20_000_000, 40_000_000, 60_000_000)  # behind the last message: let inputs wait


class ReplayReaders(NamedTuple):
    """What reads a recording: pipelines, and checks of the data; None for none."""

    tilt: TiltPipeline | None
    inertial: InertialPipeline | None
    payload: TrunkPayloadPipeline | None
    checks: DataChecks | None


class ReplayDriver:
    """Pushes messages and ticks the pipelines.

    Attributes:
        run_record: What has been made.
        hold_out_ns: Log time after which the inertial filter no longer learns [ns]; None: never.
        counts: Number of messages by topic.
    """

    def __init__(self, topics: RecordedTopics, readers: ReplayReaders) -> None:
        """Take what reads the recording.

        Args:
            topics: Topics of the inputs.
            readers: The pipelines and checks.
        """
        self.run_record = ReplayRun()
        self.hold_out_ns: int | None = None
        self.counts: Counter[str] = Counter()
        self._topics, self._readers = topics, readers
        self._loads_pace = MarkerPace()
        self._clock_offset_ns: int | None = None
        self._watcher: ReplayWatcher | None = None
        self._kept: dict[str, RecordedSamples[Any]] = {}
        tilt, inertial, payload, checks = readers
        every = {TILT_NODE: tilt, INERTIAL_NODE: inertial, PAYLOAD_NODE: payload}
        self._nodes = {node: pipeline for node, pipeline in every.items() if pipeline is not None}
        self._pipelines = self._pipeline_lanes()
        self._others = [] if checks is None else [ReplayLane(ways_into_checks(topics, checks))]
        self._read = {topic for lane in (*self._pipelines, *self._others) for topic in lane.ways}
        for contact, topic in topics.wrenches.items():
            self._kept[topic] = self.run_record.wrenches[contact] = RecordedSamples()
        if inertial is not None:
            self._kept[topics.joints] = self.run_record.efforts = RecordedSamples()

    def admit(self, watcher: ReplayWatcher) -> None:
        """Show the joint states and all estimates to a watcher."""
        self._watcher = watcher
        self._others.append(ReplayLane({self._topics.joints: [MessageWay(watcher.push_joints)]}))

    def run(self, messages: Iterator[RecordedMessage]) -> Iterator[int]:
        """Push and tick; yields the log time periodically, for progress."""
        next_report = log_ns = 0
        waiting: list[RecordedMessage] = []
        one_by_one = self._one_by_one
        for message in messages:
            if self._clock_offset_ns is None and not self._meet_clock(message):
                continue
            waiting.append(message)
            if message.log_ns < next_report and not one_by_one:
                continue
            log_ns, waiting = self._advance(waiting, log_ns), []
            one_by_one = self._one_by_one
            if log_ns >= next_report:
                self._report(log_ns)
                yield log_ns
                next_report = log_ns + REPORT_NS
        log_ns = self._advance(waiting, log_ns)
        for late_ns in LATE_NS:
            self._tick(self._now(log_ns + late_ns))
        for pipeline in self._nodes.values():
            self.run_record.health.extend(pipeline.health(self._now(log_ns)))
        yield log_ns

    @property
    def _one_by_one(self) -> bool:
        """Whether something happens between two messages that all pipelines see."""
        return self._watcher is not None or self.hold_out_ns is not None

    def _advance(self, messages: Sequence[RecordedMessage], log_ns: int) -> int:
        """Push some messages and tick after each; return the log time of the last one [ns].

        Args:
            messages: The messages.
            log_ns: Log time of the last message before [ns].
        """
        stretch, made = Stretch(messages, self._clock_offset_ns or 0), list[Made]()
        self._read_early(stretch)
        for lane in self._pipelines:
            made.append(lane.advance(stretch, made[0] if made else {}))
        for reader in self._others:
            reader.read(stretch)
        fitting = stretch.fitting
        self.counts.update([message.topic for message in fitting])
        for message in fitting:
            if message.topic in self._kept:
                self._kept[message.topic].append(message)
        if self._watcher is not None:
            for number in range(len(messages)):
                if number not in stretch.unfit:
                    self._watch(self._watcher, [own.get(number, ()) for own in made])
        return fitting[-1].log_ns if fitting else log_ns

    def _tick(self, now_ns: int) -> None:
        """Tick all pipelines at a time without a message [ns]."""
        made: list[Sequence[Any]] = []
        for lane in self._pipelines:
            made.append(lane.tick(now_ns, made[0] if made else ()))
        if self._watcher is not None:
            self._watch(self._watcher, made)

    def _read_early(self, stretch: Stretch) -> None:
        """Read the messages that no pipeline reads, and those whose stamp may be the end of learning."""
        for number, message in enumerate(stretch.messages):
            if self.hold_out_ns is None and message.topic in self._read:
                continue
            sample = stretch.read(number)
            if sample is not None:
                self._hold_out(stretch.now_ns(number), sample.stamp_ns)

    def _meet_clock(self, first: RecordedMessage) -> bool:
        """Detect whether log times and stamps come from one clock; return false without a stamp."""
        sample = first.read()
        if sample is None:
            return False
        offset = sample.stamp_ns - first.log_ns
        self._clock_offset_ns = offset if abs(offset) > CLOCK_OFFSET_NS else 0
        self.run_record.clock_offset_ns = self._clock_offset_ns
        return True

    def _hold_out(self, now_ns: int, stamp_ns: int) -> None:
        """End learning where it is time to, by the stamp of the next message."""
        if self.hold_out_ns is None or stamp_ns < self._now(self.hold_out_ns):
            return
        self.hold_out_ns = None
        if self._readers.inertial is not None:
            self._tick(now_ns)
            self._readers.inertial.set_enabled(False)

    def _report(self, log_ns: int) -> None:
        """Ask the pipelines how they are, as often as the nodes do."""
        now_ns, reports = self._now(log_ns), self.run_record.reports
        if reports and 0 <= now_ns - reports[-1][0] < HEALTH_NS:
            return
        for node, pipeline in self._nodes.items():
            reports.append((now_ns, node, pipeline.health(now_ns)))

    def _keep_loads(self, steps: Sequence[BaseEstimate]) -> None:
        """Keep the contacts of the newest estimate as often as the node draws them."""
        assert self._readers.tilt is not None
        stamp_ns = steps[-1].state.stamp_ns
        if self._loads_pace.due(stamp_ns):
            self.run_record.contact_loads.append((stamp_ns, self._readers.tilt.contact_loads))

    def _watch(self, watcher: ReplayWatcher, made: Sequence[Sequence[Any]]) -> None:
        """Show the estimates after a message, those of each pipeline."""
        by_node = dict(zip(self._nodes, made, strict=False))
        watcher.see(*(by_node.get(node, []) for node in (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)))

    def _now(self, log_ns: int) -> int:
        return log_ns + (self._clock_offset_ns or 0)

    def _pipeline_lanes(self) -> list[PipelineLane]:
        """Return the lanes of the pipelines, that of the tilt first."""
        run, topics, (tilt, inertial, payload, _checks) = self.run_record, self._topics, self._readers
        lanes: list[PipelineLane] = []
        if tilt is not None:
            ways, run_of = ways_into_tilt(topics, tilt), MessageRun(tilt.entries)
            record = run.base, run.tilt_tick_ns
            lanes.append(PipelineLane(ways, run_of, tilt.tick, record, see=self._keep_loads))
        recorded = tilt is None  # base states
        if inertial is not None:
            ways = ways_into_fed(topics, inertial, wrenches=True, base_state=recorded)
            push_base = None if recorded else inertial.push_base_state
            kept = run.inertial, run.inertial_tick_ns
            lanes.append(
                PipelineLane(
                    ways,
                    MessageRun(inertial.entries),
                    inertial.tick,
                    kept,
                    push_base=push_base,
                    stepper=inertial.stepper,
                )
            )
        if payload is not None:
            measured = payload.config.ground_forces == "measured"
            ways = ways_into_fed(topics, payload, wrenches=measured, base_state=recorded)
            push_base = None if recorded else payload.push_base_state
            lanes.append(
                PipelineLane(
                    ways,
                    MessageRun(payload.entries),
                    payload.tick,
                    (run.payload, run.payload_tick_ns),
                    push_base=push_base,
                    every_tick=True,  # time passes for it while joint states are missing
                )
            )
        return lanes
