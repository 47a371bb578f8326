"""Detected load changes, counted by kind and stored until an estimate with them is published."""

from dataclasses import replace

from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate


class LoadChangeLog:
    """Every load change is published once, even one that was found while an input was stale.

    Attributes:
        counts: Number of load changes by kind.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._unpublished: list[LoadChange] = []

    def reset(self) -> None:
        """Forget all of them."""
        self.counts.clear()
        self._unpublished.clear()

    def count(self, change: LoadChange | None) -> None:
        """Count a load change, if there is one."""
        if change is not None:
            self.counts[change.kind] = self.counts.get(change.kind, 0) + 1

    def keep(self, estimate: PayloadEstimate) -> None:
        """Keep the load change of an estimate that is not published."""
        if estimate.change is not None:
            self._unpublished.append(estimate.change)

    def completed(self, estimate: PayloadEstimate) -> PayloadEstimate:
        """Return an estimate to be published, with the oldest load change kept if it has none of its own."""
        if estimate.change is not None or not self._unpublished:
            return estimate
        return replace(estimate, change=self._unpublished.pop(0))
