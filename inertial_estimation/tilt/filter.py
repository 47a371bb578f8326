"""The tilt filter: velocity and vertical of an IMU, from its readings and from points on the ground.

This module is the method on one page. At every reading, velocity and vertical are propagated by gyroscope and
accelerometer. Fifty times a second, at a "look", their covariance is propagated and these measurements taken:

1. contacts: points at rest in the world, predicted by the motion of the IMU and measured by the joints, show
   errors of the velocity; flat soles, which do not rotate, show errors of the angular rate,
2. freedom: a body does not fly away, so that without contacts its velocity is bounded,
3. rest: the angular rate of a robot at rest is zero,
4. test of the bias: corrections of the vertical that accumulate in one direction show a step of the bias.

The mathematics are in `error_state`; equations and their source in docs/tilt_observer.md.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import numeric
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
from inertial_estimation.tilt.initial_alignment import UNKNOWN_SPEED
from inertial_estimation.tilt.observer import Look, TiltObserver

CONTACT_INTERVAL = 0.02  # between two looks: over a shorter time, differences of encoders are noise [s]
LEAST_CONTACT_NOISE = 0.05  # least standard deviation of a contact velocity [m/s]
NOISE_MEMORY = 1.0  # averaging time of the noise of contact velocities [s]
TAIL = 3.0  # degrees of freedom of Student's t distribution of contact velocities and soles
CORRELATION_MEMORY = 3.0  # averaging time of contact residuals, corrections and free velocities [s]
UNKNOWN_CORRELATION = 0.5  # assumed correlation of successive contact residuals before the first one
TURNING_TIME = 1.0  # correlation time of contact velocity errors that are constant in the body frame [s]
SHAKING = (0.3, 0.4)  # correlation below which shaking of the accelerometer is motion; above it is noise
OFFSET_TIME = 200.0  # correlation time of the accelerometer's offset [s]
REST_CORRELATION = 0.5  # correlation time of residual motion at rest [s]
LEAST_REST_VARIANCE = 1e-8  # of a rate at rest [rad^2/s^2]
ALONE = 1.0  # time without contact after which the velocity is bounded [s]
FASTEST = 3.0  # largest credible velocity of a body without contacts; IMUs swung by hand have 1.6 [m/s]
SOLE_NOISE = 0.05**2 * CONTACT_INTERVAL  # noise density of the rate of a standing sole [rad^2/s]
LEAST_GYRO_NOISE = 2e-4  # noise density of a good gyroscope [rad/s/sqrt(Hz)]
TESTED_TIME = 0.5  # time constant of the sum of corrections by which a step of the bias is detected [s]
BIAS_GATE = 12.0  # square of that sum over its expectation, from which the bias has stepped
STEP_OF_BIAS = 0.05  # standard deviation of a detected step of the bias [rad/s]
UNKNOWN_RATE = 0.5  # least standard deviation of the rate in a gap from the mean of its ends [rad/s]
LARGEST_TURN = 0.5  # largest standard deviation of the tilt after a gap with which the filter goes on [rad]
LEAST_FACTOR = 0.25  # least factor of the variances of tilt errors, where corrections cancel
LEAST_ANGLE = 1e-4  # least standard deviation of that sum by noise, and of the yaw at the start [rad]
CLIPPED_SIGMA, CLIPPED_TIME = 2.0, 0.05  # excess of a rate over the range; its correlation time [rad/s, s]


@dataclass(frozen=True)
class FilterConfig:
    """Noise that the filter cannot estimate itself."""

    velocity_drift: float = numeric(
        *(0.025, 1e-4, 10.0, "m/s"),
        "Random walk of the velocity per square root of a second, for slow errors of contact velocities.",
        runtime=True,
    )
    accelerometer_offset: float = numeric(
        0.04, 1e-4, 1.0, "m/s^2", "Initial standard deviation of the accelerometer's offset along one axis."
    )
    offset_drift: float = numeric(
        *(0.01, 0.0, 1.0, "m/s^2"),
        "Random walk of the accelerometer's offset per square root of a second, while there are contacts; "
        f"its correlation time is {OFFSET_TIME:g} s.",
        runtime=True,
    )
    gyro_bias: float = numeric(
        *(0.01, 1e-6, 1.0, "rad/s"),
        "Initial standard deviation of the gyroscope's bias about one axis; common MEMS sensors have 0.01.",
    )
    bias_drift: float = numeric(
        *(1e-4, 0.0, 0.1, "rad/s"),
        "Random walk of the gyroscope's bias per square root of a second.",
        runtime=True,
    )
    freedom: float = numeric(
        *(0.05, 0.01, 100.0, "m/s"),
        "Least standard deviation of the mean velocity over a second of a body without contacts: the "
        "smaller, the more the accelerometer alone corrects the tilt.",
        runtime=True,
    )


class TiltFilter(TiltObserver):
    """Error-state Kalman filter on IMU readings and contacts.

    Attributes:
        config: Parameters; may be replaced by others that differ in run-time parameters only.
    """

    interval = CONTACT_INTERVAL

    def __init__(self, config: FilterConfig, radius: float = 0.0) -> None:
        """Start with the initial alignment.

        Args:
            config: Parameters.
            radius: Radius of round feet: the contact points lie this far below the contact frames [m].
        """
        self.config, self._radius = config, radius
        self.reset()

    def reset(self) -> None:
        """Discard all state, including the gyroscope's bias."""
        self._noise_level = LEAST_CONTACT_NOISE**2
        self._start(np.zeros(3), self.config.gyro_bias**2 * np.eye(3))

    def restart(self) -> None:
        """Restart the initial alignment, for example after a gap; the bias is kept."""
        self._start(self.state.bias, self.state.covariance[6:9, 6:9])

    def bridge(self, h: float, rate: Array) -> bool:
        """Go on after a gap with unknown velocity and uncertain vertical, if its error is a small angle.

        Args:
            h: Duration of the gap [s].
            rate: Mean of the angular rates at its ends [rad/s], shape (3,).
        """
        velocity, vertical, bias, _offset, P = self.state
        w = rate - bias
        variance = (UNKNOWN_RATE**2 + float(w @ w)) * h**2
        if self.aligning or variance > LARGEST_TURN**2:
            return False
        velocity[:], vertical[:] = 0.0, exp_so3(-h * w) @ vertical
        P[0:3, :] = P[:, 0:3] = 0.0
        P[0:3, 0:3] = UNKNOWN_SPEED**2 * np.eye(3)
        P[3:6, 3:6] += variance * np.eye(3)
        self.variance_factor = max(self.variance_factor, 1.0)
        self._odometry.restart(None, vertical)
        return True

    def _start(self, bias: Array, bias_covariance: Array) -> None:
        P = np.zeros((ERRORS, ERRORS))
        P[6:9, 6:9] = bias_covariance
        P[9:12, 9:12] = self.config.accelerometer_offset**2 * np.eye(3)
        self._begin(self._radius, bias, P)
        self._alone = math.inf  # time without contact [s]
        self._free_level = UNKNOWN_SPEED**2  # estimated variance of the velocity during it
        self._turns = Turns(np.zeros(3), np.zeros((3, 3)))
        self._correlation, self.variance_factor = (0.0, 0.0), 1.0
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
                self._alone = 0.0 if np.count_nonzero(feet.shares) else self._alone
            self._measure_freedom(imu.time)
            self._measure_rest(imu)
            self._test_bias(imu.time)

    def _take_alignment(self, shown: Array) -> None:
        """Initialise the covariance, from that of velocity and tilt of one axis by the alignment.

        An offset dc of the accelerometer tilts the vertical of the alignment by z x dc / g in the middle of
        its window; an error db of the bias has rotated the vertical since then by -db T / 2.
        """
        vertical, P = self.state.vertical, self.state.covariance
        along = np.outer(vertical, vertical)
        across, sensors = np.eye(3) - along, P[6:12, 6:12]
        by_sensors = np.hstack((-0.5 * self._alignment.time * across, skew(vertical) / STANDARD_GRAVITY))
        P[0:3, 0:3] = shown[0, 0] * np.eye(3)
        P[3:6, 3:6] = shown[1, 1] * across + LEAST_ANGLE**2 * along + by_sensors @ sensors @ by_sensors.T
        P[0:3, 3:6] = shown[0, 1] * skew(vertical)  # z_true = z + z x a
        P[3:6, 6:12] = by_sensors @ sensors
        P[3:6, 0:3], P[6:12, 3:6] = P[0:3, 3:6].T, P[3:6, 6:12].T

    def _noise(self, imu: ImuStatistics) -> ProcessNoise:
        """Return the process noise since the last look.

        An error e of contact velocities that is constant in the body frame, as of feet that roll or skid in
        each stride, acts like an acceleration w x e of a body that rotates. Accelerometer noise integrated as
        motion makes successive contact residuals correlated; shaking that is motion does not. Slow errors of
        contacts act like a stationary drift of the accelerometer's offset. An IMU alone has neither.
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
            standing / OFFSET_TIME,
        )

    def _measure_contacts(self, feet: Feet) -> None:
        """Measure that standing contact points have not moved, and flat soles have not rotated.

        The variance of a contact velocity is s^2 over the share of the contact in the weight; s^2 is the mean
        square of the residuals beyond the filter's own covariance (expectation maximisation).
        """
        T, last, rows = self._odometry.time, self.residual, self._odometry.rows(feet)
        if rows is None:
            return
        n, level = len(feet.shares), self.contact_noise**2
        self.residual = feet.shares @ rows.innovations[:n]
        shown = measure(rows, n, (level, SOLE_NOISE / T), TAIL, self.state, self._turns)
        self._noise_level += gain(T, NOISE_MEMORY) * (max(level * shown, 0.0) - self._noise_level)
        power, product = self._correlation
        share, now = min(T / CORRELATION_MEMORY, 1.0), self.residual
        power += share * (float(now @ now) - power)
        self._correlation = power, product + share * (float(now @ last) - product)

    def _measure_freedom(self, time: float) -> None:
        """Measure that a body without contacts does not fly away: velocity zero, with estimated variance."""
        velocity, before = self.state.velocity, self._alone
        self._alone += time
        if self._alone > ALONE:
            if before <= ALONE:  # from here on it is the velocity relative to the mean motion
                self.state.covariance[0:3, 0:3] += float(velocity @ velocity) * np.eye(3)
            variance = max(self.config.freedom**2, self._free_level) / time
            shown = variance * self._measure_whole(-velocity, variance, points=1)
            self._free_level += gain(time, CORRELATION_MEMORY) * (max(shown, 0.0) - self._free_level)
            # Beyond it, gyroscope and accelerometer contradict one another: velocity and tilt are as wrong.
            self.variance_factor = max(self.variance_factor, self._free_level / FASTEST**2)

    def _measure_rest(self, imu: ImuStatistics) -> None:
        """Measure that a robot at rest does not rotate."""
        if imu.at_rest:
            variance = max(imu.rest_variance, LEAST_REST_VARIANCE) * REST_CORRELATION / imu.time
            self._measure_whole(imu.rate - self.state.bias, variance, points=0)

    def _measure_whole(self, innovation: Array, variance: float, points: int) -> float:
        """Measure velocity (one point) or angular rate (no point) of the IMU itself, with normal noise."""
        rows = MotionRows(innovation[None], np.zeros((1, 3)), np.ones(1))
        return measure(rows, points, (variance, variance), math.inf, self.state, self._turns)

    def _take_clipping(self, feet: Feet | None, clipped: Array) -> None:
        """Take the rotation about clipped axes of the gyroscope from soles, or make the tilt uncertain."""
        if not np.count_nonzero(clipped):
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
        """Detect a step of the bias: corrections of the vertical that keep one direction for too long.

        Corrections of a filter with the right noise are independent. Their sums are larger if errors of
        contact velocities persist and smaller if they cancel: the mean square of the sums over its
        expectation is the factor by which the variances are too small (Mehra 1972).
        """
        turn, expected = self._turns
        forgotten = math.exp(-time / TESTED_TIME)
        turn *= forgotten
        expected *= forgotten**2
        self.since_bias_step += time
        x = vector(turn)
        shown = dot(x, times(inverse(matrix(expected), LEAST_ANGLE**2), x)) / 3.0
        factor = self.variance_factor
        self.variance_factor = max(factor + time / CORRELATION_MEMORY * (shown - factor), LEAST_FACTOR)
        if shown > BIAS_GATE:
            self._take_bias_step(turn)
            turn[:], expected[:], self.since_bias_step = 0.0, 0.0, 0.0

    def _take_bias_step(self, turn: Array) -> None:
        """Inflate the covariance for a bias that has been wrong for `TESTED_TIME`, and the vertical by it.

        Residuals of contacts meanwhile were not their noise, which is therefore estimated anew.
        """
        P, wrong = self.state.covariance, STEP_OF_BIAS**2 * np.eye(3)
        P[0:3, 0:3] += float(self.residual @ self.residual) * np.eye(3)
        P[3:6, 3:6] += TESTED_TIME**2 * wrong + float(turn @ turn) * np.eye(3)
        P[3:6, 6:9] -= TESTED_TIME * wrong
        P[6:9, 3:6] -= TESTED_TIME * wrong
        P[6:9, 6:9] += wrong
        self._noise_level, self._correlation = LEAST_CONTACT_NOISE**2, (0.0, 0.0)
        self.variance_factor = max(self.variance_factor, 1.0)

    def inflate_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""
        self.state.covariance[6:9, 6:9] += self.config.gyro_bias**2 * np.eye(3)

    @property
    def contact_noise(self) -> float:
        """Estimated standard deviation of the velocity of a contact with all the weight [m/s]."""
        return max(math.sqrt(self._noise_level), LEAST_CONTACT_NOISE)

    @property
    def free_speed(self) -> float:
        """Estimated rms velocity of a body without contacts, along one axis [m/s]."""
        return math.sqrt(self._free_level) if self._alone > ALONE else 0.0
