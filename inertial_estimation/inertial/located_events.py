"""Events: located causes that begin, change and end."""

from dataclasses import dataclass
from enum import Enum

from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.signals import Health, HealthLevel, InertialEstimate


class LocatedKind(Enum):
    """Kind of an event; the value is shown in topics and files."""

    LOADED = "loaded"
    LOADED_OR_PUSHED = "loaded or pushed"
    UNLOADED = "unloaded"
    PUSHED = "pushed"
    FAULT = "fault"
    ENDED = "ended"

    @classmethod
    def of(cls, cause: LocatedCause) -> "LocatedKind":
        """Return the kind of the event that a cause begins."""
        if cause.is_ambiguous:
            return cls.LOADED_OR_PUSHED
        if cause.cause is Cause.LOAD:
            return cls.LOADED if cause.mass >= 0.0 else cls.UNLOADED
        return cls.PUSHED if cause.cause is Cause.PUSH else cls.FAULT


@dataclass(frozen=True, slots=True, eq=False)
class LocatedEvent:
    """One event.

    Attributes:
        stamp_ns: Stamp of the measurement [ns].
        kind: What has happened.
        message: One sentence.
        cause: The cause that has begun, or the one that has ended.
    """

    stamp_ns: int
    kind: LocatedKind
    message: str
    cause: LocatedCause

    @property
    def level(self) -> HealthLevel:
        """Severity; the end of a cause is OK."""
        return HealthLevel.OK if self.kind is LocatedKind.ENDED else HealthLevel.WARN

    @property
    def values(self) -> dict[str, str]:
        """The kind, then the figures of the cause, rendered as text."""
        return {"kind": self.kind.value, **self.cause.figures()}

    @property
    def health(self) -> Health:
        """The event as diagnostics of `load location`."""
        return Health("load location", self.level, self.message, self.values)


class LocatedEvents:
    """Detects the begin, change and end of causes in successive estimates."""

    def __init__(self) -> None:
        self._present: LocatedCause | None = None

    def take(self, estimate: InertialEstimate) -> LocatedEvent | None:
        """Return the event between the previous estimate and this one, or None.

        Args:
            estimate: The next estimate.
        """
        before, now = self._present, estimate.located
        self._present = now
        if now is None:
            if before is None:
                return None
            message = f"ended: {before.sentence}"
            return LocatedEvent(estimate.stamp_ns, LocatedKind.ENDED, message, before)
        same = before is not None and before.identity == now.identity
        return None if same else LocatedEvent(estimate.stamp_ns, LocatedKind.of(now), now.sentence, now)
