"""Recovers the times of regular samples from stamps taken on arrival, causally.

A sample taken at t_k = t_0 + k T and stamped on arrival carries a_k = t_k + d_k with d_k >= 0. Stamps in
bursts (d_k up to many periods, then many samples at once) corrupt every integration over time. A sample
cannot arrive before it is taken, so period and offset are those of the lower envelope of the stamps. The
period is the least-squares slope of stamps over sample numbers, fitted twice, the second time to the least
delayed samples only; the offset follows the smallest delay of the last samples.
"""

from collections import deque
from typing import Any

import numpy as np

from inertial_estimation.compilation import (
    Integers,
    MutableColumn,
    compiled,
    inlined,
    integers,
    warm_up,
    zeros,
)
from inertial_estimation.signals import NANOSECONDS

SAMPLES_TO_FIRST_FIT = (
    20  # samples before the first fit of the period; the second at twice as many, and so on
)
MOST_SAMPLES_TO_NEXT_FIT = 500  # samples between two fits while stamps are used as they come
SAMPLES_TO_NEXT_ACTIVE_FIT = 100  # samples between two fits while the times are regularised
SAMPLES_FITTED = 1000  # samples the period is fitted over
STEPS_JUDGED = 50  # steps judged for coming in bursts
SHORT_STEP_SHARE = 0.5  # of a period: a shorter step follows a late sample; a lost sample leaves no short one
CAUGHT_UP_STEP_SHARE = 0.2  # of a period, between samples that arrive at once; jitter rarely gives such steps
LATE_PERIODS = 0.9  # by which the sample before it is late at least: it waited for the next one
PROMPT_SHARE = 0.3  # of samples, the least delayed ones, that the period is fitted to
DELAYS_COMPARED = 100  # samples the smallest delay is sought in
BURST_SHARE = 0.1  # of short steps, beyond which stamps are taken to be those of arrival
MOST_CATCHING_UP = BURST_SHARE * STEPS_JUDGED  # such steps among those judged that are no bursts yet
LARGEST_SLEW_SHARE = 0.05  # of a period, by which the times may move later per sample
SHORTEST_STEP_SHARE = 0.1  # of a period, the smallest step between two times
LARGEST_LAG_PERIODS = 3  # periods by which times lie before stamps without a burst to explain it
LARGEST_LEAD_PERIODS = 1  # periods by which times lie after stamps
EARLIEST = -(2**63)  # before all stamps [ns]
LAG_SCATTER_SHARE = 0.5  # of a lag, by which bursts may change it while it counts as constant
REGULAR_STEP_SCATTER = 0.2  # of the median step, by which a regular step differs from it
RATE_CHANGE = 1.2  # ratio of the recent steps to the mean step, from which the rate has changed
REGULAR_STEP_SHARE = 0.8  # of the steps, beyond which samples do not come in bursts
LAGGING_SAMPLES = 20  # samples that lag, not in a burst, from which the line of the times is wrong

# Integers of the state: last time [ns], samples until the next fit, samples and steps since the begin, short
# steps after a stall among the last steps, place of the oldest of them, whether times are regular, whether
# times are the stamps; then the numbers of those steps, and the last stamps [ns], both as rings.
TIME, UNTIL_FIT, SAMPLES, STEPS, CATCHING_UP, OLDEST, ACTIVE, AS_IS, FOUND = range(9)
STAMPS = FOUND + STEPS_JUDGED
INTEGERS = STAMPS + SAMPLES_FITTED
# Figures: period [ns], lateness of the last sample [ns], whether the last step is short; their number.
PERIOD, LATE, SHORT, FIGURES = range(4)


class StampRegulator:
    """Turns the stamps of one input into times of measurement.

    In mode "auto" times equal stamps until a tenth of the samples arrives at once with a late one before;
    from then on they are regular, until `reset`. Jitter of up to half a period is no burst: regular times
    would lie behind such stamps by more than it.

    The line of the times is wrong where the rate of the samples has changed, or many were lost: the times
    then lag behind the stamps though no burst follows, or lead them. Where bursts go on and the lag is
    constant (lost samples), the line moves by it. Otherwise the times return to the stamps, and bursts are
    sought again.

    Attributes:
        integers: Integers of the state, as `regular_stamp` changes them.
        figures: Its figures.
        corrections: Number of times that the line was wrong, since the last reset.
    """

    def __init__(
        self, mode: str = "auto", nominal_rate: float = 0.0, memory: tuple[Any, Any, Any] | None = None
    ) -> None:
        """Begin without a sample.

        Args:
            mode: "auto", "as_is" (times are the stamps) or "regularise" (from the first fit on).
            nominal_rate: Rate of the samples [Hz]; 0 finds it from the stamps.
            memory: Where the state is kept: its integers, as `integers` returns them, and its figures; None:
                in memory of its own.
        """
        self._always = mode == "regularise"
        self._nominal_ns = NANOSECONDS / nominal_rate if nominal_rate > 0.0 else 0.0
        own = (*integers(INTEGERS), zeros(FIGURES)) if memory is None else memory
        self.integers, self._n = own[0], own[1]
        self.figures: Any = own[2]
        self._n[AS_IS] = mode == "as_is"
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Discard the history of stamps, for example after a jump of their clock."""
        self._n[TIME] = EARLIEST
        self.corrections = 0
        self._begin()

    def _begin(self) -> None:
        """Begin with an empty history of stamps."""
        self._n[ACTIVE] = self._n[SAMPLES] = 0
        self.figures[PERIOD] = self._nominal_ns
        self._n[UNTIL_FIT] = self._wait = SAMPLES_TO_FIRST_FIT
        _forget_steps(self._n, self.figures)
        self._lags = _Lags()
        self._raised = 0.0
        self._delays: deque[float] = deque(maxlen=DELAYS_COMPARED)

    @property
    def active(self) -> bool:
        """Whether the times differ from the stamps."""
        return bool(self._n[ACTIVE])

    @property
    def stamps_ns(self) -> list[int]:
        """The last stamps, the oldest first [ns]; none where times are the stamps."""
        stamps: list[int] = _stamps(self.integers).tolist()
        return stamps

    @property
    def period_ns(self) -> float:
        """Period of the samples [ns]; 0 until known."""
        return float(self.figures[PERIOD])

    def time_of(self, stamp_ns: int) -> int:
        """Return the time of a sample from its stamp.

        Args:
            stamp_ns: Its stamp [ns], after those of all samples before.

        Returns:
            Its time [ns], after the times of all samples before; the stamp itself while not active.
        """
        return (
            int(self._n[TIME])
            if regular_stamp(stamp_ns, self.integers, self.figures)
            else self.judged(stamp_ns)
        )

    def judged(self, stamp_ns: int) -> int:
        """Return the time of a sample whose stamp `regular_stamp` has taken and not found regular.

        Args:
            stamp_ns: Its stamp [ns].
        """
        if self._n[UNTIL_FIT] <= 0 or self._n[CATCHING_UP] > MOST_CATCHING_UP:
            self._fit_again()
        time = self._regular_time(stamp_ns) if self.active else stamp_ns
        self._n[TIME] = time = max(time, self._n[TIME] + 1)  # after a return from times that led
        return int(time)

    def _fit_again(self) -> None:
        """Fit the period where it is time to, or where stamps have begun to come in bursts."""
        if self._n[UNTIL_FIT] <= 0:
            most = SAMPLES_TO_NEXT_ACTIVE_FIT if self.active else MOST_SAMPLES_TO_NEXT_FIT
            self._wait = min(2 * self._wait, most)
            self._refit()
        elif not self.active:
            self._refit()

    def _refit(self) -> None:
        self._n[UNTIL_FIT] = self._wait
        recent = _fit_period(self._nominal_ns, self.integers, self.figures)
        bursts = self._always or self._n[CATCHING_UP] > BURST_SHARE * recent
        if bursts and not self.active:
            self._activate(_stamps(self.integers), self.period_ns)

    def _activate(self, stamps: np.ndarray, period: float) -> None:
        """Return the last sample's time on the line of slope T below all recent stamps."""
        self._n[ACTIVE] = 1
        index = np.arange(len(stamps), dtype=float)
        offsets = (stamps - stamps[0]).astype(float) - period * index
        start = int(stamps[0] + offsets.min() + period * (len(stamps) - 2))
        self._n[TIME] = max(self._n[TIME], start)

    def _regular_time(self, stamp_ns: int) -> int:
        period = self.period_ns
        predicted = self._n[TIME] + period
        if stamp_ns < predicted:  # arrived before it was due: the line was too late
            predicted = max(float(stamp_ns), self._n[TIME] + SHORTEST_STEP_SHARE * period)
        if self._lags.wrong(stamp_ns - predicted, period, in_burst=bool(self.figures[SHORT])):
            return self._corrected(stamp_ns, predicted)
        self._delays.append(stamp_ns - predicted + self._raised)
        if len(self._delays) == DELAYS_COMPARED:  # all arrive late: samples were lost, or the period is short
            raise_by = min(max(min(self._delays) - self._raised, 0.0), LARGEST_SLEW_SHARE * period)
            self._raised += raise_by
            predicted += raise_by
        return int(predicted)

    def _corrected(self, stamp_ns: int, predicted: float) -> int:
        """Move the line by the lag if it is constant and bursts go on; otherwise return to the stamps."""
        self.corrections += 1
        period, lag = self.period_ns, self._lags.constant(self.period_ns)
        regular = _regular(np.diff(_stamps(self.integers)[-LAGGING_SAMPLES:]))
        self._begin()
        if lag is None or regular:
            return stamp_ns
        self._n[ACTIVE], self.figures[PERIOD] = 1, period
        self._n[UNTIL_FIT] = self._wait = SAMPLES_TO_NEXT_ACTIVE_FIT
        return int(predicted + lag)


@compiled
def regular_stamp(stamp: int, n: Integers, x: MutableColumn) -> bool:
    """Take a stamp into the state of a regulator; return whether it gives its time, which is taken then.

    Args:
        stamp: The stamp [ns].
        n: Integers of the state; changed.
        x: Figures of the state; changed.
    """
    if n[AS_IS] != 0:
        n[TIME] = stamp
        return True
    count = n[SAMPLES]
    if count > 0 and x[PERIOD] != 0.0:
        _take_step(float(stamp - n[STAMPS + (count - 1) % SAMPLES_FITTED]), n, x)
    n[STAMPS + count % SAMPLES_FITTED] = stamp
    n[SAMPLES] = count + 1
    n[UNTIL_FIT] -= 1
    if n[UNTIL_FIT] <= 0 or n[CATCHING_UP] > MOST_CATCHING_UP or n[ACTIVE] != 0:
        return False
    n[TIME] = max(stamp, n[TIME] + 1)  # after a return from times that led
    return True


@compiled
def _fit_period(nominal: float, n: Integers, x: MutableColumn) -> int:
    """Fit the period to the last stamps, those before a change of the rate forgotten; judge the last steps.

    Args:
        nominal: Known period [ns]; 0 where it is not known.
        n: Integers of the state; changed.
        x: Figures of the state; changed.

    Returns:
        Number of steps that were judged.
    """
    stamps = _stamps(n)
    relative = (stamps - stamps[0]).astype(np.float64)
    if n[ACTIVE] == 0 and nominal == 0.0 and _rate_changed(np.diff(relative)):
        stamps, relative = stamps[-STEPS_JUDGED:], relative[-STEPS_JUDGED:]
        n[SAMPLES] = STEPS_JUDGED
        for k in range(STEPS_JUDGED):
            n[STAMPS + k] = stamps[k]
    x[PERIOD] = float(nominal if nominal > 0.0 else _envelope_slope(relative))
    recent = np.diff(relative[-STEPS_JUDGED - 1 :])
    _forget_steps(n, x)
    for step in recent:
        _take_step(float(step), n, x)
    return len(recent)


@inlined
def _stamps(n: Integers) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return a copy of the last stamps, the oldest first [ns]."""
    count = n[SAMPLES]
    if count > SAMPLES_FITTED:
        stamps = np.roll(np.asarray(n[STAMPS:INTEGERS]), -(count % SAMPLES_FITTED))
    else:
        stamps = np.asarray(n[STAMPS : STAMPS + count]).copy()
    return stamps


@inlined
def _forget_steps(n: Integers, x: MutableColumn) -> None:
    n[STEPS], n[CATCHING_UP], n[OLDEST] = 0, 0, 0
    x[LATE], x[SHORT] = 0.0, 0.0


@inlined
def _rate_changed(steps: np.ndarray) -> bool:
    """Whether the recent samples are regular, at another rate than those before."""
    if len(steps) < 2 * STEPS_JUDGED:
        return False
    recent = steps[-STEPS_JUDGED:]
    change = np.median(recent) / max(np.mean(steps), 1.0)
    return _regular(recent) and not 1.0 / RATE_CHANGE < change < RATE_CHANGE


@inlined
def _take_step(step: float, n: Integers, x: MutableColumn) -> None:
    """Count the short steps after a stall, among the last steps, with the step to a sample [ns].

    Late samples arrive at once after a stall, so that short steps make up for a long one. Short steps that
    follow no long one are those of a stream that has become faster, or of jitter.
    """
    period = x[PERIOD]
    n[STEPS] += 1
    if n[CATCHING_UP] > 0 and n[FOUND + n[OLDEST]] <= n[STEPS] - STEPS_JUDGED:
        n[OLDEST] = (n[OLDEST] + 1) % STEPS_JUDGED
        n[CATCHING_UP] -= 1
    lateness = step - period
    x[SHORT] = 1.0 if step < SHORT_STEP_SHARE * period else 0.0
    if x[SHORT] > 0.0:
        if step < CAUGHT_UP_STEP_SHARE * period and x[LATE] >= LATE_PERIODS * period:
            n[FOUND + (n[OLDEST] + n[CATCHING_UP]) % STEPS_JUDGED] = n[STEPS]
            n[CATCHING_UP] += 1
        lateness = x[LATE] + step - period
    # A long step before a regular one was of lost samples: only short ones make up for it.
    x[LATE] = lateness if lateness > 0.0 else 0.0


class _Lags:
    """Recognises that times lag behind stamps though no burst catches up, or lead them.

    In a burst the lag shrinks by a period per sample, because the steps between its stamps are short.
    """

    def __init__(self) -> None:
        self._lags: list[float] = []  # of the samples since the last one that did not lag
        self._count = 0  # of them, those not in a burst

    def wrong(self, lag: float, period: float, *, in_burst: bool) -> bool:
        """Take the lag of a sample [ns]; return whether the line of the times is wrong."""
        if lag <= LARGEST_LAG_PERIODS * period:
            if self._lags:
                self._lags, self._count = [], 0
            return lag < -LARGEST_LEAD_PERIODS * period
        self._lags.append(lag)
        self._count += not in_burst
        return self._count >= LAGGING_SAMPLES or len(self._lags) >= SAMPLES_FITTED

    def constant(self, period: float) -> float | None:
        """Return the smallest of the last lags [ns]; None where they grow or shrink."""
        half = LAGGING_SAMPLES // 2
        if len(self._lags) < 2 * half:
            return None
        earlier, later = min(self._lags[-2 * half : -half]), min(self._lags[-half:])
        lag = min(earlier, later)
        scatter = LARGEST_LAG_PERIODS * period + LAG_SCATTER_SHARE * lag
        return lag if abs(later - earlier) <= scatter else None


@inlined
def _regular(steps: np.ndarray) -> bool:
    """Whether most steps equal their median, as those of bursts do not."""
    median = np.median(steps)
    regular = np.sum(np.abs(steps - median) < REGULAR_STEP_SCATTER * median)
    return bool(regular > REGULAR_STEP_SHARE * len(steps))


@inlined
def _envelope_slope(stamps: np.ndarray) -> float:
    """Slope of the line under the stamps, over sample numbers."""
    index = np.arange(len(stamps)).astype(np.float64)
    delays = stamps - _slope(index, stamps) * index
    prompt = delays <= _quantile(delays, PROMPT_SHARE)
    return _slope(index[prompt], stamps[prompt])


@inlined
def _quantile(values: np.ndarray, share: float) -> float:
    """Quantile by linear interpolation, like `np.quantile`, which first imports for a tenth of a second."""
    at = (len(values) - 1) * share
    low = int(at)
    ordered = np.sort(values)
    below, above = ordered[low], ordered[min(low + 1, len(values) - 1)]
    weight = at - low
    if weight >= 0.5:  # so that it is exact at both ends
        return float(above - (above - below) * (1.0 - weight))
    return float(below + (above - below) * weight)


@inlined
def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Slope of the least-squares line."""
    dx = x - np.mean(x)
    return float(np.sum(dx * (y - np.mean(y))) / np.sum(dx * dx))
