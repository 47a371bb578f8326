"""Keeps a timer at a fixed delay behind the messages it reads, so that its period neither beats with theirs.

A timer at the rate of the inputs, or a fraction of it, that fires just when messages arrive finds them now
before itself, now behind: estimates then come none at one tick and two at the next. And where it fires late
after them, every estimate is as old as that.
"""

__all__ = ["PhaseLock"]

DELAY = 0.2  # of a period, at which the timer follows the message that completes a step
LONGEST_DELAY = 0.0005  # [s]
GAIN = 0.1  # of the deviation is taken back in a period
LARGEST_SHIFT = 0.02  # of a period, by which it may be longer or shorter


class PhaseLock:
    """A proportional controller of the time between the arrival of a message and the timer.

    Attributes:
        period: Nominal period of the timer [s].
        delay: Wanted time from the arrival of the message that completes a step to the timer [s].
    """

    def __init__(self, period: float) -> None:
        self.period = period
        self.delay = min(DELAY * period, LONGEST_DELAY)

    def next_period(self, waited: float) -> float:
        """Return the length of the next period.

        The deviation is taken the shorter way round: a timer nearly a period late goes to the next message.

        Args:
            waited: Time from the arrival of the message that completed a step to this tick [s].

        Returns:
            Period [s], within `LARGEST_SHIFT` of the nominal one.
        """
        late = (waited - self.delay + 0.5 * self.period) % self.period - 0.5 * self.period
        largest = LARGEST_SHIFT * self.period
        return self.period - min(max(GAIN * late, -largest), largest)
