"""The phases of an identification: settle, mass, centre of mass, return."""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.estimators.payload.asked_posture import AskedPosture
from inertial_estimation.estimators.payload.com_method import ComMethod, ComStep
from inertial_estimation.estimators.payload.load_change_detector import LoadChangeDetector
from inertial_estimation.estimators.payload.method_choice import MethodFactory, make_method
from inertial_estimation.estimators.payload.payload_config import TrunkPayloadConfig
from inertial_estimation.estimators.payload.payload_estimate import LoadChange, Phase
from inertial_estimation.estimators.payload.rest_average import RestAverage
from inertial_estimation.estimators.payload.trunk_measurer import (
    TrunkReading,
    across_gravity,
    implausible_mass,
)
from inertial_estimation.estimators.payload.trunk_value import TrunkValue, unmeasured_trunk
from inertial_estimation.signals import Array, BaseReference

__all__ = ["Identification", "Look"]

LEVEL = 0.03  # rad: a base this near to level, or to where it is asked to be, is there
SAME_POSTURE = 0.02  # rad: a result found within this of the posture it leads to needs no second look
MOST_PASSES = 3
MOST_RESTARTS = 10  # a load that goes on changing, or inputs that go on failing, hold no robot for ever
RESPONSE = 1.0  # s: by when the base has begun to move to another tilt, if it moves at all
TIME_TOLERANCE = 1e-6  # [s]: sums of steps fall short of a duration by rounding


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What is known of the robot in one step.

    Attributes:
        stamp_ns: Stamp of the step [ns].
        dt: Time since the last step [s].
        at_rest: Whether the robot is at rest.
        reading: The trunk, at rest and measurable; else None.
        why_not: Why there is no reading.
        moving_mass: Of the trunk, weighed in motion [kg]; None at rest, or where it could not be.
        arrived: Whether the published trunk has reached `target`.
    """

    stamp_ns: int
    dt: float
    at_rest: bool
    reading: TrunkReading | None
    why_not: str
    arrived: bool
    moving_mass: float | None = None


class Identification:
    """Takes one look after the other; holds what is in force.

    Attributes:
        config: The parameters; the method's take effect at the next start.
        watch: Notices loads; what was measured becomes what it expects.
        phase: What is under way.
        method: Name of the method under way, or of the last one.
        value: The estimate.
        target: What is to be published.
        converged: Whether the last identification came to its end.
        refusal: Why it was given up; empty if it was not.
    """

    def __init__(
        self,
        config: TrunkPayloadConfig,
        mass: float,
        com_B: Array,
        method_factory: MethodFactory = make_method,
    ) -> None:
        """Begin with the nominal trunk.

        Args:
            config: The parameters.
            mass: Nominal mass of the trunk [kg].
            com_B: Its centre of mass [m], shape (3,).
            method_factory: Makes a method by name.
        """
        self.config = config
        self._factory = method_factory
        self._nominal = unmeasured_trunk(mass, com_B)
        self.watch = LoadChangeDetector(config.load_change, mass, com_B)
        self._posture = AskedPosture()
        self.reset()

    def reset(self) -> None:
        """Return to the nominal trunk, watching; a base that was asked to tilt is asked back."""
        self.phase = Phase.WATCHING
        self.method = self.config.method
        self.value = self.target = self._before = self._nominal
        self.watch.expect(self._nominal.mass, self._nominal.com_B)
        self._expected_before = self.watch.expectation
        self.converged = False
        self.refusal = ""
        self._posture.reset()
        self._waited = self._lasted = 0.0
        self._average = RestAverage()
        self._com_method: ComMethod | None = None
        self._step: ComStep | None = None
        self._asked_for: float | None = None
        self._succeeded = False
        self._found_at = self._weighed_at = (0.0, 0.0)
        self._passes = self._restarts = 0

    @property
    def reference(self) -> BaseReference | None:
        """Where the base is asked to be; None: nothing is asked."""
        return self._posture.reference

    @property
    def hold(self) -> bool:
        """Whether the robot is asked to stand still."""
        return self.phase is not Phase.WATCHING

    @property
    def identifying(self) -> bool:
        """Whether a result is still to come."""
        return self.phase in (Phase.SETTLING, Phase.MASS, Phase.COM)

    def start(self, method: str = "") -> None:
        """Begin, or begin anew.

        Args:
            method: Its name; empty: as configured.
        """
        self._restarts = 0
        if not self.identifying:
            self._before = self.value
            self._expected_before = self.watch.expectation
        self._begin(method or self.config.method)

    def _begin(self, method: str) -> None:
        self.method = method
        self.value = self.target = self._before
        self.converged = self._succeeded = False
        self.refusal = ""
        self._passes = 0
        self._settle()
        self._waited = 0.0
        self._step = None
        if self.reference is not None:
            self._ask(None)

    def cancel(self) -> None:
        """Give up; what was in force before stays."""
        if self.identifying:
            self._give_up("")

    def interrupt(self) -> None:
        """Settle anew, as after a gap in the data."""
        self.watch.forget_evidence()
        if self.identifying:
            self._begin_anew("inputs were lost")

    def advance_without_input(self, dt: float) -> None:
        """Let time pass in which an input is missing; no robot is held longer than `rest.timeout` for it.

        Args:
            dt: That time [s].
        """
        if not self.hold:
            return
        self._waited += dt
        if self._waited > self.config.rest.timeout:
            if self.identifying:
                self._give_up(f"an input is missing for {self.config.rest.timeout:g} s")
            else:
                self._finish(None)

    def look(self, look: Look) -> LoadChange | None:
        """Take the next look.

        Args:
            look: What is known of the robot.

        Returns:
            A load change, in the step in which it was found.
        """
        phase = self.phase
        if phase is Phase.SETTLING:
            self._look_settling(look)
        elif phase is Phase.MASS:
            self._look_for_mass(look)
        elif phase is Phase.COM:
            self._look_for_com(look)
        elif phase is Phase.RETURNING:
            self._look_returning(look)
        return self._look_for_change(look)

    def _look_for_change(self, look: Look) -> LoadChange | None:
        change = self._change_in_motion(look) if look.reading is None else self._change_at_rest(look)
        under_way = self.identifying or (self.hold and self._succeeded)
        if change is not None and under_way:
            if not self.identifying:
                self._before = self.value
            self._expected_before = self.watch.expectation
            self._begin_anew("the load changed")
        elif change is not None and look.reading is not None and self.watch.unidentified is None:
            self.refusal = ""  # what is in force is right again
        elif change is not None and self.config.start == "on_change":
            self.start()
        return change

    def _begin_anew(self, cause: str) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            self._give_up(f"begun anew {MOST_RESTARTS} times without a result, the last time because {cause}")
        else:
            self._begin(self.method)

    def _change_at_rest(self, look: Look) -> LoadChange | None:
        reading = look.reading
        assert reading is not None
        if self.phase is Phase.SETTLING or self._implausible(reading.mass):
            return None
        tilted = (
            self.phase in (Phase.COM, Phase.RETURNING)
            and reading.turned_from(self._weighed_at) > SAME_POSTURE
        )
        change = self.watch.look(reading, look.dt, look.stamp_ns, mass_only=tilted)
        undisturbed = change is None and not self.watch.suspicious and self.watch.unidentified is None
        if self.phase is Phase.WATCHING and undisturbed:
            self._posture.stood(reading)
        return change

    def _change_in_motion(self, look: Look) -> LoadChange | None:
        mass = look.moving_mass
        if mass is None or self.phase is not Phase.WATCHING or self._implausible(mass):
            return None
        return self.watch.weigh(mass, look.dt, look.stamp_ns)

    def _look_settling(self, look: Look) -> None:
        if look.reading is None:
            self._wait(look)
            return
        self._posture.stands(look.reading)
        self.phase = Phase.MASS
        self._average = RestAverage()
        self._look_for_mass(look)

    def _look_for_mass(self, look: Look) -> None:
        if look.reading is None:
            self._settle()
            self._wait(look)
            return
        average = self._average
        average.add(look.reading, look.dt)
        self.watch.follow(average.mass, self._beside(average.com_B, look.reading))
        if average.duration < self.config.mass_duration - TIME_TOLERANCE:
            return
        reason = self._implausible(average.mass)
        if reason:
            self._give_up(reason)
            return
        before = self._before
        sigma = average.mass_sigma(self.config.rest.window)
        self.value = TrunkValue(average.mass, before.com_B, sigma, np.full(3, math.inf), math.nan)
        self._com_method = self._factory(self.method, self.config)
        self._com_method.start(before.com_B.copy(), average.mass)
        self._weighed_at = (look.reading.roll, look.reading.pitch)
        self.phase = Phase.COM
        self._waited = self._lasted = 0.0
        self._step = self._asked_for = None

    def _look_for_com(self, look: Look) -> None:
        self._lasted += look.dt
        if self._lasted > self.config.timeout:
            known = self._step is not None and math.isfinite(self._step.residual)
            residual = f", {1e3 * self._step.residual:.1f} mm are left" if known and self._step else ""
            self._give_up(f"'{self.method}' has not converged in {self.config.timeout:g} s{residual}")
            return
        if not look.at_rest:
            self._asked_for = None  # the base is on its way
        elif self._asked_for is not None:
            self._asked_for += look.dt
        if look.reading is None:
            self._wait(look)
            return
        moving = self._asked_for is not None and self._asked_for < RESPONSE
        handing_over = self._step is not None and self._step.to_controller and not look.arrived
        if moving or handing_over:
            return
        self._waited = 0.0
        assert self._com_method is not None
        self._take(self._com_method.update(look.reading.measurement, look.dt), look.reading)

    def _take(self, step: ComStep, reading: TrunkReading) -> None:
        if not step.refusal and not np.isfinite(step.com_B).all():
            self._give_up(f"'{self.method}' gives what is no number")
            return
        if step.refusal:
            self._give_up(step.refusal)
            return
        asked_before = None if self._step is None else self._step.tilt
        if step.tilt != asked_before:
            self._ask(step.tilt)
        self._step = step
        value = self.value
        self.value = TrunkValue(value.mass, step.com_B, value.mass_sigma, step.sigma_B, step.residual)
        if step.to_controller or step.done:
            self.target = self.value
        if step.done:
            self._succeeded = True
            self._found_at = (reading.roll, reading.pitch)
            self._passes += 1
            self._return()

    def _look_returning(self, look: Look) -> None:
        reading = look.reading
        if look.arrived and reading is None and not self._succeeded and self.reference is None:
            self._finish(None)
            return
        if look.arrived and reading is not None and self._posture.reached(reading):
            if self._succeeded and self._has_moved(reading):
                self._refine(reading)
            else:
                self._finish(reading)
            return
        self._waited += look.dt if look.arrived else 0.0
        if self._waited > self.config.rest.timeout:
            self._finish(None)

    def _has_moved(self, reading: TrunkReading) -> bool:
        """Whether the result has led to another posture, in which it can be found more exactly.

        Under the load the base stood tilted, and an unknown height of the centre of mass showed across
        gravity.
        """
        moved = reading.turned_from(self._found_at) > SAME_POSTURE
        return moved and self.reference is None and self._passes < MOST_PASSES

    def _refine(self, reading: TrunkReading) -> None:
        """Identify again, from the result; if that fails, the result stays."""
        self._before = self.value
        self.watch.expect(self.watch.mass, self._beside(reading.com_B, reading))
        self._expected_before = self.watch.expectation
        self._succeeded = False
        self._settle()
        self._waited = 0.0

    def _finish(self, reading: TrunkReading | None) -> None:
        watch = self.watch
        if self._succeeded:
            com_B = watch.com_B if reading is None else self._beside(reading.com_B, reading)
            watch.expect(watch.mass, com_B)
        self.converged = self._succeeded
        self.phase = Phase.WATCHING
        self._posture.release()
        watch.forget_evidence()

    def _settle(self) -> None:
        self.phase = Phase.SETTLING
        self.watch.forget_evidence()

    def _wait(self, look: Look) -> None:
        self._waited += look.dt
        limit = self.config.rest.timeout
        if self._waited > limit:
            self._give_up(f"not at rest, or not measurable, for {limit:g} s: {look.why_not}")

    def _give_up(self, refusal: str) -> None:
        self.refusal = refusal
        self._succeeded = False
        self.value = self.target = self._before
        self.watch.restore(self._expected_before)
        self._return()

    def _return(self) -> None:
        self.phase = Phase.RETURNING
        self._waited = 0.0
        if self.reference is not None:
            self._ask(None)

    def _ask(self, tilt: tuple[float, float] | None) -> None:
        self._posture.ask(tilt)
        self._asked_for = 0.0

    def _beside(self, com_B: Array, reading: TrunkReading) -> Array:
        """Return a centre of mass with the part along gravity of the estimate."""
        R_WB = reading.measurement.R_WB
        along = self.value.com_B - across_gravity(self.value.com_B, R_WB)
        return across_gravity(com_B, R_WB) + along

    def _implausible(self, mass: float) -> str:
        return implausible_mass(mass, self._nominal.mass)
