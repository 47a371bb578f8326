"""Loads that were located while estimates were withheld because an input was stale."""

from collections import deque
from dataclasses import replace

from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.signals import InertialEstimate

MOST = 100  # loads kept, the newest


class WithheldLoads:
    """Every load that has been located is reported, even one that was certain in no published estimate.

    A load lasts, so it is reported with the next estimate. A push or a fault that has ended meanwhile is not:
    as of that estimate it would be wrong.
    """

    def __init__(self) -> None:
        """Begin without a load."""
        self._unreported: deque[LocatedCause] = deque(maxlen=MOST)
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

        A push or a fault of its own it keeps, and loads wait.

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
