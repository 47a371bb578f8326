"""Checks of the readings against one another at every step, and what they found lately."""

import math
from enum import Enum

from inertial_estimation.estimators.tilt.agreement import Agreement
from inertial_estimation.estimators.tilt.contact_velocity import ContactVelocity
from inertial_estimation.estimators.tilt.floor_check import FloorCheck
from inertial_estimation.estimators.tilt.foot_rotation import FootRotation
from inertial_estimation.estimators.tilt.force_hold import ForceHold
from inertial_estimation.estimators.tilt.imu_readings import ImuReadings
from inertial_estimation.estimators.tilt.outlier_frequency import OutlierFrequency
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.velocity_guard import VelocityGuard
from inertial_estimation.models.contact_motions import KinematicState
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel
from inertial_estimation.spatial.vectors import Vector

__all__ = ["Finding", "ReadingChecks"]

REPLACED_NS = 30 * NANOSECONDS  # that of a new tilt: it is wrong if the accelerometer is still wrong
LOADED_TIME = 0.1  # time for which forces may contradict the tilt [s]
GYRO_WRONG, GYRO_RIGHT = (
    0.8,
    0.1,
)  # disagreement with the feet from which, up to which it is blamed, cleared [rad/s]


class Finding(Enum):
    """What the checks can find; the value is the sentence of the health report.

    Attributes:
        GYRO_OUTLIER: A jump of the rate, held back until the next reading confirmed it, or never used.
        FORCE_OUTLIER: A specific force that the contact velocity contradicts.
        VELOCITY_OUTLIER: A contact velocity that the IMU contradicts.
        GYROSCOPE: Persistent disagreement, and the gyroscope differs from the rotation of the feet.
        ACCELEROMETER: Persistent disagreement, and the gyroscope agrees with the feet.
        UNKNOWN: Persistent disagreement that the contacts cannot attribute.
        INCLINED: Forces that are normal to the soles, a tilt that is not.
        LEANING: Forces that lean against the tilt, further than a push makes them.
        CONTACTS: Forces at the feet that contradict the tilt.
        REPLACED: The tilt was set to a new fit.
    """

    GYRO_OUTLIER = "imu/data: gyroscope readings jump; those that no other confirmed were left out"
    FORCE_OUTLIER = "imu/data: accelerometer readings contradict the contact velocity and were taken back"
    VELOCITY_OUTLIER = (
        "joint_states or contact wrenches: contact velocities contradict the IMU and were left out"
    )
    GYROSCOPE = "imu/data (gyroscope) or joint_states: the angular rate contradicts the feet and gravity"
    ACCELEROMETER = (
        "imu/data (accelerometer) or contact wrenches: the specific force contradicts gyroscope and feet"
    )
    INCLINED = (
        "imu/data (is it turned?), joint_states or contact wrenches: the forces are normal to the soles, "
        "the vertical is not"
    )
    LEANING = (
        "joint_states, contact wrenches or imu/data: the sum of the contact forces leans by more than 20 deg "
        "against the vertical"
    )
    CONTACTS = "contact wrenches: the feet bear forces, but by the tilt none is pushed up"
    UNKNOWN = "imu/data or joint_states: gyroscope, accelerometer and contact velocity contradict one another"
    REPLACED = "the tilt contradicted accelerometer and contact velocity and was determined anew"


OUTLIERS = (  # by the kinds of `OutlierFrequency`
    Finding.GYRO_OUTLIER,
    Finding.FORCE_OUTLIER,
    Finding.VELOCITY_OUTLIER,
)


class ReadingChecks:
    """Checks of one estimator.

    Attributes:
        enabled: Whether readings are checked; otherwise they are used as they are.
        readings: Mean IMU readings over a step, single wrong rates left out.
        velocity: Contact velocities and specific forces against one another.
        agreement: Gyroscope, accelerometer and contact velocity against one another.
        feet: Gyroscope against the rotation that the feet allow.
        hold: The vertical carried by the gyroscope alone.
        floor: The vertical against the soles and their forces.
        found_ns: Stamp of the last step at which each finding was made [ns].
    """

    def __init__(self, soles: tuple[bool, ...], *, enabled: bool = True) -> None:
        """Begin without a finding.

        Args:
            soles: Whether each contact is a sole that cannot turn while loaded.
            enabled: Whether readings are checked.
        """
        self.enabled = enabled
        self.readings = ImuReadings(doubting=enabled)
        self.velocity = VelocityGuard()
        self.agreement = Agreement()
        self.found_ns: dict[Finding, int] = {}
        self.feet = FootRotation(soles)
        self.hold = ForceHold()
        self.floor = FloorCheck(soles)
        self._outliers = OutlierFrequency()
        self._contradicted = 0.0  # time for which forces have contradicted the tilt [s]
        self._stamp_ns = 0

    def reset(self) -> None:
        """Begin before the first reading; findings stay until they are old."""
        self.readings.reset()
        self.feet.reset()
        self.agreement.forget()
        self.restart()

    def restart(self) -> None:
        """Begin with a vertical that is determined anew; the readings follow those before."""
        self.velocity.reset()
        self.agreement.reset()
        self.hold.reset()
        self.floor.reset()
        self._contradicted = 0.0

    @property
    def doubtful(self) -> bool:
        """Whether the tilt should be determined anew."""
        return self.agreement.disagrees or self.agreement.drifted or self.contradicted

    @property
    def contradicted(self) -> bool:
        """Whether the forces at the feet contradict the tilt."""
        return self._contradicted > LOADED_TIME

    @property
    def found(self) -> bool:
        """Whether the last readings contradict one another, so that their differences are not noise."""
        return self.agreement.reportable or self.hold.active or self.feet.replacing

    def replaced(self, turn: float) -> None:
        """Note that the observer was set to a new vertical and velocity.

        Args:
            turn: Angle between the vertical before and the new one [rad].
        """
        self.agreement.replaced(turn)
        self.velocity.reset()
        self._contradicted = 0.0
        self.found_ns[Finding.REPLACED] = self._stamp_ns

    def update(
        self,
        stamp_ns: int,
        h: float,
        w_I: Vector,
        f_I: Vector,
        y_v: Vector | None,
        observer: TiltObserver[object],
        contacts: ContactVelocity,
    ) -> None:
        """Process one step, after the observer's.

        Args:
            stamp_ns: Its stamp [ns].
            h: Its duration [s].
            w_I: Angular velocity, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].
            y_v: Contact velocity with which the observer made the step [m/s]; None without contact.
            observer: The observer after the step.
            contacts: The contacts after the step.
        """
        self._stamp_ns = stamp_ns
        agreement = self.agreement
        agreement.update(h, w_I, f_I, y_v, observer, held=self.hold.active)
        velocity = self.velocity
        counts = self.readings.doubts, velocity.force_outliers, velocity.velocity_outliers
        left_out, jumped = velocity.doubting, velocity.contradiction
        for kind in self._outliers.update(
            stamp_ns, h, counts, contacts.in_use, left_out=left_out, contradiction=jumped
        ):
            self.found_ns[OUTLIERS[kind]] = stamp_ns
        if y_v is None and contacts.contradictory:
            self._contradicted += h
            if self.contradicted:
                self.found_ns[Finding.CONTACTS] = stamp_ns
        else:
            self._contradicted = 0.0
        if self.feet.replacing:
            self.found_ns[Finding.GYROSCOPE] = stamp_ns
        if agreement.reportable:
            self.found_ns[self._culprit()] = stamp_ns

    def see_soles(
        self, h: float, x2: Vector, state: KinematicState, wrenches: Array | None, weights: Array
    ) -> None:
        """Compare vertical and sensed forces with the soles, after `update`.

        Args:
            h: Duration of the step [s].
            x2: The vertical in the IMU frame.
            state: Kinematics at its end.
            wrenches: A row for each contact [N, Nm]; None where one is missing.
            weights: Weights of the contacts.
        """
        self.floor.update(h, x2, state, wrenches, weights)
        if self.floor.inclined:
            self.found_ns[Finding.INCLINED] = self._stamp_ns
        if self.floor.leaning:
            self.found_ns[Finding.LEANING] = self._stamp_ns

    def _culprit(self) -> Finding:
        """Find which input disagrees, by the rotation that the feet allow."""
        rotation = self.feet.mean_rate
        if self.hold.active:
            return Finding.ACCELEROMETER
        if rotation > GYRO_WRONG or self.feet.replacing:
            return Finding.GYROSCOPE
        if self.feet.known and rotation < GYRO_RIGHT:
            return Finding.ACCELEROMETER
        return Finding.UNKNOWN

    def health(self) -> tuple[HealthLevel, str]:
        """Return severity and description of what was found lately; OK and empty if nothing was."""
        recent = {
            kind
            for kind, at in self.found_ns.items()
            if self._stamp_ns - at <= (REPLACED_NS if kind is Finding.REPLACED else REPORTED_NS)
        }
        if not recent:
            return HealthLevel.OK, ""
        texts = [kind.value for kind in Finding if kind in recent]
        if not self.agreement.reportable:
            return HealthLevel.WARN, "; ".join(texts)
        angle = math.degrees(max(self.agreement.angle, self.agreement.slow_angle))
        texts.append(f"the tilt may be wrong by {angle:.1f} deg")
        return HealthLevel.ERROR, "; ".join(texts)
