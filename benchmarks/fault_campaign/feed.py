"""One case: messages into a pipeline in the order of arrival, ticks as a node makes them, all recorded."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.fault_campaign.messages import Message, Serialised, message_reader
from benchmarks.fault_campaign.pipelines import Adapter, Content
from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array, HealthLevel

IDLE_TICK_NS = 10_000_000  # between two ticks without a message
HEALTH_NS = 50_000_000
COUNTED_STEPS = 5
WARM_UP = 50  # first calls in a forked child, which pay for copies of the parent's pages


class Output(NamedTuple):
    """A result: when it was put out, the receiver's clock then and its own stamp [ns], and what is judged."""

    arrival_ns: int
    clock_ns: int
    stamp_ns: int
    estimate: Array
    content: Content


class HealthSample(NamedTuple):
    """Health at one time."""

    arrival_ns: int
    level: HealthLevel  # the worst that the operator has not requested
    text: str  # what is not OK, as name and message
    size: int  # length of all of it as text


@dataclass
class Record:
    """Everything seen of one case."""

    outputs: list[Output] = field(default_factory=list)
    health: list[HealthSample] = field(default_factory=list)
    escape: str = ""  # exception that left a push, a tick or the health, with its place
    longest_s: list[float] = field(default_factory=lambda: [0.0] * COUNTED_STEPS)  # processor time of steps


class Feed:
    """Feeds one pipeline, and records what it puts out and says."""

    def __init__(self, adapter: Adapter) -> None:
        """Start with nothing seen."""
        self.adapter, self.record = adapter, Record()
        self._push: dict[str, Any] = {}
        self._now_ns = self._health_ns = self._calls = 0
        self._offset_ns = 0  # clock less arrival

    def start_anew(self) -> None:
        """Forget what has been seen, in a child that has just been forked."""
        self.record, self._calls = Record(), 0

    def run(self, messages: Sequence[Message], until_ns: int | None = None) -> None:
        """Feed messages, and let time pass until the end [ns]; stops at an escape."""
        try:
            for message in messages:
                self._pass_until(message.arrival_ns)
                self._offset_ns = message.clock_ns - message.arrival_ns
                self._step(message)
            if until_ns is not None:
                self._pass_until(until_ns)
        except Exception as error:  # any: it would end the node
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = place.filename.rpartition("inertial_estimation/")[2]
            self.record.escape = f"{type(error).__name__}: {str(error)[:120]} ({name}:{place.lineno})"

    def _pass_until(self, arrival_ns: int) -> None:
        self._now_ns = self._now_ns or arrival_ns
        while arrival_ns - self._now_ns > IDLE_TICK_NS:
            self._now_ns += IDLE_TICK_NS
            self._step(None)
        self._now_ns = arrival_ns

    def _step(self, message: Message | None) -> None:
        """Push a message and tick, or only tick; sample the health now and then."""
        clock_ns = self._now_ns + self._offset_ns
        begin = time.process_time()
        if message is not None:
            self._pushed(message, clock_ns)
        results = self.adapter.pipeline.tick(clock_ns)
        duration_s = (time.process_time() - begin) / max(1, len(results))
        self._calls += 1
        if self._calls > WARM_UP:
            self.record.longest_s = sorted([*self.record.longest_s, duration_s], reverse=True)[:COUNTED_STEPS]
        for result in results:
            read = self.adapter
            judged = (read.stamp_ns(result), read.estimate(result), read.content(result))
            self.record.outputs.append(Output(self._now_ns, clock_ns, *judged))
        if self._now_ns >= self._health_ns:
            self._health_ns = self._now_ns + HEALTH_NS
            self.record.health.append(self._health(clock_ns))

    def _pushed(self, message: Message, clock_ns: int) -> None:
        """Push a value, or a message as a node does, which drops one that cannot be read."""
        push = self._push.get(message.stream)
        if push is None:
            push = self._push[message.stream] = self.adapter.push(message.stream)
        sample = message.sample
        if isinstance(sample, Serialised):
            try:
                sample = message_reader(sample.message_type)(sample.data)
            except MeasurementError:
                return
        push(sample, clock_ns)

    def _health(self, clock_ns: int) -> HealthSample:
        entries = self.adapter.pipeline.health(clock_ns)
        bad = [e for e in entries if e.level is not HealthLevel.OK and not e.requested]
        texts = [t for e in entries for t in (e.name, e.message, *e.values.keys(), *e.values.values())]
        level = max((e.level for e in bad), default=HealthLevel.OK)
        text = "; ".join(f"{e.name}: {e.message}" for e in bad)
        return HealthSample(self._now_ns, level, text, sum(map(len, texts)))
