"""Holds learning while a position of a joint is in doubt."""

from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.signals import NANOSECONDS

SETTLING_NS = 3 * NANOSECONDS  # of steps before which there is no estimate that a wrong position could spoil


class DoubtHold:
    """Tells for each step whether its window may contain readings that are used, but in doubt.

    A position that has not
    followed its velocity may be off by as much until it slips back; one that does so in the first seconds may
    be the end of a slip, and is learned from. What is in doubt for longer than faults are reported is the
    joint that is held, or the calibration, and is learned from.
    """

    def __init__(self, window_ns: int) -> None:
        """Begin without a step.

        Args:
            window_ns: Width of the window of a step [ns].
        """
        self._window_ns = window_ns
        self._first_ns: int | None = None
        self._strays_early = False
        self._begin_ns: int | None = None
        self._end_ns = 0

    def holds(self, time_ns: int, *, strays: bool) -> bool:
        """Take a step.

        Args:
            time_ns: Time of the step [ns].
            strays: Whether a position has not followed its velocity lately.

        Returns:
            Whether nothing must be learned from the step.
        """
        if self._first_ns is None or time_ns < self._first_ns:
            self._first_ns = time_ns
        self._strays_early = strays and (self._strays_early or time_ns - self._first_ns < SETTLING_NS)
        if strays and not self._strays_early:
            if self._begin_ns is None or time_ns < self._begin_ns:
                self._begin_ns = time_ns
            self._end_ns = time_ns + self._window_ns
        elif self._begin_ns is not None and not self._begin_ns <= time_ns <= self._end_ns:
            self._begin_ns = None
        return self._begin_ns is not None and time_ns - self._begin_ns < REPORTED_NS
