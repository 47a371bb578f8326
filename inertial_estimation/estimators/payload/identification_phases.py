"""Phases of an identification: watching, settling, mass, centre of mass, return.

Each phase holds the data that exist only while it lasts. It takes one observation after the other and returns
the phase that comes next, mostly itself.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from inertial_estimation.estimators.payload.com_method import ComMethod, ComStep
from inertial_estimation.estimators.payload.durations import has_lasted
from inertial_estimation.estimators.payload.identification_context import (
    IdentificationContext,
    TrunkObservation,
)
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, Phase
from inertial_estimation.estimators.payload.rest_average import RestAverage
from inertial_estimation.estimators.payload.trunk_measurer import TrunkReading
from inertial_estimation.estimators.payload.trunk_value import TrunkValue

SAME_POSTURE_RAD = 0.02  # largest turn of the base by which its posture counts as unchanged
MOST_PASSES = 3  # a result that leads to another posture is refined there at most twice
CONTRADICTED_S = 0.3  # for which a result is contradicted before it is taken back: three load changes' time
TILT_RESPONSE_S = 1.0  # by when the base has begun to move to another tilt, if it moves at all


class PhaseState(ABC):
    """One phase of an identification.

    Attributes:
        phase: Its name.
        identifying: Whether a result is still to come.
    """

    phase: ClassVar[Phase]
    identifying: ClassVar[bool] = True

    def __init__(self, context: IdentificationContext, waited: float = 0.0) -> None:
        """Enter the phase.

        Args:
            context: Data that outlive it.
            waited: Time the identification has waited without a measurement [s].
        """
        self._context = context
        self._waited = waited

    @property
    def invalidated_by_load_change(self) -> bool:
        """Whether a load change restarts the identification."""
        return self.identifying

    @property
    def contradicted(self) -> bool:
        """Whether later readings show the trunk from before the last identification."""
        return False

    @abstractmethod
    def update(self, observation: TrunkObservation) -> "PhaseState":
        """Take the next observation and return the phase that follows."""

    def advance_without_input(self, dt: float) -> "PhaseState":
        """Let time pass in which an input is missing and return the phase that follows.

        Args:
            dt: That time [s].
        """
        self._waited += dt
        timeout = self._context.config.rest.timeout
        if self._waited <= timeout:
            return self
        return self.give_up(f"an input is missing for {timeout:g} s")

    def give_up(self, refusal: str) -> "PhaseState":
        """Restore the trunk from before the identification and return to watching.

        Args:
            refusal: The reason.
        """
        self._context.refusal = refusal
        self._context.trunk.fall_back()
        return _returning(self._context, None)

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return a load change in the step in which it is found.

        Args:
            observation: The observation that `update` was given.
        """
        reading, trunk = observation.reading, self._context.trunk
        if reading is None or trunk.implausible(reading.mass):
            return None
        return trunk.load_changes.update_at_rest(
            reading, observation.dt, observation.stamp_ns, mass_only=self._has_tilted(reading)
        )

    def _has_tilted(self, reading: TrunkReading) -> bool:
        """Whether the base is tilted otherwise than when the mass was identified."""
        return False

    def _wait(self, observation: TrunkObservation) -> "PhaseState":
        self._waited += observation.dt
        limit = self._context.config.rest.timeout
        if self._waited <= limit:
            return self
        self._context.put_off = observation.doubtful and self._context.config.start == "on_change"
        reason = observation.why_not or "a sensor was at fault"
        return self.give_up(f"not at rest, or not measurable, for {limit:g} s: {reason}")


class Watching(PhaseState):
    """Nothing is identified; the trunk is compared with what is expected, at rest and in motion."""

    phase = Phase.WATCHING
    identifying = False

    def __init__(self, context: IdentificationContext) -> None:
        super().__init__(context)
        self._contradicted_for = 0.0

    @property
    def contradicted(self) -> bool:
        """Whether later readings show the trunk from before the last identification."""
        return has_lasted(self._contradicted_for, CONTRADICTED_S)

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Stay."""
        return self

    def advance_without_input(self, dt: float) -> PhaseState:
        """Stay: nothing waits for an input."""
        return self

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return a load change; the posture of an undisturbed robot is stored as the one to return to."""
        change = super().load_change(observation)
        trunk, reading, mass = self._context.trunk, observation.reading, observation.moving_mass
        detector = trunk.load_changes
        if reading is None:
            if mass is None or trunk.implausible(mass):
                return None
            return detector.update_in_motion(mass, observation.dt, observation.stamp_ns)
        before = self._context.converged and trunk.shows_trunk_before(reading)
        self._contradicted_for = self._contradicted_for + observation.dt if before else 0.0
        undisturbed = change is None and not detector.suspicious and detector.unidentified is None
        if undisturbed and not trunk.implausible(reading.mass):
            self._context.posture.keep_undisturbed(reading)
        return change


class Settling(PhaseState):
    """The robot is requested to hold still and is not yet at rest."""

    phase = Phase.SETTLING

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Wait for the first reading, of inputs that are sound; it is already averaged."""
        if observation.reading is None or observation.doubtful:
            return self._wait(observation)
        self._context.posture.keep_height(observation.reading)
        return _MassAveraging(self._context, self._waited).update(observation)

    def load_change(self, observation: TrunkObservation) -> LoadChange | None:
        """Return None: the mass is about to be measured anyway."""
        return None


class _MassAveraging(PhaseState):
    """The mass is averaged over one stretch of rest."""

    phase = Phase.MASS

    def __init__(self, context: IdentificationContext, waited: float) -> None:
        super().__init__(context, waited)
        self._average = RestAverage()

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Average a reading; the rest begins anew where there is none."""
        reading, trunk = observation.reading, self._context.trunk
        if reading is None:
            trunk.load_changes.forget_evidence()
            return Settling(self._context, self._waited).update(observation)
        average = self._average
        average.add(reading, observation.dt)
        trunk.load_changes.follow(average.mass, trunk.completed_along_gravity(average.com_B, reading))
        if not has_lasted(average.duration, self._context.config.mass_duration):
            return self
        reason = trunk.implausible(average.mass)
        return self.give_up(reason) if reason else self._identify_com(reading)

    def _identify_com(self, reading: TrunkReading) -> PhaseState:
        context, average = self._context, self._average
        before = context.trunk.fallback
        sigma = average.mass_sigma(context.config.rest.window)
        context.trunk.value = TrunkValue(average.mass, before.com_B, sigma, np.full(3, math.inf), math.nan)
        method = context.make_method(context.method, context.config)
        method.start(before.com_B.copy(), average.mass)
        context.trunk.weighed_at = (reading.roll, reading.pitch)
        return _ComIdentification(context, method)


class _Weighed(PhaseState):
    """A phase after the mass was identified: on a base that has tilted since only the mass is compared."""

    def _has_tilted(self, reading: TrunkReading) -> bool:
        return reading.turned_from(self._context.trunk.weighed_at) > SAME_POSTURE_RAD


class _ComIdentification(_Weighed):
    """The centre of mass is identified by a method, at the tilts it requests."""

    phase = Phase.COM

    def __init__(self, context: IdentificationContext, method: ComMethod) -> None:
        super().__init__(context)
        self._method = method
        self._elapsed = 0.0
        self._step: ComStep | None = None
        self._since_request: float | None = None  # at rest since a tilt was asked for; None: it has moved

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Pass measurements at rest to the method, once the base has the requested tilt."""
        self._elapsed += observation.dt
        if self._elapsed > self._context.config.timeout:
            return self.give_up(self._not_converged())
        if not observation.at_rest:
            self._since_request = None  # the base is on its way
        elif self._since_request is not None:
            self._since_request += observation.dt
        reading = observation.reading
        if reading is None:
            return self._wait(observation)
        about_to_move = self._since_request is not None and self._since_request < TILT_RESPONSE_S
        handing_over = self._step is not None and self._step.to_controller and not observation.arrived
        if about_to_move or handing_over:
            return self
        self._waited = 0.0
        return self._take(self._method.update(reading.measurement, observation.dt), reading)

    def _take(self, step: ComStep, reading: TrunkReading) -> PhaseState:
        context = self._context
        if not step.refusal and not np.isfinite(step.com_B).all():
            return self.give_up(f"'{context.method}' gives what is no number")
        if step.refusal:
            return self.give_up(step.refusal)
        asked_before = None if self._step is None else self._step.tilt
        if step.tilt != asked_before:
            context.posture.ask(step.tilt)
            self._since_request = 0.0
        self._step = step
        trunk = context.trunk
        trunk.value = trunk.found(step, reading.measurement.R_WB[2], context.config.load_height)
        if step.to_controller or step.done:
            trunk.target = trunk.value
        if not step.done:
            return self
        context.passes += 1
        return _returning(context, (reading.roll, reading.pitch))

    def _not_converged(self) -> str:
        known = self._step is not None and math.isfinite(self._step.residual)
        residual = f", {1e3 * self._step.residual:.1f} mm are left" if known and self._step else ""
        context = self._context
        return f"'{context.method}' has not converged in {context.config.timeout:g} s{residual}"


class _Returning(_Weighed):
    """What is published moves to the result, the base moves back to its posture."""

    phase = Phase.RETURNING
    identifying = False

    def __init__(self, context: IdentificationContext, found_at: tuple[float, float] | None) -> None:
        """Enter the phase.

        Args:
            context: Data that outlive it.
            found_at: Roll and pitch of the base when the result was found [rad]; None: there is none.
        """
        super().__init__(context)
        self._found_at = found_at

    @property
    def invalidated_by_load_change(self) -> bool:
        """Whether there is a result that a load change invalidates."""
        return self._found_at is not None

    def update(self, observation: TrunkObservation) -> PhaseState:
        """Wait for hand-over and posture, then watch, or refine a result that has turned the base."""
        reading, posture = observation.reading, self._context.posture
        if observation.arrived:
            if reading is None and self._found_at is None and posture.reference is None:
                return self._finish(None)
            if reading is not None and posture.reached(reading):
                again = self._has_moved(reading) and not observation.doubtful
                return self._refine(reading) if again else self._finish(reading)
            self._waited += observation.dt
        if self._waited > self._context.config.rest.timeout:
            return self._finish(None)
        return self

    def advance_without_input(self, dt: float) -> PhaseState:
        """Let time pass in which an input is missing; after `rest.timeout` the return ends.

        Args:
            dt: That time [s].
        """
        self._waited += dt
        return self._finish(None) if self._waited > self._context.config.rest.timeout else self

    def _has_moved(self, reading: TrunkReading) -> bool:
        """Whether the result has led to another posture, in which it can be found more exactly.

        Under the load the base stood tilted, and an unknown height of the centre of mass showed across
        gravity.
        """
        context = self._context
        if self._found_at is None or context.posture.reference is not None or context.passes >= MOST_PASSES:
            return False
        return reading.turned_from(self._found_at) > SAME_POSTURE_RAD

    def _refine(self, reading: TrunkReading) -> PhaseState:
        """Identify again, from the result; if that fails, the result stays."""
        trunk = self._context.trunk
        detector = trunk.load_changes
        detector.expect(detector.mass, trunk.completed_along_gravity(reading.com_B, reading))
        trunk.keep_value()
        trunk.keep_expectation()
        return Settling(self._context)

    def _finish(self, reading: TrunkReading | None) -> PhaseState:
        context, succeeded = self._context, self._found_at is not None
        trunk, detector = context.trunk, context.trunk.load_changes
        if succeeded:
            com_B = detector.com_B
            if reading is not None:
                com_B = trunk.completed_along_gravity(reading.com_B, reading)
            detector.expect(detector.mass, com_B)
        context.converged = succeeded
        context.posture.release()
        detector.forget_evidence()
        return Watching(context)


def _returning(context: IdentificationContext, found_at: tuple[float, float] | None) -> PhaseState:
    """Ask the base back and return the phase that waits for it."""
    context.posture.ask_back()
    return _Returning(context, found_at)
