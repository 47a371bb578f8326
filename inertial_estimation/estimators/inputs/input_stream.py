"""One input stream: its rows by time, and counters of received and dropped readings."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.inputs.aligner_memory import (
    CONTESTED,
    DELAY_NS,
    KNOWN,
    LAST_NS,
    LONGEST_NS,
    LOWER,
    NEVER_ZERO,
    RECEIVED,
    REQUIRED,
    UPPER,
    AlignerMemory,
)
from inertial_estimation.estimators.inputs.clock_candidate import ClockCandidate
from inertial_estimation.estimators.inputs.row_entry import (
    IRREGULAR,
    STORED,
    accept_row,
    enter_row,
    store_row,
)
from inertial_estimation.estimators.inputs.stamped_buffer import CAPACITY, StampedBuffer
from inertial_estimation.estimators.inputs.stuck_sensors import Sensor
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.models.drop_reasons import DropCounts, DropReason
from inertial_estimation.models.input_ranges import RowRange
from inertial_estimation.models.stamp_regulator import StampRegulator
from inertial_estimation.signals import NANOSECONDS, Array, seconds

MOST_STEADY_STEP = 0.1  # of a position between two readings [rad or m]: 10 rad/s at 100 Hz


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input.

    Attributes:
        name: Its name, as in diagnostics (``imu/data``).
        width: Numbers in a row.
        delay: Age of a row at its stamp [s], subtracted from the stamp.
        required: Whether steps wait for it and its loss stops the output.
        range: Beyond which a row is dropped; None accepts every finite row.
        sensors: Those of which is reported that they are stuck.
        steady: Columns that change little from one reading to the next while the robot moves (positions), by
            which a step of the clock is told from a recording or simulation that begins anew; None: unknown.
    """

    name: str
    width: int
    delay: float = 0.0
    required: bool = True
    range: RowRange | None = None
    sensors: tuple[Sensor, ...] = ()
    steady: slice | None = None


class StreamClock:
    """Times of the rows of one input, and the reasons for which rows are refused.

    Attributes:
        spec: Properties of the input.
        regulator: Regularises stamps that come in bursts.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig) -> None:
        self.spec = spec
        self.regulator = StampRegulator(config.stamps)
        self.last_stamp_ns: int | None = None  # of the last stored row [ns]; None before the first
        self._delay_ns = round(spec.delay * NANOSECONDS)
        self._jump_ns = round(config.jump * NANOSECONDS)
        self._reset_on_jump = True

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
        self.last_stamp_ns = stamp_ns
        return self.regulator.time_of(stamp_ns) - self._delay_ns

    def restart(self) -> None:
        """Forget all stamps."""
        self.regulator.reset()
        self.last_stamp_ns = None


class InputStream:
    """Rows of one input, and counters of its readings.

    Attributes:
        spec: Properties of the input.
        number: Its number among the inputs of its aligner.
        regulator: Regularises stamps that come in bursts.
        buffer: The rows by time.
        drops: Number of dropped readings by reason.
        candidate: Readings whose stamps do not continue those before; None if there are none.
        remark: Returns what is doubtful about readings that are used, for people; empty where nothing is.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig, memory: AlignerMemory, number: int) -> None:
        """Begin without a row.

        Args:
            spec: Properties of the input.
            config: Limits and policies.
            memory: Memory of the aligner.
            number: Number of the input in it.
        """
        own = memory.streams[number]
        self.spec, self.number = spec, number
        self._memory, self._n = (memory.n, memory.s, memory.x), own.cells
        self.regulator = StampRegulator(config.stamps, 0.0, own.regulator)
        self.buffer = StampedBuffer(spec.width, CAPACITY, own.buffer)
        self.drops = DropCounts()
        self.candidate: ClockCandidate | None = None
        self.remark: Callable[[], str] = str
        self._jump_ns = round(config.jump * NANOSECONDS)
        self._n[DELAY_NS] = round(spec.delay * NANOSECONDS)
        self._n[LONGEST_NS] = min(round(config.max_gap * NANOSECONDS), self._jump_ns)
        self._n[REQUIRED] = spec.required
        everything = np.finfo(float).max
        limits = (-everything, everything) if spec.range is None else spec.range.limits
        own.numbers[LOWER], own.numbers[UPPER] = limits
        self._n[NEVER_ZERO] = 0 if spec.range is None else spec.range.never_zero

    @property
    def received(self) -> int:
        """Number of readings, those dropped included."""
        return int(self._n[RECEIVED])

    @property
    def last_stamp_ns(self) -> int | None:
        """Stamp of the last stored row [ns]; None before the first."""
        return self._n[LAST_NS] if self._n[KNOWN] else None

    def take(self, stamp_ns: int, row: Array) -> int:
        """Take a row: store it if it is usual; return what became of it, as `row_entry.accept`.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
        """
        return int(accept_row(stamp_ns, self.number, row, *self._memory))

    def append(self, stamp_ns: int, row: Array, *, any_step: bool = False) -> int:
        """Store a plausible row; return `STORED`, or `CLOCK` where its stamp has to be judged.

        Args:
            stamp_ns: Its stamp [ns].
            row: Its numbers, shape (width,).
            any_step: Whether its stamp needs no judgement.
        """
        longest_ns = -1 if any_step else 0 if self._n[CONTESTED] else self._n[LONGEST_NS]
        found = enter_row(stamp_ns, longest_ns, self.number, row, *self._memory)
        return int(found) if found != IRREGULAR else self.store(stamp_ns, row)

    def store(self, stamp_ns: int, row: Array) -> int:
        """Store a row whose stamp does not give its time; return `STORED`."""
        n, _, x = self._memory
        store_row(self.regulator.judged(stamp_ns), stamp_ns, self.number, row, n, x)
        return STORED

    def fault(self, row: Array) -> tuple[DropReason, str]:
        """Return why an implausible row must not be used, with an example."""
        found = None if self.spec.range is None else self.spec.range.fault(row)
        return found or (DropReason.NOT_FINITE, "")

    def receive(self) -> None:
        """Count a reading that has no row."""
        self._n[RECEIVED] += 1

    def drop(self, reason: DropReason, example: str = "") -> bool:
        """Count a dropped reading; return False, the result of its push."""
        self.drops.add(reason, example, after_ns=self.last_stamp_ns)
        return False

    def contest(self) -> None:
        """Drop the readings held on another clock, since the clock of this stream goes on."""
        if self.candidate is not None:
            self._drop_strays(self.candidate.contest())
            self._n[CONTESTED] = 0

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
            self._n[CONTESTED] = 1
            self._drop_strays(candidate.add(stamp_ns, row, others))
            return candidate
        self.contest()
        self.candidate, self._n[CONTESTED] = ClockCandidate(stamp_ns, row, others), 1
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
        self.candidate, self._n[CONTESTED] = None, 0
        return held

    def clear(self) -> None:
        """Forget all rows; counters stay."""
        self.buffer.clear()
        self.regulator.reset()
        self.candidate = None
        self._n[KNOWN] = self._n[CONTESTED] = 0

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
