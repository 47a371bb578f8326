"""Times of measurement from timestamps and arrivals: evenly spaced times, clock offsets, clock jumps.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with a delay d_k >= 0. Stamps
in bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. No sample
arrives before it is taken, so t_n <= a_k + (n - k) T for every earlier sample k; the smallest of these bounds
over recent samples is the time of sample n. The period T is fitted to samples that end a burst.
"""

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.signals import NANOSECONDS

Times = NDArray[np.int64]
FITTED = 2000  # most recent samples, to which the period is fitted
EARLIEST = np.iinfo(np.int64).min // 2  # [ns]
JUDGED = 100  # samples from one fit to the next; bursts are detected in two such spans
SHORT, AT_ONCE = 0.5, 0.15  # in periods: a step that catches up; a step at once, or a delay that is none
BURSTY = 0.08  # share of samples at once after a late one, from which stamps come in bursts
OFTEN, SELDOM = 0.5, 0.02  # if this share of samples has no delay, this share that catches up is bursts
CHANGED = 0.1  # relative difference of the newest period, from which the rate has changed
ENDS = 10  # ends of bursts whose bounds are kept; after a lost sample as many times are too early
SHORTEST_STEP = 0.1  # between two times, in periods


class EvenTimes:
    """Converts the stamps of one input to times of measurement.

    In mode "as_is" times are the stamps; in mode "regularise" they are evenly spaced from the first fit on.
    In mode "auto" they are evenly spaced while stamps come in bursts, that is while samples arrive at once
    after a late one, and the stamps otherwise. Jitter of up to half a period is no burst: evenly spaced times
    would lag such stamps by more than the jitter.
    """

    def __init__(self, mode: str = "auto") -> None:
        self._mode = mode
        self._stamps = array("q")  # the last ones [ns]
        self.reset()

    def reset(self) -> None:
        """Discard all stamps, for example after a jump of their clock."""
        self._time = EARLIEST  # last time that was returned
        self._period = 0.0
        self.even = False  # whether times are evenly spaced rather than the stamps
        self._ends: list[int] = []  # bounds of the time of the last sample, by recent ends of bursts [ns]
        del self._stamps[:]
        self._next_fit = JUDGED  # number of stamps from which on they are fitted

    def time_of(self, stamp_ns: int) -> int:
        """Return the time of a sample [ns] from its stamp [ns]; times increase strictly."""
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
        """Fit the period, and decide whether times are evenly spaced."""
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
    """Return the slope of stamps [ns], shape (n,) with n >= 2, over the number of the sample.

    It is the median slope between ends of bursts (or single samples) that are a quarter of all of them apart,
    so that a few lost samples do not change it.
    """
    steps = np.diff(stamps)
    ends = np.flatnonzero(steps >= SHORT * steps.mean())
    apart = max(len(ends) // 4, 1)
    slopes = (stamps[ends[apart:]] - stamps[ends[:-apart]]) / (ends[apart:] - ends[:-apart])
    return float(np.median(slopes)) if len(slopes) else float(steps.mean())


TOGETHER_NS = 1000  # span of readings with one arrival, which are given times one nanosecond apart
ZEROS_TO_BELIEVE = 50  # consecutive zero stamps after which a driver that had set stamps counts as unset
BLOCK_NS = NANOSECONDS  # after which clocks are compared again
AHEAD_NS = NANOSECONDS // 10  # of a stamp before its arrival: another clock; less is a delay (see `check`)


@dataclass
class OddStamps:
    """Consecutive stamps that do not continue the clock, until it is decided whether the clock has jumped."""

    first_ns: int
    last_ns: int
    goes_on: bool  # whether the first reading continues the motion of the last one on the previous clock
    count: int = 1


class StreamClock:
    """Stamps of one input and the times that follow from them."""

    def __init__(self, config: InputConfig, delay: float = 0.0, *, by_arrival: bool = False) -> None:
        """Start without a stamp; readings were taken a delay [s] before their stamps."""
        self.even = EvenTimes("auto" if config.stamps == "arrival" else config.stamps)
        self.by_arrival = by_arrival  # whether arrivals are used instead of stamps
        self.unset = False  # whether stamps have never been set, or no longer are: arrivals replace them
        self.longest_ns = min(round(NANOSECONDS * config.timeout), JUMP_NS)  # longest step of one clock
        self.delay_ns, self.zeros = round(NANOSECONDS * delay), 0  # zeros: consecutive stamps of zero
        self.reset()

    def reset(self) -> None:
        """Discard all stamps."""
        self.even.reset()
        self.odd: OddStamps | None = None
        self.offset_ns = 0  # correction of a clock that differs from that of the other inputs
        self.last_ns: int | None = None  # last stamp
        self.readings = self.next_ns = 0  # number of readings on this clock; stamp of the next comparison
        self.shift_ns = 0  # stamp minus arrival of the least delayed recent reading
        self._shifts = [EARLIEST] * 3  # largest such difference in this block and in the two before [ns]

    def from_arrival(self, arrival_ns: int) -> int | None:
        """Return the arrival [ns] in place of a stamp; None if a zero stamp is a fault of this reading."""
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
        """Whether the stamps count when the clocks of the inputs are compared."""
        return not (self.by_arrival or self.unset)

    def time_of(self, stamp_ns: int, arrival_ns: int) -> int:
        """Return the time of a reading [ns] from its accepted stamp and its arrival [ns]."""
        self.last_ns = stamp_ns
        self.readings += 1
        shift = stamp_ns - arrival_ns
        if shift > self._shifts[0]:
            self._shifts[0] = shift
            if shift > self.shift_ns or self.readings == 1:
                self.shift_ns = shift
        return self.even.time_of(stamp_ns) + self.offset_ns - self.delay_ns

    def next_block(self, stamp_ns: int) -> None:
        """End a block of readings at a stamp [ns], and begin the next one."""
        self.next_ns, self.shift_ns = stamp_ns + BLOCK_NS, max(self._shifts[:2])
        self._shifts = [EARLIEST, *self._shifts[:2]]

    @property
    def ahead(self) -> bool:
        """Whether stamps were ahead of their arrivals in two blocks, which is impossible on one clock."""
        return min(self._shifts[1:]) > AHEAD_NS
