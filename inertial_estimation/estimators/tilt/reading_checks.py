"""Checks of the readings against one another at every step, and what they found lately."""

import math
from collections.abc import Sequence
from enum import Enum

from inertial_estimation.compilation import cells
from inertial_estimation.estimators.tilt.agreement import Agreement
from inertial_estimation.estimators.tilt.estimator_memory import (
    AGREEMENT,
    CHECKS,
    ENABLED,
    FEET,
    READINGS,
    SOLES,
    VELOCITY_WRONG_FOR,
)
from inertial_estimation.estimators.tilt.foot_rotation import FootRotation
from inertial_estimation.estimators.tilt.imu_readings import ImuReadings
from inertial_estimation.estimators.tilt.step_judgement import (
    DOUBT,
    GYRO_REPLACED,
)
from inertial_estimation.models.drop_reasons import REPORTED_NS
from inertial_estimation.signals import NANOSECONDS, Array, HealthLevel

REPLACED_NS = 30 * NANOSECONDS  # that of a new tilt: it is wrong if the accelerometer is still wrong
GYRO_WRONG, GYRO_RIGHT = (
    0.8,
    0.1,
)  # disagreement with the feet from which, up to which it is blamed, cleared [rad/s]


class Finding(Enum):
    """What the checks can find; the value is the sentence of the health report.

    Attributes:
        GYROSCOPE: Persistent disagreement, and the gyroscope differs from the rotation of the feet.
        ACCELEROMETER: Persistent disagreement, and the gyroscope agrees with the feet.
        UNKNOWN: Persistent disagreement that the contacts cannot attribute.
        REPLACED: The tilt was set to a new fit.
    """

    GYROSCOPE = "imu/data (gyroscope) or joint_states: the angular rate contradicts the feet and gravity"
    ACCELEROMETER = (
        "imu/data (accelerometer) or contact wrenches: the specific force contradicts gyroscope and feet"
    )
    UNKNOWN = "imu/data or joint_states: gyroscope, accelerometer and contact velocity contradict one another"
    REPLACED = "the tilt contradicted accelerometer and contact velocity and was determined anew"


class ReadingChecks:
    """Checks of one estimator.

    Attributes:
        enabled: Whether readings are checked; otherwise they are used as they are.
        readings: Mean IMU readings over a step, single wrong rates left out.
        agreement: Gyroscope, accelerometer and contact velocity against one another.
        feet: Gyroscope against the rotation that the feet allow.
        found_ns: Stamp of the last step at which each finding was made [ns].
        stamp_ns: That of the last step [ns].
    """

    def __init__(self, soles: Sequence[bool], memory: Array, *, enabled: bool = True) -> None:
        """Begin without a finding.

        Args:
            soles: Whether each contact is a sole that cannot turn while loaded.
            memory: Of the estimator (`estimator_memory`).
            enabled: Whether readings are checked.
        """
        self.enabled = enabled
        self._cells = cells(memory[CHECKS])
        self._cells[ENABLED] = float(enabled)
        self.readings = ImuReadings(memory[READINGS], doubting=enabled)
        self.agreement = Agreement(memory[AGREEMENT])
        self.found_ns: dict[Finding, int] = {}
        self.feet = FootRotation(memory[FEET])
        for i, sole in enumerate(soles):
            memory[SOLES][i] = float(sole)
        self.stamp_ns = 0

    def reset(self) -> None:
        """Begin before the first reading; findings stay until they are old."""
        self.readings.reset()
        self.feet.reset()
        self.restart()

    def restart(self) -> None:
        """Begin with a vertical that is determined anew; the readings follow those before."""
        self.agreement.reset()
        self._cells[VELOCITY_WRONG_FOR] = 0.0

    def replaced(self) -> None:
        """Note that the observer was set to a new vertical and velocity."""
        self.agreement.reset()
        self._cells[VELOCITY_WRONG_FOR] = 0.0
        self.found_ns[Finding.REPLACED] = self.stamp_ns

    def note(self, stamp_ns: int, found: int) -> None:
        """Note what a step has found (`step_judgement`, `step_end`).

        Args:
            stamp_ns: Stamp of the step [ns].
            found: Its bits.
        """
        if found & GYRO_REPLACED:
            self.found_ns[Finding.GYROSCOPE] = stamp_ns
        if found & DOUBT:
            self.found_ns[self._culprit()] = stamp_ns

    def _culprit(self) -> Finding:
        """Find which input disagrees, by the rotation that the feet allow."""
        rotation = self.feet.mean_rate
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
            if self.stamp_ns - at <= (REPLACED_NS if kind is Finding.REPLACED else REPORTED_NS)
        }
        if not recent:
            return HealthLevel.OK, ""
        texts = [kind.value for kind in Finding if kind in recent]
        if not self.agreement.reportable:
            return HealthLevel.WARN, "; ".join(texts)
        angle = math.degrees(max(self.agreement.angle, self.agreement.slow_angle))
        texts.append(f"the tilt may be wrong by {angle:.1f} deg")
        return HealthLevel.ERROR, "; ".join(texts)
