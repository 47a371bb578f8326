"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or differ from the others.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with d_k >= 0. Stamps in
bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. No sample
arrives before it is taken, so t_n <= a_k + (n - k) T for every earlier sample k, and the least of these over
the last samples is the time of sample n. The period T is that between samples that end a burst.
"""

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.signals import NANOSECONDS

Times = NDArray[np.int64]
FITTED = 2000  # samples that the period is fitted to
EARLIEST = np.iinfo(np.int64).min // 2  # [ns]
JUDGED = 100  # samples from one fit to the next; bursts are sought in two such spans
SHORT, AT_ONCE = 0.5, 0.15  # of a period: steps that catch up, and what is at once or on the line
BURSTY = 0.08  # share of samples at once after late ones, from which there are bursts
OFTEN, SELDOM = 0.5, 0.02  # share of samples on the line, among which so few late ones are bursts
CHANGED = 0.1  # of the period, by which that of the newest samples differs once their rate is another
ENDS = 10  # of bursts, that the line is below: a lost sample makes as many too early
SHORTEST_STEP = 0.1  # of a period, between two times


class EvenTimes:
    """Turns the stamps of one input into times of measurement.

    In mode "auto" times are the stamps until samples arrive at once after a late one; from then on they are
    even, until there is no such sample any more or the rate changes. Jitter of up to half a period is no
    burst: even times would lie behind such stamps by more than it. In mode "as_is" times are the stamps, in
    mode "regularise" they are even from the first fit on.
    """

    def __init__(self, mode: str = "auto") -> None:
        self._mode = mode
        self._stamps = array("q")  # the last ones [ns]
        self.reset()

    def reset(self) -> None:
        """Forget all stamps, for example after a jump of their clock."""
        self._time = EARLIEST  # the last one that was returned
        self._period = 0.0
        self.even = False  # whether times are even, and not the stamps
        self._ends: list[int] = []  # what the last ends of bursts leave for the time of the last sample [ns]
        del self._stamps[:]
        self._next_fit = JUDGED  # number of stamps from which on they are fitted

    def time_of(self, stamp_ns: int) -> int:
        """Return the time of a sample [ns] by its stamp [ns]; it increases from sample to sample."""
        if self._mode == "as_is":
            self._time = max(stamp_ns, self._time + 1)
            return self._time
        self._stamps.append(stamp_ns)
        if len(self._stamps) >= self._next_fit:
            del self._stamps[:-FITTED]
            self._fit(np.array(self._stamps))
            self._next_fit = len(self._stamps) + JUDGED
        time, least, period = stamp_ns, self._time + 1, self._period
        if self.even:
            before = self._stamps[-2]
            self._ends += [before] if stamp_ns - before >= SHORT * period else []
            self._ends = [end + round(period) for end in self._ends[-ENDS:]]
            time, least = min([stamp_ns, *self._ends]), least + int(SHORTEST_STEP * period)
        self._time = time if time > least else least
        return self._time

    def _fit(self, stamps: Times) -> None:
        """Fit the period; begin to make times even, or cease to."""
        period = _period(stamps)
        if abs(_period(stamps[-2 * JUDGED :]) - period) > CHANGED * period:
            stamps, self._ends = stamps[-JUDGED:], []
            del self._stamps[:-JUDGED]
            period = _period(stamps)
        self._period = period
        if not period:  # of a clock that stands still
            self.even, self._ends = False, []
            return
        late, steps = (stamps - stamps[0]) - period * np.arange(len(stamps)), np.diff(stamps)
        late -= np.partition(late, len(late) // 10)[len(late) // 10]
        behind = np.where(late[:-1] > SHORT * period, steps / period, np.inf)  # steps after late samples
        few = np.mean(late < AT_ONCE * period) >= OFTEN and np.mean(behind < SHORT) >= SELDOM
        at_once = behind < AT_ONCE
        bursts = self._mode == "regularise" or few or at_once[-2 * JUDGED :].mean() >= BURSTY
        self.even = bool(bursts or (self.even and at_once.any()))
        self._ends = self._ends if self.even else []


def _period(stamps: Times) -> float:
    """Return the slope of stamps over their numbers [ns], shape (n,), n >= 2.

    It is the median slope between ends of bursts (or samples alone) a quarter of all of them apart, which few
    lost samples do not change.
    """
    steps = np.diff(stamps)
    ends = np.flatnonzero(steps >= SHORT * steps.mean())
    apart = max(len(ends) // 4, 1)
    slopes = (stamps[ends[apart:]] - stamps[ends[:-apart]]) / (ends[apart:] - ends[:-apart])
    return float(np.median(slopes)) if len(slopes) else float(steps.mean())


TOGETHER_NS = 1000  # by which readings of one arrival are apart at most, each by one from that before
ZEROS_TO_BELIEVE = 50  # consecutive stamps that are not set, of a driver that has set them before
BLOCK_NS = NANOSECONDS  # after which clocks are compared again
AHEAD_NS = NANOSECONDS // 10  # of an arrival, by which a stamp is of another clock; less is a delay (`check`)


@dataclass
class OddStamps:
    """Consecutive readings on another clock, until it is decided."""

    first_ns: int
    last_ns: int
    goes_on: bool  # whether the first one continues the motion of the last one on the clock before
    count: int = 1


class StreamClock:
    """Stamps of one input and the times that follow from them."""

    def __init__(self, config: InputConfig, delay: float = 0.0, *, by_arrival: bool = False) -> None:
        """Begin without a stamp; readings are older than their stamps by the delay [s]."""
        self.even = EvenTimes("auto" if config.stamps == "arrival" else config.stamps)
        self.by_arrival = by_arrival  # whether the stamps are not used
        self.unset = False  # whether they have never been set, or no longer are: arrivals take their place
        self.longest_ns = min(round(NANOSECONDS * config.timeout), JUMP_NS)  # step that continues them
        self.delay_ns, self.zeros = round(NANOSECONDS * delay), 0  # stamps that were not set, in a row
        self.reset()

    def reset(self) -> None:
        """Forget all stamps."""
        self.even.reset()
        self.odd: OddStamps | None = None
        self.offset_ns = 0  # added to the stamps of a clock that is not that of the other inputs
        self.last_ns: int | None = None  # last stamp
        self.readings = self.next_ns = 0  # number of readings on this clock; stamp of the next comparison
        self.shift_ns = 0  # stamp less arrival of the least delayed of the last readings
        self._shifts = [EARLIEST] * 3  # largest ones of this block and of the two before [ns]

    def from_arrival(self, arrival_ns: int) -> int | None:
        """Return an arrival [ns] in place of a stamp that is not used or set; None where that is a fault."""
        if not self.by_arrival:
            self.zeros += 1
            self.unset = self.unset or self.last_ns is None or self.zeros >= ZEROS_TO_BELIEVE
            if not self.unset:
                return None
        last_ns = self.last_ns
        if last_ns is not None and 0 <= last_ns - arrival_ns < TOGETHER_NS:
            return last_ns + 1
        return arrival_ns

    @property
    def votes(self) -> bool:
        """Whether the stamps say which clock the inputs have."""
        return not (self.by_arrival or self.unset)

    def time_of(self, stamp_ns: int, arrival_ns: int) -> int:
        """Return the time of a reading [ns], from its stamp, which is right, and its arrival [ns]."""
        self.last_ns = stamp_ns
        self.readings += 1
        shift = stamp_ns - arrival_ns
        if shift > self._shifts[0]:
            self._shifts[0] = shift
            if shift > self.shift_ns or self.readings == 1:
                self.shift_ns = shift
        return self.even.time_of(stamp_ns) + self.offset_ns - self.delay_ns

    def next_block(self, stamp_ns: int) -> None:
        """Begin a block of readings, after which clocks are compared; one ends at this stamp [ns]."""
        self.next_ns, self.shift_ns = stamp_ns + BLOCK_NS, max(self._shifts[:2])
        self._shifts = [EARLIEST, *self._shifts[:2]]

    @property
    def ahead(self) -> bool:
        """Whether stamps were ahead of their arrivals, in two blocks, as those of one clock are not."""
        return min(self._shifts[1:]) > AHEAD_NS
