"""One input: its rows by time of measurement, what was dropped and why, and what is odd about it."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inertial_estimation.inputs.clocks import ClockGroup, StreamClock
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.possible import DropReason, Drops, Fault, RowRange
from inertial_estimation.inputs.ring import Ring, Times
from inertial_estimation.signals import NANOSECONDS, Array

REJECTED_KEPT = 256  # impossible rows, which tell the units
PERIODIC = 20  # readings without a gap, from which a value that holds is expected at its rate
LONGEST_HOLD_NS = 3600 * NANOSECONDS  # of a switch that is sent when it changes


@dataclass(frozen=True)
class StreamSpec:
    """Properties of one input.

    Attributes:
        name: Its name, as in diagnostics (``imu/data``).
        width: Numbers in a row.
        range: Beyond which a row is dropped.
        delay: Age of a row at its stamp [s].
        required: Whether steps wait for it and have a row of it.
        holds: Whether its value holds until the next one, as that of a switch that is sent when it changes.
        steady: Columns that change little from one reading to the next while the robot moves (positions), by which a
            step of the clock is told from a recording that begins anew; None: unknown.
    """

    name: str
    width: int
    range: RowRange
    delay: float = 0.0
    required: bool = True
    holds: bool = False
    steady: slice | None = None


class Stream:
    """Rows of one input, with counters of its readings.

    Attributes:
        spec: Properties of the input.
        ring: The rows by time.
        clock: Turns stamps into times.
        drops: Dropped readings by reason.
        rejected: Arrivals [ns] and rows of the last impossible readings.
        received: Number of readings, those dropped included.
        arrival_ns: Arrival of the last reading [ns].
        remarks: What is odd about readings that are used, by what it is about, for people.
        finish: Called with the time of a row and the row before it is stored; may complete it, or return why it must
            not be used. None: nothing is to be done.
    """

    def __init__(self, spec: StreamSpec, config: InputConfig, clocks: ClockGroup) -> None:
        """Begin without a row; the clocks are those of the inputs of the robot."""
        self.spec, self.ring, self.drops = spec, Ring(spec.width), Drops()
        by_arrival = config.stamps == "arrival" or spec.name in config.arrival
        self.clock = StreamClock(config, spec.delay, by_arrival=by_arrival)
        self.rejected: deque[tuple[int, Array]] = deque(maxlen=REJECTED_KEPT)
        self.received, self.arrival_ns = 0, 0
        self.remarks: dict[str, str] = {}
        self.finish: Callable[[int, Array], Fault | None] | None = None
        self._clocks = clocks
        clocks.streams.append(self)

    def push(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Take a row; it is stored, held until its clock is decided, or dropped and counted.

        Args:
            stamp_ns: Its stamp [ns]; zero or less: not set.
            row: Its numbers, shape (width,); may be changed.
            arrival_ns: When it arrived, on the clock of the stamps [ns].

        Returns:
            Whether the row was stored.
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
        if clock.continues(stamp_ns):
            return self.store(stamp_ns, row, arrival_ns)
        return self._clocks.judge(self, stamp_ns, row, arrival_ns)

    def store(self, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store a row whose stamp is right; return whether it is stored, as its values may be wrong."""
        clock = self.clock
        time_ns = clock.time_of(stamp_ns, arrival_ns)
        fault = None if self.finish is None else self.finish(time_ns, row)
        if fault is None:
            self.ring.append(time_ns, stamp_ns + clock.offset_ns, row)
        if clock.due(stamp_ns):
            self._clocks.compare(self)
        return fault is None or self.drop(*fault)

    def drop(self, reason: DropReason, example: str = "", count: int = 1) -> bool:
        """Count dropped readings; return False, the result of a push."""
        self.drops.add(reason, example, self.arrival_ns, count)
        return False

    def refuse(self, reason: DropReason, example: str, arrival_ns: int) -> bool:
        """Count a reading that has no row; return False, the result of a push."""
        self.received += 1
        self.arrival_ns = arrival_ns
        return self.drop(reason, example)

    def clear(self) -> None:
        """Forget all rows and the clock; counters stay."""
        self.ring.clear()
        self.clock.reset()

    def at(self, time_ns: int, max_gap_ns: int) -> Array | None:
        """Return the row at a time [ns], shape (width,); None where there is none.

        A value that holds is the newest one before; others are interpolated over at most `max_gap_ns`.
        """
        if not self.spec.holds:
            return self.ring.at(time_ns, max_gap_ns)
        times, _rows = self.ring.newest(PERIODIC)
        periodic = len(times) == PERIODIC and int(np.diff(times).max()) <= max_gap_ns
        return self.ring.latest(time_ns, max_gap_ns if periodic else LONGEST_HOLD_NS)

    @property
    def begins_anew(self) -> bool:
        """Whether rows were cleared because a recording or simulation began anew."""
        return self._clocks.begins_anew

    def raw(self, count: int) -> tuple[Times, Array]:
        """Return times [ns] and rows of the newest readings, or of those that were impossible if they are more."""
        if len(self.rejected) <= len(self.ring):
            return self.ring.newest(count)
        times, rows = zip(*self.rejected, strict=True)
        return np.array(times), np.array(rows)
