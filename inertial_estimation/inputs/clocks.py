"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or are not those of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.even_times import EvenTimes
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.signals import NANOSECONDS, Array, seconds

if TYPE_CHECKING:
    from inertial_estimation.inputs.stream import Stream

READINGS_TO_BELIEVE = 3  # consecutive readings on another clock
SILENCE_NS = NANOSECONDS // 20  # of the clock before, where all streams have left it
LONG_SILENCE_NS = 3 * NANOSECONDS // 10  # where this stream alone has left it
ZEROS_TO_BELIEVE = 50  # consecutive stamps that are not set, of a driver that has set them before
BLOCK_NS = NANOSECONDS  # after which clocks are compared again
DRIFT_NS = NANOSECONDS // 1000  # by which the offset of a clock may change per block
MOST_HELD = 2048  # readings kept until a clock is decided
STEADY_STEP = 0.1  # of a position between two readings, where the motion goes on [rad or m]
EARLIEST = -(2**62)


class HeldReading(NamedTuple):
    """A reading whose stamp does not continue those before."""

    stamp_ns: int
    row: Array
    arrival_ns: int


class StreamClock:
    """Stamps of one input and the times that follow from them.

    Attributes:
        even: Makes times even where stamps come in bursts.
        by_arrival: Whether the stamps are not used.
        unset: Whether the stamps have never been set, or no longer are, so that arrivals take their place.
        longest_ns: Longest step that continues the stamps [ns].
        last_ns: Last stamp [ns]; None before the first.
        shift_ns: Stamp less arrival of the least delayed of the last readings [ns].
        offset_ns: Added to the stamps of a clock that is not that of the other inputs [ns].
        held: Consecutive readings on another clock, until it is decided.
        readings: Number of readings on this clock.
    """

    def __init__(self, config: InputConfig, delay: float = 0.0, *, by_arrival: bool = False) -> None:
        """Begin without a stamp; readings are older than their stamps by the delay [s]."""
        self.even = EvenTimes("auto" if config.stamps == "arrival" else config.stamps)
        self.by_arrival, self.unset = by_arrival, False
        self.longest_ns = round(NANOSECONDS * min(config.max_gap, config.jump))
        self._delay_ns = round(NANOSECONDS * delay)
        self.held: list[HeldReading] = []
        self.offset_ns = self._zeros = 0
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self.even.reset()
        self.held.clear()
        self.last_ns: int | None = None
        self.readings = self.shift_ns = self._block_ns = 0
        self._shifts = [EARLIEST, EARLIEST]  # largest ones of the last block and of this one [ns]

    def from_arrival(self, arrival_ns: int) -> int | None:
        """Return an arrival [ns] in place of a stamp that is not used or not set; None where that is a fault."""
        if not self.by_arrival:
            self._zeros += 1
            self.unset = self.unset or self.last_ns is None or self._zeros >= ZEROS_TO_BELIEVE
            if not self.unset:
                return None
        return arrival_ns + 1 if arrival_ns == self.last_ns else arrival_ns

    @property
    def votes(self) -> bool:
        """Whether the stamps say which clock the inputs have."""
        return not (self.by_arrival or self.unset)

    def continues(self, stamp_ns: int) -> bool:
        """Return whether a stamp [ns] follows the last one without a gap."""
        return self.last_ns is not None and 0 < stamp_ns - self.last_ns <= self.longest_ns and not self.held

    def time_of(self, stamp_ns: int, arrival_ns: int) -> int:
        """Return the time of a reading [ns], from its stamp, which is right, and its arrival [ns]."""
        self.last_ns = stamp_ns
        self.readings += 1
        shift = stamp_ns - arrival_ns
        if shift > self._shifts[1]:
            self._shifts[1] = shift
            if shift > self.shift_ns or self.readings == 1:
                self.shift_ns = shift
        return self.even.time_of(stamp_ns) + self.offset_ns - self._delay_ns

    def due(self, stamp_ns: int) -> bool:
        """Return whether the clock is to be compared with the others: when it is known, then once a second."""
        if self.readings != READINGS_TO_BELIEVE and stamp_ns - self._block_ns < BLOCK_NS:
            return False
        self._block_ns, self.shift_ns = stamp_ns, max(self._shifts)
        self._shifts = [self._shifts[1], EARLIEST]
        return True


class ClockGroup:
    """Compares the clocks of the inputs of one robot.

    A stamp that goes back, or is ahead of what its arrival allows (no reading arrives before it is taken), is of
    another clock: a stray, a second publisher, or a clock that has jumped. Consecutive ones, while the clock before is
    not heard, show a jump: of all clocks where every stream that arrives has left the one before (a recording or
    simulation begins anew), else of this one. A clock that differs from those of most streams by `inputs.jump` is odd,
    of two that which differs more from the arrivals: its stamps are moved by the difference, and it is named.

    Attributes:
        streams: The inputs.
        begins_anew: Whether all clocks went back, and the motion did not go on, when rows were last cleared.
    """

    def __init__(self, config: InputConfig) -> None:
        self.streams: list[Stream] = []
        self.begins_anew = True
        self._jump_ns = round(config.jump * NANOSECONDS)

    def judge(self, stream: Stream, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store, hold or drop a row whose stamp does not follow the last one without a gap; see `Stream.push`."""
        clock, held = stream.clock, stream.clock.held
        if clock.last_ns is None:
            return stream.store(stamp_ns, row, arrival_ns)
        step = stamp_ns - clock.last_ns
        if step == 0:
            return stream.drop(DropReason.EQUAL_STAMP)
        if -clock.longest_ns <= step < 0:
            return stream.drop(DropReason.BACKWARD_STAMP, f"{seconds(-step):.3f} s back")
        ahead = stamp_ns - arrival_ns - clock.shift_ns  # of what its arrival allows
        if step > 0 and min(step, ahead) <= clock.longest_ns:
            self._drop_strays(stream)
            if step > self._jump_ns:
                clock.even.reset()
            return stream.store(stamp_ns, row, arrival_ns)
        if held and not 0 < stamp_ns - held[-1].stamp_ns <= self._jump_ns:
            self._drop_strays(stream)
        held.append(HeldReading(stamp_ns, row.copy(), arrival_ns))
        if len(held) > MOST_HELD:
            del held[0]
            stream.drop(DropReason.OVERRUN)
        return self._decide(stream, arrival_ns)

    def _decide(self, stream: Stream, arrival_ns: int) -> bool:
        """Follow the clock of the held readings if they show that it has jumped; return whether they do."""
        held = stream.clock.held
        if len(held) < min(READINGS_TO_BELIEVE, stream.clock.readings + 1):
            return False
        others = [
            o for o in self.streams if o is not stream and o.spec.required and o.clock.last_ns is not None
        ]
        others = [o for o in others if arrival_ns - o.arrival_ns <= LONG_SILENCE_NS]
        stamps = [o.clock.held[-1].stamp_ns for o in others if o.clock.held]
        together = len(stamps) == len(others) and all(
            abs(s - held[-1].stamp_ns) <= self._jump_ns for s in stamps
        )
        if held[-1].stamp_ns - held[0].stamp_ns < (SILENCE_NS if together else LONG_SILENCE_NS):
            return False
        if together:
            self._follow_all(stream)
        else:
            self._follow_one(stream)
        return True

    def _follow_all(self, stream: Stream) -> None:
        """Forget the rows of all streams, then store what they hold on the new clock."""
        back = stream.clock.held[0].stamp_ns < (stream.clock.last_ns or 0)
        steady = [s for s in self.streams if s.spec.steady is not None and s.clock.held and len(s.ring)]
        self.begins_anew = back and not (steady and all(_goes_on(s) for s in steady))
        for one in self.streams:
            held = list(one.clock.held)
            one.clear()
            self._set_offset(one, 0)
            for reading in held:
                one.store(*reading)

    def _follow_one(self, stream: Stream) -> None:
        """Follow the clock of one stream, which may now be odd."""
        clock, held = stream.clock, list(stream.clock.held)
        clock.reset()
        clock.shift_ns = max(reading.stamp_ns - reading.arrival_ns for reading in held)
        clock.readings = len(held)
        self._set_offset(stream, self._offset_of(stream))
        clock.readings = 0
        newest = stream.ring.newest_ns
        if newest is not None and held[0].stamp_ns + clock.offset_ns <= newest:
            self._clear_rows(stream)
        for reading in held:
            stream.store(*reading)

    def compare(self, stream: Stream) -> None:
        """Compare the clock of a stream with the others, or all where it is new; move stamps that are odd."""
        new = stream.clock.readings <= READINGS_TO_BELIEVE
        for one in self.streams if new else [stream]:
            clock, wanted = one.clock, self._offset_of(one)
            if wanted and abs(wanted - clock.offset_ns) <= self._jump_ns:
                clock.offset_ns += max(-DRIFT_NS, min(DRIFT_NS, wanted - clock.offset_ns))
            elif wanted != clock.offset_ns:
                self._set_offset(one, wanted)
                self._clear_rows(one)
                clock.even.reset()

    def _clear_rows(self, stream: Stream) -> None:
        stream.ring.clear()
        self.begins_anew = False

    def _offset_of(self, stream: Stream) -> int:
        """Return by how much the stamps of a stream are to be moved [ns]: 0 where most have its clock."""
        voters = [s for s in self.streams if s.clock.readings >= READINGS_TO_BELIEVE and s.clock.votes]
        groups: list[list[Stream]] = []
        for one in sorted(voters, key=lambda s: s.clock.shift_ns):
            if groups and one.clock.shift_ns - groups[-1][-1].clock.shift_ns <= self._jump_ns:
                groups[-1].append(one)
            else:
                groups.append([one])
        if not groups or (stream.clock.votes and stream not in voters):
            return 0
        best = max(groups, key=lambda group: (len(group), -min(abs(s.clock.shift_ns) for s in group)))
        apart = int(np.median([s.clock.shift_ns for s in best])) - stream.clock.shift_ns
        return apart if stream not in best and abs(apart) > self._jump_ns else 0

    def _set_offset(self, stream: Stream, offset_ns: int) -> None:
        stream.clock.offset_ns = offset_ns
        stream.remarks.pop("clock", None)
        if offset_ns and stream.clock.votes:
            side = "behind" if offset_ns > 0 else "ahead of"
            stream.remarks["clock"] = (
                f"its stamps are {abs(seconds(offset_ns)):.2f} s {side} those of the other inputs: a clock of its own (as "
                f"since the start of a board)? They are moved by it; set inputs.arrival: [{stream.spec.name}]"
            )

    def _drop_strays(self, stream: Stream) -> None:
        """Drop the held readings, since the clock before is heard."""
        held = stream.clock.held
        if held:
            step = seconds(held[-1].stamp_ns - (stream.clock.last_ns or 0))
            side = "ahead" if step > 0.0 else "back"
            stream.drop(DropReason.STRAY_STAMP, f"{abs(step):.3f} s {side}: a second publisher?", len(held))
            held.clear()


def _goes_on(stream: Stream) -> bool:
    """Return whether the first held reading continues the motion of the last stored one."""
    change = (
        stream.clock.held[0].row[stream.spec.steady]
        - stream.ring.rows[stream.ring.end - 1, stream.spec.steady]
    )
    return float(np.abs(change).max(initial=0.0)) < STEADY_STEP
