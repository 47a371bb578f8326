"""Events among estimates, a sentence each: contacts, loads, pushes, what the gate decided for long."""

from collections.abc import Iterator

from inertial_estimation.estimators.payload.payload_estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.located_cause import Cause
from inertial_estimation.signals import BaseEstimate, Decision, InertialEstimate

Event = tuple[int, str, bool]  # stamp [ns], sentence, whether something is wrong
PASSING = {Decision.ACCEPTED, Decision.REJECTED}  # decisions on single measurements, too many to tell


class EstimateEvents:
    """Compares each estimate with the one before and tells what has changed."""

    def __init__(self) -> None:
        self._contacts: tuple[str, ...] | None = None
        self._decision: Decision | None = None
        self._cause: tuple[Cause, tuple[str, ...]] | None = None
        self._phase = Phase.WATCHING

    def of_base(self, estimate: BaseEstimate) -> Iterator[Event]:
        """Tell which contacts come into use and go out of it."""
        if estimate.contacts == self._contacts:
            return
        self._contacts = estimate.contacts
        used = ", ".join(estimate.contacts)
        said = f"contacts in use: {used}" if used else "no contact in use"
        yield estimate.state.stamp_ns, said, not used

    def of_inertial(self, estimate: InertialEstimate) -> Iterator[Event]:
        """Tell lasting decisions of the filter, and loads, pushes and faults it has located."""
        if estimate.decision is not self._decision and estimate.decision not in PASSING:
            yield estimate.stamp_ns, f"inertial filter: {estimate.decision.value}", False
        self._decision = estimate.decision
        located = estimate.located
        decided = located is not None and located.decided and located.cause is not Cause.NOISE
        cause = (located.cause, located.places) if located is not None and decided else None
        if located is not None and cause is not None and cause != self._cause:
            yield estimate.stamp_ns, located.sentence, located.cause is Cause.FAULT
        self._cause = cause

    def of_payload(self, estimate: PayloadEstimate) -> Iterator[Event]:
        """Tell load changes and the phases of an identification of the trunk."""
        if estimate.change is not None:
            yield estimate.change.stamp_ns, _load_change(estimate.change), False
        if estimate.phase is not self._phase:
            self._phase = estimate.phase
            yield estimate.stamp_ns, f"identification of the trunk: {estimate.phase.value}", False


def _load_change(change: LoadChange) -> str:
    before, after = change.mass_before, change.mass_measured
    return f"trunk {change.kind}: {before:.2f} kg expected, {after:.2f} kg measured"
