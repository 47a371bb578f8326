"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or differ from the others.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with d_k >= 0. Stamps in
bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. A sample
cannot arrive before it is taken, so period and offset are those of the lower envelope of the stamps: the
period is the least-squares slope over the samples that end a burst or stand alone, fitted twice, the second
time to the less delayed half of them; the line is pulled down by every sample that comes before it was due,
and raised by what all of the last ends of bursts are late.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.signals import NANOSECONDS, Array

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
        step = stamp_ns - self._last
        self._stamps[self._count % SAMPLES_FITTED] = stamp_ns
        self._count, self._last = self._count + 1, stamp_ns
        if self.period_ns:
            self._follow(step, self.period_ns)
        self._until_fit -= 1
        if self._until_fit <= 0:
            self._fit()
        time, least = stamp_ns, self._time + 1
        if self._line is not None:
            found = self._line.next_time(stamp_ns, step, self.period_ns)
            if found is None:
                self._begin()
            else:
                time, since = found
                self._first = self._count - since if since else self._first
                least += int(SHORTEST_STEP * self.period_ns)
        self._time = time if time > least else least
        return self._time

    @property
    def even(self) -> bool:
        """Whether times are even, and not the stamps."""
        return self._line is not None

    def _follow(self, step: int, period: float) -> None:
        """Note how late a sample is, and whether it came at once with a late one."""
        if step >= SHORT_STEP * period:  # a long step before a regular one was of lost samples
            self._late = step - period if step > period else 0.0
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


ZEROS_TO_BELIEVE = 50  # consecutive stamps that are not set, of a driver that has set them before
BLOCK_NS = NANOSECONDS  # after which clocks are compared again
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
        self.set_offset(0)
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self.even.reset()
        self.held.clear()
        self.last_ns: int | None = None  # last stamp
        self.readings = self.next_ns = 0  # number of readings on this clock; stamp of the next comparison
        self.shift_ns = 0  # stamp less arrival of the least delayed of the last readings
        self._shift = self._shift_before = EARLIEST  # largest ones of this block and of the last one [ns]

    def from_arrival(self, arrival_ns: int) -> int | None:
        """Return an arrival [ns] in place of a stamp that is not used or set; None where that is a fault."""
        if not self.by_arrival:
            self._zeros += 1
            self.unset = self.unset or self.last_ns is None or self._zeros >= ZEROS_TO_BELIEVE
            if not self.unset:
                return None
        return arrival_ns + 1 if arrival_ns == self.last_ns else arrival_ns

    def set_offset(self, offset_ns: int) -> None:
        """Take what is added to the stamps of a clock that is not that of the other inputs [ns]."""
        # Time of a reading less its stamp, but for what makes the stamps even.
        self.shifted_ns = offset_ns - self._delay_ns

    @property
    def offset_ns(self) -> int:
        """What is added to the stamps of a clock that is not that of the other inputs [ns]."""
        return self.shifted_ns + self._delay_ns

    @property
    def votes(self) -> bool:
        """Whether the stamps say which clock the inputs have."""
        return not (self.by_arrival or self.unset)

    def time_of(self, stamp_ns: int, arrival_ns: int) -> int:
        """Return the time of a reading [ns], from its stamp, which is right, and its arrival [ns]."""
        self.last_ns = stamp_ns
        self.readings += 1
        shift = stamp_ns - arrival_ns
        if shift > self._shift:
            self._shift = shift
            if shift > self.shift_ns or self.readings == 1:
                self.shift_ns = shift
        return self.even.time_of(stamp_ns) + self.shifted_ns

    def next_block(self, stamp_ns: int) -> None:
        """Begin a block of readings, after which clocks are compared; one ends at this stamp [ns]."""
        self.next_ns, self.shift_ns = stamp_ns + BLOCK_NS, max(self._shift, self._shift_before)
        self._shift_before, self._shift = self._shift, EARLIEST
