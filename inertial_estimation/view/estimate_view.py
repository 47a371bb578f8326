"""Estimates of the pipelines in the viewer's recording, in a replay and in a simulation alike."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.located_cause import Cause
from inertial_estimation.payload.estimate import LoadChange, PayloadEstimate, Phase
from inertial_estimation.replay.replay import ReplayWatcher
from inertial_estimation.signals import BaseEstimate, ContactLoad, Decision, InertialEstimate, JointReading
from inertial_estimation.view.moment import Moment, ShownLink, Truth, nothing_known, shown_links, shown_trunk
from inertial_estimation.view.robot_view import RobotView

Event = tuple[int, str, bool]  # stamp [ns], sentence, whether something is wrong
PASSING = {Decision.ACCEPTED, Decision.REJECTED}  # decisions on single measurements, too many to tell


class EstimateView(ReplayWatcher):
    """Shows a moment at every joint state: the joints, and the newest estimates."""

    def __init__(
        self,
        view: RobotView,
        joints: RobotInputs,
        contact_loads: Callable[[], Sequence[ContactLoad]] = tuple,
        truth: Callable[[int], Truth] = nothing_known,
    ) -> None:
        """Start without estimates.

        Args:
            view: Where the moments are shown.
            joints: Takes the joint states.
            contact_loads: Returns the newest contact points and forces.
            truth: Returns what is true at a stamp [ns].
        """
        self._view, self._joints = view, joints
        self._contact_loads, self._truth = contact_loads, truth
        self._events = EstimateEvents()
        self._base: BaseEstimate | None = None
        self._inertial: InertialEstimate | None = None
        self._trunk: tuple[ShownLink, ...] = ()
        self._nis = math.nan

    def push_joints(self, reading: JointReading) -> None:
        """Show the moment of a joint state; one that does not fit the robot is left out."""
        if not self._view.due(reading.stamp_ns):
            return
        self._joints.push_joints(reading)
        for sample in self._joints.ready():
            assert self._joints.joints is not None
            self._view.show(sample.driver[self._joints.joints.columns.q], self._moment(sample.stamp_ns))
            self._nis = math.nan

    def see(
        self,
        base: Sequence[BaseEstimate],
        inertial: Sequence[InertialEstimate],
        payload: Sequence[PayloadEstimate],
    ) -> None:
        """Take the estimates of one tick, in order of time; any of them may be empty."""
        for step in base:
            self._base = step
            self._tell(self._events.of_base(step))
        for estimate in inertial:
            self._inertial = estimate
            self._nis = float(np.fmax(self._nis, estimate.nis))
            self._tell(self._events.of_inertial(estimate))
        for trunk in payload:
            self._trunk = (shown_trunk(trunk),)
            self._tell(self._events.of_payload(trunk))

    def _tell(self, events: Iterable[Event]) -> None:
        for stamp_ns, sentence, warning in events:
            self._view.tell(stamp_ns, sentence, warning=warning)

    def _moment(self, stamp_ns: int) -> Moment:
        base, inertial = self._base, self._inertial
        tilt_sigma = math.nan if base is None else base.tilt_sigma
        trunk = {link.estimate.link for link in self._trunk}
        links = shown_links(inertial) if inertial is not None else ()
        return Moment(
            stamp_ns,
            base=None if base is None else base.state,
            tilt_sigma=tilt_sigma,
            loads=tuple(self._contact_loads()),
            links=(*self._trunk, *(link for link in links if link.estimate.link not in trunk)),
            nis=self._nis,
            nis_bound=math.nan if inertial is None else inertial.nis_bound,
            truth=self._truth(stamp_ns),
        )


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
