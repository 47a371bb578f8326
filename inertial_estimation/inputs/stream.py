"""One input: plausibility and time of each reading, the ring buffer of its rows, counts of what is dropped.

Every reading passes through `Stream.push`: impossible ones are dropped (`RowRange`), stamps that do not
follow the previous one are compared with the clocks of the other inputs (`ClockGroup`), and the row is stored
at its time of measurement (`inputs/clocks.py`).
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.clocks import BLOCK_NS, OddStamps, StreamClock, Times
from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.signals import NANOSECONDS, Array, seconds

REPORTED_NS = 10 * NANOSECONDS  # time for which a drop is reported by diagnostics, whose rate is low
Columns: TypeAlias = slice | NDArray[np.int64]  # of a row
NONE = slice(0)
CAPACITY = 2048  # rows that are kept, of accepted and of rejected ones each
UNSET = "its stamps are zero (not set), so the times of arrival are used: set inputs.stamps: arrival"
PERIODIC = 20  # readings without a gap, after which further ones are expected at the same rate


class DropReason(Enum):
    """Why a reading is dropped; diagnostics show the value."""

    NOT_FINITE = "not finite"
    OUT_OF_RANGE = "out of range"
    CONTRADICTION = "contradiction"  # joint positions do not follow from the velocities of the messages
    NO_VELOCITY = "no velocity yet"  # there are too few positions from which to derive it
    ZERO_STAMP = "stamp is zero (not set)"  # although earlier stamps were set
    EQUAL_STAMP = "equal stamp"  # stamp and values of the previous reading
    BACKWARD_STAMP = "backward stamp"  # shortly before the stamp of the previous reading
    STRAY_STAMP = "stray stamp"  # far from the stamps of the readings before and after it
    OVERRUN = "overrun"  # the buffer was full before a step could use it
    UNUSABLE = "unusable message"  # damaged, or with names, lengths or fields that do not fit
    NO_DIRECTION = "quaternion without direction"


Fault = tuple[DropReason, str]  # why a reading is dropped, and an example as text


class Drops:
    """Counts of dropped readings by reason, with the latest example of each; bounded in memory."""

    def __init__(self) -> None:
        self.total = self.arrival_ns = 0  # number of dropped readings; arrival of the last one [ns]
        self.counts: dict[DropReason, int] = {}
        self.examples: dict[DropReason, str] = {}
        self.last: DropReason | None = None

    def add(self, reason: DropReason, example: str, arrival_ns: int, count: int = 1) -> None:
        """Count dropped readings."""
        self.total += count
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.last, self.arrival_ns = reason, arrival_ns
        if example:
            self.examples[reason] = example

    @property
    def summary(self) -> str:
        """Reason of the last dropped reading with its example, as text; empty before the first."""
        return "" if self.last is None else self.said(self.last)

    def said(self, reason: DropReason) -> str:
        """Return a reason with its latest example, as text."""
        example = self.examples.get(reason, "")
        return f"{reason.value}: {example}" if example else reason.value

    def values(self) -> dict[str, str]:
        """Return counts and examples by name, for diagnostics."""
        counts = {f"dropped: {reason.value}": str(n) for reason, n in self.counts.items()}
        return counts | {f"last {reason.value}": text for reason, text in self.examples.items()}


class RowRange:
    """Smallest and largest possible value of each entry of a row, with its name and unit."""

    def __init__(
        self, low: Array, high: Array, names: list[str], units: list[str], lack: Columns = NONE
    ) -> None:
        """Take bounds, names and units of the entries, and the columns that may be NaN (not measured)."""
        self._lower, self._upper, self._names, self._units = low, high, names, units
        self._optional = lack
        least = float(np.minimum(-low, high).min(initial=np.inf))
        self.within = least * abs(least)  # rows with a smaller squared norm are certainly inside

    def fault(self, row: Array) -> Fault | None:
        """Return why a row of shape (width,) is impossible; None where it is possible."""
        inside = (row >= self._lower) & (row <= self._upper)
        if np.count_nonzero(inside) == len(row):
            return None
        inside[self._optional] |= np.isnan(row[self._optional])
        if inside.all():
            return None
        which = int(inside.argmin())
        if not np.isfinite(row[which]):
            return DropReason.NOT_FINITE, f"{self._names[which]} is {row[which]}"
        limit = (self._upper if row[which] > self._upper[which] else self._lower)[which]
        what = f"{self._names[which]} is {row[which]:.4g} {self._units[which]}".rstrip()
        return DropReason.OUT_OF_RANGE, f"{what}, limit {limit:.4g}"


def vector_range(*quantities: tuple[str, str, float]) -> RowRange:
    """Return the range of 3-D vectors, given the name, unit and largest component of each."""
    upper = np.repeat([limit for _name, _unit, limit in quantities], 3)
    names = [f"{name} {axis}" for name, _unit, _limit in quantities for axis in "xyz"]
    return RowRange(-upper, upper, names, [unit for _name, unit, _limit in quantities for _ in range(3)])


def number_range(lower: float, upper: float, name: str, unit: str = "", count: int = 1) -> RowRange:
    """Return the range of several entries with the same bounds."""
    return RowRange(np.full(count, lower), np.full(count, upper), [name] * count, [unit] * count)


class Ring:
    """Buffer of rows in order of time, at indices `begin` to `end` of its arrays; drops the oldest ones."""

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self.times: Times = np.zeros(2 * capacity, dtype=np.int64)  # of measurement [ns]
        self.stamps: Times = np.zeros(2 * capacity, dtype=np.int64)  # carried by outputs [ns]
        self.rows: Array = np.zeros((2 * capacity, width))
        self.time, self.stamp = self.times.data, self.stamps.data  # memory views: faster for single entries
        self._weights = np.zeros(2)  # of interpolation
        self._capacity, self.begin, self.end = capacity, 0, 0
        self.newest_ns: int | None = None  # time of the newest row [ns]; None while empty
        self.total = self.clears = 0  # number of rows ever appended; how often the buffer was cleared

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def moved(self) -> int:
        """Number of rows before index zero: a row at an index is number index + moved of all appended."""
        return self.total - self.end

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Append a row."""
        begin, end = self.begin, self.end
        if end == 2 * self._capacity:
            for array in (self.times, self.stamps, self.rows):
                array[: end - begin] = array[begin:end]
            self.begin, end = 0, end - begin
        self.time[end], self.stamp[end], self.rows[end] = time_ns, stamp_ns, row
        self.newest_ns = time_ns
        self.end = end + 1
        self.total += 1
        if end >= self.begin + self._capacity:
            self.begin += 1

    def clear(self) -> None:
        """Discard all rows."""
        self.begin = self.end = 0
        self.newest_ns, self.clears = None, self.clears + 1

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly at a time [ns] between rows that are at most `max_gap_ns` apart.

        Returns:
            The row, shape (width,); None if the time is outside the buffer or in a longer gap.
        """
        t, begin, end = self.time, self.begin, self.end
        low = end - 2  # most steps lie between the two newest rows
        if low < begin or t[low] > time_ns or t[end - 1] <= time_ns:
            low = bisect_right(t, time_ns, begin, end) - 1
        if low < begin:
            return None
        before = t[low]
        if before == time_ns:
            same: Array = self.rows[low].copy()
            return same
        if low + 1 == end or t[low + 1] - before > max_gap_ns:
            return None
        weight = (time_ns - before) / (t[low + 1] - before)
        self._weights[0], self._weights[1] = 1.0 - weight, weight
        between: Array = self._weights.dot(self.rows[low : low + 2])
        return between

    def latest(self, time_ns: int, max_age_ns: int) -> Array | None:
        """Return the newest row at or before a time [ns]; None if it is older than `max_age_ns`."""
        index = bisect_right(self.time, time_ns, self.begin, self.end) - 1
        if index < self.begin or time_ns - self.time[index] > max_age_ns:
            return None
        row: Array = self.rows[index].copy()
        return row

    def window(self, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), in a closed interval, as views."""
        low = bisect_left(self.time, begin_ns, self.begin, self.end)
        high = bisect_right(self.time, end_ns, low, self.end)
        return self.times[low:high], self.rows[low:high]

    def newest(self, count: int) -> tuple[Times, Array]:
        """Return times [ns] and rows of at most `count` newest rows, as views."""
        low = max(self.begin, self.end - count)
        return self.times[low : self.end], self.rows[low : self.end]


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input."""

    name: str  # as in diagnostics (imu/data)
    width: int  # entries of a row
    range: RowRange  # outside of which a row is dropped
    delay: float = 0.0  # age of a row at its stamp [s]
    required: bool = True  # whether steps wait for it and contain a row of it
    holds: bool = False  # whether a value holds until the next one, as of a switch that is sent on change
    steady: slice | None = None  # columns that change little between readings (positions); None: unknown
    part_of: str = ""  # input in parameters (joint_states) of which it is one part; empty: it is the input


class Stream:
    """Buffer, clock and counters of one input."""

    def __init__(self, spec: StreamSpec, config: InputConfig, clocks: "ClockGroup") -> None:
        """Start without a row and join the group of clocks of the robot's inputs."""
        self.spec, self.ring, self.drops = spec, Ring(spec.width), Drops()
        self.input = spec.part_of or spec.name  # name in parameters
        self.by_arrival = config.stamps == "arrival" or self.input in config.arrival  # set by parameters
        self.clock = StreamClock(config, spec.delay, by_arrival=self.by_arrival)
        self.rejected: deque[tuple[int, Array]] = deque(maxlen=CAPACITY)  # arrivals and impossible rows
        self.received, self.arrival_ns = 0, 0  # number of readings, and arrival of the last one [ns]
        self.remarks: dict[str, str] = {}  # sentences about readings that are used, by subject (frame, names)
        # Completes the row at a time [ns] before it is stored, or returns why it is dropped.
        self.finish: Callable[[int, Array], Fault | None] | None = None
        self.clocks = clocks
        clocks.streams.append(self)

    def push(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store a row, or drop and count it; return whether it is stored.

        A stamp of zero is not set, an arrival of zero is unknown; both are on one clock [ns]. `finish` may
        change the row in place.
        """
        self.received += 1
        self.arrival_ns = arrival_ns = arrival_ns or stamp_ns
        possible, clock = self.spec.range, self.clock
        if not np.vdot(row, row) <= possible.within:  # which overflows without a warning
            fault = possible.fault(row)
            if fault is not None:
                self.rejected.append((arrival_ns, row.copy()))
                return self.drop(*fault)
        if clock.by_arrival or stamp_ns <= 0:
            arrived = clock.from_arrival(arrival_ns)
            if arrived is None:
                return self.drop(DropReason.ZERO_STAMP)
            stamp_ns = arrived
        elif clock.zeros:
            clock.unset, clock.zeros = False, 0
        last_ns = clock.last_ns
        if last_ns is not None and 0 < stamp_ns - last_ns <= clock.longest_ns and clock.odd is None:
            return self.store(stamp_ns, row, arrival_ns)
        return self.clocks.judge(self, stamp_ns, row, arrival_ns)

    def store(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store a row whose stamp is accepted, unless its values are wrong; return whether it is stored."""
        clock = self.clock
        time_ns = clock.time_of(stamp_ns, arrival_ns)
        newest = self.ring.newest_ns
        if newest is not None and time_ns <= newest:  # joints in several messages, or a clock that drifts
            return self.drop(DropReason.BACKWARD_STAMP)
        fault = None if self.finish is None else self.finish(time_ns, row)
        if fault is None:
            self.ring.append(time_ns, stamp_ns + clock.offset_ns - clock.delay_ns, row)
        if stamp_ns >= clock.next_ns or clock.readings == READINGS_TO_BELIEVE:
            clock.next_block(stamp_ns)
            self.clocks.compare(self)
        if fault is not None and fault[0] is DropReason.CONTRADICTION:
            self.rejected.append((arrival_ns, row.copy()))
        return fault is None or self.drop(*fault)

    def drop(self, reason: DropReason, example: str = "", count: int = 1) -> bool:
        """Count dropped readings; return False, as a push that stores nothing does."""
        self.drops.add(reason, example, self.arrival_ns, count)
        return False

    def refuse(self, reason: DropReason, example: str, arrival_ns: int) -> bool:
        """Count a reading from which no row can be made; return False, as a push that stores nothing does."""
        self.received, self.arrival_ns = self.received + 1, arrival_ns
        return self.drop(reason, example)

    @property
    def notes(self) -> list[str]:
        """Sentences for diagnostics about readings that are used but unusual."""
        return [text for text in (*self.remarks.values(), self.clock_note) if text]

    @property
    def clock_note(self) -> str:
        """Sentence for diagnostics about unset stamps or a clock of its own; empty if there is none."""
        offset_ns = self.clock.offset_ns
        if self.clock.unset:
            return UNSET
        if not offset_ns or not self.clock.votes:
            return ""
        side = "behind" if offset_ns > 0 else "ahead of"
        apart = f"{abs(seconds(offset_ns)):.2f} s {side} the others, which is corrected"
        return f"a clock of its own, {apart}: set inputs.arrival: [{self.input}]"

    def reset(self) -> None:
        """Discard all rows and the clock; counters are kept."""
        self.ring.clear()
        self.rejected.clear()
        self.clock.reset()

    def change(self, row: Array) -> float:
        """Return the largest change since the last stored row, of the steady columns if there are any."""
        if not len(self.ring):
            return 0.0
        columns = self.spec.steady or slice(None)
        last = self.ring.rows[self.ring.end - 1]
        return float(np.abs(row[columns] - last[columns]).max(initial=0.0))

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Return the row at a time [ns], shape (width,), interpolated over at most `max_gap_ns`, or None.

        A value that holds is the newest earlier one, of any age if it is sent on change only.
        """
        if not self.spec.holds:
            return self.ring.at(time_ns, max_gap_ns)
        times, _rows = self.ring.newest(PERIODIC)
        periodic = len(times) == PERIODIC and int(np.diff(times).max()) <= max_gap_ns
        return self.ring.latest(time_ns, max_gap_ns if periodic else time_ns)

    def raw(self) -> tuple[Times, Array]:
        """Return times [ns] and rows of the newest readings, or of the impossible ones if they are more."""
        if len(self.rejected) <= len(self.ring):
            return self.ring.newest(CAPACITY)
        times, rows = zip(*self.rejected, strict=True)
        return np.array(times), np.array(rows)


READINGS_TO_BELIEVE = 3  # consecutive readings on a new clock, before it counts
SILENCE_NS = NANOSECONDS // 20  # of the previous clock before a jump counts, if all streams have left it
LONG_SILENCE_NS = round(0.3 * NANOSECONDS)  # the same, if this stream alone has left it
DRIFT_NS = NANOSECONDS // 1000  # largest change of the offset of a clock per block
STEADY_STEP = 0.1  # largest change of a position between two readings of one motion [rad or m]


class ClockGroup:
    """Compares the clocks of the inputs of one robot.

    A stamp that goes back, or is later than its arrival allows (no reading arrives before it is taken), is on
    another clock: a stray reading, a second publisher, or a clock that has jumped. Several such stamps in a
    row without any on the previous clock are a jump: of all clocks if every arriving stream has left the
    previous one (a recording or simulation has restarted, if stamps go back by more than `JUMP_NS`), else of
    this stream's clock. The clock nearest to the arrivals is the reference; one that differs from it by more
    than `JUMP_NS` is corrected by the difference and reported. Clocks ahead of their arrivals are the
    reference only if all are.
    """

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.begins_anew = True  # whether rows were last cleared because a recording or simulation restarted
        self.arrivals_tell = True  # whether clocks are compared; not in lockstep with a simulation

    def judge(self, stream: Stream, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store or drop a row whose stamp is not shortly after the last one; see `Stream.push`."""
        clock, odd = stream.clock, stream.clock.odd
        if clock.last_ns is None:
            return stream.store(stamp_ns, row, arrival_ns)
        step = stamp_ns - clock.last_ns
        if step == 0 and not stream.change(row):
            return stream.drop(DropReason.EQUAL_STAMP)
        if -clock.longest_ns <= step < 0:
            return stream.drop(DropReason.BACKWARD_STAMP, f"{seconds(-step):.3f} s back")
        ahead = stamp_ns - arrival_ns - clock.shift_ns  # of what its arrival allows
        if step >= 0 and min(step, ahead) <= clock.longest_ns:  # 0: coarse stamps, of different readings
            clock.odd = None
            if step > JUMP_NS:
                clock.even.reset()
            return stream.store(stamp_ns, row, arrival_ns)
        if odd is None or not 0 < stamp_ns - odd.last_ns <= JUMP_NS:
            clock.odd = OddStamps(stamp_ns, stamp_ns, stream.change(row) < STEADY_STEP)
        else:
            odd.last_ns, odd.count = stamp_ns, odd.count + 1
            if self._has_jumped(stream, odd, arrival_ns):
                return stream.store(stamp_ns, row, arrival_ns)
        what = f"{abs(seconds(step)):.3f} s {'ahead' if step > 0 else 'back'}"
        return stream.drop(DropReason.STRAY_STAMP, f"{what}: a second publisher, or a clock that was set?")

    def _has_jumped(self, stream: Stream, odd: OddStamps, arrival_ns: int) -> bool:
        """Return whether odd stamps show that a clock has jumped; the stream then continues on it."""
        if odd.count < min(READINGS_TO_BELIEVE, stream.clock.readings + 1):
            return False
        heard = [s for s in self.streams if s is not stream and arrival_ns - s.arrival_ns <= LONG_SILENCE_NS]
        others = [s.clock.odd for s in heard if s.spec.required and s.clock.last_ns is not None]
        together = all(o is not None and abs(o.last_ns - odd.last_ns) <= JUMP_NS for o in others)
        if odd.last_ns - odd.first_ns < (SILENCE_NS if together else LONG_SILENCE_NS):
            return False
        back = odd.first_ns < (stream.clock.last_ns or 0) - JUMP_NS
        steady = [s.clock.odd for s in self.streams if s.spec.steady is not None]
        moved_on = [o.goes_on for o in steady if o is not None]
        anew = together and back and not (moved_on and all(moved_on))
        for one in self.streams if together else [stream]:
            newest = one.ring.newest_ns
            one.clock.reset()
            if newest is not None and newest >= odd.first_ns:
                self._clear_rows(one)
        self.begins_anew = self.begins_anew or anew
        return True

    def compare(self, stream: Stream) -> None:
        """Compare a stream's clock with the others, or all clocks if it is new; update their offsets."""
        for one in self.streams if stream.clock.readings <= READINGS_TO_BELIEVE else [stream]:
            clock, wanted = one.clock, self._offset_of(one)
            if wanted and clock.offset_ns and abs(wanted - clock.offset_ns) <= JUMP_NS:
                step_ns = max(-DRIFT_NS, min(DRIFT_NS, wanted - clock.offset_ns))
                clock.offset_ns += step_ns
            elif wanted != clock.offset_ns:
                clock.offset_ns = wanted
                self._clear_rows(one)
                clock.even.reset()

    def _clear_rows(self, stream: Stream) -> None:
        stream.ring.clear()
        self.begins_anew = False

    def _offset_of(self, stream: Stream) -> int:
        """Return the offset that the stamps of a stream need to be on the reference clock [ns]."""
        newest = max(s.arrival_ns for s in self.streams)
        heard = [s for s in self.streams if newest - s.arrival_ns <= BLOCK_NS]
        voters = [s for s in heard if s.clock.readings >= READINGS_TO_BELIEVE and s.clock.votes]
        if not self.arrivals_tell or not voters or (stream.clock.votes and stream not in voters):
            return 0
        possible = [s for s in voters if not s.clock.ahead]
        shifts = np.array([s.clock.shift_ns for s in possible or voters])
        nearest = shifts[np.abs(shifts).argmin()]
        apart = int(np.median(shifts[np.abs(shifts - nearest) <= JUMP_NS])) - stream.clock.shift_ns
        impossible = stream.clock.ahead and len(possible) > 0
        return apart if impossible or abs(apart) > JUMP_NS else 0
