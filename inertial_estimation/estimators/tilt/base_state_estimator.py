"""Estimator of base orientation, position and twist from aligned readings, one step at a time."""

from typing import NamedTuple

from inertial_estimation.construction import made_of_checked
from inertial_estimation.estimators.tilt.estimate_numbers import CONTACTS, SINGLE
from inertial_estimation.estimators.tilt.estimator_memory import MEAN_FORCE, MEAN_RATE, VELOCITY
from inertial_estimation.estimators.tilt.estimator_parts import EstimatorParts
from inertial_estimation.estimators.tilt.initialisation import Phase
from inertial_estimation.estimators.tilt.step_by_parts import LONGEST_STEP, StepByParts
from inertial_estimation.estimators.tilt.tilt_config import TiltPipelineConfig
from inertial_estimation.estimators.tilt.whole_steps import FINISHED
from inertial_estimation.models.contacts import ContactLoad
from inertial_estimation.models.robot_config import RobotSetup
from inertial_estimation.signals import Array, BaseEstimate, BaseState
from inertial_estimation.spatial.vectors import Matrix, Vector

_base_state, _base_estimate = made_of_checked(BaseState), made_of_checked(BaseEstimate)


class StepReadings(NamedTuple):
    """What the observer takes in one step.

    Attributes:
        stamp_ns: Stamp of the step [ns].
        h: Its duration [s]; 0 at the first one.
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts [m/s]; None without contact or while starting up.
        R_BI: Orientation of the IMU in the base at the end of the step.
    """

    stamp_ns: int
    h: float
    w_I: Vector
    f_I: Vector
    y_v: Vector | None
    R_BI: Matrix


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
    """

    def __init__(self, config: TiltPipelineConfig, setup: RobotSetup) -> None:
        """Build the parts and begin with the startup.

        Args:
            config: All parameters.
            setup: The robot, its contacts and its IMU.

        Raises:
            ConfigurationError: If the robot has no IMU, or contact forces are to come from joint torques and
                do not follow from them.
        """
        self._parts = parts = EstimatorParts(config, setup)
        self.observer, self.bias, self.track = parts.observer, parts.bias, parts.track
        self.scale, self.noise, self.checks = parts.scale, parts.noise, parts.checks
        self._calls, self._initialisation = parts.calls, parts.initialisation
        self._referred = False  # whether a reference has given the yaw of the last step
        self._by_parts = StepByParts(parts, sensed=config.contact.sensed)
        # Joint torques are not compiled.
        self._compiled = parts.calls.whole_step is not None and parts.torques is None

    def reset(self) -> None:
        """Reset the whole state, including the gyro bias."""
        self._parts.reset()

    def restart(self) -> None:
        """Restart with the startup, for example after a gap in the readings; the gyro bias is kept."""
        self._parts.restart()

    def set_config(self, config: TiltPipelineConfig) -> None:
        """Apply changed run-time parameters; the state is kept."""
        self._parts.configure(config)

    def readings(self, stamp_ns: int, h: float) -> StepReadings:
        """Return what the observer took in the last step, of this stamp [ns] and duration [s]."""
        vector, observer = self._calls.vector, self.observer
        aided = self.ready and observer.velocity_aided and bool(self.contacts)
        y_v = vector(VELOCITY) if aided else None
        R_BI = self._calls.kinematics.state.R_BI
        return StepReadings(stamp_ns, h, vector(MEAN_RATE), vector(MEAN_FORCE), y_v, R_BI)

    @property
    def ready(self) -> bool:
        """Whether the startup is over and steps give estimates."""
        return self._initialisation.ready

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts in use at the last step."""
        return self._calls.contacts.in_use

    @property
    def contact_loads(self) -> tuple[ContactLoad, ...]:
        """Ground contacts at the last step that had joints and wrenches; empty before the first one."""
        return self._calls.contacts.loads(self._calls.kinematics.state) if self._parts.placed else ()

    @property
    def defect(self) -> str:
        """What is not finite or physically inconsistent in the last estimate; empty if nothing is."""
        return self._calls.defect

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
        if R_reference is not None or self._referred:
            self.track.refer(R_reference)
            self._referred = R_reference is not None
        tracking = self._initialisation.phase is Phase.TRACKING
        if joints is None or wrenches is None or not (tracking and self._compiled and h <= LONGEST_STEP):
            made = self._by_parts.step(stamp_ns, h, imu, joints, wrenches, tau)
            return self._estimate(stamp_ns) if made else None
        found = self._calls.whole(h, imu, joints, wrenches)
        if not found & FINISHED:
            made = self._by_parts.continued(stamp_ns, h, found, joints, wrenches, tau)
            return self._estimate(stamp_ns) if made else None
        self.checks.stamp_ns = stamp_ns
        if found != FINISHED:
            self._by_parts.note(stamp_ns, found)
        return self._estimate(stamp_ns)

    def _estimate(self, stamp_ns: int) -> BaseEstimate:
        """Make an estimate of the numbers of the last step."""
        values = self._calls.numbers
        values.setflags(write=False)
        single = values[SINGLE:].tolist()
        end = (len(single) + CONTACTS - SINGLE) // 2  # of the contact forces
        return _base_estimate(
            _base_state(stamp_ns, values[:4], values[4:7], values[7:10], values[10:13]),
            values[13:16],
            values[16:19],
            self._calls.contacts.in_use,
            values[19:22],
            single[2] > 0.0,
            single[3] > 0.0,
            values[22:31].reshape(3, 3),
            (single[0], single[1]),
            single[4] > 0.0,
            tuple(single[5:end]),
            tuple(single[end:]),
        )
