"""One input: its rows by time of measurement, what was dropped and why, and what is odd about it."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertial_estimation.inputs.clocks import READINGS_TO_BELIEVE, ClockGroup, StreamClock, Times
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Drops, Fault, RowRange
from inertial_estimation.signals import NANOSECONDS, Array

CAPACITY = 2048  # rows that are kept
REJECTED_KEPT = 256  # impossible rows, which tell the units
PERIODIC = 20  # readings without a gap, from which a value that holds is expected at its rate
LONGEST_HOLD_NS = 3600 * NANOSECONDS  # of a switch that is sent when it changes


class Ring:
    """Rows by time, at indices `begin` to `end` of the arrays; the oldest ones give way."""

    def __init__(self, width: int, capacity: int = CAPACITY) -> None:
        self.times: Times = np.zeros(2 * capacity, dtype=np.int64)  # of measurement [ns]
        self.stamps: Times = np.zeros(2 * capacity, dtype=np.int64)  # that outputs carry [ns]
        self.rows: Array = np.zeros((2 * capacity, width))
        self.time, self.stamp = self.times.data, self.stamps.data  # whose single numbers are read much faster
        self._weights = np.zeros(2)  # of two rows
        self._capacity, self.begin, self.end = capacity, 0, 0
        self.total = self.moved = 0  # rows that came; moved to the front: index + moved numbers rows for good
        self.clears = 0  # number of times that all rows were forgotten

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest row [ns]; None while empty."""
        return self.time[self.end - 1] if self.end > self.begin else None

    def append(self, time_ns: int, stamp_ns: int, row: Array) -> None:
        """Add a row after all others."""
        begin, end = self.begin, self.end
        if end == 2 * self._capacity:
            for array in (self.times, self.stamps, self.rows):
                array[: end - begin] = array[begin:end]
            self.begin, self.moved, end = 0, self.moved + begin, end - begin
        self.time[end], self.stamp[end] = time_ns, stamp_ns
        self.rows[end] = row
        self.end = end + 1
        self.total += 1
        if end >= self.begin + self._capacity:
            self.begin += 1

    def clear(self) -> None:
        """Forget all rows."""
        self.moved += self.end
        self.begin = self.end = 0
        self.clears += 1

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Interpolate linearly between the neighbours of a time [ns], if they are at most `max_gap_ns` apart.

        Returns:
            The row, shape (width,); None where the time is outside the rows or in a gap.
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
        """Return the newest row at or before a time [ns]; None where it is older than allowed [ns]."""
        index = bisect_right(self.time, time_ns, self.begin, self.end) - 1
        if index < self.begin or time_ns - self.time[index] > max_age_ns:
            return None
        row: Array = self.rows[index].copy()
        return row

    def window(self, begin_ns: int, end_ns: int) -> tuple[Times, Array]:
        """Return times [ns], shape (n,), and rows, shape (n, width), of a span, ends included; views."""
        low = bisect_left(self.time, begin_ns, self.begin, self.end)
        high = bisect_right(self.time, end_ns, low, self.end)
        return self.times[low:high], self.rows[low:high]

    def newest(self, count: int) -> tuple[Times, Array]:
        """Return times and rows of the newest rows, at most a number of them; views."""
        low = max(self.begin, self.end - count)
        return self.times[low : self.end], self.rows[low : self.end]


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input."""

    name: str  # as in diagnostics (imu/data)
    width: int  # numbers in a row
    range: RowRange  # beyond which a row is dropped
    delay: float = 0.0  # age of a row at its stamp [s]
    required: bool = True  # whether steps wait for it and have a row of it
    holds: bool = False  # whether a value holds until the next one, as of a switch that is sent on change
    steady: slice | None = None  # columns that change little between readings (positions); None: unknown


class Stream:
    """Rows of one input, with counters of its readings."""

    def __init__(self, spec: StreamSpec, config: InputConfig, clocks: ClockGroup) -> None:
        """Begin without a row; the clocks are those of the inputs of the robot."""
        self.spec, self.ring, self.drops = spec, Ring(spec.width), Drops()
        self.by_arrival = config.stamps == "arrival" or spec.name in config.arrival  # by the parameters
        self.clock = StreamClock(config, spec.delay, by_arrival=self.by_arrival)
        self.rejected: deque[tuple[int, Array]] = deque(maxlen=REJECTED_KEPT)  # arrivals and impossible rows
        self.received, self.arrival_ns = 0, 0  # number of readings, and arrival of the last one [ns]
        self.remarks: dict[str, str] = {}  # what is odd about readings that are used, by what it is about
        # Completes the row of a time [ns] before it is stored, or returns why it must not be used.
        self.finish: Callable[[int, Array], Fault | None] | None = None
        self.clocks = clocks
        clocks.streams.append(self)

    def push(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Take a row; it is stored, held until its clock is decided, or dropped and counted.

        Its stamp [ns] is not set if it is zero, its arrival [ns] is on the same clock; the row may be
        changed.
        """
        self.received += 1
        self.arrival_ns = arrival_ns
        fault = self.spec.range.fault(row)
        if fault is not None:
            self.rejected.append((arrival_ns, row.copy()))
            return self.drop(*fault)
        clock = self.clock
        if clock.by_arrival or stamp_ns <= 0:
            arrived = clock.from_arrival(arrival_ns)
            if arrived is None:
                return self.drop(DropReason.ZERO_STAMP)
            stamp_ns = arrived
        elif clock.unset:
            clock.unset = False
        last_ns = clock.last_ns
        if last_ns is not None and 0 < stamp_ns - last_ns <= clock.longest_ns and not clock.held:
            return self.store(stamp_ns, row, arrival_ns)
        return self.clocks.judge(self, stamp_ns, row, arrival_ns)

    def store(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store a row whose stamp is right; return whether it is stored, as its values may be wrong."""
        clock = self.clock
        time_ns = clock.time_of(stamp_ns, arrival_ns)
        fault = None if self.finish is None else self.finish(time_ns, row)
        if fault is None:
            self.ring.append(time_ns, stamp_ns + clock.shifted_ns, row)
        if stamp_ns >= clock.next_ns or clock.readings == READINGS_TO_BELIEVE:
            clock.next_block(stamp_ns)
            self.clocks.compare(self)
        if fault is not None and fault[0] is DropReason.CONTRADICTION:
            self.rejected.append((arrival_ns, row.copy()))
        return fault is None or self.drop(*fault)

    def drop(self, reason: DropReason, example: str = "", count: int = 1) -> bool:
        """Count dropped readings; return False, the result of a push."""
        self.drops.add(reason, example, self.arrival_ns, count)
        return False

    def refuse(self, reason: DropReason, example: str, arrival_ns: int) -> bool:
        """Count a reading that has no row; return False, the result of a push."""
        self.received, self.arrival_ns = self.received + 1, arrival_ns
        return self.drop(reason, example)

    def clear(self) -> None:
        """Forget all rows and the clock; counters stay."""
        self.ring.clear()
        self.clock.reset()

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Return the row at a time, shape (width,), interpolated over at most a gap [ns], or None.

        A value that holds is the newest one before.
        """
        if not self.spec.holds:
            return self.ring.at(time_ns, max_gap_ns)
        times, _rows = self.ring.newest(PERIODIC)
        periodic = len(times) == PERIODIC and int(np.diff(times).max()) <= max_gap_ns
        return self.ring.latest(time_ns, max_gap_ns if periodic else LONGEST_HOLD_NS)

    def raw(self, count: int) -> tuple[Times, Array]:
        """Return times [ns] and rows of the newest readings, or of the impossible ones if they are more."""
        if len(self.rejected) <= len(self.ring):
            return self.ring.newest(count)
        times, rows = zip(*self.rejected, strict=True)
        return np.array(times), np.array(rows)
