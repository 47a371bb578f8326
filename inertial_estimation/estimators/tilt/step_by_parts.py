"""A step of an estimator part by part, where something unusual is to be done between its parts."""

from inertial_estimation.estimators.tilt.estimator_memory import (
    FORCE,
    MEAN_FORCE,
    MEAN_RATE,
    VELOCITY,
)
from inertial_estimation.estimators.tilt.estimator_parts import EstimatorParts
from inertial_estimation.estimators.tilt.foot_rotation import explains_turn
from inertial_estimation.estimators.tilt.initialisation import Phase
from inertial_estimation.estimators.tilt.step_end import WINDOW_FULL
from inertial_estimation.estimators.tilt.step_judgement import DOUBT
from inertial_estimation.estimators.tilt.whole_steps import BEGUN
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import Vector, rotate, times

LONGEST_STEP = 0.15  # over which the rate at its ends tells the rotation [s]
STARTED_SIGMA = 0.02  # standard deviation of a vertical after the startup [rad]


class StepByParts:
    """Makes steps, or continues them from where the usual step (`whole_steps`) has ended."""

    def __init__(self, parts: EstimatorParts, *, sensed: bool) -> None:
        """Begin without a step.

        Args:
            parts: Of the estimator.
            sensed: Whether sensors at the contacts give the forces.
        """
        self._parts, self._calls, self._sensed = parts, parts.calls, sensed

    def step(
        self,
        stamp_ns: int,
        h: float,
        imu: Array,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        tau: Array | None,
    ) -> bool:
        """Make a whole step; return whether it gives an estimate.

        Args:
            stamp_ns: Its stamp [ns].
            h: Time since the last step [s].
            imu: Specific force then rate, shape (6,).
            joints: Positions and velocities; None where missing.
            wrenches: A row for each contact; None where one is missing, or where they come from torques.
            tau: Joint torques [Nm]; None where missing.
        """
        self._calls.begin(h, imu, joints)
        return self.continued(stamp_ns, h, BEGUN, joints, wrenches, tau)

    def continued(
        self,
        stamp_ns: int,
        h: float,
        found: int,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        tau: Array | None,
    ) -> bool:
        """Continue a step; return whether it gives an estimate.

        Args:
            stamp_ns: As for `step`, like the others.
            h: Time since the last step [s].
            found: Where the step has ended, and what it has found until then.
            joints: Positions and velocities.
            wrenches: A row for each contact.
            tau: Joint torques.
        """
        known = joints is not None
        if found & BEGUN:
            self._doubt_gyroscope(h)
            wrenches = self._wrenches(h, joints, wrenches, tau)
            if not self._parts.initialisation.ready:
                self._start_up(h, wrenches, known=known)
                self._calls.contacts.remember(known=known)
                return False
            aided = known and wrenches is not None and self._weigh(h, wrenches)
            found = self._observe(h, aided=aided)
        self._parts.checks.stamp_ns = stamp_ns
        self._conclude(stamp_ns, h, found)
        fresh = known and wrenches is not None
        self._finish(stamp_ns, h, known=known, fresh=fresh)
        return fresh

    def _doubt_gyroscope(self, h: float) -> None:
        """Turn the vertical by what a wrong gyroscope has missed; start again where the rotation is lost."""
        feet, ready = self._parts.checks.feet, self._parts.initialisation.ready
        missed = feet.missed
        if missed is not None and ready:
            self._turn_back(missed)
        if feet.lost or (ready and h > LONGEST_STEP):
            self._parts.start_again()

    def _turn_back(self, missed: Vector) -> None:
        """Turn the vertical by the angle by which the frame was turned too little by the gyroscope."""
        (x, y, z), parts = missed, self._parts
        parts.observer.restore(rotate((-x, -y, -z), parts.observer.x2))
        parts.checks.agreement.reset()

    @property
    def _vertical(self) -> Vector:
        """The vertical by which forces are weighted before the observer's step."""
        return self._parts.initialisation.vertical or self._parts.observer.x2

    def _wrenches(
        self,
        h: float,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        tau: Array | None,
    ) -> Array | None:
        """Return the wrenches of a step, which may come from joint torques."""
        torques, calls = self._parts.torques, self._calls
        if torques is None:
            return wrenches
        state = calls.kinematics.state if joints is not None else None
        imu = calls.vector(MEAN_FORCE), calls.vector(MEAN_RATE)
        return torques.update(h, state, imu, (joints, tau), self._vertical)

    def _weigh(self, h: float, wrenches: Array) -> bool:
        """Compute the contact velocity; return whether a contact is in use."""
        observer, calls, expected = self._parts.observer, self._calls, None
        if self._parts.checks.enabled:
            w, force = calls.vector(MEAN_RATE), calls.vector(MEAN_FORCE)
            expected = observer.expected_velocity(h, w, force)
            if expected is None and not self._sensed:
                expected = observer.x1  # forces that are not sensed are judged by every observer
        aided = calls.weigh(h, self._vertical, expected, wrenches)
        if observer.needs_feet:
            observer.see_feet(calls.contacts.feet(calls.kinematics.state))
        return aided

    def _observe(self, h: float, *, aided: bool) -> int:
        """Advance the observer with checked readings; return what was found by comparing them."""
        parts, calls = self._parts, self._calls
        observer, checks, noise = parts.observer, parts.checks, parts.noise
        bias_variance, information = parts.bias.variance_horizontal, calls.contacts.information
        observer.see_noise(noise.white_density, bias_variance, information)
        if aided:
            observer.follow_noise(h, bias_variance, noise.row)
        carried, before = checks.agreement.stretched, observer.x2
        calls.guard(h, aided=aided)
        w, force = calls.vector(MEAN_RATE), calls.vector(MEAN_FORCE)
        observer.step(h, w, force, calls.vector(VELOCITY) if aided else None)
        if carried:  # such a force tells nothing about the vertical
            observer.hold(h, w, before)
        return calls.judge(h, aided=aided)

    def _conclude(self, stamp_ns: int, h: float, found: int) -> None:
        """Note what was found; where readings disagree, determine the observer's state anew."""
        self.note(stamp_ns, found)
        if self._parts.initialisation.phase is not Phase.TRACKING:
            if self._parts.checks.enabled:
                self._refit(h)
        elif found & DOUBT:
            self._correct_vertical()

    def _correct_vertical(self) -> None:
        """Take an error of the gyroscope back; begin a fit where the readings disagree."""
        parts, observer = self._parts, self._parts.observer
        feet, agreement = parts.checks.feet, parts.checks.agreement
        turned = feet.known and agreement.turned and not feet.replacing
        if turned and explains_turn(agreement.turn, observer.x2, feet.row):
            self._turn_back(feet.replace())
        if agreement.reportable:
            if agreement.drifted and not agreement.disagrees:
                parts.bias.doubt(agreement.slow_angle * observer.convergence_rate)
            parts.initialisation.begin()

    def _refit(self, h: float) -> None:
        """Continue a fit of the vertical, and set the observer to it once it is accepted."""
        parts, calls = self._parts, self._calls
        observer, checks, initialisation = parts.observer, parts.checks, parts.initialisation
        if initialisation.phase is Phase.FITTED and checks.agreement.disagrees:
            initialisation.begin()
        fitted = initialisation.phase is Phase.FITTED
        initialisation.agree(h, doubtful=checks.agreement.reportable)
        y_v = calls.vector(VELOCITY) if observer.velocity_aided else None
        force, w = calls.vector(MEAN_FORCE), calls.vector(MEAN_RATE)
        found = initialisation.refit(h, force, w, y_v, observer.x2)
        if found is None:
            return
        if fitted:  # the first stage keeps its own velocity and vertical, by which the fit is checked
            observer.x2 = found[1]
        else:
            observer.initialise(*found)
            checks.replaced()
        parts.noise.begin(initialisation.sigma)
        observer.trust(initialisation.sigma)

    def _start_up(self, h: float, wrenches: Array | None, *, known: bool) -> None:
        """Determine the initial vertical and velocity, and initialise the observer by them."""
        parts, calls, initialisation = self._parts, self._calls, self._parts.initialisation
        w, y_v = calls.vector(MEAN_RATE), None
        initialisation.average(h, calls.vector(FORCE), w)
        vertical, complete = initialisation.vertical, known and wrenches is not None
        if vertical is not None and known and wrenches is not None:
            y_v = calls.vector(VELOCITY) if calls.weigh(h, vertical, None, wrenches) else None
        found = initialisation.start(h, calls.vector(MEAN_FORCE), w, y_v, complete=complete)
        if found is not None and known:
            parts.observer.initialise(*found)
            fitted = initialisation.phase is Phase.FITTED
            sigma = initialisation.sigma if fitted else STARTED_SIGMA
            parts.noise.begin(sigma)
            parts.observer.trust(sigma)
            parts.track.start(times(calls.kinematics.state.R_BI, parts.observer.x2))
            parts.placed = True

    def _finish(self, stamp_ns: int, h: float, *, known: bool, fresh: bool) -> None:
        """Finish a step, and note what was found in that."""
        self._parts.observer.store_rates()
        tracking = self._parts.initialisation.phase is Phase.TRACKING
        found = self._calls.finish(h, known=known, fresh=fresh, tracking=tracking)
        self.note(stamp_ns, found)

    def note(self, stamp_ns: int, found: int) -> None:
        """Note what a step has found.

        Args:
            stamp_ns: Stamp of the step [ns].
            found: Its bits (`step_judgement`, `step_end`).
        """
        self._parts.checks.note(stamp_ns, found)
        if found & WINDOW_FULL:
            self._calls.enlarge_window()
