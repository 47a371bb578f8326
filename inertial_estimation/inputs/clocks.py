"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or differ from the others.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with d_k >= 0. Stamps in
bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. A sample
cannot arrive before it is taken, so period and offset are those of the lower envelope of the stamps: the
period is the least-squares slope over the samples that end a burst or stand alone, fitted twice, the second
time to the less delayed half of them; the line is pulled down by every sample that comes before it was due,
and raised by what all of the last ends of bursts are late.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.signals import NANOSECONDS, Array, seconds

if TYPE_CHECKING:
    from inertial_estimation.inputs.stream import Stream

Times = NDArray[np.int64]
SAMPLES_TO_FIRST_FIT, SAMPLES_FITTED = 20, 1000  # of the period; the next fits come at twice as many each,
SAMPLES_TO_NEXT_FIT, SAMPLES_TO_NEXT_EVEN_FIT = 1000, 100  # or at these many; the latter while times are even
SHORT_STEP = 0.5  # of a period: a shorter step follows a late sample; a lost sample leaves no short one
AT_ONCE = 0.15  # of a period, between samples that arrive at once; jitter rarely gives such steps
LATE = 0.6  # of a period, by which the sample before such a step is late: it waited for the next one
STEPS_JUDGED, BURSTY = 100, 8  # steps at once among those judged, from which stamps are those of arrival
PROMPT, OFTEN_PROMPT = 0.15, 0.5  # of a period after the line; share of samples that come before, of which
OFTEN_LATE, OFTEN_SHORT = 0.08, 0.05  # others are late, and shares of late samples and of short steps
STEPS_WITHOUT_BURST = 2000  # after which times are the stamps again
SLEW, SHORTEST_STEP = 0.05, 0.1  # of a period: by which the line may rise per sample; between two times
ENDS_COMPARED, LOST = 20, 0.75  # ends of bursts; of a period, by which all of them are late after a loss
FAR_LATE, FAR_LATE_ENDS = 3.0, 5  # periods; ends that are so late show a loss sooner
LEAD = 1.0  # period by which a stamp comes before the line where the rate has risen
MOST_CORRECTIONS = 3  # losses in a row without a sample on the line, from which the rate has fallen


class EvenTimes:
    """Turns the stamps of one input into times of measurement.

    In mode "auto" times are the stamps until samples arrive at once after a late one; from then on they are
    even. Jitter of up to half a period is no burst: even times would lie behind such stamps by more than it.
    Where the rate changes the times are the stamps again, and bursts are sought anew. In mode "as_is" times
    are the stamps, in mode "regularise" they are even from the first fit on. The period is `period_ns`, 0
    until known.
    """

    def __init__(self, mode: str = "auto") -> None:
        self._mode = mode
        self._stamps: Times = np.zeros(SAMPLES_FITTED, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget all stamps, for example after a jump of their clock."""
        self._time = -(2**62)  # the last one that was returned
        self._begin()

    def _begin(self) -> None:
        self.period_ns = 0.0
        self._line: _Line | None = None  # None: times are the stamps
        self._count, self._last, self._late = 0, 0, 0.0
        self._first = 0  # number of the first sample that the period is fitted to
        self._wait = self._until_fit = SAMPLES_TO_FIRST_FIT
        self._last_burst = 0  # number of the last sample at which there were bursts
        self._at_once: deque[int] = deque(maxlen=BURSTY)  # numbers of the last samples at once

    def time_of(self, stamp_ns: int) -> int:
        """Return the time of a sample [ns] by its stamp [ns]; both increase from sample to sample."""
        if self._mode == "as_is":
            return stamp_ns
        count, step = self._count, stamp_ns - self._last
        self._stamps[count % SAMPLES_FITTED] = stamp_ns
        self._count, self._last = count + 1, stamp_ns
        if self.period_ns:
            self._follow(step, self.period_ns)
        self._until_fit -= 1
        if self._until_fit <= 0:
            self._fit()
        time = stamp_ns
        if self._line is not None:
            found = self._line.next_time(stamp_ns, step, self.period_ns)
            if found is None:
                self._begin()
            else:
                time, since = found
                self._first = self._count - since if since else self._first
        least = int(SHORTEST_STEP * self.period_ns) if self.even else 0
        self._time = time = max(time, self._time + least + 1)
        return time

    @property
    def even(self) -> bool:
        """Whether times are even, and not the stamps."""
        return self._line is not None

    def _follow(self, step: int, period: float) -> None:
        """Note how late a sample is, and whether it came at once with a late one."""
        if step >= SHORT_STEP * period:
            self._late = max(step - period, 0.0)  # a long step before a regular one was of lost samples
            return
        if self._late >= LATE * period and step < AT_ONCE * period:
            self._at_once.append(self._count)
            if self._come_at_once and not self.even:
                self._until_fit = 0
        self._late = max(self._late + step - period, 0.0)

    @property
    def _come_at_once(self) -> bool:
        return len(self._at_once) == BURSTY and self._count - self._at_once[0] < STEPS_JUDGED

    def _fit(self) -> None:
        """Fit the period; begin to make times even, or cease to."""
        most = SAMPLES_TO_NEXT_EVEN_FIT if self.even else SAMPLES_TO_NEXT_FIT
        self._until_fit = self._wait = min(2 * self._wait, most)
        first = max(self._first, self._count - SAMPLES_FITTED)
        stamps = self._stamps[np.arange(first, self._count) % SAMPLES_FITTED]
        known, self.period_ns = self.period_ns, _period(stamps)
        for step in () if known else np.diff(stamps).tolist():
            self._follow(step, self.period_ns)
        late = (stamps - stamps[0]) - self.period_ns * np.arange(len(stamps))
        if self._mode == "regularise" or self._come_at_once or self._often_late(stamps, late):
            self._last_burst = self._count
            if self._line is None:  # the sample before the newest one was on the line below the stamps
                self._line = _Line(int(stamps[0]) + int(late.min() + self.period_ns * (len(stamps) - 2)))
        elif self.even and self._count - self._last_burst > STEPS_WITHOUT_BURST:
            self._begin()

    def _often_late(self, stamps: Times, late: Array) -> bool:
        """Return whether most samples are prompt, some late [ns], and the next ones make up for it."""
        period, n = self.period_ns, len(stamps)
        if n < STEPS_JUDGED:
            return False
        late = late - np.sort(late)[n // 10]
        often_prompt, often_late = np.mean(late < PROMPT * period), np.mean(late > SHORT_STEP * period)
        often_short = np.mean(np.diff(stamps) < SHORT_STEP * period)
        return bool(often_prompt >= OFTEN_PROMPT and often_late >= OFTEN_LATE and often_short >= OFTEN_SHORT)


class _Line:
    """The line below the stamps, on which a sample lies that is not late; it ends where the rate changes."""

    def __init__(self, time_ns: int) -> None:
        """Begin with the time of a sample."""
        self._time = time_ns  # of the last sample
        self._ends: deque[float] = deque(maxlen=ENDS_COMPARED)  # lateness of ends of bursts + raised
        self._raised = self._lag = 0.0
        self._corrections = 0

    def next_time(self, stamp: int, step: int, period: float) -> tuple[int, int] | None:
        """Return the time of the next sample, and how many of the last ones came after a loss (0: none).

        There is none where the rate has changed: the line ends.
        """
        due = self._time + round(period)
        lag = stamp - due
        if step >= SHORT_STEP * period:  # the sample before was the end of a burst, or alone
            self._ends.append(self._lag + self._raised)
        if lag < -LEAD * period:
            return None
        self._lag = max(lag, 0.0)
        if lag < LOST * period:
            self._corrections = 0
        # A sample that came before it was due shows that the line was too late.
        found = (stamp, 0) if lag <= 0 else self._raise(due, stamp, period)
        self._time = stamp if found is None else found[0]
        return found

    def _raise(self, due: int, stamp: int, period: float) -> tuple[int, int] | None:
        """Raise the line by what all ends of bursts are late, at once where samples were lost."""
        ends, far = self._ends, self._lag > FAR_LATE * period
        enough = FAR_LATE_ENDS if far else ENDS_COMPARED
        if len(ends) < enough:
            return due, 0
        late = min(list(ends)[-enough:]) - self._raised
        if late <= (FAR_LATE if far else LOST) * period:
            by = 0.0 if far else max(min(late, SLEW * period), 0.0)
            self._raised += by
            return int(due + by), 0
        ends.clear()
        self._corrections += 1
        if self._corrections > MOST_CORRECTIONS:
            return None
        self._lag = max(self._lag - late, 0.0)
        return min(int(due + late), stamp), enough


def _period(stamps: Times) -> float:
    """Return the slope of the line under stamps over their numbers [ns], shape (n,), n >= 2."""
    relative, number = (stamps - stamps[0]).astype(float), np.arange(len(stamps), dtype=float)
    ends = np.append(np.diff(relative) >= SHORT_STEP * relative[-1] / number[-1], True)
    if ends.sum() >= FAR_LATE_ENDS:
        number, relative = number[ends], relative[ends]
    slope = _slope(number, relative)
    late = relative - slope * number
    prompt = late <= np.median(late)
    return max(_slope(number[prompt], relative[prompt]) if prompt.sum() >= FAR_LATE_ENDS else slope, 1.0)


def _slope(x: Array, y: Array) -> float:
    """Slope of the least-squares line."""
    dx = x - x.mean()
    return float(dx.dot(y) / dx.dot(dx))


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
        self.longest_ns = min(round(NANOSECONDS * config.timeout), JUMP_NS)  # step that continues them
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
    before (a recording or simulation begins anew, where they go back by more than `JUMP_NS`), else of
    this one. A clock that differs from those of most
    streams by `JUMP_NS` (of two that which differs more from the arrivals) is moved by the difference,
    and named.
    """

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.begins_anew = True  # whether the last clearing was of all clocks and the motion going back
        self.arrivals_tell = True  # whether clocks are compared; not where a simulation waits for answers

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
            if step > JUMP_NS:
                clock.even.reset()
            return stream.store(stamp_ns, row, arrival_ns)
        if held and not (0 < stamp_ns - held[-1][0] <= JUMP_NS and len(held) < MOST_HELD):
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
        together = all(c.held and abs(c.held[-1][0] - newest) <= JUMP_NS for c in others)
        if newest - held[0][0] < (SILENCE_NS if together else LONG_SILENCE_NS):
            return False
        (self._follow_all if together else self._follow_one)(stream)
        return True

    def _follow_all(self, stream: Stream) -> None:
        """Forget the rows of all streams, then store what they hold on the new clock."""
        back = stream.clock.held[0][0] < (stream.clock.last_ns or 0) - JUMP_NS
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
            if wanted and abs(wanted - clock.offset_ns) <= JUMP_NS:
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
            if groups and one.clock.shift_ns - groups[-1][-1].clock.shift_ns <= JUMP_NS:
                groups[-1].append(one)
            else:
                groups.append([one])
        if not self.arrivals_tell or not groups or (stream.clock.votes and stream not in voters):
            return 0
        best = max(groups, key=lambda group: (len(group), -min(abs(s.clock.shift_ns) for s in group)))
        apart = int(np.median([s.clock.shift_ns for s in best])) - stream.clock.shift_ns
        return apart if stream not in best and abs(apart) > JUMP_NS else 0

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
