"""Aligns inputs by stamp: rows of several streams, interpolated at the stamps of one of them.

One stream, the driver, determines the times of the steps. A driver row waits until every required stream
has arrived up to its time; it is then emitted together with the other streams interpolated there. The module
reads no clock: the caller's `now_ns` is used only to decide whether a stream is stale.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inputs.aligned_sample import (
    AlignedSample,
    Continuity,
    SampleLayout,
    aligned_sample,
)
from inertial_estimation.estimators.inputs.aligner_memory import (
    CHANGED,
    COMPLETE,
    FOUND,
    PENDING,
    RECEIVED,
    SEEN,
    STEP_STAMP_NS,
    STEP_TIME_NS,
    AlignerMemory,
)
from inertial_estimation.estimators.inputs.clock_judge import ClockJudge, Verdict
from inertial_estimation.estimators.inputs.input_stream import InputStream, StreamSpec
from inertial_estimation.estimators.inputs.ready_steps import OVERRUN, WAITING, all_present, next_step
from inertial_estimation.estimators.inputs.row_entry import CLOCK, IMPLAUSIBLE, IRREGULAR, STORED
from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.estimators.inputs.step_watch import StepWatch
from inertial_estimation.estimators.inputs.stream_health import stream_health
from inertial_estimation.estimators.inputs.stuck_sensors import StuckSensors
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.signals import NANOSECONDS, Array, Health, seconds

CAUGHT_UP = 3  # steps in addition to the readings that have come, where more have waited for an input


@dataclass(slots=True)
class _Limits:
    """Limits of `InputConfig`, and half of the window, in the units of stamps."""

    timeout: float  # [s]; it may be changed
    max_wait_ns: int
    jump_ns: int
    reset_on_jump: bool
    half_window_ns: int

    @classmethod
    def of(cls, config: InputConfig, half_window: float) -> "_Limits":
        return cls(
            config.timeout,
            round(config.max_wait * NANOSECONDS),
            round(config.jump * NANOSECONDS),
            True,
            round(half_window * NANOSECONDS),
        )


class SignalAligner:
    """Buffers streams and emits them aligned.

    Attributes:
        memory: Where compiled functions find what is known of the streams.
        resets: Number of times that a jump of stamps has cleared the buffers.
        limits: Of the inputs; `timeout`, the age beyond which an input counts as lost [s], may be changed.
    """

    def __init__(
        self,
        driver: StreamSpec,
        others: tuple[StreamSpec, ...],
        config: InputConfig,
        *,
        rate: float = 0.0,
        half_window: float = 0.0,
        numbers: bool = True,
    ) -> None:
        """Set up the streams.

        Args:
            driver: Stream whose rows set the steps.
            others: Streams aligned to it.
            config: Limits and policies.
            rate: Highest rate of steps [Hz]; driver rows in between are averaged. 0 makes every row a step.
            half_window: Time beyond a step up to which streams must have arrived [s], for windows of rows.
            numbers: Whether steps carry the numbers of the rows; else only which of them there are.
        """
        specs = (driver, *others)
        self.limits = _Limits.of(config, half_window)
        self.memory = AlignerMemory([spec.width for spec in specs])
        self._streams = {
            spec.name: InputStream(spec, config, self.memory, number) for number, spec in enumerate(specs)
        }
        self._driver = self._streams[driver.name]
        self._required = [self._streams[spec.name] for spec in others if spec.required]
        self._driver_cells = self.memory.streams[0].cells
        self._stuck = StuckSensors({spec.name: spec.sensors for spec in specs if spec.sensors})
        self._judge = ClockJudge((self._driver, *self._required), config)
        self._watch = StepWatch(
            self._driver, self._required, config, self.limits.half_window_ns, self.memory.cells
        )
        self._layout = SampleLayout.of(driver, [stream.spec for stream in self._required], numbers=numbers)
        self._out = np.empty(self._layout.width)
        self._continuity = Continuity.RESTARTED
        self.resets = 0
        self.memory.set_limits(config, half_window, rate, numbers=numbers)
        warm_up()

    def push(self, stream: str, stamp_ns: int, row: Array) -> bool:
        """Add one row of a stream.

        Args:
            stream: Name of the stream.
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).

        Returns:
            Whether the row was stored; a dropped row is counted by reason.
        """
        target = self._streams[stream]
        found = target.take(stamp_ns, row)
        return found == STORED or self.judge(target, found, stamp_ns, row)

    def judge(self, target: InputStream, found: int, stamp_ns: int, row: Array) -> bool:
        """Judge a row that is not usual; it is stored, held, or dropped and counted by reason.

        Args:
            target: Its stream.
            found: What `row_entry.accept` has found.
            stamp_ns: Its stamp [ns].
            row: Its numbers, which may be kept, shape (width,).

        Returns:
            Whether the row was stored.
        """
        if found == IMPLAUSIBLE:
            return target.drop(*target.fault(row))
        if found == IRREGULAR:
            found = target.store(stamp_ns, row)
        return self._judge_clock(target, stamp_ns, row) if found == CLOCK else True

    def count_drop(self, stream: str, reason: DropReason, example: str = "") -> None:
        """Count a reading that could not be converted to a row (missing joint, wrong length).

        Args:
            stream: Name of the stream.
            reason: Why it is dropped.
            example: What is wrong with it, for people.
        """
        self._streams[stream].receive()
        self._streams[stream].drop(reason, example)

    def pop_ready(self) -> list[AlignedSample]:
        """Return the steps that are ready, in order of time.

        Steps that have waited, for an input that was late or for a clock that had to show itself, are caught
        up with over several calls: each returns at most `CAUGHT_UP` more than readings of the driver have
        come since the call before, so that no call takes many periods.
        """
        cells, received = self.memory.cells, self._driver_cells[RECEIVED]
        most, cells[SEEN] = received - cells[SEEN] + CAUGHT_UP, received
        ready: list[AlignedSample] = []
        if not cells[CHANGED]:
            return ready
        cells[CHANGED] = 0
        while cells[PENDING]:
            if not most:
                cells[CHANGED] = 1
                return ready
            found = next_step(self.memory.n, self.memory.x, self._out)
            if found == WAITING:
                return ready
            if found == OVERRUN:
                self._driver.drop(DropReason.OVERRUN)
            else:
                ready.append(self._step())
                most -= cells[COMPLETE]
        return ready

    def latest(self, stream: str, time_ns: int, max_age: float) -> Array | None:
        """Return the newest row of a stream at or before a time, None where older than `max_age` [s]."""
        return self._streams[stream].buffer.latest(time_ns, round(max_age * NANOSECONDS))

    def stream(self, name: str) -> InputStream:
        """Return one of the streams."""
        return self._streams[name]

    def buffer(self, stream: str) -> StampedBuffer:
        """Return the rows of a stream, for windows of them."""
        return self._streams[stream].buffer

    def clear(self) -> None:
        """Forget all rows, as for a restart; counters stay."""
        for stream in self._streams.values():
            stream.clear()
        self.memory.clear_steps()
        self._continuity = Continuity.RESTARTED

    def missing(self, now_ns: int) -> list[str]:
        """Name the required streams that never arrived, are older than the timeout, or hold the output."""
        limit = self.limits.timeout
        if all_present(now_ns, limit, self._watch.usual_wait_ns, self.memory.n):
            return []
        watched = (self._driver, *self._required)
        holding = self._watch.holding(limit)
        return [
            s.spec.name
            for s in watched
            if (silence := s.silence(now_ns)) is None or silence > limit or s.spec.name in holding
        ]

    def is_stale(self, sample: AlignedSample, now_ns: int) -> bool:
        """Return whether a step is older than one that has waited for all that a step may wait for.

        It may be as late as a fresh reading, and wait for the window and for late inputs.
        """
        limits = self.limits
        waits_ns = limits.max_wait_ns + limits.half_window_ns
        return now_ns - sample.stamp_ns > limits.timeout * NANOSECONDS + waits_ns

    def health(self, now_ns: int) -> list[Health]:
        """Report the state of each stream.

        Args:
            now_ns: The caller's time [ns], on the clock of the stamps.

        Returns:
            One entry per stream: waiting, lost, holding the output, losing rows, doubtful, or in order.
        """
        timeout = self.limits.timeout
        holding = self._watch.holding(timeout)
        stuck = self._stuck.found({name: stream.buffer for name, stream in self._streams.items()})
        return [
            stream_health(stream, now_ns, timeout, holding.get(name, ""), stuck.get(name, ""))
            for name, stream in self._streams.items()
        ]

    @property
    def sensor_faults(self) -> int:
        """Number of readings dropped until now for a fault of their sensor, and of inputs remarked on now."""
        return sum(
            stream.drops.count(DropReason.SENSOR_FAULT) + bool(stream.remark())
            for stream in self._streams.values()
        )

    def _judge_clock(self, target: InputStream, stamp_ns: int, row: Array) -> bool:
        """Use a row whose stamp does not continue those before, or is contested, if it shows to be right."""
        last = target.last_stamp_ns
        if last is None or 0 < stamp_ns - last <= self._judge.step_ns:
            target.contest()
            target.append(stamp_ns, row, any_step=True)
            return True
        return self._follow_clock(target, self._judge.judge(target, stamp_ns, row))

    def _follow_clock(self, target: InputStream, verdict: Verdict) -> bool:
        """Use the held readings of one stream, or of all of them, if they show where its clock is."""
        if verdict is Verdict.HELD:
            return False
        everything = verdict is Verdict.ALL
        moved = [s for s in self._streams.values() if s is target or (everything and s.candidate is not None)]
        steps = {stream.spec.name: stream.candidate_step_ns for stream in moved}
        goes_on = self._driver.goes_on
        held = [(stream, stream.take_candidate()) for stream in moved]
        jumped = [s for s in moved if not 0 < steps[s.spec.name] <= self.limits.jump_ns]
        if verdict is not Verdict.REJOINS:
            for stream in jumped:
                stream.drop(DropReason.CLOCK_JUMP, f"{seconds(steps[stream.spec.name]):+.3f} s")
        if everything and target in jumped:
            self._discard(None, back=steps[target.spec.name] < -self.limits.jump_ns and not goes_on)
        else:
            for stream in jumped:
                self._discard(stream, back=False)
        for stream, readings in held:
            for stamp_ns, row in readings:
                stream.append(stamp_ns, row, any_step=True)
        return True

    def _discard(self, target: InputStream | None, *, back: bool) -> None:
        """Discard the rows of a stream whose clock has jumped, or of all (None); state stays by `on_jump`."""
        moved = list(self._streams.values()) if target is None else [target]
        if not self.limits.reset_on_jump:
            for stream in moved:
                stream.regulator.reset()
            return
        begun = self._continuity is not Continuity.RESTARTED
        if target is None:
            self.clear()
            self._continuity = Continuity.AFTER_GAP if begun and not back else Continuity.RESTARTED
            self.resets += 1
            return
        target.clear()
        if target is self._driver:
            self.memory.clear_steps()
            self._continuity = Continuity.AFTER_GAP if begun else Continuity.RESTARTED

    def _step(self) -> AlignedSample:
        """Return the step that is ready."""
        cells, out, layout = self.memory.cells, self._out, self._layout
        continuity, self._continuity = self._continuity, Continuity.CONTINUOUS
        rows: Mapping[str, Array | None]
        if layout.width:
            self._out = np.empty(layout.width)
        if cells[COMPLETE] and not layout.width:
            rows = layout.nothing
        elif cells[COMPLETE]:
            rows = {name: out[columns] for name, columns in layout.columns}
        else:
            found = [self.memory.streams[stream.number].cells[FOUND] for stream in self._required]
            rows = {n: out[c] if there else None for (n, c), there in zip(layout.columns, found, strict=True)}
        stamp_ns, time_ns, complete = cells[STEP_STAMP_NS], cells[STEP_TIME_NS], bool(cells[COMPLETE])
        return aligned_sample(stamp_ns, time_ns, out[layout.driver], rows, continuity, complete)
