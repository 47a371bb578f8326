"""Estimator of base orientation, position and twist from aligned readings, one step at a time."""

from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.tilt.accelerometer_scale import AccelerometerScale
from inertial_estimation.estimators.tilt.base_track import BaseTrack
from inertial_estimation.estimators.tilt.contact_velocity import ContactVelocity
from inertial_estimation.estimators.tilt.correction_rate import CorrectionRate
from inertial_estimation.estimators.tilt.estimate_numbers import SINGLE
from inertial_estimation.estimators.tilt.estimator_memory import (
    BASE,
    BIAS,
    CONTACTS,
    FORCE,
    MEAN_FORCE,
    MEAN_RATE,
    NOISE,
    OBSERVER,
    OWN,
    REST,
    SCALE,
    USED_FORCE,
    VARIANCES,
    VELOCITY,
    estimator_memory,
)
from inertial_estimation.estimators.tilt.estimator_steps import DOUBT
from inertial_estimation.estimators.tilt.foot_rotation import explains_turn
from inertial_estimation.estimators.tilt.force_hold import advance_hold
from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasEstimator
from inertial_estimation.estimators.tilt.initialisation import Initialisation, Phase
from inertial_estimation.estimators.tilt.kept_steps import KeptObserverSteps, advance
from inertial_estimation.estimators.tilt.observers import make_observer
from inertial_estimation.estimators.tilt.reading_checks import ReadingChecks
from inertial_estimation.estimators.tilt.step_calls import StepCalls
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.whole_steps import BEGUN, FINISHED
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.contacts import ContactLoad, ContactSource
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.torque_wrenches import TorqueWrenches
from inertial_estimation.signals import Array, BaseEstimate, BaseState
from inertial_estimation.spatial.vectors import Matrix, Vector, angle_between, rotate, times

__all__ = ["BaseStateEstimator"]

LONGEST_STEP = 0.15  # over which the rate at its ends tells the rotation [s]
STARTED_SIGMA = 0.02  # standard deviation of a vertical after the startup [rad]
UPSIDE_DOWN = 1.0  # standard deviation of a vertical by which no foot is pushed up [rad]
_base_state, _base_estimate = made_of_checked(BaseState), made_of_checked(BaseEstimate)


class BaseStateEstimator:
    """Observer, gyro bias, yaw and base position, advanced together.

    The usual step is one compiled call. Where something unusual shows, in or before it, the step is continued
    part by part.

    Attributes:
        observer: The tilt observer.
        bias: The gyro bias estimator.
        track: Orientation and position of the base, and their uncertainty.
        scale: Scale of the accelerometer.
        noise: Measured noise of the readings, and the rate of correction that follows from it.
        checks: Checks of the readings against one another.
        initialisation: The startup, and new fits of the vertical while the observer runs.
        kept_steps: Takes what the observer is given, for `RecordedObserver`; None: nothing is kept.
    """

    def __init__(self, config: TiltPipelineConfig, setup: RobotSetup) -> None:
        """Build the components and begin with the startup.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.

        Raises:
            ConfigurationError: If the robot has no IMU, or contact forces are to come from joint torques and
                do not follow from them.
        """
        if setup.imu is None:
            raise ConfigurationError("the robot has no IMU, which the tilt observer requires")
        memory, max_gap = estimator_memory(), config.robot.inputs.max_gap
        kinematics = ContactKinematics(setup.robot, setup.contacts, setup.imu)
        contacts = ContactVelocity(config.contact, setup.contact_names, max_gap, memory[CONTACTS])
        rows = memory[OBSERVER], memory[OWN]
        self.observer = make_observer(config.observer, config.gains, config.gravity, rows)
        rows = memory[BIAS], memory[REST]
        self.bias = GyroBiasEstimator(config.bias, len(kinematics.velocities), rows)
        self.noise = CorrectionRate(config.adaptation, memory[NOISE])
        self.scale = AccelerometerScale(memory[SCALE])
        rows = memory[BASE], memory[VARIANCES]
        self.track = BaseTrack(len(setup.contacts), config.uncertainty, rows)
        self.checks = ReadingChecks(kinematics.soles, memory, enabled=config.check_readings)
        self._calls = StepCalls(
            memory, kinematics, contacts, self.observer, self.checks.feet, self.track, self.bias.rest
        )
        by_torques = ContactSource(config.contact.source) is ContactSource.JOINT_TORQUES
        gain = config.contact.observer_gain
        self._torques = TorqueWrenches(setup, config.robot, gain) if by_torques else None
        self._sensed = config.contact.sensed
        self.initialisation = Initialisation(config.startup)
        self.kept_steps: KeptObserverSteps | None = None
        self.reset()

    def reset(self) -> None:
        """Reset the whole state, including the gyro bias."""
        self.bias.reset()
        self.scale.reset()
        self.restart()

    def restart(self) -> None:
        """Restart with the startup, for example after a gap in the readings; the gyro bias is kept."""
        self.bias.clear_window()
        self.bias.rest.reset()
        self.noise.reset()
        self.observer.forget_noise()
        self.track.reset()
        self._calls.contacts.reset()
        if self._torques is not None:
            self._torques.reset()
        self.checks.reset()
        self.initialisation.reset()
        self._placed = False  # whether a startup has ended, so that there are kinematics of an estimate

    @property
    def ready(self) -> bool:
        """Whether the startup is over and steps give estimates."""
        return self.initialisation.phase is not Phase.STARTING

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts in use at the last step."""
        return self._calls.contacts.in_use

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last step that had joints and wrenches; empty before the first one."""
        return self._calls.contacts.loads(self._calls.kinematics.state) if self._placed else ()

    @property
    def defect(self) -> str:
        """What is not finite or physically inconsistent in the last estimate; empty if nothing is."""
        return self._calls.defect

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Apply changed run-time parameters; the state is kept."""
        self.bias.configure(config.bias)
        self.noise.configure(config.adaptation)
        self._calls.contacts.configure(config.contact)
        self.observer.configure(config.gains, config.gravity)

    def step(
        self,
        stamp_ns: int,
        h: float,
        imu: Array,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        R_reference: Matrix | None,
        tau: Array | None = None,
    ) -> BaseEstimate | None:
        """Advance by one step.

        Args:
            stamp_ns: Stamp the estimate carries [ns].
            h: Time since the last step [s]; ignored at the first.
            imu: Specific force then rate, shape (6,).
            joints: Positions and velocities, shape (n_joints,) each; None where missing.
            wrenches: A row for each contact, in its wrench frame, as `compilation.numbers` of shape (n, 6);
                None where one is missing, or where they come from joint torques.
            R_reference: Orientation of the base from an external reference; None without one.
            tau: Joint torques [Nm], shape (n_joints,), from which contact forces come; None where they do
                not, or are missing.

        Returns:
            The estimate; None during startup and where joints or wrenches are missing (the state is then
            propagated by the IMU).
        """
        calls = self._calls
        self.track.refer(R_reference)
        if joints is None or wrenches is None or not self._may_be_usual(h):
            calls.begin(h, imu, joints)
            return self._continued(stamp_ns, h, BEGUN, joints, wrenches, tau)
        found = calls.whole(h, imu, joints, wrenches)
        if not found & FINISHED:
            return self._continued(stamp_ns, h, found, joints, wrenches, tau)
        self.checks.stamp_ns = stamp_ns
        if found != FINISHED:
            self.checks.note(stamp_ns, found)
        return self._estimate(stamp_ns)

    def _may_be_usual(self, h: float) -> bool:
        """Return whether nothing is known before a step with joints and wrenches that makes it unusual."""
        tracking = self.initialisation.phase is Phase.TRACKING and h <= LONGEST_STEP
        return tracking and self._calls.whole_step is not None and self.kept_steps is None

    def _continued(
        self,
        stamp_ns: int,
        h: float,
        found: int,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        tau: Array | None,
    ) -> BaseEstimate | None:
        """Continue a step that is not the usual one, from where `whole_steps` has ended.

        Args:
            stamp_ns: As for `step`, like the others.
            h: Time since the last step [s].
            found: What was found, and where it has ended.
            joints: Positions and velocities.
            wrenches: A row for each contact.
            tau: Joint torques.
        """
        known = joints is not None
        if found & BEGUN:
            self._doubt_gyroscope(h)
            wrenches = self._wrenches(h, joints, wrenches, tau)
            if not self.ready:
                self._start_up(h, wrenches, known=known)
                self._calls.contacts.remember(known=known)
                return None
            aided = known and wrenches is not None and self._weigh(h, wrenches)
            found = self._observe(stamp_ns, h, aided=aided)
        self.checks.stamp_ns = stamp_ns
        self._conclude(stamp_ns, h, found)
        return self._finish(stamp_ns, h, known=known, fresh=known and wrenches is not None)

    def _doubt_gyroscope(self, h: float) -> None:
        """Turn the vertical by what a wrong gyroscope has missed; start again where the rotation is lost."""
        missed = self.checks.feet.missed
        if missed is not None and self.ready:
            self._turn_back(missed)
        if self.checks.feet.lost or (self.ready and h > LONGEST_STEP):
            self._start_again()

    def _turn_back(self, missed: Vector) -> None:
        """Turn the vertical by the angle by which the frame was turned too little by the gyroscope."""
        x, y, z = missed
        self.observer.restore(rotate((-x, -y, -z), self.observer.x2))
        self.checks.velocity.reset()
        self.checks.agreement.reset()

    def _start_again(self) -> None:
        """Determine vertical and velocity anew, nothing is published meanwhile; position and yaw are kept."""
        self.bias.clear_window()
        self._calls.contacts.reset()
        self.checks.restart()
        self.initialisation.reset()

    @property
    def _vertical(self) -> Vector:
        """The vertical by which forces are weighted before the observer's step."""
        return self.initialisation.vertical or self.observer.x2

    def _wrenches(
        self,
        h: float,
        joints: tuple[Array, Array] | None,
        wrenches: Array | None,
        tau: Array | None,
    ) -> Array | None:
        """Return the wrenches of a step, which may come from joint torques."""
        if self._torques is None:
            return wrenches
        state = self._calls.kinematics.state if joints is not None else None
        imu = self._calls.vector(MEAN_FORCE), self._calls.vector(MEAN_RATE)
        return self._torques.update(h, state, imu, (joints, tau), self._vertical)

    def _weigh(self, h: float, wrenches: Array) -> bool:
        """Compute the contact velocity; return whether a contact is in use."""
        observer, calls, expected = self.observer, self._calls, None
        if self.checks.enabled:
            w, force = calls.vector(MEAN_RATE), calls.vector(MEAN_FORCE)
            expected = observer.expected_velocity(h, w, force)
            if expected is None and not self._sensed:
                expected = observer.x1  # forces that are not sensed are judged by every observer
        aided = calls.weigh(h, self._vertical, expected, wrenches)
        if observer.needs_feet:
            observer.see_feet(calls.contacts.feet(calls.kinematics.state))
        return aided

    def _observe(self, stamp_ns: int, h: float, *, aided: bool) -> int:
        """Advance the observer with checked readings; return what `judge_step` has found."""
        observer, checks, calls, kept = self.observer, self.checks, self._calls, self.kept_steps
        bias_variance, information = self.bias.variance_horizontal, calls.contacts.information
        observer.see_noise(self.noise.white_density, bias_variance, information)
        if kept is not None:
            kept.begin(self.noise, information)
        if aided:
            observer.follow_noise(h, bias_variance, self.noise.row)
        carried, before = checks.hold.active or checks.agreement.stretched, observer.x2
        calls.guard(h, aided=aided)
        w, force = calls.vector(MEAN_RATE), calls.vector(USED_FORCE)
        y_v = calls.vector(VELOCITY) if aided else None
        advance(observer, kept, stamp_ns, h, (w, force, y_v), bias_variance)
        if carried:  # such a force tells nothing about the vertical
            observer.hold(h, w, before)
        return calls.judge(h, aided=aided, tracking=self.initialisation.phase is Phase.TRACKING)

    def _conclude(self, stamp_ns: int, h: float, found: int) -> None:
        """Note what was found; where readings disagree, determine the observer's state anew."""
        self.checks.note(stamp_ns, found)
        if self.initialisation.phase is not Phase.TRACKING:
            if self.checks.enabled:
                self._refit(h)
        elif found & DOUBT:
            self._correct_vertical(h)

    def _correct_vertical(self, h: float) -> None:
        """Take errors of gyroscope and accelerometer back; begin a fit where the readings disagree."""
        observer, checks, feet, hold = self.observer, self.checks, self.checks.feet, self.checks.hold
        agreement, w = checks.agreement, self._calls.vector(MEAN_RATE)
        explained = feet.known and agreement.turned
        explained = explained and explains_turn(agreement.turn, observer.x2, feet.row)
        if explained and not feet.replacing:
            self._turn_back(feet.replace())
        sound = feet.known and not checks.contradicted and not feet.replacing
        begins, back = advance_hold(h, w, observer.correction, sound, agreement.row, hold.row)
        if begins:
            observer.restore(rotate(back, observer.x2))
        if hold.exhausted:
            self._start_again()
        elif checks.doubtful and not hold.active:
            if agreement.drifted and not agreement.disagrees:
                self.bias.doubt(agreement.slow_angle * observer.convergence_rate)
            if checks.contradicted:
                observer.trust(UPSIDE_DOWN)
            self.initialisation.begin(by_accelerometer=checks.contradicted)

    def _refit(self, h: float) -> None:
        """Continue a fit of the vertical, and set the observer to it once it is accepted."""
        observer, checks, initialisation, calls = self.observer, self.checks, self.initialisation, self._calls
        if checks.contradicted and not initialisation.weighted_by_accelerometer:
            initialisation.begin(by_accelerometer=True)
        elif initialisation.phase is Phase.FITTED and checks.agreement.disagrees:
            initialisation.begin(by_accelerometer=False)
        fitted = initialisation.phase is Phase.FITTED
        initialisation.agree(h, doubtful=checks.doubtful)
        y_v = calls.vector(VELOCITY) if observer.velocity_aided and not checks.velocity.doubting else None
        force, w = calls.vector(USED_FORCE), calls.vector(MEAN_RATE)
        found = initialisation.refit(h, force, w, y_v, observer.x2)
        if found is None:
            return
        if fitted:  # the first stage keeps its own velocity and vertical, by which the fit is checked
            observer.x2 = found[1]
        else:
            turn = angle_between(observer.x2, found[1])
            observer.initialise(*found)
            checks.replaced(turn)
        self.noise.begin(initialisation.sigma)
        observer.trust(initialisation.sigma)

    def _start_up(self, h: float, wrenches: Array | None, *, known: bool) -> None:
        """Determine the initial vertical and velocity, and initialise the observer by them."""
        calls, initialisation = self._calls, self.initialisation
        w = calls.vector(MEAN_RATE)
        initialisation.average(h, calls.vector(FORCE), w)
        vertical, y_v, complete = initialisation.vertical, None, known and wrenches is not None
        if vertical is not None and known and wrenches is not None:
            y_v = calls.vector(VELOCITY) if calls.weigh(h, vertical, None, wrenches) else None
        found = initialisation.start(h, calls.vector(MEAN_FORCE), w, y_v, complete=complete)
        if found is not None and known:
            self.observer.initialise(*found)
            fitted = initialisation.phase is Phase.FITTED
            sigma = initialisation.sigma if fitted else STARTED_SIGMA
            self.noise.begin(sigma)
            self.observer.trust(sigma)
            self.track.start(times(calls.kinematics.state.R_BI, self.observer.x2))
            self._placed = True

    def _finish(self, stamp_ns: int, h: float, *, known: bool, fresh: bool) -> BaseEstimate | None:
        """Finish a step; return the estimate of one that had joints and wrenches."""
        if self.kept_steps is not None:
            self.kept_steps.place(self._calls.kinematics.state.R_BI)
        self.observer.store_rates()
        tracking = self.initialisation.phase is Phase.TRACKING
        found = self._calls.finish(h, known=known, fresh=fresh, tracking=tracking)
        self.checks.note(stamp_ns, found)
        return self._estimate(stamp_ns) if fresh else None

    def _estimate(self, stamp_ns: int) -> BaseEstimate:
        """Make an estimate of the numbers of the last step."""
        values, contacts = self._calls.numbers, self._calls.contacts.in_use
        across, along, aided, gravity_aided, resting, *of_contacts = values[SINGLE:].tolist()
        n = len(of_contacts) // 2
        return _base_estimate(
            _base_state(stamp_ns, values[:4], values[4:7], values[7:10], values[10:13]),
            values[13:16],
            values[16:19],
            contacts,
            values[19:22],
            aided > 0.0,
            gravity_aided > 0.0,
            values[22:31].reshape(3, 3),
            (across, along),
            resting > 0.0,
            tuple(of_contacts[:n]),
            tuple(of_contacts[n:]),
        )
