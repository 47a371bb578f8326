"""One input: its rows by time of measurement, what was dropped and why, and what is odd about it."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertial_estimation.inputs.clocks import READINGS_TO_BELIEVE, ClockGroup, StreamClock
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Drops, Fault, RowRange
from inertial_estimation.inputs.ring import Ring, Times
from inertial_estimation.signals import NANOSECONDS, Array

REJECTED_KEPT = 256  # impossible rows, which tell the units
PERIODIC = 20  # readings without a gap, from which a value that holds is expected at its rate
LONGEST_HOLD_NS = 3600 * NANOSECONDS  # of a switch that is sent when it changes


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
