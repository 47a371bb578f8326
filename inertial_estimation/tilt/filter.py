"""The tilt filter: velocity and vertical of an IMU, from its readings and from points that stand on the ground.

This module is the method on one page. A step

1. propagates velocity and vertical by the readings of gyroscope and accelerometer,
2. measures the velocity by the contacts: points of the world that the IMU has carried along against where the joints
   see them now,
3. measures freedom: a body does not fly away, so that its velocity is zero within wide bounds,
4. measures rest: the rate of a robot that stands still is zero,
5. measures soles: a flat foot on the ground does not turn,
6. judges: corrections of the vertical that add up in one direction speak against the gyroscope's bias.

The mathematics are in `error_state`; equations and their source in docs/tilt_observer.md.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.tilt.error_state import (
    ERRORS,
    Carried,
    ContactNoise,
    Contacts,
    ProcessNoise,
    TiltState,
    measure,
    measure_contacts,
    propagate,
)
from inertial_estimation.tilt.initial_alignment import InitialAlignment
from inertial_estimation.tilt.reading_noise import ReadingNoise
from inertial_estimation.tilt.rest import RestDetector

CONTACT_INTERVAL = 0.02  # between two looks at the contacts [s]: differences of encoders over less are mostly noise
LONGEST_INTERVAL = 0.1  # beyond which points are not carried [s]
CONTACT_MEMORY = (4.0, 0.1)  # over which the noise of contact velocities is averaged, slowly and fast [s]
LEAST_CONTACT_NOISE = 0.02  # standard deviation of a contact velocity at best [m/s]
TAIL = 3.0  # degrees of freedom of Student's t distribution of contact velocities and soles
CORRELATION_MEMORY = 3.0  # over which the correlation of subsequent contact residuals is averaged [s]
UNCORRELATED, CORRELATED = 0.3, 0.4  # of residuals: below, the accelerometer's shaking is motion; above, it is noise
SCALE_ERROR, SCALE_TIME = 0.003, 0.05  # of a gyroscope, and the time over which a turn has one direction [1, s]
REST_TIME, REST_CORRELATION = 0.5, 0.5  # until a quiet robot is at rest, and of what is left of its motion [s]
SOLE_SHARE = 0.2  # of the weight, from which a sole is flat on the ground
JUDGED_TIME = 2.0  # over which corrections of the vertical are summed [s]
DOUBT = 12.0  # times the expected square of their sum, from which the bias is doubted
SOLE_NOISE = 0.05**2 * CONTACT_INTERVAL  # density of the rate of a sole that stands [rad^2/s]
ALIGNED_VERTICAL_SIGMA = 0.01  # of errors that the initial alignment does not show [rad]
CLIPPED_SIGMA, CLIPPED_TIME = 2.0, 0.05  # excess of a rate beyond its range, and for how long it lasts [rad/s, s]

VELOCITY_ROWS, BIAS_ROWS = np.eye(3, ERRORS), np.eye(3, ERRORS, 6)  # dv, db


@dataclass(frozen=True)
class FilterConfig:
    """What the filter cannot measure itself."""

    velocity_drift: float = parameter(
        0.02,
        "Random walk of the velocity per square root of a second: slow errors of the contact velocities.",
        unit="m/s",
        lower=1e-4,
        upper=10.0,
        runtime=True,
    )
    accelerometer_offset: float = parameter(
        0.04,
        "Standard deviation of the accelerometer's offset at the start, of one axis.",
        unit="m/s^2",
        lower=1e-4,
        upper=1.0,
    )
    offset_drift: float = parameter(
        0.001,
        "Random walk of the accelerometer's offset per square root of a second.",
        unit="m/s^2",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    gyro_bias: float = parameter(
        0.02,
        "Standard deviation of the gyroscope's bias at the start, of one axis.",
        unit="rad/s",
        lower=1e-6,
        upper=1.0,
    )
    bias_drift: float = parameter(
        1e-4,
        "Random walk of the gyroscope's bias per square root of a second.",
        unit="rad/s",
        lower=0.0,
        upper=0.1,
        runtime=True,
    )
    gyro_noise: float = parameter(
        2e-4,
        "Least noise of the gyroscope, per square root of a hertz; what its readings show is added.",
        unit="rad/s",
        lower=0.0,
        upper=0.1,
        runtime=True,
    )
    freedom: float = parameter(
        0.14,
        "Velocity that a body hardly exceeds for a second without contact: the smaller, the more the accelerometer "
        "alone corrects the tilt.",
        unit="m/s",
        lower=0.01,
        upper=100.0,
        runtime=True,
    )
    startup: float = parameter(
        0.3,
        "Time over which the tilt at the start is determined; nothing is published during it.",
        unit="s",
        lower=0.0,
        upper=10.0,
    )


class Feet(NamedTuple):
    """The contacts as joints and forces show them at the end of a step.

    Attributes:
        points: Contact points in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from the frame of each contact, shape (n, 3, 3).
        shares: Share of each contact in the weight, zero where it is not in use, of sum one or zero, shape (n,).
        soles: Whether each contact is a sole that stands flat, shape (n,).
    """

    points: Array
    rotations: Array
    shares: Array
    soles: Array


class TiltFilter:
    """Velocity, vertical, gyroscope bias and accelerometer offset of an IMU.

    Attributes:
        config: Its parameters.
        state: Mean and covariance; that of the start while `aligning`.
        contact_noise: Variance of the contact velocities, as they show it.
        residual: Mean velocity that contacts have shown beyond the expected one [m/s], shape (3,).
        reading_noise: Densities of the noise of the IMU.
        rest: Whether the robot is at rest.
        doubt: Time since the bias was doubted [s].
    """

    def __init__(self, config: FilterConfig, radius: float = 0.0) -> None:
        """Begin with an alignment.

        Args:
            config: Parameters.
            radius: Of round feet, below the origin of the contact frame [m].
        """
        warm_up()
        self.config, self._radius = config, radius
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the gyroscope's bias."""
        self._start_bias, self._start_bias_variance = np.zeros(3), self.config.gyro_bias**2
        self.contact_noise = ContactNoise(0.0025, 0.0025, 0.0)
        self.restart(keep_bias=False)

    def restart(self, *, keep_bias: bool = True) -> None:
        """Determine velocity and vertical anew, for example after a gap; the bias is kept."""
        if keep_bias:
            self._start_bias = self.state.bias
            self._start_bias_variance = float(self.state.covariance[6:9, 6:9].trace()) / 3.0
        self.state = TiltState(np.zeros(3), np.array([0.0, 0.0, 1.0]), self._start_bias, np.zeros(3), np.zeros((ERRORS, ERRORS)))
        self.reading_noise, self._rest = ReadingNoise(), RestDetector()
        self._alignment: InitialAlignment | None = InitialAlignment()
        self._carried: Carried | None = None
        self._last: Array | None = None
        self._since_contacts = 0.0
        self._begin_contacts(None)
        self._correlation = np.zeros(2)
        self._turn_variance = np.zeros((3, 3))
        self.residual, self.doubt = np.zeros(3), math.inf

    @property
    def aligning(self) -> bool:
        """Whether the alignment of the start goes on, and there is no estimate."""
        return self._alignment is not None

    @property
    def at_rest(self) -> bool:
        """Whether the robot has been quiet for as long as rest is believed."""
        return self._rest.duration > REST_TIME

    @property
    def tilt_covariance(self) -> Array:
        """Covariance of small rotations of the vertical, IMU frame [rad^2], shape (3, 3)."""
        return self.state.covariance[3:6, 3:6]

    def looks_at_contacts(self, h: float) -> bool:
        """Return whether the step of this duration [s] takes contacts; between looks they are not needed."""
        return self._since_contacts + h > CONTACT_INTERVAL - 1e-4

    def step(self, h: float, reading: Array, feet: Feet | None, *, clipped: bool = False) -> None:
        """Advance by one step.

        Args:
            h: Its duration [s].
            reading: Mean specific force and angular rate over it [m/s^2, rad/s], shape (6,).
            feet: The contacts at its end; None where they are not known.
            clipped: Whether the gyroscope is at the end of its range.
        """
        self.reading_noise.add(h, reading)
        self._rest.add(h, reading, self.state.bias)
        self._since_contacts += h
        if self._alignment is not None:
            self._align(self._alignment, h, reading, feet)
            return
        self._propagate(h, reading, clipped)
        if feet is not None and self._since_contacts > CONTACT_INTERVAL - 1e-4:
            self._measure_contacts(feet)
            self._measure_soles(feet)
            self._begin_contacts(feet)
        self._measure_freedom(h)
        self._measure_rest(h, reading)
        self._judge(h)

    def _align(self, alignment: InitialAlignment, h: float, reading: Array, feet: Feet | None) -> None:
        """Collect velocities and readings for the vertical at the start; end with it when the time is over."""
        E = alignment.turn(h, reading[3:] - self.state.bias, reading[:3])
        if self._carried is not None:
            self._carried.points[:] = self._carried.points @ E.T
        if feet is not None:
            then, shares = self._feet, feet.shares
            if then is not None and self._carried is not None and shares.any() and self._since_contacts < LONGEST_INTERVAL:
                moved = (self._carried.points - self._seen(then, feet)) / self._since_contacts
                alignment.see(self._since_contacts, shares @ moved)
            self._begin_contacts(feet)
        if alignment.time < self.config.startup:
            return
        velocity, vertical, shown = alignment.solve()
        P = np.zeros((ERRORS, ERRORS))
        one = np.eye(3)
        P[0:3, 0:3], P[0:3, 3:6], P[3:6, 3:6] = shown[0, 0] * one, 0.0 * one, shown[1, 1] * one
        P[3:6, 3:6] += ALIGNED_VERTICAL_SIGMA**2 * one
        P[6:9, 6:9] = self._start_bias_variance * one
        P[9:12, 9:12] = self.config.accelerometer_offset**2 * one
        self.state = TiltState(velocity, vertical, self.state.bias, self.state.offset, P)
        self._alignment = None

    def _propagate(self, h: float, reading: Array, clipped: bool) -> None:
        config, noise, rate = self.config, self.reading_noise, float(np.linalg.norm(reading[3:]))
        shaking = min(max((self._correlated - UNCORRELATED) / (CORRELATED - UNCORRELATED), 0.0), 1.0)
        rotation = config.gyro_noise**2 + noise.rate + SCALE_TIME * (SCALE_ERROR * rate) ** 2
        if clipped:
            rotation += CLIPPED_TIME * CLIPPED_SIGMA**2
        densities = ProcessNoise(
            config.velocity_drift**2 + shaking * noise.force, rotation, config.bias_drift**2, config.offset_drift**2
        )
        self.state = propagate(self.state, h, reading[3:], reading[:3], densities, self._carried)

    @property
    def _correlated(self) -> float:
        """Correlation of subsequent contact residuals: 0 where the noise is as assumed."""
        power, product = self._correlation
        return float(product / power) if power > 0.0 else 1.0

    def _measure_contacts(self, feet: Feet) -> None:
        then, interval = self._feet, self._since_contacts
        if then is None or interval > LONGEST_INTERVAL or not feet.shares.any():
            return
        seen = Contacts(self._seen(then, feet), feet.shares)
        memory = (*CONTACT_MEMORY, LEAST_CONTACT_NOISE**2)
        before, last = self.state, self.residual
        self.state, self.contact_noise, self.residual = measure_contacts(
            before, seen, interval, self.contact_noise, memory, TAIL, self._carried
        )
        self._expect(before)
        now = np.array([self.residual @ self.residual, self.residual @ last])
        self._correlation += min(interval / CORRELATION_MEMORY, 1.0) * (now - self._correlation)

    def _measure_soles(self, feet: Feet) -> None:
        """A sole on the ground does not turn: what the gyroscope turns beyond it is its bias."""
        then, interval = self._feet, self._since_contacts
        if then is None or interval > LONGEST_INTERVAL:
            return
        for k in np.flatnonzero(feet.soles & then.soles & (np.minimum(feet.shares, then.shares) > SOLE_SHARE)):
            turned = self._carried.rotation @ then.rotations[k] @ feet.rotations[k].T
            residual = 0.5 / interval * np.array(
                [turned[1, 2] - turned[2, 1], turned[2, 0] - turned[0, 2], turned[0, 1] - turned[1, 0]]
            )
            self._measure(BIAS_ROWS, residual, SOLE_NOISE / interval / float(feet.shares[k]), TAIL)

    def _measure_freedom(self, h: float) -> None:
        self._measure(VELOCITY_ROWS, -self.state.velocity, self.config.freedom**2 / h, math.inf)

    def _measure_rest(self, h: float, reading: Array) -> None:
        if self.at_rest:
            variance = max(self._rest.rate_variance, 1e-8) * REST_CORRELATION / h
            self._measure(BIAS_ROWS, reading[3:] - self.state.bias, variance, math.inf)

    def _measure(self, H: Array, residual: Array, variance: float, tail: float) -> None:
        before = self.state
        self.state = measure(before, H, residual, variance, tail, self._carried)
        self._expect(before)

    def _expect(self, before: TiltState) -> None:
        """Add the covariance that a measurement has removed from the vertical: that of its correction."""
        self._turn_variance += before.covariance[3:6, 3:6] - self.state.covariance[3:6, 3:6]

    def _judge(self, h: float) -> None:
        """Doubt the bias where corrections of the vertical have one direction for longer than they may have."""
        turn, forgotten = self._carried.turn, math.exp(-h / JUDGED_TIME)
        turn *= forgotten
        self._turn_variance *= forgotten**2
        self.doubt += h
        square = float(turn @ np.linalg.solve(self._turn_variance + 1e-8 * np.eye(3), turn)) / 3.0
        if square > DOUBT:
            self.state.covariance[3:6, 3:6] += 0.25 * np.outer(turn, turn)
            self.state.covariance[6:9, 6:9] += np.eye(3) * (turn @ turn) / JUDGED_TIME**2
            turn[:], self._turn_variance, self.doubt = 0.0, np.zeros((3, 3)), 0.0

    def _seen(self, then: Feet, feet: Feet) -> Array:
        """Where the points of the last look are now: each has moved with its foot."""
        if not self._radius:
            return feet.points
        moved = np.einsum("nij,nkj->nik", feet.rotations, then.rotations) @ self._below
        return feet.points + moved

    def _begin_contacts(self, feet: Feet | None) -> None:
        """Let the IMU carry the points of the contacts from here on."""
        self._feet, self._since_contacts = feet, 0.0
        if feet is None:
            self._carried = Carried(np.zeros((0, 3)), np.eye(3), np.zeros(3)) if self._carried is None else self._carried
            return
        self._below = -self._radius * self.state.vertical
        turn = np.zeros(3) if self._carried is None else self._carried.turn
        self._carried = Carried(feet.points + self._below, np.eye(3), turn)
