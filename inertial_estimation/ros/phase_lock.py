"""Keeps a timer at a fixed delay behind the messages it reads, which avoids a beat between their periods.

A timer at the rate of the inputs, or a fraction of it, that fires at about the time of their arrival
sometimes precedes and sometimes follows them: one tick then gives no estimate and the next one two. If it
fires long after their arrival, every estimate is delayed by that time.
"""

__all__ = ["PhaseLock"]

DELAY_SHARE = 0.2  # of a period: delay of the timer after the message that completes a step
LONGEST_DELAY = 0.0005  # upper limit of that delay [s]
CORRECTION_GAIN = 0.1  # share of the deviation that is corrected per period
LARGEST_SHIFT = 0.02  # share of the period by which a period may be longer or shorter


class PhaseLock:
    """A proportional controller of the time between the arrival of a message and the timer.

    Attributes:
        period: Nominal period of the timer [s].
        delay: Desired time from the arrival of the message that completes a step to the timer [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period
        self.delay = min(DELAY_SHARE * period, LONGEST_DELAY)

    def next_period(self, waited: float) -> float:
        """Return the length of the next period.

        The deviation is wrapped to half a period: a timer that is nearly a period late follows the next
        message.

        Args:
            waited: Time from the arrival of the message that completed a step to this tick [s].

        Returns:
            Period [s], within `LARGEST_SHIFT` of the nominal one.
        """
        late = (waited - self.delay + 0.5 * self.period) % self.period - 0.5 * self.period
        largest = LARGEST_SHIFT * self.period
        return self.period - min(max(CORRECTION_GAIN * late, -largest), largest)
