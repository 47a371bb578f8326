"""Reports of located causes: events, and loads that no published estimate has reported yet."""

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum

from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.signals import Health, HealthLevel, InertialEstimate

MOST_WITHHELD = 100  # unreported loads that are kept, the newest


class LocatedKind(Enum):
    """CauseKind of an event; topic and files show the value."""

    LOADED = "loaded"
    LOADED_OR_PUSHED = "loaded or pushed"
    UNLOADED = "unloaded"
    PUSHED = "pushed"
    FAULT = "fault"
    ENDED = "ended"

    @classmethod
    def of(cls, cause: LocatedCause) -> "LocatedKind":
        """Return the kind of event that a cause is."""
        if cause.is_open:
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
        """Severity: the end of a cause is none."""
        return HealthLevel.OK if self.kind is LocatedKind.ENDED else HealthLevel.WARN

    @property
    def values(self) -> dict[str, str]:
        """The kind, then the figures of the cause, rendered as text."""
        return {"kind": self.kind.value, **self.cause.figures()}

    @property
    def health(self) -> Health:
        """The event as the state of the part `load location`, as it is published."""
        return Health("load location", self.level, self.message, self.values)


class LocatedEvents:
    """Compares estimates with the ones before."""

    def __init__(self) -> None:
        self._present: LocatedCause | None = None

    def take(self, estimate: InertialEstimate) -> LocatedEvent | None:
        """Return the event that an estimate shows; None for none.

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


class WithheldLoads:
    """Every load that has been located is reported, even one that was certain in no published estimate.

    A load lasts, so it is reported with the next estimate. A push or a fault that has ended meanwhile is not:
    as of that estimate it would be wrong.
    """

    def __init__(self) -> None:
        """Begin without a load."""
        self._unreported: deque[LocatedCause] = deque(maxlen=MOST_WITHHELD)
        self.reset()

    def reset(self) -> None:
        """Forget all of them."""
        self._unreported.clear()
        self._present: tuple[object, ...] | None = None  # identity of the load of the last estimate
        self._waits = False  # whether that one is not reported yet: then it is the newest that waits

    def keep(self, estimate: InertialEstimate) -> None:
        """Keep the load of the next estimate, which is withheld, once, as it was seen last."""
        self._add(_certain_load(estimate))

    def completed(self, estimate: InertialEstimate) -> InertialEstimate:
        """Return an estimate to be published, with the oldest load that is not reported yet.

        An estimate that reports a push or a fault is returned as it is, and the loads wait for the next one.

        Args:
            estimate: The next one.
        """
        own, located = _certain_load(estimate), estimate.located
        self._add(own)
        is_push_or_fault = own is None and located is not None and located.decided
        if is_push_or_fault or not self._unreported:
            return estimate
        oldest = self._unreported.popleft()
        self._waits = self._waits and bool(self._unreported)
        return estimate if oldest is own else replace(estimate, located=oldest)

    def _add(self, load: LocatedCause | None) -> None:
        """Take the load of the next estimate; one that goes on replaces itself where it waits."""
        identity = None if load is None else load.identity
        goes_on = identity == self._present
        if load is not None and not (goes_on and not self._waits):
            if goes_on:
                self._unreported.pop()
            self._unreported.append(load)
        self._waits = load is not None and (self._waits or not goes_on)
        self._present = identity


def _certain_load(estimate: InertialEstimate) -> LocatedCause | None:
    located = estimate.located
    return located if located is not None and located.cause is Cause.LOAD and located.decided else None
