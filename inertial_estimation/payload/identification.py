"""The identification procedure: phases that requests, load changes and lost inputs drive (T V-C).

`estimate.Phase` describes the phases. Each holds the data that exist only while it lasts, takes the
observations one by one and returns the next phase, mostly itself.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from inertial_estimation.payload.com_methods import (
    AVERAGE_S,
    PATIENCE_S,
    SAME_POSTURE_RAD,
    SETTLING_S,
    ComMethod,
    ComStep,
    ContactForceRecursion,
    SampleScatter,
    StaticPoses,
)
from inertial_estimation.payload.config import METHODS, TrunkPayloadConfig
from inertial_estimation.payload.estimate import LoadChange, Phase
from inertial_estimation.payload.load_change import Expectation, LoadChangeDetector
from inertial_estimation.payload.orientation_error import OrientationError
from inertial_estimation.payload.rest import WINDOW_S, has_lasted
from inertial_estimation.payload.statics import TrunkObservation, TrunkReading
from inertial_estimation.payload.trunk import IdentifiedTrunk, TrunkValue
from inertial_estimation.signals import Array, BaseReference

MOST_RESTARTS = 10  # so that a load that keeps changing, or failing inputs, do not hold the robot for ever
MOST_PASSES = 3  # a result that leads to another posture is refined there at most twice
TIMEOUT_S = 60.0  # time after which a method that has not converged is given up

Tilt = tuple[float, float]  # roll and pitch of the base [rad]
MethodFactory = Callable[[Array, float], ComMethod]
COM_METHODS: Mapping[str, MethodFactory] = dict(
    zip(METHODS, (StaticPoses, OrientationError, ContactForceRecursion), strict=True)
)


class RequestedPosture:
    """Requests roll and pitch at the present height of the base, and its original posture in the end."""

    def __init__(self) -> None:
        self.reference: BaseReference | None = None  # requested posture
        self.undisturbed: BaseReference | None = None  # posture of the robot without an unknown load

    def keep(self, reading: TrunkReading) -> None:
        """Store the posture of a robot that stands undisturbed; a nearly level base counts as level."""
        level = reading.turned_from((0.0, 0.0)) < SAME_POSTURE_RAD
        self.undisturbed = BaseReference(reading.height, *((0.0, 0.0) if level else reading.tilt))

    def request(self, tilt: Tilt | None) -> None:
        """Request roll and pitch [rad]; None: the undisturbed posture, if another one was requested."""
        before = self.undisturbed or BaseReference(0.0)
        if tilt is not None:
            self.reference = BaseReference(before.height, *tilt)
        elif self.reference is not None:
            self.reference = before

    def reached(self, reading: TrunkReading) -> bool:
        """Return whether the base has the requested posture."""
        goal = self.reference
        return goal is None or reading.turned_from((goal.roll, goal.pitch)) < SAME_POSTURE_RAD


class Identification:
    """Runs the phases, one observation after the other, and holds the state that is common to them."""

    def __init__(
        self,
        config: TrunkPayloadConfig,
        trunk: IdentifiedTrunk,
        robot_mass: float,
        methods: Mapping[str, MethodFactory] = COM_METHODS,
    ) -> None:
        """Begin with the nominal trunk of a robot of a mass [kg].

        Changed parameters of a method take effect at its next start.
        """
        self.config, self.trunk, self.methods = config, trunk, methods
        nominal = trunk.nominal
        self.load_changes = LoadChangeDetector(config.load_change, robot_mass, nominal.mass, nominal.com_B)
        self.posture = RequestedPosture()
        self.reset()

    def reset(self) -> None:
        """Return to the nominal trunk and watch; after a requested tilt, request the earlier posture."""
        nominal = self.trunk.nominal
        self.load_changes.reset(nominal.mass, nominal.com_B)
        self.trunk.value = self.trunk.target = nominal
        self.fallback = nominal, self.load_changes.expected  # restored when an identification fails
        self.method = self.config.method  # method under way, or the last one
        self.converged, self.refusal = False, ""  # outcome of the last identification
        self.ended = ""  # "identified", "refused" or "cancelled", until an estimate has reported it
        self.passes = 0  # results of this identification: one that tilts the base is refined
        self.posture.reference = None if self.posture.reference is None else self.posture.undisturbed
        self.posture.undisturbed = None
        self.changes: Counter[str] = Counter()  # load changes by kind
        self._phase: PhaseState = _Watching(self)
        self._restarts = 0

    def set_config(self, config: TrunkPayloadConfig) -> None:
        """Apply changed parameters."""
        self.config, self.load_changes.share = config, config.load_change

    @property
    def phase(self) -> Phase:
        """The phase under way."""
        return self._phase.phase

    @property
    def hold(self) -> bool:
        """Whether the robot is requested to stand still."""
        return self.phase is not Phase.WATCHING

    @property
    def identifying(self) -> bool:
        """Whether an identification is under way that has no result yet."""
        return self.phase.identifying

    def start(self, method: str = "") -> None:
        """Start or restart an identification by a method; empty: the configured one."""
        self._restarts = 0
        if not self.identifying:
            self.fallback = self.trunk.value, self.load_changes.expected
        self._begin(method or self.config.method)

    def cancel(self) -> None:
        """Give up the identification under way; the trunk in force before it is kept."""
        if self.identifying:
            self._phase = self._phase.give_up("")

    def interrupt(self) -> None:
        """Restart evidence of load changes and an identification under way, as after a gap in the data."""
        self.load_changes.forget_evidence()
        if self.identifying:
            self._restart("inputs were lost")

    def advance_without_input(self, dt: float) -> None:
        """Advance a time [s] in which an input is missing; the wait of each phase for it is bounded."""
        self._phase = self._phase.wait(dt, "an input is missing")

    def update(self, observation: TrunkObservation) -> LoadChange | None:
        """Take the next observation; return a load change, in the step in which it is found."""
        self._phase = self._phase.update(observation)
        change = self._phase.load_change(observation)
        if change is not None:
            self.changes[change.kind] += 1
            self._react(at_rest=observation.reading is not None)
        return change

    def _react(self, *, at_rest: bool) -> None:
        """Restart, end or start an identification after a load change."""
        if self._phase.invalidated_by_load_change:
            value = self.fallback[0] if self.identifying else self.trunk.value
            self.fallback = value, self.load_changes.expected
            self._restart("the load changed")
        elif at_rest and self.load_changes.unidentified is None:
            self.refusal = self.ended = ""  # the measured trunk is again the one in force
        elif self.config.start == "on_change":
            self.start()

    def _restart(self, cause: str) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            refusal = f"restarted {MOST_RESTARTS} times without a result, the last time because {cause}"
            self._phase = self._phase.give_up(refusal)
        else:
            self._begin(self.method)

    def _begin(self, method: str) -> None:
        self.method, self.converged, self.passes = method, False, 0
        self.refusal = self.ended = ""
        self.posture.request(None)
        self.trunk.value = self.trunk.target = self.fallback[0]
        self.load_changes.forget_evidence()
        self._phase = _Weighing(self)


class PhaseState(ABC):
    """One phase of an identification.

    Attributes:
        phase: Name of the phase.
        weighed_at: Tilt at which the expected centre of mass was measured; None if the tilt does not matter.
    """

    phase: Phase
    weighed_at: Tilt | None = None

    def __init__(self, run: Identification) -> None:
        self._run = run
        self._waited = 0.0  # time without a measurement [s]

    @property
    def invalidated_by_load_change(self) -> bool:
        """Whether a load change restarts the identification."""
        return self.phase.identifying

    @abstractmethod
    def update(self, observation: TrunkObservation) -> "PhaseState":
        """Take the next observation and return the phase that follows."""

    def wait(self, dt: float, what: str, why: str = "") -> "PhaseState":
        """Advance a time [s] without a measurement; give up after more than `PATIENCE_S`."""
        self._waited += dt
        expired = self._waited > PATIENCE_S
        return self.give_up(f"{what} for {PATIENCE_S:g} s{why}") if expired else self

    def give_up(self, refusal: str) -> "PhaseState":
        """Restore the trunk from before the identification for a reason, and return to watching."""
        run = self._run
        run.refusal, run.ended = refusal, "refused" if refusal else "cancelled"
        run.trunk.value = run.trunk.target = run.fallback[0]
        run.load_changes.expected = run.fallback[1]
        run.posture.request(None)
        return _Returning(run, None)

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return a load change in the step in which it is detected, from the observation of `update`."""
        reading, run = observation.reading, self._run
        if reading is None or run.trunk.implausible(reading.mass):
            return None
        stamp_ns, tilted = observation.stamp_ns, self._tilted(reading)
        return run.load_changes.update_at_rest(reading, observation.dt, stamp_ns, mass_only=tilted)

    def _tilted(self, reading: TrunkReading) -> bool:
        return self.weighed_at is not None and reading.turned_from(self.weighed_at) > SAME_POSTURE_RAD

    def _wait_for_rest(self, observation: TrunkObservation) -> "PhaseState":
        return self.wait(observation.dt, "not at rest, or not measurable,", f": {observation.why_not}")

    def _expect(self, reading: TrunkReading) -> None:
        """Set the expected centre of mass to that of a reading."""
        detector, R_WB = self._run.load_changes, reading.measurement.R_WB
        com_B = self._run.trunk.completed_along_gravity(reading.com_B, R_WB)
        detector.expect(detector.expected.mass, com_B)


class _Watching(PhaseState):
    """The trunk is compared with the expected one, at rest and in motion."""

    phase = Phase.WATCHING

    def update(self, observation: TrunkObservation) -> PhaseState:
        return self

    def wait(self, dt: float, what: str, why: str = "") -> PhaseState:
        return self

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return a load change; the posture of an undisturbed robot is stored as the one to return to."""
        change = super().load_change(observation)
        run, reading, mass = self._run, observation.reading, observation.moving_mass
        detector = run.load_changes
        if reading is None:
            if mass is None or run.trunk.implausible(mass):
                return None
            return detector.update_in_motion(mass, observation.dt, observation.stamp_ns)
        undisturbed = change is None and not detector.suspicious and detector.unidentified is None
        if undisturbed and not run.trunk.implausible(reading.mass):
            run.posture.keep(reading)
        return change


class _Weighing(PhaseState):
    """SETTLING until the robot is at rest, then MASS while it stays so."""

    phase = Phase.SETTLING

    def __init__(self, run: Identification) -> None:
        super().__init__(run)
        self._mean, self._duration = SampleScatter(4), 0.0  # of mass and centre of mass

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Average the readings; without a reading, the average restarts."""
        reading, run = observation.reading, self._run
        if reading is None:
            self.phase, self._mean, self._duration = Phase.SETTLING, SampleScatter(4), 0.0
            run.load_changes.forget_evidence()
            return self._wait_for_rest(observation)
        self.phase = Phase.MASS
        run.posture.undisturbed = run.posture.undisturbed or BaseReference(reading.height)
        self._mean.add(np.append(reading.mass, reading.com_B), gain=0.0)
        self._duration += observation.dt
        mass, com_B = float(self._mean.mean[0]), self._mean.mean[1:]
        completed_B = run.trunk.completed_along_gravity(com_B, reading.measurement.R_WB)
        run.load_changes.expected = Expectation(mass, completed_B)
        if not has_lasted(self._duration, AVERAGE_S):
            return self
        reason = run.trunk.implausible(mass)
        if reason:
            return self.give_up(reason)
        n, variance = self._mean.count, float(self._mean.covariance[0, 0])
        independent = min(max(self._duration / WINDOW_S, 1.0), n)  # windows that overlap share their noise
        sigma = math.sqrt(variance * n / (n - 1) / independent) if n > 1 else math.inf
        before_B = run.fallback[0].com_B
        run.trunk.value = TrunkValue(mass, before_B, sigma)
        method = run.methods[run.method](before_B, mass)
        return _ComIdentification(run, method, reading.tilt)

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return a load change while the mass is averaged; before that, the mass has yet to be measured."""
        return super().load_change(observation) if self.phase is Phase.MASS else None


class _ComIdentification(PhaseState):
    """Passes the measurements at rest to a method."""

    phase = Phase.COM

    def __init__(self, run: Identification, method: ComMethod, weighed_at: Tilt) -> None:
        super().__init__(run)
        self.weighed_at = weighed_at
        self._method, self._step, self._elapsed = method, ComStep(np.zeros(3), np.zeros(3), math.nan), 0.0
        self._since_request: float | None = None  # time at rest after a requested tilt; None: it has moved

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Pass measurements at rest to the method, once the base has the requested tilt."""
        self._elapsed += observation.dt
        if self._elapsed > TIMEOUT_S:
            left = 1e3 * self._step.residual
            residual = f", {left:.1f} mm are left" if math.isfinite(left) else ""
            return self.give_up(f"'{self._run.method}' has not converged in {TIMEOUT_S:g} s{residual}")
        if not observation.at_rest:
            self._since_request = None  # the base is on its way
        elif self._since_request is not None:
            self._since_request += observation.dt
        reading = observation.reading
        if reading is None:
            return self._wait_for_rest(observation)
        about_to_move = self._since_request is not None and self._since_request < SETTLING_S
        handing_over = self._step.to_controller and not observation.arrived
        if about_to_move or handing_over:
            return self
        self._waited = 0.0
        return self._take(self._method.update(reading.measurement, observation.dt), reading)

    def _take(self, step: ComStep, reading: TrunkReading) -> PhaseState:
        run = self._run
        if step.refusal or not np.isfinite(step.com_B).all():
            return self.give_up(step.refusal or f"the result of '{run.method}' is not finite")
        if step.tilt != self._step.tilt:
            run.posture.request(step.tilt)
            self._since_request = 0.0
        self._step = step
        trunk = run.trunk
        trunk.value = trunk.found(step, reading.measurement.R_WB[2])
        if step.to_controller or step.done:
            trunk.target = trunk.value
        if not step.done:
            return self
        run.passes += 1
        run.posture.request(None)
        return _Returning(run, reading.tilt, self.weighed_at)


class _Returning(PhaseState):
    """Waits for hand-over and posture after a result that was found at a tilt (None: without a result)."""

    phase = Phase.RETURNING

    def __init__(self, run: Identification, found_at: Tilt | None, weighed_at: Tilt | None = None) -> None:
        super().__init__(run)
        self._found_at, self.weighed_at = found_at, weighed_at

    @property
    def invalidated_by_load_change(self) -> bool:
        """Whether there is a result that a load change invalidates."""
        return self._found_at is not None

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Wait for hand-over and posture; then refine a result that has tilted the base, or watch."""
        reading, posture = observation.reading, self._run.posture
        if not observation.arrived:
            return self
        if reading is None and self._found_at is None and posture.reference is None:
            return self._finish(None)
        if reading is not None and posture.reached(reading):
            return self._refine(reading) if self._has_moved(reading) else self._finish(reading)
        return self.wait(observation.dt, "")

    def wait(self, dt: float, what: str, why: str = "") -> PhaseState:
        """Advance a time [s] without rest or without an input; after `PATIENCE_S` the return ends."""
        self._waited += dt
        return self._finish(None) if self._waited > PATIENCE_S else self

    def _tilted(self, reading: TrunkReading) -> bool:
        return self._found_at is None or super()._tilted(reading)

    def _has_moved(self, reading: TrunkReading) -> bool:
        """Return whether the result has led to another posture, in which it can be refined.

        While the load was unknown to the controller, the base stood tilted, so that an error of the height of
        the centre of mass had a component across gravity.
        """
        run = self._run
        if self._found_at is None or run.posture.reference is not None or run.passes >= MOST_PASSES:
            return False
        return reading.turned_from(self._found_at) > SAME_POSTURE_RAD

    def _refine(self, reading: TrunkReading) -> PhaseState:
        """Identify again, from the result; if that fails, the result is kept."""
        run = self._run
        self._expect(reading)
        run.fallback = run.trunk.value, run.load_changes.expected
        return _Weighing(run)

    def _finish(self, reading: TrunkReading | None) -> PhaseState:
        run = self._run
        run.converged = self._found_at is not None
        run.ended = "identified" if run.converged else run.ended
        if run.converged and reading is not None:
            self._expect(reading)
        elif run.converged:
            run.load_changes.expect(run.load_changes.expected.mass, run.load_changes.expected.com_B)
        run.posture.reference = None
        return _Watching(run)
