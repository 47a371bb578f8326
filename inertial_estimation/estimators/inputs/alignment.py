"""Aligns inputs by stamp: rows of several streams, interpolated at the stamps of one of them.

One stream, the driver, determines the times of the steps. A driver row waits until every required stream
has arrived up to its time; it is then emitted together with the other streams interpolated there. The module
reads no clock: the caller's `now_ns` is used only to decide whether a stream is stale.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.estimators.inputs.clock_judge import ClockJudge, Verdict
from inertial_estimation.estimators.inputs.input_stream import InputStream, StreamSpec
from inertial_estimation.estimators.inputs.row_entry import IMPLAUSIBLE, LOOK_AT, STORED
from inertial_estimation.estimators.inputs.sensor_monitor import SensorMonitor
from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.estimators.inputs.step_watch import StepWatch
from inertial_estimation.estimators.inputs.thinned_mean import ThinnedMean
from inertial_estimation.models.drop_reasons import DropReason
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.signals import NANOSECONDS, Array, Health, seconds

__all__ = ["CAUGHT_UP", "AlignedSample", "Continuity", "SignalAligner", "StreamSpec"]

PRESENT = np.zeros(0)  # in place of rows whose numbers nobody asks for
CAUGHT_UP = 3  # steps in addition to the readings that have come, where more have waited for an input


class Continuity(Enum):
    """Relation of a sample to the one before.

    Attributes:
        CONTINUOUS: The sample follows without a gap.
        AFTER_GAP: Every input was missing for longer than a jump, or the clock was set back. State that does
            not change during a gap (inertias, gyroscope bias) is still valid.
        RESTARTED: The sample is the first, or stamps went back and the driver does not show that the motion
            goes on (a recording or simulation begins anew); no earlier state is valid.
    """

    CONTINUOUS = "continuous"
    AFTER_GAP = "after a gap"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True, eq=False)
class AlignedSample:
    """All inputs at the time of one driver row.

    Attributes:
        stamp_ns: Stamp of the driver row as received [ns], which the outputs carry.
        time_ns: Regularised stamp minus the delay of the driver [ns], over which the pipelines integrate.
        driver_row: Mean of the driver rows since the last step, shape (width,); empty without `numbers`.
        rows: Row of each other stream at that time; None where missing (not arrived, or in a gap); empty
            without `numbers`.
        continuity: Relation to the sample before.
        complete: Whether no required stream is missing.
    """

    stamp_ns: int
    time_ns: int
    driver_row: Array
    rows: Mapping[str, Array | None]
    continuity: Continuity
    complete: bool


_aligned = made_of_checked(AlignedSample)


@dataclass(slots=True)
class _Limits:
    """Limits of `InputConfig`, and half of the window, in the units of stamps; what steps carry."""

    timeout: float  # [s]; it may be changed
    max_gap_ns: int
    max_wait_ns: int
    jump_ns: int
    reset_on_jump: bool
    half_window_ns: int
    numbers: bool

    @classmethod
    def of(cls, config: InputConfig, half_window: float, *, numbers: bool) -> "_Limits":
        return cls(
            config.timeout,
            round(config.max_gap * NANOSECONDS),
            round(config.max_wait * NANOSECONDS),
            round(config.jump * NANOSECONDS),
            config.on_jump == "reset",
            round(half_window * NANOSECONDS),
            numbers,
        )


class SignalAligner:
    """Buffers streams and emits them aligned.

    Attributes:
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
        self.limits = _Limits.of(config, half_window, numbers=numbers)
        self._streams = {spec.name: InputStream(spec, config) for spec in (driver, *others)}
        self._driver = self._streams[driver.name]
        self._required = [self._streams[spec.name] for spec in others if spec.required]
        self._awaited: InputStream | None = None  # no step is ready before a row of it, or of the driver
        self._changed = True  # whether one has come
        self._pending: deque[tuple[int, int]] = deque()
        self._seen = 0  # rows of the driver received before the last `pop_ready`
        self._monitor = SensorMonitor([stream.followed for stream in self._streams.values()])
        self._judge = ClockJudge((self._driver, *self._required), config)
        self._watch = StepWatch(self._driver, self._required, config, self.limits.half_window_ns)
        self._mean = ThinnedMean(driver.width if numbers else 0, rate)
        self._continuity = Continuity.RESTARTED
        self.resets = 0

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
        target.received += 1
        contested = target.candidate is not None and bool(target.candidate.held)
        found = target.take(stamp_ns, row, 0 if contested else self._judge.step_ns)
        if found == IMPLAUSIBLE:
            return target.drop(*target.fault(row))
        if found == LOOK_AT:
            sensor = self._monitor.fault(target.followed, row)
            if sensor:
                return target.drop(DropReason.SENSOR_FAULT, sensor)
            found = target.append(stamp_ns, row, 0 if contested else self._judge.step_ns)
        else:
            target.followed.passed(row)
        if found == STORED:
            self._stored(target, stamp_ns)
            return True
        return self._judge_clock(target, stamp_ns, row)

    def count_drop(self, stream: str, reason: DropReason, example: str = "") -> None:
        """Count a reading that could not be converted to a row (missing joint, wrong length).

        Args:
            stream: Name of the stream.
            reason: Why it is dropped.
            example: What is wrong with it, for people.
        """
        self._streams[stream].received += 1
        self._streams[stream].drop(reason, example)

    def remark(self, stream: str, text: str) -> None:
        """Set what is doubtful about the readings of a stream although they are used; empty: nothing."""
        self._streams[stream].remark = text

    def pop_ready(self) -> list[AlignedSample]:
        """Return the steps that are ready, in order of time.

        Steps that have waited, for an input that was late or for a clock that had to show itself, are caught
        up with over several calls: each returns at most `CAUGHT_UP` more than readings of the driver have
        come since the call before, so that no call takes many periods.
        """
        ready: list[AlignedSample] = []
        received = self._driver.received
        if not self._changed:
            self._seen = received
            return ready
        most, self._seen = received - self._seen + CAUGHT_UP, received
        self._changed = False
        while self._pending:
            if not most:
                self._changed = True
                break
            stamp_ns, time_ns = self._pending[0]
            if not self._arrived(time_ns):
                break
            self._pending.popleft()
            sample = self._step(stamp_ns, time_ns)
            if sample is not None:
                ready.append(sample)
                most -= sample.complete
        return ready

    def latest(self, stream: str, time_ns: int, max_age: float) -> Array | None:
        """Return the newest row of a stream at or before a time, None where older than `max_age` [s]."""
        return self._streams[stream].buffer.latest(time_ns, round(max_age * NANOSECONDS))

    def buffer(self, stream: str) -> StampedBuffer:
        """Return the rows of a stream, for windows of them."""
        return self._streams[stream].buffer

    def clear(self) -> None:
        """Forget all rows, as for a restart; counters stay."""
        for stream in self._streams.values():
            stream.clear()
        self._monitor.clear()
        self._pending.clear()
        self._mean.clear()
        self._watch.clear()
        self._awaited, self._changed = None, True
        self._continuity = Continuity.RESTARTED

    def missing(self, now_ns: int) -> list[str]:
        """Name the required streams that never arrived, are older than the timeout, or hold the output."""
        limit = self.limits.timeout
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
            One entry per stream: waiting, lost, holding the output, losing rows, or in order.
        """
        timeout = self.limits.timeout
        holding = self._watch.holding(timeout)
        return [
            stream.health(now_ns, timeout, holding.get(name, ""), stream.followed.doubt)
            for name, stream in self._streams.items()
        ]

    @property
    def sensor_faults(self) -> tuple[int, int]:
        """Readings dropped until now for a fault of their sensor, with remarks, and inputs doubtful now."""
        noted = doubtful = 0
        for stream in self._streams.values():
            noted += stream.drops.count(DropReason.SENSOR_FAULT) + bool(stream.remark)
            doubtful += bool(stream.followed.doubt)
        return noted, doubtful

    def _judge_clock(self, target: InputStream, stamp_ns: int, row: Array) -> bool:
        """Use a row whose stamp does not continue those before, or is contested, if it shows to be right."""
        last = target.last_stamp_ns
        if last is None or 0 < stamp_ns - last <= self._judge.step_ns:
            target.contest()
            target.append(stamp_ns, row)
            self._stored(target, stamp_ns)
            return True
        return self._follow_clock(target, self._judge.judge(target, stamp_ns, row))

    def _stored(self, target: InputStream, stamp_ns: int) -> None:
        """Note that a row has been stored."""
        if target is self._driver:
            newest = target.buffer.newest_ns
            assert newest is not None
            self._pending.append((stamp_ns, newest))
            self._watch.begin(stamp_ns)
            self._changed = True
        elif target is self._awaited:
            self._changed = True

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
                stream.append(stamp_ns, row)
                self._stored(stream, stamp_ns)
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
            self._pending.clear()
            self._mean.clear()
            self._watch.clear()
            self._continuity = Continuity.AFTER_GAP if begun else Continuity.RESTARTED

    def _arrived(self, time_ns: int) -> bool:
        horizon = time_ns + self.limits.half_window_ns
        newest_driver = self._driver.buffer.newest_ns
        if newest_driver is None or newest_driver < horizon:
            return False
        if newest_driver - horizon >= self.limits.max_wait_ns:
            return True
        for stream in reversed(self._required):  # the last to come completes a step
            newest = stream.buffer.newest_ns
            if newest is None or newest < horizon:
                self._awaited = stream
                return False
        return True

    def _step(self, stamp_ns: int, time_ns: int) -> AlignedSample | None:
        row = _row(self._driver, time_ns, self.limits)
        if row is None:  # overwritten in the buffer while the step was waiting
            self._driver.drop(DropReason.OVERRUN)
            return None
        mean = self._mean.push(time_ns, row)
        if mean is None:
            return None
        continuity, self._continuity = self._continuity, Continuity.CONTINUOUS
        rows, complete = {}, True
        for stream in self._required:
            rows[stream.spec.name] = row = _row(stream, time_ns, self.limits)
            complete = complete and row is not None
        if complete:
            self._watch.note(stamp_ns)
        return _aligned(stamp_ns, time_ns, mean, rows, continuity, complete)


def _row(stream: InputStream, time_ns: int, limits: _Limits) -> Array | None:
    """Return the row of a stream at a time; None where there is none."""
    if limits.numbers:
        return stream.buffer.at(time_ns, limits.max_gap_ns)
    return PRESENT if stream.buffer.holds(time_ns, limits.max_gap_ns) else None
