"""Why readings are dropped: a fixed set of reasons, with a count and the latest example of each."""

from enum import Enum

from inertial_estimation.errors import DuplicateJointError, MeasurementError, PositionFaultError
from inertial_estimation.signals import NANOSECONDS

REPORTED_NS = 10 * NANOSECONDS  # for which an event stays in the diagnostics, whose rate is low
LONGEST_EXAMPLE = 160  # characters of an example that are kept


class DropReason(Enum):
    """Why a reading is dropped; diagnostics show the value.

    Attributes:
        NOT_FINITE: It holds NaN or an infinite value.
        OUT_OF_RANGE: A value lies beyond what the sensor or the robot can give.
        SENSOR_FAULT: It contradicts the readings before: a joint has jumped, or moves and stands still.
        EQUAL_STAMP: Its stamp is that of the reading before.
        BACKWARD_STAMP: Its stamp lies shortly before that of the reading before.
        FAR_AHEAD: Its stamp lies far after those of the readings before and after it.
        FAR_BACK: Its stamp lies far before those of the readings before and after it.
        CLOCK_JUMP: The clock of the stamps has jumped; the buffers are cleared.
        OVERRUN: It waited for the other inputs until the buffer was full.
        DUPLICATE_JOINT: A joint is named more than once.
        UNFIT: It cannot be converted to a row of the model: joints, velocities or efforts are missing.
        NOT_NORMALISED: Its quaternion has no direction.
    """

    NOT_FINITE = "not finite"
    OUT_OF_RANGE = "out of range"
    SENSOR_FAULT = "sensor fault"
    EQUAL_STAMP = "equal stamp"
    BACKWARD_STAMP = "backward stamp"
    FAR_AHEAD = "stamp far ahead"
    FAR_BACK = "stamp far back"
    CLOCK_JUMP = "clock jump"
    OVERRUN = "overrun"
    DUPLICATE_JOINT = "duplicate joint names"
    UNFIT = "does not fit the model"
    NOT_NORMALISED = "quaternion not normalised"


def misfit(error: MeasurementError) -> DropReason:
    """Return the reason for which a reading that cannot be converted to a row is dropped."""
    if isinstance(error, PositionFaultError):
        return DropReason.SENSOR_FAULT
    return DropReason.DUPLICATE_JOINT if isinstance(error, DuplicateJointError) else DropReason.UNFIT


class DropCounts:
    """Numbers of dropped readings by reason; what is stored does not grow with them.

    Attributes:
        total: Number of dropped readings.
        after_ns: Stamp of the last reading used before the last dropped one [ns]; None if there was none.
    """

    def __init__(self) -> None:
        self.total = 0
        self.after_ns: int | None = None
        self._counts: dict[DropReason, int] = {}
        self._examples: dict[DropReason, str] = {}
        self._last: DropReason | None = None

    def add(self, reason: DropReason, example: str = "", *, after_ns: int | None = None) -> None:
        """Count a dropped reading.

        Args:
            reason: Why it is dropped.
            example: What is wrong with this one, for people; a long text is cut.
            after_ns: Stamp of the last reading used before it [ns]; None if there is none.
        """
        self.total += 1
        self.after_ns = after_ns
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._last = reason
        if example:
            cut = len(example) > LONGEST_EXAMPLE
            self._examples[reason] = example[:LONGEST_EXAMPLE] + "..." if cut else example

    def count(self, reason: DropReason) -> int:
        """Return how many readings were dropped for a reason."""
        return self._counts.get(reason, 0)

    def recent(self, now_ns: int) -> bool:
        """Return whether a reading was dropped within the last seconds.

        Args:
            now_ns: The caller's time on the clock of the stamps [ns].
        """
        return self.total > 0 and (self.after_ns is None or now_ns - self.after_ns < REPORTED_NS)

    @property
    def last(self) -> str:
        """Reason of the last dropped reading with its example, as text; empty before the first."""
        if self._last is None:
            return ""
        example = self._examples.get(self._last, "")
        return f"{self._last.value}: {example}" if example else self._last.value

    @property
    def summary(self) -> str:
        """Number of dropped readings and the last reason, as text."""
        return f"dropped {self.total}, last: {self.last}"

    def values(self) -> dict[str, str]:
        """Return counts and examples by name, for diagnostics."""
        counts = {f"dropped: {reason.value}": str(n) for reason, n in self._counts.items()}
        return counts | {f"last {reason.value}": text for reason, text in self._examples.items()}
