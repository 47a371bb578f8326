"""One case: readings into a pipeline in the order of arrival, ticks as a node makes them, all recorded."""

import resource
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.fault_campaign.messages import message_reader
from benchmarks.fault_campaign.outputs import Adapter
from benchmarks.fault_campaign.readings import RawMessage, Reading
from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Health, HealthLevel

IDLE_TICK_NS = 10_000_000  # between two ticks without a message
HEALTH_NS = 50_000_000
COUNTED_STEPS = 5
WARM_UP = 50  # first calls in a forked child, which pay for copies of the parent's pages


@dataclass(frozen=True, slots=True, eq=False)
class Put:
    """A result: when it was put out, the receiver's clock then, its own stamp [ns], and what is judged."""

    arrival_ns: int
    clock_ns: int
    stamp_ns: int
    kept: Any


@dataclass(frozen=True, slots=True)
class HealthSample:
    """Health at one time.

    Attributes:
        arrival_ns: When [ns].
        level: The worst level that the operator has not requested.
        text: What is not OK, as name and message.
        size: Length of all of it as text.
    """

    arrival_ns: int
    level: HealthLevel
    text: str
    size: int


@dataclass
class Record:
    """Everything seen of one case.

    Attributes:
        puts: Results in order.
        health: Health, sampled.
        escape: Exception that left a push, a tick or the health, with its place; empty: none.
        longest_s: The longest steps, the longest first: processor time of a push with its tick, for each
            step it made [s].
        malformed: Messages refused by the conversion.
        memory_kb: Growth of the largest resident memory [kB].
    """

    puts: list[Put] = field(default_factory=list)
    health: list[HealthSample] = field(default_factory=list)
    escape: str = ""
    longest_s: list[float] = field(default_factory=lambda: [0.0] * COUNTED_STEPS)
    malformed: int = 0
    memory_kb: int = 0

    def note_duration(self, duration_s: float) -> None:
        """Keep it if it is among the longest."""
        if duration_s > self.longest_s[-1]:
            self.longest_s = sorted([*self.longest_s[:-1], duration_s], reverse=True)


class Feed:
    """Feeds one pipeline.

    Attributes:
        adapter: The pipeline with what reads its results.
        record: What has been seen so far.
    """

    def __init__(self, adapter: Adapter) -> None:
        """Start with nothing seen."""
        self.adapter = adapter
        self.record = Record()
        self._push: dict[str, Any] = {}
        self._read: dict[str, Any] = {}
        self._now_ns: int | None = None
        self._offset_ns = 0  # clock less arrival
        self._health_ns = 0
        self._calls = 0

    def start_anew(self) -> None:
        """Forget what has been seen, in a child that has just been forked."""
        self.record, self._calls = Record(), 0

    def run(self, readings: Sequence[Reading], until_ns: int | None = None) -> None:
        """Feed readings, and let time pass until the end [ns]; stops at an escape."""
        begin_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            for reading in readings:
                self._pass_until(reading.arrival_ns)
                self._take(reading)
            if until_ns is not None:
                self._pass_until(until_ns)
        except Exception as error:  # any: it would end the node
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = place.filename.rpartition("inertial_estimation/")[2]
            self.record.escape = f"{type(error).__name__}: {str(error)[:120]} ({name}:{place.lineno})"
        self.record.memory_kb += resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin_kb

    def _pass_until(self, arrival_ns: int) -> None:
        if self._now_ns is None:
            self._now_ns = self._health_ns = arrival_ns
        while arrival_ns - self._now_ns > IDLE_TICK_NS:
            self._now_ns += IDLE_TICK_NS
            self._timed(None, None)
            self._sample_health()
        self._now_ns = arrival_ns

    def _take(self, reading: Reading) -> None:
        self._offset_ns = reading.clock_ns - reading.arrival_ns
        push = self._push.get(reading.stream)
        if push is None:
            push = self._push[reading.stream] = self.adapter.push(reading.stream)
        self._timed(push, reading.sample)
        self._sample_health()

    def _timed(self, push: Any, sample: Any) -> None:
        assert self._now_ns is not None
        clock_ns = self._now_ns + self._offset_ns
        begin = time.process_time()
        if push is not None:
            value = self._value(sample)
            if value is not None:
                push(value)
        results = self.adapter.pipeline.tick(clock_ns)
        duration = (time.process_time() - begin) / max(1, len(results))
        self._calls += 1
        if self._calls > WARM_UP:
            self.record.note_duration(duration)
        for result in results:
            stamp = result.state.stamp_ns if hasattr(result, "tilt_B") else result.stamp_ns
            self.record.puts.append(Put(self._now_ns, clock_ns, stamp, self.adapter.keep(result)))

    def _value(self, sample: Any) -> Any:
        """Convert a raw message as a node does: one that is malformed is counted."""
        if not isinstance(sample, RawMessage):
            return sample
        read = self._read.get(sample.message_type)
        if read is None:
            read = self._read[sample.message_type] = message_reader(sample.message_type)
        try:
            return read(sample.data)
        except MeasurementError:
            self.record.malformed += 1
            return None

    def _sample_health(self) -> None:
        assert self._now_ns is not None
        if self._now_ns < self._health_ns:
            return
        self._health_ns = self._now_ns + HEALTH_NS
        entries = self.adapter.pipeline.health(self._now_ns + self._offset_ns)
        self.record.health.append(_sampled(self._now_ns, entries))


def _sampled(arrival_ns: int, entries: Sequence[Health]) -> HealthSample:
    bad = [e for e in entries if e.level is not HealthLevel.OK and not e.requested]
    size = sum(len(e.name) + len(e.message) for e in entries)
    size += sum(len(k) + len(v) for e in entries for k, v in e.values.items())
    level = max((e.level for e in bad), default=HealthLevel.OK)
    return HealthSample(arrival_ns, level, "; ".join(f"{e.name}: {e.message}" for e in bad), size)
