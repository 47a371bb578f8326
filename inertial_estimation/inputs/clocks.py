"""When was a reading taken: stamps, arrivals, even times, and clocks that jump or differ from the others.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with d_k >= 0. Stamps in
bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. A sample
cannot arrive before it is taken, so period and offset are those of the lower envelope of the stamps: the
period is the least-squares slope over the samples that end a burst or stand alone, fitted twice, the second
time to the less delayed half of them; the line is pulled down by every sample that comes before it was due,
and raised by what all of the last ends of bursts are late.
"""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.inputs.config import JUMP_NS, InputConfig
from inertial_estimation.signals import NANOSECONDS, Array

Times = NDArray[np.int64]
FIRST_FIT, MOST_FITTED = 20, 1000  # samples of the first fit of the period, and of a later one
JUDGED = 100  # samples from one fit to the next; bursts are sought in two such spans
SHORT, AT_ONCE = 0.5, 0.15  # of a period: steps after a late sample, and between samples that arrive at once
LATE = 0.6  # of a period, by which a sample is late that the next one comes at once with
BURSTY = 0.08  # share of samples at once among those judged, or of late ones, from which there are bursts
PROMPT, OFTEN = 0.15, 0.5  # of a period after the line; share of samples that come before, if others are late
CALM = 2000  # samples without a burst, after which times are the stamps again
ENDS, LOST = 10, 0.75  # ends of bursts that are compared; of a period, by which all are late after a loss
RAISED = 0.05  # of a period, by which jitter may raise the line at most
MOST_LOSSES = 3  # in a row, from which the rate has fallen
SHORTEST_STEP = 0.1  # of a period, between two times


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
        self._stamps: Times = np.zeros(MOST_FITTED, dtype=np.int64)
        self.reset()

    def reset(self) -> None:
        """Forget all stamps, for example after a jump of their clock."""
        self._time = -(2**62)  # the last one that was returned
        self._begin()

    def _begin(self) -> None:
        self.period_ns = 0.0
        self.even = False  # whether times are even, and not the stamps
        # Number of samples, of the first one that the period is fitted to, and of the one at which it is.
        self._count, self._first, self._next_fit = 0, 0, FIRST_FIT
        self._last_burst = 0  # number of the last sample at which there were bursts

    def time_of(self, stamp_ns: int) -> int:
        """Return the time of a sample [ns] by its stamp [ns]; both increase from sample to sample."""
        if self._mode == "as_is":
            return stamp_ns
        self._stamps[self._count % MOST_FITTED] = stamp_ns
        self._count += 1
        if self._count >= self._next_fit:
            self._fit()
        time, least = stamp_ns, self._time + 1
        if self.even:
            time, least = self._on_line(stamp_ns), least + int(SHORTEST_STEP * self.period_ns)
        self._time = time if time > least else least
        return self._time

    def _fit(self) -> None:
        """Fit the period; begin to make times even, or cease to."""
        self._next_fit = self._count + (JUDGED if self._count >= JUDGED else self._count)
        first = max(self._first, self._count - MOST_FITTED)
        stamps = self._stamps[np.arange(first, self._count) % MOST_FITTED]
        self.period_ns = _period(stamps)
        late = (stamps - stamps[0]) - self.period_ns * np.arange(len(stamps))
        if self._mode == "regularise" or _bursts(stamps, late, self.period_ns):
            self._last_burst = self._count
            if not self.even:  # the sample before the newest one was on the line below the stamps
                self.even, self._lag, self._losses = True, 0.0, 0
                self._ends: list[float] = []  # by how much the last ends of bursts were late
                self._due = int(stamps[0]) + int(late.min() + self.period_ns * (len(stamps) - 2))
                self._previous = int(stamps[-2])
        elif self.even and self._count - self._last_burst > CALM:
            self._begin()

    def _on_line(self, stamp: int) -> int:
        """Return the time of the next sample on the line below the stamps; the line ends if the rate changes.

        `_due` is that of the last sample, `_lag` by how much it was late.
        """
        period, step = self.period_ns, stamp - self._previous
        due, self._previous = self._due + round(period), stamp
        if step >= SHORT * period:  # the sample before was the end of a burst, or alone
            self._ends.append(self._lag)
        if len(self._ends) == ENDS:
            late, self._ends = min(self._ends), []
            lost = late > LOST * period
            due += int(late if lost else min(late, RAISED * period))
            self._losses, self._first = (self._losses + 1, self._count) if lost else (0, self._first)
            self._next_fit = self._count + JUDGED if lost else self._next_fit
        lag = stamp - due
        if lag < -period or self._losses > MOST_LOSSES:
            self._begin()
            return stamp
        if lag < 0:  # it came before it was due: the line was too late
            due, lag = stamp, 0
        self._due, self._lag = due, lag
        return due


def _bursts(stamps: Times, late: Array, period: float) -> bool:
    """Return whether samples arrive at once with late ones, or many late ones among prompt ones.

    They are late by `late` on any line [ns], shape (n,); a period is too [ns].
    """
    if len(stamps) < JUDGED:
        return False
    late, steps = late - np.quantile(late, 0.1), np.diff(stamps)
    at_once = (steps < AT_ONCE * period) & (late[:-1] >= LATE * period)
    prompt, short = late < PROMPT * period, steps < SHORT * period
    often_late = np.mean(late > SHORT * period) >= BURSTY and np.mean(short) >= 0.5 * BURSTY
    return bool(at_once[-2 * JUDGED :].mean() >= BURSTY or (prompt.mean() >= OFTEN and often_late))


FEWEST_ENDS = 5  # of bursts, that a period is fitted to


def _period(stamps: Times) -> float:
    """Return the slope of the line under stamps over their numbers [ns], shape (n,), n >= 2."""
    relative, number = (stamps - stamps[0]).astype(float), np.arange(len(stamps), dtype=float)
    ends = np.append(np.diff(relative) >= SHORT * relative[-1] / number[-1], True)
    if ends.sum() >= FEWEST_ENDS:
        number, relative = number[ends], relative[ends]
    slope = _slope(number, relative)
    late = relative - slope * number
    prompt = late <= np.median(late)
    return max(_slope(number[prompt], relative[prompt]) if prompt.sum() >= FEWEST_ENDS else slope, 1.0)


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
