"""Failed steps of a pipeline: how many, how recently, and why the last one failed."""

from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.signals import seconds

LONGEST_REASON = 200  # characters of a reason that are kept


class StepFailures:
    """Counts failed steps; its memory does not grow with them.

    Attributes:
        count: Number of failed steps since the start.
        reason: Why the last one failed; empty before the first.
    """

    def __init__(self) -> None:
        self.count = 0
        self.reason = ""
        self._recent = 0  # failures since the last time that none was reported
        self._last_ns = 0  # stamp of the last failure
        self._step_ns: int | None = None  # stamp of the last step
        self._left_ns = 0  # time of data for which the last failure is still reported

    def advance(self, stamp_ns: int) -> None:
        """Note that a step is executed.

        Args:
            stamp_ns: Its stamp [ns]; where stamps jump back, the time of data goes on from there.
        """
        if self._recent and self._step_ns is not None:
            self._left_ns -= max(stamp_ns - self._step_ns, 0)
            if self._left_ns <= 0:
                self._recent = 0
        self._step_ns = stamp_ns

    def add(self, stamp_ns: int, reason: str) -> None:
        """Count a failed step.

        Args:
            stamp_ns: Its stamp [ns].
            reason: Why it failed; a long one is cut.
        """
        self.count += 1
        self._recent += 1
        self.reason = reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."
        self._last_ns = stamp_ns
        self._left_ns = REPORTED_NS

    def note(self, now_ns: int) -> str:
        """Return the failures still reported as one sentence; empty if there is none.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        if not self._recent:
            return ""
        times = "once" if self._recent == 1 else f"{self._recent} times"
        age = max(seconds(now_ns - self._last_ns), 0.0)
        return f"restarted {times} after a failed step, last {age:.1f} s ago: {self.reason}"
