"""The tilt filter: velocity and vertical of an IMU, from its readings and from points on the ground.

This module is the method on one page. A step

1. propagates velocity and vertical by the readings of gyroscope and accelerometer,
2. measures the velocity by the contacts: points of the world that the IMU has carried along against where
   the joints see them now,
3. measures freedom: a body does not fly away, so that without contacts its velocity is bounded,
4. measures rest: the rate of a robot that stands still is zero,
5. measures soles: a flat foot on the ground does not turn,
6. judges: corrections of the vertical that add up in one direction speak against the gyroscope's bias.

The mathematics are in `error_state`; equations and their source in docs/tilt_observer.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, log_so3
from inertial_estimation.tilt.contact_velocity import ContactVelocity
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
from inertial_estimation.tilt.observer import NOT_CLIPPED, Feet, TiltObserver, Uncertainty
from inertial_estimation.tilt.reading_noise import ReadingNoise
from inertial_estimation.tilt.rest import REST_TIME, RestDetector

CONTACT_INTERVAL = 0.02  # between two looks at the contacts: differences of encoders over less are noise [s]
SHORTER = 1e-4  # by which steps may be shorter than they should [s]
LONGEST_INTERVAL = 0.1  # beyond which points are not carried [s]
CONTACT_MEMORY = (4.0, 0.1)  # over which the noise of contact velocities is averaged, slowly and fast [s]
LEAST_CONTACT_NOISE = 0.05  # standard deviation of a contact velocity at best [m/s]
UNKNOWN_CONTACT_NOISE = 0.05  # the same before any is seen [m/s]
TAIL = 3.0  # degrees of freedom of Student's t distribution of contact velocities and soles
CORRELATION_MEMORY = 3.0  # over which the correlation of subsequent contact residuals is averaged [s]
UNKNOWN_CORRELATION = 0.5  # of residuals that have not been seen
SHAKING = (0.3, 0.4)  # that correlation: below, the accelerometer's shaking is motion; above, it is noise
SCALE_ERROR, SCALE_TIME = 0.003, 0.05  # of a gyroscope; the time for which a turn has one direction [1, s]
REST_CORRELATION = 0.5  # time over which what is left of the motion at rest has one direction [s]
LEAST_REST_VARIANCE = 1e-8  # of a rate at rest [rad^2/s^2]
ALONE = 1.0  # time without contact, beyond which the velocity is bounded [s]
SOLE_SHARE = 0.2  # of the weight, from which a sole is flat on the ground
SOLE_NOISE = 0.05**2 * CONTACT_INTERVAL  # density of the rate of a sole that stands [rad^2/s]
JUDGED_TIME = 0.5  # over which corrections of the vertical are summed [s]
LEAST_TURN = 1e-4  # of a sum of corrections that is noise in any case [rad]
DOUBT = 12.0  # times the expected square of that sum, from which the gyroscope's bias is doubted
DOUBTED_BIAS = 0.05  # standard deviation of a bias that is doubted [rad/s]
DOUBTED_TIME = 0.5  # for which it has been wrong when it is doubted [s]
ALIGNED_SIGMA = 0.01  # of errors that the initial alignment does not show [rad]
CLIPPED_SIGMA, CLIPPED_TIME = 2.0, 0.05  # excess of a rate beyond its range; for how long it lasts [rad/s, s]

VELOCITY_ROWS, BIAS_ROWS = np.eye(3, ERRORS), np.eye(3, ERRORS, 6)  # dv, db


@dataclass(frozen=True)
class FilterConfig:
    """What the filter cannot measure itself."""

    velocity_drift: float = parameter(
        0.025,
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
        0.01,
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
        0.05,
        "Velocity that a body without contacts hardly exceeds for a second: the smaller, the more the "
        "accelerometer alone corrects the tilt.",
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


class TiltFilter(TiltObserver):
    """Velocity, vertical, gyroscope bias and accelerometer offset of an IMU.

    Attributes:
        config: Its parameters; they may be changed.
        state: Mean and covariance.
        residual: Mean velocity that contacts have shown beyond the expected one [m/s], shape (3,).
        doubt: Time since the gyroscope's bias was doubted [s]; infinite: never.
    """

    _clipped: Array
    _carried: Carried

    def __init__(self, config: FilterConfig, radius: float = 0.0) -> None:
        """Begin with the alignment of the start.

        Args:
            config: Parameters.
            radius: Of round feet: the contact points lie so far below the contact frames [m].
        """
        warm_up()
        self.config, self._radius = config, radius
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the gyroscope's bias."""
        self._contact_noise = ContactNoise(UNKNOWN_CONTACT_NOISE**2, UNKNOWN_CONTACT_NOISE**2, 0.0)
        self._start(np.zeros(3), self.config.gyro_bias**2 * np.eye(3))

    def restart(self) -> None:
        """Determine velocity and vertical anew, for example after a gap; the bias is kept."""
        self._start(self.state.bias, self.state.covariance[6:9, 6:9])

    def _start(self, bias: Array, bias_covariance: Array) -> None:
        P = np.zeros((ERRORS, ERRORS))
        P[6:9, 6:9] = bias_covariance
        P[9:12, 9:12] = self.config.accelerometer_offset**2 * np.eye(3)
        self.state = TiltState(np.zeros(3), np.array([0.0, 0.0, 1.0]), bias, np.zeros(3), P)
        self._noise, self._rest = ReadingNoise(), RestDetector()
        self._alignment: InitialAlignment | None = InitialAlignment()
        self._alone = math.inf  # time without contact [s]
        self._first_contacts = ContactVelocity(self._radius, LONGEST_INTERVAL)
        self._carry(None)
        self._correlation, self._turn_variance = np.zeros(2), np.zeros((3, 3))
        self.residual, self.doubt = np.zeros(3), math.inf

    def step(self, h: float, reading: Array, feet: Feet | None, clipped: Array = NOT_CLIPPED) -> None:
        """Advance by one step; see `TiltObserver.step`."""
        self._noise.add(h, reading)
        self._rest.add(h, reading, self.state.bias)
        if self._alignment is not None:
            self._align(self._alignment, h, reading, feet)
            return
        self._propagate(h, reading, clipped)
        if self._clipped.any() and self._since_look > CONTACT_INTERVAL - SHORTER:
            self._take_clipping(feet)
        if feet is not None and self._since_look > CONTACT_INTERVAL - SHORTER:
            self._measure_contacts(feet)
            self._measure_soles(feet)
            self._carry(feet)
        self._measure_freedom(h)
        self._measure_rest(h, reading)
        self._judge(h)

    def _align(self, alignment: InitialAlignment, h: float, reading: Array, feet: Feet | None) -> None:
        """Collect readings and contact velocities, and begin with their vertical when the time is over."""
        rate = reading[3:] - self.state.bias
        alignment.turn(h, rate, reading[:3])
        self._first_contacts.turn(h, rate)
        if feet is not None and (
            seen := self._first_contacts.look(feet, reading[:3] / np.linalg.norm(reading[:3]))
        ):
            alignment.see(*seen)
        if alignment.time < self.config.startup:
            return
        velocity, vertical, shown = alignment.solve()
        P = self.state.covariance
        across = np.eye(3) - np.outer(vertical, vertical)  # yaw is zero at the start, by definition
        P[0:3, 0:3] = shown[0, 0] * np.eye(3)
        P[3:6, 3:6] = (shown[1, 1] + ALIGNED_SIGMA**2) * across
        self.state = TiltState(velocity, vertical, self.state.bias, self.state.offset, P)
        self._alignment = None
        self._carry(feet)

    def _propagate(self, h: float, reading: Array, clipped: Array) -> None:
        config, rate = self.config, float(np.linalg.norm(reading[3:]))
        turning = config.gyro_noise**2 + self._noise.rate + SCALE_TIME * (SCALE_ERROR * rate) ** 2
        velocity = config.velocity_drift**2 + self._shaking * self._noise.force
        noise = ProcessNoise(velocity, turning, config.bias_drift**2, config.offset_drift**2)
        self.state = propagate(self.state, h, reading[3:], reading[:3], noise, self._carried)
        self._clipped += h * CLIPPED_TIME * CLIPPED_SIGMA**2 * clipped
        self._since_look += h
        self._alone += h

    @property
    def _shaking(self) -> float:
        """Share of the accelerometer's white noise that moves the velocity.

        Noise that was integrated as if it were motion makes subsequent residuals of the contacts alike;
        shaking that is motion does not.
        """
        power, product = self._correlation
        correlation = product / power if power > 0.0 else UNKNOWN_CORRELATION
        return float(min(max((correlation - SHAKING[0]) / (SHAKING[1] - SHAKING[0]), 0.0), 1.0))

    def _measure_contacts(self, feet: Feet) -> None:
        """What stands is where it was: how far it is not, over the interval, is an error of the velocity."""
        then, interval = self._feet, self._since_look
        if feet.shares.any():
            self._alone = 0.0
        if then is None or interval > LONGEST_INTERVAL or not feet.shares.any():
            return
        before, last = self.state, self.residual
        seen = Contacts(feet.points + _turned_with(then, feet, self._below), feet.shares)
        memory = (*CONTACT_MEMORY, LEAST_CONTACT_NOISE**2)
        self.state, self._contact_noise, self.residual = measure_contacts(
            before, seen, interval, self._contact_noise, memory, TAIL, self._carried
        )
        self._expect(before)
        now = np.array([self.residual @ self.residual, self.residual @ last])
        self._correlation += min(interval / CORRELATION_MEMORY, 1.0) * (now - self._correlation)

    def _measure_freedom(self, h: float) -> None:
        """A body does not fly away: without contacts its velocity is zero, within bounds."""
        if self._alone > ALONE:
            velocity = self.state.velocity
            if self._alone - h <= ALONE:  # from here on it is that relative to the mean motion
                self.state.covariance[0:3, 0:3] += float(velocity @ velocity) * np.eye(3)
            self._measure(VELOCITY_ROWS, -velocity, self.config.freedom**2 / h, math.inf)

    def _measure_rest(self, h: float, reading: Array) -> None:
        """A robot at rest does not turn."""
        if self.at_rest:
            variance = max(self._rest.rate_variance, LEAST_REST_VARIANCE) * REST_CORRELATION / h
            self._measure(BIAS_ROWS, reading[3:] - self.state.bias, variance, math.inf)

    def _soles(self, feet: Feet | None) -> list[tuple[float, Array]]:
        """Return what flat soles show: each one's share, and the rotation that the gyroscope missed [rad].

        With R the rotation of a vector fixed in the world, in the IMU frame, since the last look: R_sole
        R_gyro' = exp(S(missed)).
        """
        then = self._feet
        if feet is None or then is None or self._since_look > LONGEST_INTERVAL:
            return []
        standing = (feet.shares > SOLE_SHARE) & (then.shares > SOLE_SHARE)
        flat = np.flatnonzero(feet.soles * standing)
        R_gyro = self._carried.rotation
        return [
            (float(feet.shares[k]), log_so3(feet.rotations[k] @ then.rotations[k].T @ R_gyro.T)) for k in flat
        ]

    def _measure_soles(self, feet: Feet) -> None:
        """A flat sole does not turn: what the gyroscope turns beyond it is an error of its bias."""
        interval = self._since_look
        for share, missed in self._soles(feet):
            self._measure(BIAS_ROWS, missed / interval, SOLE_NOISE / (interval * share), TAIL)

    def _take_clipping(self, feet: Feet | None) -> None:
        """About axes at the end of the gyroscope's range, soles tell the rotation, or nothing does."""
        clipped, self._clipped = self._clipped, np.zeros(3)
        if soles := self._soles(feet):
            missed = sum(share * turn for share, turn in soles) / sum(share for share, _turn in soles)
            R, state, carried = exp_so3(np.where(clipped > 0.0, missed, 0.0)), self.state, self._carried
            self.state = state._replace(velocity=R @ state.velocity, vertical=R @ state.vertical)
            carried.rotation[:], carried.points[:] = R @ carried.rotation, carried.points @ R.T
            clipped = np.minimum(clipped, SOLE_NOISE * self._since_look)
        self.state.covariance[3:6, 3:6] += np.diag(clipped)

    def _measure(self, H: Array, residual: Array, variance: float, tail: float) -> None:
        before = self.state
        self.state = measure(before, H, residual, variance, tail, self._carried)
        self._expect(before)

    def _expect(self, before: TiltState) -> None:
        """Add the covariance of a correction of the vertical, by which its own has become smaller."""
        self._turn_variance += before.covariance[3:6, 3:6] - self.state.covariance[3:6, 3:6]

    def _judge(self, h: float) -> None:
        """Doubt the bias where corrections of the vertical have one direction for longer than by noise."""
        turn, forgotten = self._carried.turn, math.exp(-h / JUDGED_TIME)
        turn *= forgotten
        self._turn_variance *= forgotten**2
        self.doubt += h
        expected = self._turn_variance + LEAST_TURN**2 * np.eye(3)
        if float(turn @ linear_algebra.solve(expected, turn)) / 3.0 > DOUBT:
            self._doubt_bias(turn)
            turn[:], self._turn_variance, self.doubt = 0.0, np.zeros((3, 3)), 0.0

    def _doubt_bias(self, turn: Array) -> None:
        """Let the bias have been wrong for a while: then the vertical is off by its error times that while.

        What contacts showed meanwhile was no noise of theirs, so that it is measured anew.
        """
        P, wrong = self.state.covariance, DOUBTED_BIAS**2 * np.eye(3)
        P[0:3, 0:3] += float(self.residual @ self.residual) * np.eye(3)
        P[3:6, 3:6] += DOUBTED_TIME**2 * wrong + float(turn @ turn) * np.eye(3)
        P[3:6, 6:9] -= DOUBTED_TIME * wrong
        P[6:9, 3:6] -= DOUBTED_TIME * wrong
        P[6:9, 6:9] += wrong
        self._contact_noise = ContactNoise(UNKNOWN_CONTACT_NOISE**2, UNKNOWN_CONTACT_NOISE**2, 0.0)
        self._correlation = np.zeros(2)

    def _carry(self, feet: Feet | None) -> None:
        """Carry the points of these contacts from here on."""
        self._feet, self._since_look, self._clipped = feet, 0.0, np.zeros(3)
        self._below = -self._radius * self.state.vertical
        points = np.zeros((0, 3)) if feet is None else feet.points + self._below
        turn = np.zeros(3) if self._alignment is not None else self._carried.turn
        self._carried = Carried(points, np.eye(3), turn)

    def looks_at_contacts(self, h: float) -> bool:
        """Return whether a step of this duration [s] takes contacts; between looks they are not needed."""
        return self.aligning or self._since_look + h > CONTACT_INTERVAL - SHORTER

    def doubt_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""
        self.state.covariance[6:9, 6:9] += self.config.gyro_bias**2 * np.eye(3)

    @property
    def aligning(self) -> bool:
        """Whether the alignment of the start goes on, and there is no estimate."""
        return self._alignment is not None

    @property
    def vertical(self) -> Array:
        """The vertical in the IMU frame, shape (3,)."""
        return self.state.vertical

    @property
    def velocity(self) -> Array:
        """Velocity of the IMU in its frame [m/s], shape (3,)."""
        return self.state.velocity

    @property
    def bias(self) -> Array:
        """Bias of the gyroscope [rad/s], shape (3,)."""
        return self.state.bias

    @property
    def uncertainty(self) -> Uncertainty:
        """Covariances of rotation, velocity and bias."""
        P = self.state.covariance
        return Uncertainty(P[3:6, 3:6], P[0:3, 0:3], P[6:9, 6:9])

    @property
    def contact_noise(self) -> float:
        """Standard deviation of a contact velocity that has all the weight [m/s]."""
        return math.sqrt(max(self._contact_noise.slow, self._contact_noise.fast, LEAST_CONTACT_NOISE**2))

    @property
    def at_rest(self) -> bool:
        """Whether the robot has been quiet for as long as rest is believed."""
        return self._rest.duration > REST_TIME


def _turned_with(then: Feet, feet: Feet, below: Array) -> Array:
    """Where the points of round feet are relative to their frames, which have turned since: shape (n, 3)."""
    if not below.any():
        return np.zeros_like(feet.points)
    moved: Array = np.einsum("nij,nkj->nik", feet.rotations, then.rotations) @ below
    return moved
