"""Holds learning while the reading of an effort is at a limit."""

from inertial_estimation.models.drop_reasons import REPORTED_NS

__all__ = ["LimitHold"]


class LimitHold:
    """Tells for each step whether its window may contain efforts at a limit of their sensor.

    Such readings say that the torque is at least as large, not how large it is: noise that is cut off on one
    side has a mean of its own, which stays below the gate. An effort that is at a limit for longer than
    faults are reported is one of the motor, or of a joint that is held, and is learned from.
    """

    def __init__(self, window_ns: int) -> None:
        """Begin without an effort at a limit.

        Args:
            window_ns: Width of the window of a step [ns].
        """
        self._window_ns = window_ns
        self._begin_ns: int | None = None
        self._end_ns = 0

    def holds(self, time_ns: int, *, at_limit: bool) -> bool:
        """Take a step.

        Args:
            time_ns: Time of the step [ns].
            at_limit: Whether the newest effort of a joint is at a limit.

        Returns:
            Whether nothing must be learned from the step.
        """
        if at_limit:
            if self._begin_ns is None or time_ns < self._begin_ns:
                self._begin_ns = time_ns
            self._end_ns = time_ns + self._window_ns
        elif self._begin_ns is not None and not self._begin_ns <= time_ns <= self._end_ns:
            self._begin_ns = None
        return self._begin_ns is not None and time_ns - self._begin_ns < REPORTED_NS
