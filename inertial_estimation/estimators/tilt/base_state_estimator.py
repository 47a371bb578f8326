"""Estimator of base orientation, position and twist from aligned readings, one step at a time."""

from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.tilt.accelerometer_scale import AccelerometerScale
from inertial_estimation.estimators.tilt.base_track import BaseTrack
from inertial_estimation.estimators.tilt.contact_velocity import ContactVelocity
from inertial_estimation.estimators.tilt.correction_rate import CorrectionRate
from inertial_estimation.estimators.tilt.gyro_bias import GyroBiasEstimator, JointSpeed
from inertial_estimation.estimators.tilt.initialisation import Initialisation, Phase
from inertial_estimation.estimators.tilt.kept_steps import KeptObserverSteps, advance
from inertial_estimation.estimators.tilt.observers import make_observer
from inertial_estimation.estimators.tilt.reading_checks import ReadingChecks
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.contacts import ContactLoad, ContactSource
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.models.torque_wrenches import TorqueWrenches
from inertial_estimation.signals import Array, BaseEstimate, BaseState
from inertial_estimation.spatial.vectors import Matrix, Vector, angle_between, rotate, times

__all__ = ["BaseStateEstimator"]

LONGEST_STEP = 0.15  # over which the rate at its ends tells the rotation [s]
STARTED_SIGMA = 0.02  # standard deviation of a vertical after the startup [rad]
UPSIDE_DOWN = 1.0  # standard deviation of a vertical by which no foot is pushed up [rad]
ONLINE_RATE_SHARE = 0.1  # largest rate of the bias loop over the observer's slowest rate
_base_state, _base_estimate = made_of_checked(BaseState), made_of_checked(BaseEstimate)


class BaseStateEstimator:
    """Observer, gyro bias, yaw and base position, advanced together.

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
        self._config = config
        self._kinematics = ContactKinematics(setup.robot, setup.contacts, setup.imu)
        self.observer = make_observer(config.observer, config.gains, config.gravity)
        self.bias = GyroBiasEstimator(config.bias)
        self.noise = CorrectionRate(config.adaptation)
        self.scale = AccelerometerScale()
        self.track = BaseTrack(len(setup.contacts), config.uncertainty)
        self._contacts = ContactVelocity(config.contact, setup.contact_names, config.robot.inputs.max_gap)
        by_torques = ContactSource(config.contact.source) is ContactSource.JOINT_TORQUES
        gain = config.contact.observer_gain
        self._torques = TorqueWrenches(setup, config.robot, gain) if by_torques else None
        self.checks = ReadingChecks(self._kinematics.soles, enabled=config.check_readings)
        self.initialisation = Initialisation(config.startup)
        self._joint_speed = JointSpeed(config.bias.rest_window)
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
        self.noise.reset()
        self.observer.forget_noise()
        self.track.reset()
        self._contacts.reset()
        if self._torques is not None:
            self._torques.reset()
        self.checks.reset()
        self.initialisation.reset()
        self._joint_speed.reset()
        self._known: KinematicState | None = None  # kinematics at the last step that had joints

    @property
    def ready(self) -> bool:
        """Whether the startup is over and steps give estimates."""
        return self.initialisation.phase is not Phase.STARTING

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts in use at the last step."""
        return self._contacts.in_use

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last step that had joints and wrenches; empty before the first one."""
        return () if self._known is None else self._contacts.loads(self._known)

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Apply changed run-time parameters; the state is kept."""
        self._config = config
        self.bias.config = config.bias
        self.noise.config = config.adaptation
        self._contacts.config = config.contact
        self.observer.config, self.observer.fallback = config.gains, config.gravity

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
        fx, fy, fz, wx, wy, wz = imu.tolist()
        force, rate = (fx, fy, fz), (wx, wy, wz)
        if self.checks.enabled:
            force = self.scale.corrected(force)
        mean_force, mean_rate = self.checks.readings.advance(h, force, rate)
        rate = self.checks.readings.rate or rate  # without an outlier
        self.noise.measure_rate(h, rate)
        b = self.bias.bias
        w = (mean_rate[0] - b[0], mean_rate[1] - b[1], mean_rate[2] - b[2])
        state = self._kinematics.update(*joints) if joints is not None else None
        w = self._checked_rate(h, w, state)
        if self.checks.feet.replacing:
            rate = (w[0] + b[0], w[1] + b[1], w[2] + b[2])
        if self.checks.feet.lost or (self.ready and h > LONGEST_STEP):
            self._start_again()
        vertical = self.initialisation.vertical or self.observer.x2
        if self._torques is not None:
            wrenches = self._torques.update(h, state, (mean_force, w), (joints, tau), vertical)
        if not self.ready:
            self._start_up(h, force, mean_force, w, state, wrenches)
            self._contacts.remember(state)
            return None
        y_v, fresh = None, False
        if state is not None and wrenches is not None:
            expected = self.observer.expected_velocity(h, w, mean_force) if self.checks.enabled else None
            if expected is None and self.checks.enabled and not self._config.contact.sensed:
                expected = self.observer.x1  # forces that are not sensed are judged by every observer
            y_v, fresh = self._contacts.velocity(state, wrenches, vertical, w, h, expected), True
            if self.observer.needs_feet:
                self.observer.see_feet(self._contacts.feet(state))
        self._observe(stamp_ns, h, w, mean_force, y_v)
        if state is not None and self.checks.enabled and self._config.contact.sensed:
            self.checks.see_soles(h, self.observer.x2, state, wrenches, self._contacts.weights)
        if not self.checks.feet.replacing:
            self._learn_bias(h, rate, force, joints)
        self._contacts.remember(state)
        return self._estimate(stamp_ns, h, rate, w, state, R_reference, fresh=fresh)

    def _checked_rate(self, h: float, w: Vector, state: KinematicState | None) -> Vector:
        """Return the gyroscope's rate, or that of the feet; turn the vertical by what was wrong until now."""
        checks = self.checks
        if not checks.enabled:
            return w
        w, missed = checks.feet.check(h, w, state, self._contacts.weights, checks.readings.doubts)
        if missed is not None and self.ready:
            self._turn_back(missed)
        return w

    def _turn_back(self, missed: Vector) -> None:
        """Turn the vertical by the angle by which the frame was turned too little by the gyroscope."""
        x, y, z = missed
        self.observer.restore(rotate((-x, -y, -z), self.observer.x2))
        self.checks.velocity.reset()
        self.checks.agreement.reset()

    def _start_again(self) -> None:
        """Determine vertical and velocity anew, nothing is published meanwhile; position and yaw are kept."""
        self.bias.clear_window()
        self._contacts.reset()
        self.checks.restart()
        self.initialisation.reset()

    def _observe(self, stamp_ns: int, h: float, w: Vector, f: Vector, y_v: Vector | None) -> None:
        """Advance the observer with checked readings; where they disagree, determine its state anew."""
        observer, checks = self.observer, self.checks
        bias_variance = self.bias.variance_horizontal
        observer.see_noise(self.noise.white_density, bias_variance, self._contacts.information)
        if self.kept_steps is not None:
            self.kept_steps.begin(self.noise, self._contacts.information)
        if y_v is None:
            self.noise.propagate(h, bias_variance)
        else:
            self.noise.set_rate(observer, h, bias_variance)
        if not checks.enabled:
            advance(observer, self.kept_steps, stamp_ns, h, (w, f, y_v), bias_variance)
            self.noise.measure_velocity(observer, h, f)
            return
        before, hold, measured = observer.x2, checks.hold, f
        if hold.active:
            f = (STANDARD_GRAVITY * before[0], STANDARD_GRAVITY * before[1], STANDARD_GRAVITY * before[2])
        observer.x1, f, y_v = checks.velocity.check(h, w, f, y_v, observer.x1, before)
        advance(observer, self.kept_steps, stamp_ns, h, (w, f, y_v), bias_variance)
        if hold.active or checks.agreement.stretched:  # such a force tells nothing about the vertical
            observer.hold(h, w, before)
        checks.update(stamp_ns, h, w, measured if hold.active else f, y_v, observer, self._contacts)
        if not checks.found:  # noise is what sound readings have
            self.noise.measure_velocity(observer, h, f)
        if not hold.active:
            checks.agreement.learn(h)
            if not self.bias.resting and y_v is not None:
                self.scale.learn_in_motion(h, checks.agreement.length)
        if self.initialisation.phase is Phase.TRACKING:
            self._correct_vertical(h, w)
        else:
            self._refit(h, w, f, None if checks.velocity.doubting else y_v)

    def _correct_vertical(self, h: float, w: Vector) -> None:
        """Take errors of gyroscope and accelerometer back; begin a fit where the readings disagree."""
        observer, checks, feet, hold = self.observer, self.checks, self.checks.feet, self.checks.hold
        agreement = checks.agreement
        wrong = feet.known and agreement.turned and feet.explains(agreement.turn, observer.x2)
        if wrong and not feet.replacing:
            self._turn_back(feet.replace())
        sound = feet.known and not checks.contradicted and not feet.replacing
        back = hold.update(h, w, observer.correction, agreement, sound=sound)
        if back is not None:
            observer.restore(rotate(back, observer.x2))
        if hold.exhausted:
            self._start_again()
        elif checks.doubtful and not hold.active:
            if agreement.drifted and not agreement.disagrees:
                self.bias.doubt(agreement.slow_angle * observer.convergence_rate)
            if checks.contradicted:
                observer.trust(UPSIDE_DOWN)
            self.initialisation.begin(by_accelerometer=checks.contradicted)

    def _refit(self, h: float, w: Vector, f: Vector, y_v: Vector | None) -> None:
        """Continue a fit of the vertical, and set the observer to it once it is accepted."""
        observer, checks, initialisation = self.observer, self.checks, self.initialisation
        if checks.contradicted and not initialisation.weighted_by_accelerometer:
            initialisation.begin(by_accelerometer=True)
        elif initialisation.phase is Phase.FITTED and checks.agreement.disagrees:
            initialisation.begin(by_accelerometer=False)
        fitted = initialisation.phase is Phase.FITTED
        initialisation.agree(h, doubtful=checks.doubtful)
        found = initialisation.refit(h, f, w, y_v, observer.x2)
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

    def _start_up(
        self,
        h: float,
        force: Vector,
        mean_force: Vector,
        w: Vector,
        state: KinematicState | None,
        wrenches: Array | None,
    ) -> None:
        """Determine the initial vertical and velocity, and initialise the observer by them."""
        self.initialisation.average(h, force, w)
        vertical = self.initialisation.vertical
        y_v, complete = None, state is not None and wrenches is not None
        if vertical is not None and state is not None and wrenches is not None:
            y_v = self._contacts.velocity(state, wrenches, vertical, w, h)
        found = self.initialisation.start(h, mean_force, w, y_v, complete=complete)
        if found is not None and state is not None:
            self.observer.initialise(*found)
            fitted = self.initialisation.phase is Phase.FITTED
            sigma = self.initialisation.sigma if fitted else STARTED_SIGMA
            self.noise.begin(sigma)
            self.observer.trust(sigma)
            self.track.start(times(state.R_BI, self.observer.x2))
            self._known = state

    def _learn_bias(self, h: float, rate: Vector, force: Vector, joints: tuple[Array, Array] | None) -> None:
        observer = self.observer
        velocity = self._kinematics.velocities if joints is not None else None
        speed = self._joint_speed.update(h, velocity)
        sound = self.initialisation.phase is Phase.TRACKING and observer.velocity_aided
        correction = observer.correction if sound else None
        fastest = ONLINE_RATE_SHARE * observer.convergence_rate
        self.bias.update(h, rate, force, observer.x2, correction, speed, fastest, self.checks.feet.rate)
        if self.checks.enabled and self.bias.resting:
            self.scale.learn_at_rest(h, force)

    def _estimate(
        self,
        stamp_ns: int,
        h: float,
        rate: Vector,
        w_mean: Vector,
        state: KinematicState | None,
        R_reference: Matrix | None,
        *,
        fresh: bool,
    ) -> BaseEstimate | None:
        if state is not None:
            self._known = state
        known, observer, bias = self._known, self.observer, self.bias
        assert known is not None
        if self.kept_steps is not None:
            self.kept_steps.place(known.R_BI)
        self._advance_uncertainty(h, yaw_referenced=R_reference is not None)
        weights = self._contacts.weights if fresh else self._contacts.no_weights
        values = self.track.step(h, (rate, w_mean, bias.bias), observer, known, weights, R_reference)
        if not fresh:
            return None
        forces, probabilities = self._contacts.loading
        return _base_estimate(
            _base_state(stamp_ns, values[:4], values[4:7], values[7:10], values[10:13]),
            values[13:16],
            values[16:19],
            self.contacts,
            values[19:22],
            observer.velocity_aided,
            observer.gravity_aided,
            values[22:].reshape(3, 3),
            (bias.variance_horizontal, bias.variance_vertical),
            bias.resting,
            forces,
            probabilities,
        )

    def _advance_uncertainty(self, h: float, *, yaw_referenced: bool) -> None:
        observer, gravity = self.observer, self._config.gravity.gain
        if observer.velocity_aided:
            rate, sensitivity = observer.convergence_rate, observer.bias_sensitivity
        elif observer.gravity_aided:
            rate, sensitivity = gravity, 1.0 / gravity
        else:
            rate, sensitivity = 0.0, 0.0
        self.track.uncertainty.step(
            h,
            aided_rate=rate,
            bias_sensitivity=sensitivity,
            bias_variances=(self.bias.variance_horizontal, self.bias.variance_vertical),
            yaw_referenced=yaw_referenced,
        )
