"""The tilt filter: velocity and vertical of an IMU, from its readings and from points on the ground.

This module is the method on one page. At every reading, velocity and vertical are propagated by gyroscope and
accelerometer. Fifty times a second their covariance is, and the filter looks at what else there is:

1. contacts measure the velocity: points of the world that the IMU has carried along against where the joints
   see them now; soles measure the rate: a flat foot on the ground does not turn,
2. freedom: a body does not fly away, so that without contacts its velocity is bounded,
3. rest: the rate of a robot that stands still is zero,
4. test of the bias: corrections of the vertical that add up in one direction show that it has stepped.

The mathematics are in `error_state`; equations and their source in docs/tilt_observer.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import dot, exp_so3, matrix, skew, times, vector
from inertial_estimation.tilt.error_state import (
    ERRORS,
    MotionRows,
    ProcessNoise,
    Turns,
    inverse,
    measure,
    propagate,
    propagate_covariance,
)
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.imu_readings import ImuStatistics, gain
from inertial_estimation.tilt.observer import Look, TiltObserver

CONTACT_INTERVAL = 0.02  # between two looks at the contacts: differences of encoders over less are noise [s]
LEAST_CONTACT_NOISE = 0.05  # standard deviation of a contact velocity at best [m/s]
NOISE_MEMORY = 1.0  # over which the noise of contact velocities is averaged [s]
TAIL = 3.0  # degrees of freedom of Student's t distribution of contact velocities and soles
CORRELATION_MEMORY = 3.0  # over which contact residuals, corrections, free velocities are averaged [s]
UNKNOWN_CORRELATION = 0.5  # of residuals that have not been seen
TURNING_TIME = 1.0  # for which errors of contact velocities stay in the frame of the body [s]
SHAKING = (0.3, 0.4)  # that correlation: below, the accelerometer's shaking is motion; above, it is noise
REST_CORRELATION = 0.5  # time over which what is left of the motion at rest has one direction [s]
LEAST_REST_VARIANCE = 1e-8  # of a rate at rest [rad^2/s^2]
ALONE = 1.0  # time without contact, beyond which the velocity is bounded [s]
UNKNOWN_SPEED = 1.0  # of a body without contacts that has not been seen [m/s]
SOLE_NOISE = 0.05**2 * CONTACT_INTERVAL  # density of the rate of a sole that stands [rad^2/s]
LEAST_GYRO_NOISE = 2e-4  # of a good gyroscope, per square root of a hertz [rad/s]
TESTED_TIME = 0.5  # over which corrections of the vertical are summed; in which a step is found [s]
LEAST_TURN = 1e-4  # of a sum of corrections that is noise in any case [rad]
BIAS_GATE = 12.0  # times the expected square of that sum, from which the bias has stepped
STEP_OF_BIAS = 0.05  # standard deviation of a step of the bias that is found [rad/s]
LEAST_FACTOR = 0.25  # of the variances of tilt errors by noise, where corrections cancel
YAW_SIGMA = 1e-4  # at the start, where the yaw is zero by definition; positive, so that P is definite [rad]
CLIPPED_SIGMA, CLIPPED_TIME = 2.0, 0.05  # excess of a rate beyond its range; for how long it lasts [rad/s, s]


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
        "Random walk of the accelerometer's offset per square root of a second, while there are contacts.",
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
    freedom: float = parameter(
        0.05,
        "Velocity that a body without contacts has for a second, at least: the smaller, the more the "
        "accelerometer alone corrects the tilt.",
        unit="m/s",
        lower=0.01,
        upper=100.0,
        runtime=True,
    )


class TiltFilter(TiltObserver):
    """The filter on readings and contacts.

    Attributes:
        config: Parameters; those that may change at run time may be replaced.
    """

    interval = CONTACT_INTERVAL

    def __init__(self, config: FilterConfig, radius: float = 0.0) -> None:
        """Begin with the alignment of the start.

        Args:
            config: Parameters.
            radius: Of round feet: the contact points lie so far below the contact frames [m].
        """
        self.config, self._radius = config, radius
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the gyroscope's bias."""
        self._noise_level = LEAST_CONTACT_NOISE**2
        self._start(np.zeros(3), self.config.gyro_bias**2 * np.eye(3))

    def restart(self) -> None:
        """Determine velocity and vertical anew, for example after a gap; the bias is kept."""
        self._start(self.state.bias, self.state.covariance[6:9, 6:9])

    def _start(self, bias: Array, bias_covariance: Array) -> None:
        P = np.zeros((ERRORS, ERRORS))
        P[6:9, 6:9] = bias_covariance
        P[9:12, 9:12] = self.config.accelerometer_offset**2 * np.eye(3)
        self._begin(self._radius, bias, P)
        self._alone = math.inf  # time without contact [s]
        self._free_level = UNKNOWN_SPEED**2  # mean square of the velocity meanwhile, beyond its covariance
        self._turns = Turns(np.zeros(3), np.zeros((3, 3)))
        self._correlation, self.variance_factor = np.zeros(2), 1.0
        self.residual, self.since_bias_step = np.zeros(3), math.inf

    def step(self, h: float, reading: Array, look: Look | None) -> None:
        """Advance by one step; see `TiltObserver.step`."""
        if self.aligning:
            shown = self._align(h, reading, look)
            if shown is not None:
                self._take_alignment(shown)
            return
        velocity, vertical, bias, offset, _covariance = self.state
        propagate(h, reading, velocity, vertical, bias, offset, self._odometry.origin, self._odometry.axes)
        if look is not None:
            feet, imu = look.feet, look.imu
            self._odometry.time += imu.time
            propagate_covariance(self.state, imu.time, imu.rate, self._noise(imu), self._turns)
            self._take_clipping(feet, imu.clipped)
            if feet is not None:
                self._measure_contacts(feet)
                self._odometry.restart(feet, vertical)
                self._alone = 0.0 if feet.shares.any() else self._alone
            self._measure_freedom(imu.time)
            self._measure_rest(imu)
            self._test_bias(imu.time)

    def _take_alignment(self, shown: Array) -> None:
        """Take the covariance of velocity and tilt of one axis, and of tilt with the errors of the sensors.

        An offset dc of the accelerometer tilts the vertical of the window, z x dc / g in its middle, and an
        error db of the bias has turned it since, by -db T / 2.
        """
        vertical, P = self.state.vertical, self.state.covariance
        along = np.outer(vertical, vertical)
        across, sensors = np.eye(3) - along, P[6:12, 6:12]
        by_sensors = np.hstack((-0.5 * self._alignment.time * across, skew(vertical) / STANDARD_GRAVITY))
        P[0:3, 0:3] = shown[0, 0] * np.eye(3)
        P[3:6, 3:6] = shown[1, 1] * across + YAW_SIGMA**2 * along + by_sensors @ sensors @ by_sensors.T
        P[0:3, 3:6] = shown[0, 1] * skew(vertical)  # z_true = z + z x a
        P[3:6, 6:12] = by_sensors @ sensors
        P[3:6, 0:3], P[6:12, 3:6] = P[0:3, 3:6].T, P[3:6, 6:12].T

    def _noise(self, imu: ImuStatistics) -> ProcessNoise:
        """Return what has driven the errors since the last look.

        An error e of the contact velocities that stays in the frame of the body, as of feet that roll or skid
        in each stride, looks like an acceleration w x e of a body that turns. Noise of the accelerometer that
        was integrated as if it were motion makes subsequent residuals of the contacts alike; shaking that is
        motion does not. Slow errors of contacts look like an offset that drifts. An IMU alone has neither.
        """
        config, (power, product) = self.config, self._correlation
        correlation = product / power if power > 0.0 else UNKNOWN_CORRELATION
        shaking = min(max((correlation - SHAKING[0]) / (SHAKING[1] - SHAKING[0]), 0.0), 1.0)
        w = imu.rate - self.state.bias
        standing = float(self._alone <= ALONE)
        turning = standing * TURNING_TIME * self.contact_noise**2 * float(w @ w)
        return ProcessNoise(
            config.velocity_drift**2 + turning + shaking * imu.force_noise,
            LEAST_GYRO_NOISE**2 + imu.rate_noise,
            config.bias_drift**2,
            standing * config.offset_drift**2,
        )

    def _measure_contacts(self, feet: Feet) -> None:
        """What stands is where it was, and a flat sole has not turned.

        The variance of a contact velocity is s^2 over the share of the contact in the weight; s^2 is the mean
        of what the residuals show beyond the filter's own covariance (expectation maximisation).
        """
        T, last, rows = self._odometry.time, self.residual, self._odometry.rows(feet)
        if rows is None:
            return
        n, level = len(feet.shares), self.contact_noise**2
        self.residual = feet.shares @ rows.innovations[:n]
        shown = measure(rows, n, (level, SOLE_NOISE / T), TAIL, self.state, self._turns)
        self._noise_level += gain(T, NOISE_MEMORY) * (max(level * shown, 0.0) - self._noise_level)
        now = np.array([self.residual @ self.residual, self.residual @ last])
        self._correlation += min(T / CORRELATION_MEMORY, 1.0) * (now - self._correlation)

    def _measure_freedom(self, time: float) -> None:
        """A body does not fly away: without contacts its velocity is zero, within what it shows of itself."""
        velocity, before = self.state.velocity, self._alone
        self._alone += time
        if self._alone > ALONE:
            if before <= ALONE:  # from here on it is that relative to the mean motion
                self.state.covariance[0:3, 0:3] += float(velocity @ velocity) * np.eye(3)
            variance = max(self.config.freedom**2, self._free_level) / time
            shown = variance * self._measure_whole(-velocity, variance, points=1)
            self._free_level += gain(time, CORRELATION_MEMORY) * (max(shown, 0.0) - self._free_level)

    def _measure_rest(self, imu: ImuStatistics) -> None:
        """A robot at rest does not turn."""
        if imu.at_rest:
            variance = max(imu.rest_variance, LEAST_REST_VARIANCE) * REST_CORRELATION / imu.time
            self._measure_whole(imu.rate - self.state.bias, variance, points=0)

    def _measure_whole(self, innovation: Array, variance: float, points: int) -> float:
        """Measure the motion of the body itself, of normal noise."""
        rows = MotionRows(innovation[None], np.zeros((1, 3)), np.ones(1))
        return measure(rows, points, (variance, variance), math.inf, self.state, self._turns)

    def _take_clipping(self, feet: Feet | None, clipped: Array) -> None:
        """About axes at the end of the gyroscope's range, soles show the rotation, or nothing does."""
        if not clipped.any():
            return
        state, odometry = self.state, self._odometry
        variance = CLIPPED_TIME * CLIPPED_SIGMA**2 * clipped
        rows = odometry.rows(feet)
        flat = np.zeros(1) if rows is None else rows.shares[len(rows.shares) // 2 :]
        if rows is not None and flat.any():
            missed = odometry.time * (flat @ rows.innovations[len(flat) :]) / flat.sum()
            R = exp_so3(np.where(clipped > 0.0, missed, 0.0))
            state.velocity[:], state.vertical[:] = R @ state.velocity, R @ state.vertical
            odometry.origin[:], odometry.axes[:] = R @ odometry.origin, odometry.axes @ R.T
            variance = np.minimum(variance, SOLE_NOISE * odometry.time)
        state.covariance[3:6, 3:6] += np.diag(variance)
        self.variance_factor = max(self.variance_factor, 1.0)

    def _test_bias(self, time: float) -> None:
        """Find a step of the bias: corrections of the vertical that have one direction for too long.

        Corrections of a filter whose noise is as stated are independent. Their sums are larger where errors
        of contact velocities last, and smaller where they cancel: the mean square of the sums over what is
        expected of them is the factor by which the variances are too small (Mehra 1972).
        """
        turn, expected = self._turns
        forgotten = math.exp(-time / TESTED_TIME)
        turn *= forgotten
        expected *= forgotten**2
        self.since_bias_step += time
        x = vector(turn)
        shown = dot(x, times(inverse(matrix(expected), LEAST_TURN**2), x)) / 3.0
        factor = self.variance_factor
        self.variance_factor = max(factor + time / CORRELATION_MEMORY * (shown - factor), LEAST_FACTOR)
        if shown > BIAS_GATE:
            self._take_bias_step(turn)
            turn[:], expected[:], self.since_bias_step = 0.0, 0.0, 0.0

    def _take_bias_step(self, turn: Array) -> None:
        """Let the bias have been wrong for a while: then the vertical is off by its error times that while.

        What contacts showed meanwhile was no noise of theirs, so that it is measured anew.
        """
        P, wrong = self.state.covariance, STEP_OF_BIAS**2 * np.eye(3)
        P[0:3, 0:3] += float(self.residual @ self.residual) * np.eye(3)
        P[3:6, 3:6] += TESTED_TIME**2 * wrong + float(turn @ turn) * np.eye(3)
        P[3:6, 6:9] -= TESTED_TIME * wrong
        P[6:9, 3:6] -= TESTED_TIME * wrong
        P[6:9, 6:9] += wrong
        self._noise_level, self._correlation = LEAST_CONTACT_NOISE**2, np.zeros(2)
        self.variance_factor = max(self.variance_factor, 1.0)

    def inflate_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""
        self.state.covariance[6:9, 6:9] += self.config.gyro_bias**2 * np.eye(3)

    @property
    def contact_noise(self) -> float:
        """Standard deviation of a contact velocity that has all the weight [m/s]."""
        return max(math.sqrt(self._noise_level), LEAST_CONTACT_NOISE)

    @property
    def free_speed(self) -> float:
        """Velocity of a body without contacts, of one axis, as it shows of itself [m/s]."""
        return math.sqrt(self._free_level) if self._alone > ALONE else 0.0
