"""Keeps a timer at a fixed delay behind the messages it reads, which avoids a beat between their periods.

A timer at the rate of the inputs, or a fraction of it, that fires at about the time of their arrival
sometimes precedes and sometimes follows them: one tick then gives no estimate and the next one two. If it
fires long after their arrival, every estimate is delayed by that time.
"""

DELAY_SHARE = 0.1  # of a period: delay of the timer after the message that completes a step
LONGEST_DELAY = 0.0003  # upper limit of that delay [s]
CORRECTION_GAIN = 0.1  # share of the deviation that is corrected per period
LARGEST_SHIFT = 0.02  # share of the period by which a period may be longer or shorter
SHORTER, LONGER = 0.5, 0.005  # weights of a wait that is shorter, longer than the one that is followed
LARGEST_STEP = 0.1  # of a period: by which one shorter wait moves the followed one
DRIFT_WEIGHT = 0.002  # of the same correction of that wait in its change per period
SHORTEST_SHARE = 0.3  # of a period: a wait shorter by more than that is taken for one that is longer
LARGEST_MEAN_SHIFT = 0.005  # share of the period by which periods may be longer or shorter on average
MEAN_WEIGHT = 0.001  # of a period in that average


class PhaseLock:
    """A proportional controller of the time between the arrival of a message and the timer.

    The message that completes a step may come one reading of an input earlier or later than for the step
    before, where the end of a step's window falls on a reading and stamps jitter. The timer follows the steps
    that are completed late, an expectile of the waits (weights `SHORTER` and `LONGER`): behind the mean, one
    tick would give no estimate and the next one two.

    Attributes:
        period: Nominal period of the timer [s].
        delay: Desired time from the arrival of the message that completes a step to the timer [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period
        self.delay = min(DELAY_SHARE * period, LONGEST_DELAY)
        self._late: float | None = None  # expectile of the waits less the delay
        self._drift = 0.0  # its change per nominal period
        self._shift = self._mean_shift = 0.0

    def next_period(self, waited: float) -> float:
        """Return the length of the next period.

        Waits are known but for whole periods: one that is shorter than the followed one by more than
        `SHORTEST_SHARE` is taken for one that is longer. Where steps have no period that could be followed,
        the average of the periods stays within `LARGEST_MEAN_SHIFT` of the nominal one.

        Args:
            waited: Time from the arrival of the message that completed a step to this tick [s]; of the first
                one of a tick that has several.

        Returns:
            Period [s], within `LARGEST_SHIFT` of the nominal one; it begins with the next tick.
        """
        period = self.period
        if self._late is None:
            self._late = wrapped(waited - self.delay, 0.5 * period, period)
        longer = wrapped(waited - self.delay - self._late, SHORTEST_SHARE * period, period)
        correction = LONGER * longer if longer > 0.0 else max(SHORTER * longer, -LARGEST_STEP * period)
        on_average = LARGEST_MEAN_SHIFT * period
        self._drift = limited(self._drift + DRIFT_WEIGHT * correction, on_average)
        at_next_tick = self._late + correction + self._drift + self._shift
        self._late = wrapped(at_next_tick, 0.5 * period, period)
        shift = limited(-CORRECTION_GAIN * self._late - self._drift, LARGEST_SHIFT * period)
        if shift * self._mean_shift > 0.0 and abs(self._mean_shift) > on_average:
            shift = 0.0
        self._mean_shift += MEAN_WEIGHT * (shift - self._mean_shift)
        self._shift = shift
        return period + shift


def limited(value: float, largest: float) -> float:
    """Return the value within +-largest."""
    return min(max(value, -largest), largest)


def wrapped(value: float, back: float, period: float) -> float:
    """Return the value modulo the period, within [-back, period - back)."""
    return (value + back) % period - back
