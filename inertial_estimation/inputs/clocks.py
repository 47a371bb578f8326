"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or differ from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class StreamClock:
    """Stamps of one input and the times that follow from them."""

    def __init__(self, config: InputConfig, delay: float = 0.0, *, by_arrival: bool = False) -> None:
        """Begin without a stamp; readings are older than their stamps by the delay [s]."""
        self.even = EvenTimes("auto" if config.stamps == "arrival" else config.stamps)
        self.by_arrival = by_arrival  # whether the stamps are not used
        self.unset = False  # whether they have never been set, or no longer are: arrivals take their place
        self.longest_ns = round(NANOSECONDS * min(config.max_gap, config.jump))  # step that continues them
        self._delay_ns, self._zeros = round(NANOSECONDS * delay), 0
        # Stamps, rows and arrivals of consecutive readings on another clock, until it is decided.
        self.held: list[tuple[int, Array, int]] = []
        self.offset_ns = 0  # added to the stamps of a clock that is not that of the other inputs
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self.even.reset()
        self.held.clear()
        self.last_ns: int | None = None  # last stamp
        self.readings = self.next_ns = 0  # number of readings on this clock; stamp of the next comparison
        self.shift_ns = 0  # stamp less arrival of the least delayed of the last readings
        self._shifts = [EARLIEST, EARLIEST]  # largest ones of the last block and of this one [ns]

    def from_arrival(self, arrival_ns: int) -> int | None:
        """Return an arrival [ns] in place of a stamp that is not used or set; None where that is a fault."""
        if not self.by_arrival:
            self._zeros += 1
            self.unset = self.unset or self.last_ns is None or self._zeros >= ZEROS_TO_BELIEVE
            if not self.unset:
                return None
        return arrival_ns + 1 if arrival_ns == self.last_ns else arrival_ns

    @property
    def shifted_ns(self) -> int:
        """Time of a reading less its stamp, but for what makes the stamps even [ns]."""
        return self.offset_ns - self._delay_ns

    @property
    def votes(self) -> bool:
        """Whether the stamps say which clock the inputs have."""
        return not (self.by_arrival or self.unset)

    def time_of(self, stamp_ns: int, arrival_ns: int) -> int:
        """Return the time of a reading [ns], from its stamp, which is right, and its arrival [ns]."""
        self.last_ns = stamp_ns
        self.readings += 1
        shift = stamp_ns - arrival_ns
        if shift > self._shifts[1]:
            self._shifts[1] = shift
            if shift > self.shift_ns or self.readings == 1:
                self.shift_ns = shift
        return self.even.time_of(stamp_ns) + self.shifted_ns

    def next_block(self, stamp_ns: int) -> None:
        """Begin a block of readings, after which clocks are compared; one ends at this stamp [ns]."""
        self.next_ns, self.shift_ns = stamp_ns + BLOCK_NS, max(self._shifts)
        self._shifts = [self._shifts[1], EARLIEST]


class ClockGroup:
    """Compares the clocks of the inputs of one robot.

    A stamp that goes back, or is ahead of what its arrival allows (no reading arrives before it is taken), is
    of another clock: a stray, a second publisher, or a clock that has jumped. Consecutive ones, while the
    clock before is not heard, show a jump: of all clocks where every stream that arrives has left the one
    before (a recording or simulation begins anew), else of this one. A clock that differs from those of most
    streams by `inputs.jump` (of two that which differs more from the arrivals) is moved by the difference,
    and named.
    """

    def __init__(self, config: InputConfig) -> None:
        self.streams: list[Stream] = []
        self.begins_anew = True  # whether the last clearing was of all clocks and the motion going back
        self.arrivals_tell = True  # whether clocks are compared; not where a simulation waits for answers
        self._jump_ns = round(config.jump * NANOSECONDS)

    def judge(self, stream: Stream, stamp_ns: int, row: Array, arrival_ns: int) -> bool:
        """Store, hold or drop a row whose stamp does not just follow the last one; see `Stream.push`."""
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
        if held and not (0 < stamp_ns - held[-1][0] <= self._jump_ns and len(held) < MOST_HELD):
            self._drop_strays(stream)
        held.append((stamp_ns, row.copy(), arrival_ns))
        return self._decide(stream, arrival_ns)

    def _decide(self, stream: Stream, arrival_ns: int) -> bool:
        """Follow the clock of the held readings if they show that it has jumped; return whether they do."""
        held, newest = stream.clock.held, stream.clock.held[-1][0]
        if len(held) < min(READINGS_TO_BELIEVE, stream.clock.readings + 1):
            return False
        heard = [s for s in self.streams if s is not stream and arrival_ns - s.arrival_ns <= LONG_SILENCE_NS]
        others = [s.clock for s in heard if s.spec.required and s.clock.last_ns is not None]
        together = all(c.held and abs(c.held[-1][0] - newest) <= self._jump_ns for c in others)
        if newest - held[0][0] < (SILENCE_NS if together else LONG_SILENCE_NS):
            return False
        (self._follow_all if together else self._follow_one)(stream)
        return True

    def _follow_all(self, stream: Stream) -> None:
        """Forget the rows of all streams, then store what they hold on the new clock."""
        back = stream.clock.held[0][0] < (stream.clock.last_ns or 0)
        steady = [s for s in self.streams if s.spec.steady is not None and s.clock.held and len(s.ring)]
        self.begins_anew = back and not (steady and all(_goes_on(s) for s in steady))
        held = [list(one.clock.held) for one in self.streams]
        for one in self.streams:
            one.clear()
            self._set_offset(one, 0)
        for one, readings in zip(self.streams, held, strict=True):
            for reading in readings:
                one.store(*reading)

    def _follow_one(self, stream: Stream) -> None:
        """Follow the clock of one stream, which may now be odd."""
        clock, held, newest = stream.clock, list(stream.clock.held), stream.ring.newest_ns
        clock.reset()
        clock.shift_ns = max(stamp_ns - arrival_ns for stamp_ns, _row, arrival_ns in held)
        clock.readings = len(held)
        self._set_offset(stream, self._offset_of(stream))
        clock.readings = 0
        if newest is not None and held[0][0] + clock.offset_ns <= newest:
            self._clear_rows(stream)
        for reading in held:
            stream.store(*reading)

    def compare(self, stream: Stream) -> None:
        """Compare the clock of a stream with the others, or all where it is new; move stamps that are odd."""
        for one in self.streams if stream.clock.readings <= READINGS_TO_BELIEVE else [stream]:
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
        newest = max(s.arrival_ns for s in self.streams)
        heard = [s for s in self.streams if newest - s.arrival_ns <= BLOCK_NS]
        voters = [s for s in heard if s.clock.readings >= READINGS_TO_BELIEVE and s.clock.votes]
        groups: list[list[Stream]] = []
        for one in sorted(voters, key=lambda s: s.clock.shift_ns):
            if groups and one.clock.shift_ns - groups[-1][-1].clock.shift_ns <= self._jump_ns:
                groups[-1].append(one)
            else:
                groups.append([one])
        if not self.arrivals_tell or not groups or (stream.clock.votes and stream not in voters):
            return 0
        best = max(groups, key=lambda group: (len(group), -min(abs(s.clock.shift_ns) for s in group)))
        apart = int(np.median([s.clock.shift_ns for s in best])) - stream.clock.shift_ns
        return apart if stream not in best and abs(apart) > self._jump_ns else 0

    def _set_offset(self, stream: Stream, offset_ns: int) -> None:
        stream.clock.offset_ns, stream.remarks["clock"] = offset_ns, ""
        if offset_ns and stream.clock.votes:
            side = "behind" if offset_ns > 0 else "ahead of"
            what = f"its stamps are {abs(seconds(offset_ns)):.2f} s {side} those of the other inputs"
            remedy = f"they are moved by it; set inputs.arrival: [{stream.spec.name}]"
            stream.remarks["clock"] = f"{what}: a clock of its own (since the start of a board)? {remedy}"

    def _drop_strays(self, stream: Stream) -> None:
        """Drop the held readings, since the clock before is heard."""
        held = stream.clock.held
        if held:
            step = seconds(held[-1][0] - (stream.clock.last_ns or 0))
            side = "ahead" if step > 0.0 else "back"
            stream.drop(DropReason.STRAY_STAMP, f"{abs(step):.3f} s {side}: a second publisher?", len(held))
            held.clear()


def _goes_on(stream: Stream) -> bool:
    """Return whether the first held reading continues the motion of the last stored one."""
    columns, last = stream.spec.steady, stream.ring.rows[stream.ring.end - 1]
    change = stream.clock.held[0][1][columns] - last[columns]
    return float(np.abs(change).max(initial=0.0)) < STEADY_STEP
