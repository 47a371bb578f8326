"""One input stream: its rows by time, and counters of received and dropped readings."""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import integers
from inertial_estimation.estimators.inputs.clock_candidate import ClockCandidate
from inertial_estimation.estimators.inputs.followed_input import FollowedInput
from inertial_estimation.estimators.inputs.row_entry import (
    DELAY_NS,
    IRREGULAR,
    KNOWN,
    LAST_NS,
    SIZE,
    STORED,
    accept,
    enter,
)
from inertial_estimation.estimators.inputs.sensor_checks import Quantity
from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.models.drop_reasons import DropCounts, DropReason
from inertial_estimation.models.input_ranges import RowRange
from inertial_estimation.models.robot_config import InputConfig
from inertial_estimation.models.stamp_regulator import StampRegulator
from inertial_estimation.signals import NANOSECONDS, Array, Health, HealthLevel, seconds

__all__ = ["InputStream", "StreamClock", "StreamSpec"]

MOST_STEADY_STEP = 0.1  # of a position between two readings [rad or m]: 10 rad/s at 100 Hz
AHEAD_S = 0.5  # by which stamps may be ahead of the clock, as clocks of two machines are
OTHER_CLOCK_S = 3600.0  # age of a reading from which another clock is the likely cause


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input.

    Attributes:
        name: Its name, as in diagnostics (``imu/data``).
        width: Numbers in a row.
        delay: Age of a row at its stamp [s], subtracted from the stamp.
        required: Whether steps wait for it and its loss stops the output.
        range: Beyond which a row is dropped; None accepts every finite row.
        quantities: What its sensors measure, to recognise their faults; empty: they are not followed.
        steady: Columns that change little from one reading to the next while the robot moves (positions), by
            which a step of the clock is told from a recording or simulation that begins anew; None: unknown.
    """

    name: str
    width: int
    delay: float = 0.0
    required: bool = True
    range: RowRange | None = None
    quantities: tuple[Quantity, ...] = ()
    steady: slice | None = None


class StreamClock:
    """Times of the rows of one input, and the reasons for which rows are refused.

    Attributes:
        spec: Properties of the input.
        regulator: Regularises stamps that come in bursts.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig) -> None:
        self.spec = spec
        self.regulator = StampRegulator(config.stamps, config.nominal_rate)
        self._integers, self._n = integers(SIZE)
        self._n[DELAY_NS] = round(spec.delay * NANOSECONDS)
        self._jump_ns = round(config.jump * NANOSECONDS)
        self._reset_on_jump = config.on_jump == "reset"

    @property
    def last_stamp_ns(self) -> int | None:
        """Stamp of the last stored row [ns]; None before the first."""
        return self._n[LAST_NS] if self._n[KNOWN] else None

    def refusal(self, stamp_ns: int, row: Array) -> DropReason | None:
        """Return the reason for which a row is refused; None if it is stored, also after a clock jump.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
        """
        if not math.isfinite(row.dot(row)):
            return DropReason.NOT_FINITE
        last = self.last_stamp_ns
        if last is None:
            return None
        step = stamp_ns - last
        if step == 0:
            return DropReason.EQUAL_STAMP
        if step < 0 and not (step < -self._jump_ns and self._reset_on_jump):
            return DropReason.BACKWARD_STAMP
        return None

    def advance(self, stamp_ns: int) -> int:
        """Note the stamp of a stored row; return its time, the regularised stamp minus the delay [ns]."""
        self._n[LAST_NS], self._n[KNOWN] = stamp_ns, 1
        return int(self.regulator.time_of(stamp_ns) - self._n[DELAY_NS])

    def restart(self) -> None:
        """Forget all stamps."""
        self.regulator.reset()
        self._n[KNOWN] = 0


class InputStream(StreamClock):
    """Rows of one input, and counters of its readings.

    Attributes:
        buffer: The rows by time.
        received: Number of readings, those dropped included.
        drops: Number of dropped readings by reason.
        followed: What is followed of its sensors.
        candidate: Readings whose stamps do not continue those before; None if there are none.
        remark: What is doubtful about readings that are used, for people; empty where nothing is.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig) -> None:
        super().__init__(spec, config)
        self.buffer = StampedBuffer(spec.width)
        self.received = 0
        self.drops = DropCounts()
        self.candidate: ClockCandidate | None = None
        self.remark = ""
        self.followed = FollowedInput(spec.quantities, self._n)
        everything = np.finfo(float).max
        plausible = spec.range
        self._limits = (
            np.outer((-everything, everything), np.ones(spec.width))
            if plausible is None
            else plausible.limits
        )

    def take(self, stamp_ns: int, row: Array, longest_step_ns: int) -> int:
        """Take a row: store it if it is usual; return what became of it, as `row_entry.accept`.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
            longest_step_ns: Longest time since the last stored row that needs no judgement [ns].
        """
        followed, regulator, buffer = self.followed, self.regulator, self.buffer
        found = accept(
            stamp_ns,
            longest_step_ns,
            row,
            row if followed.last is None else followed.last,
            self._limits,
            followed.states,
            self._integers,
            regulator.integers,
            regulator.figures,
            buffer.times,
            buffer.rows,
        )
        return found if found != IRREGULAR else self._store(stamp_ns, row)

    def append(self, stamp_ns: int, row: Array, longest_step_ns: int = -1) -> int:
        """Store a row of a sound sensor; return what became of it, as `row_entry.enter`.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
            longest_step_ns: Longest time since the last stored row that needs no judgement [ns]; -1: any.
        """
        regulator, buffer = self.regulator, self.buffer
        found = enter(
            *(stamp_ns, longest_step_ns, row, self._integers),
            *(regulator.integers, regulator.figures, buffer.times, buffer.rows),
        )
        return found if found != IRREGULAR else self._store(stamp_ns, row)

    def _store(self, stamp_ns: int, row: Array) -> int:
        """Store a row whose stamp does not give its time."""
        self.buffer.append(self.regulator.judged(stamp_ns) - self._n[DELAY_NS], row)
        return STORED

    def fault(self, row: Array) -> tuple[DropReason, str]:
        """Return why an implausible row must not be used, with an example."""
        found = None if self.spec.range is None else self.spec.range.fault(row)
        return found or (DropReason.NOT_FINITE, "")

    def drop(self, reason: DropReason, example: str = "") -> bool:
        """Count a dropped reading; return False, the result of its push."""
        self.drops.add(reason, example, after_ns=self.last_stamp_ns)
        return False

    def drop_backward(self, step_ns: int) -> None:
        """Count a reading whose stamp is that of the one before, or earlier by a step [ns]."""
        if step_ns == 0:
            self.drop(DropReason.EQUAL_STAMP)
        else:
            self.drop(DropReason.BACKWARD_STAMP, f"{seconds(-step_ns):.3f} s back")

    def contest(self) -> None:
        """Drop the readings held on another clock, since the clock of this stream goes on."""
        if self.candidate is not None:
            self._drop_strays(self.candidate.contest())

    def hold(self, stamp_ns: int, row: Array, others: tuple[int | None, ...]) -> ClockCandidate:
        """Keep a reading whose stamp does not continue those before, until its clock is decided.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
            others: Last stamps of the other streams [ns].

        Returns:
            The candidate it belongs to.
        """
        candidate = self.candidate
        if candidate is not None and candidate.follows(stamp_ns, self._jump_ns):
            self._drop_strays(candidate.add(stamp_ns, row, others))
            return candidate
        self.contest()
        self.candidate = ClockCandidate(stamp_ns, row, others)
        return self.candidate

    @property
    def goes_on(self) -> bool:
        """Whether the first reading held on another clock continues the motion of the last one stored."""
        columns, newest = self.spec.steady, self.buffer.newest_ns
        if columns is None or newest is None or self.candidate is None or not self.candidate.held:
            return False
        last = self.buffer.latest(newest, 0)
        assert last is not None
        change = self.candidate.held[0][1][columns] - last[columns]
        return float(np.abs(change).max(initial=0.0)) < MOST_STEADY_STEP

    @property
    def candidate_step_ns(self) -> int:
        """Time from the last stamp to the first one on another clock [ns]; 0 where there is none."""
        if self.candidate is None or self.last_stamp_ns is None:
            return 0
        return self.candidate.first_ns - self.last_stamp_ns

    def take_candidate(self) -> list[tuple[int, Array]]:
        """Return stamps and rows held on another clock, which is forgotten as a candidate."""
        held = [] if self.candidate is None else self.candidate.held
        self.candidate = None
        return held

    def clear(self) -> None:
        """Forget all rows; counters stay."""
        self.buffer.clear()
        self.restart()
        self.candidate = None

    def _drop_strays(self, count: int) -> None:
        if not count or self.candidate is None or self.last_stamp_ns is None:
            return
        step = self.candidate.last_ns - self.last_stamp_ns
        reason = DropReason.FAR_AHEAD if step > 0 else DropReason.FAR_BACK
        side = "ahead" if step > 0 else "back"
        for _ in range(count):
            self.drop(reason, f"{abs(seconds(step)):.3f} s {side}")

    def age(self, now_ns: int) -> float | None:
        """Return the time since the stamp of the last stored row [s]; None before the first."""
        return None if self.last_stamp_ns is None else seconds(now_ns - self.last_stamp_ns)

    def silence(self, now_ns: int) -> float | None:
        """Return the time without a reading that can be used [s]; None before the first.

        It is the age of the last stored row, or longer where readings come on another clock, not yet decided.
        """
        age = self.age(now_ns)
        if age is None or self.candidate is None:
            return age
        return max(age, seconds(self.candidate.silence_ns))

    def health(self, now_ns: int, timeout: float, holding: str = "", doubt: str = "") -> Health:
        """Report whether the stream is waiting, lost, holding the output, losing rows, or in order.

        Args:
            now_ns: The caller's time [ns], on the clock of the stamps.
            timeout: Age beyond which a required input counts as lost [s].
            holding: Why the stream holds the output although it arrives; empty where it does not.
            doubt: Which number is doubtful although it is used; empty for none.
        """
        values = {"received": str(self.received)}
        values |= self.drops.values()
        period = self.regulator.period_ns
        values["rate [Hz]"] = f"{NANOSECONDS / period:.1f}" if period else "unknown"
        values["stamps"] = "regularised (they come in bursts)" if self.regulator.active else "as they come"
        name, age, silence = self.spec.name, self.age(now_ns), self.silence(now_ns)
        if age is None or silence is None:
            level = HealthLevel.STALE if self.spec.required else HealthLevel.OK
            if self.drops.total:
                return Health(name, max(level, HealthLevel.WARN), f"none usable: {self.drops.last}", values)
            return Health(name, level, "waiting for the first reading", values)
        values["age [s]"] = f"{age:.3f}"
        if silence > timeout and self.spec.required:
            message = f"lost: last reading {silence:.2f} s ago, limit {timeout:g} s"
            if age > OTHER_CLOCK_S:
                message += "; are its stamps of another clock (use_sim_time)?"
            if self.candidate is not None and self.candidate.held:
                side = "ahead" if self.candidate_step_ns > 0 else "back"
                message += (
                    f"; readings arrive with stamps {abs(seconds(self.candidate_step_ns)):.2f} s {side}"
                )
            elif self.drops.total and self.drops.after_ns == self.last_stamp_ns:
                message += f"; readings arrive but are dropped: {self.drops.last}"
            return Health(name, HealthLevel.ERROR, message, values)
        if holding:
            return Health(name, HealthLevel.ERROR, holding, values)
        if self.drops.recent(now_ns):
            message = f"{self.drops.total} of {self.received} readings dropped, last: {self.drops.last}"
            return Health(name, HealthLevel.WARN, message, values)
        remarks = [remark for remark in (self.remark, doubt) if remark]
        if age < -AHEAD_S:
            of = "are they of another one (use_sim_time)?"
            remarks.insert(0, f"its stamps are {-age:.2f} s ahead of the clock: {of}")
        if remarks:
            message = "; ".join(remarks)
            return Health(name, HealthLevel.WARN, message, values)
        return Health(name, HealthLevel.OK, "arriving", values)
