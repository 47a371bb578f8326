"""Interface of the tilt observers, and the motion of the IMU that standing contacts show."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from inertial_estimation.compilation import Column, Table, compiled
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import (
    add,
    combine,
    exp_so3,
    product,
    rotation_vector,
    rows_of,
    scaled,
    store,
    times,
    transposed,
    vector_of,
)
from inertial_estimation.tilt.error_state import IDENTITY, MotionRows, TiltState
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.imu_readings import ImuStatistics
from inertial_estimation.tilt.initial_alignment import STARTUP, InitialAlignment

SHORTER = 1e-4  # by which an interval between looks may be short, for jitter of the steps [s]
SOLE_SHARE = 0.2  # least share of the weight on a sole that is flat on the ground
LONGEST_INTERVAL = 0.1  # longest time between two looks from which a velocity follows [s]


class Look(NamedTuple):
    """Measurements at the end of an interval of several steps, besides the IMU readings of each step.

    Attributes:
        feet: The contacts; None if unknown.
        imu: Statistics of the IMU readings of the interval.
    """

    feet: Feet | None
    imu: ImuStatistics


@compiled
def contact_rows(
    then: Feet, now: Feet, below: Column, origin: Column, axes: Table, time: float
) -> MotionRows:
    """Return the motion errors that standing contacts show over an interval: of all points, then all soles.

    A point fixed in the world is predicted by the motion of the IMU, p' = -w x p - v, and measured by the
    joints; the difference over the interval T is an error of the velocity,

        (p_predicted - p_measured) / T = dv + p x db + noise.

    A rotation of the gyroscope relative to a flat sole is an error of its bias: with R the rotation of a
    vector fixed in the world, in the IMU frame, R_foot R_gyro' = exp(T S(db)).

    Args:
        then: The contacts at the start of the interval.
        now: The contacts at its end.
        below: From contact frames to contact points at the start, in the IMU frame [m], shape (3,).
        origin: Predicted origin of the IMU frame of the start, in the present IMU frame [m], shape (3,).
        axes: Predicted axes of that frame, one in each row, shape (3, 3).
        time: T [s].
    """
    n = len(now.shares)
    rows = MotionRows(np.zeros((2 * n, 3)), np.zeros((2 * n, 3)), np.zeros(2 * n))
    turned, foot = rows_of(axes), vector_of(below, 0)
    for k in range(n):
        turn = product(rows_of(now.rotations[k]), transposed(rows_of(then.rotations[k])))
        point = times(transposed(turned), add(vector_of(then.points[k], 0), foot))
        expected, seen = add(point, vector_of(origin, 0)), add(vector_of(now.points[k], 0), times(turn, foot))
        store(rows.innovations[k], 0, scaled(1.0 / time, combine(expected, -1.0, seen)))
        store(rows.arms[k], 0, scaled(0.5, add(expected, seen)))
        rows.shares[k] = now.shares[k]
        if now.soles[k] * min(now.shares[k], then.shares[k]) > SOLE_SHARE:
            store(rows.innovations[n + k], 0, scaled(1.0 / time, rotation_vector(product(turn, turned))))
            rows.shares[n + k] = now.shares[k]
    return rows


class ContactOdometry:
    """Motion of the IMU relative to the contacts since the last look.

    Attributes:
        feet: The contacts at the last look; None if unknown.
        time: Time since the last look [s].
        origin: Predicted origin of the IMU frame of that look, in the present IMU frame; zero if only its
            rotation is predicted; changed in place [m], shape (3,).
        axes: Predicted axes of that frame, one in each row; changed in place, shape (3, 3).
    """

    def __init__(self, radius: float) -> None:
        """Start without contacts; contact points of round feet lie a radius [m] below their frames."""
        self._radius, self.origin, self.axes = radius, np.zeros(3), np.eye(3)
        self.restart(None, np.zeros(3))

    def restart(self, feet: Feet | None, up_I: Array) -> None:
        """Start a new interval with the present contacts and the present vertical, shape (3,)."""
        self.feet, self._below, self.time = feet, -self._radius * up_I, 0.0
        self.origin[:], self.axes[:] = 0.0, IDENTITY[:3, :3]

    def propagate(self, h: float, rate: Array) -> None:
        """Predict the axes over a step of h seconds by the mean angular rate without bias [rad/s], (3,)."""
        self.axes, self.time = self.axes @ exp_so3(h * rate), self.time + h

    def rows(self, feet: Feet | None) -> MotionRows | None:
        """Return the motion errors that contacts show since the last look; see `contact_rows`.

        None if the contacts are unknown, without a previous look or contact, and after `LONGEST_INTERVAL`.
        """
        if feet is None or self.feet is None or not 0.0 < self.time <= LONGEST_INTERVAL:
            return None
        if not np.count_nonzero(feet.shares):
            return None
        return contact_rows(self.feet, feet, self._below, self.origin, self.axes, self.time)

    def velocity(self, feet: Feet) -> Array | None:
        """Return the mean velocity of the IMU by standing contacts, if only rotation is predicted [m/s]."""
        rows = self.rows(feet)
        return None if rows is None else feet.shares @ rows.innovations[: len(feet.shares)]


class TiltObserver(ABC):
    """Estimates velocity and vertical of an IMU from its readings and from standing contacts.

    Attributes:
        state: Velocity, vertical and bias, with the covariance of their errors; changed in place.
        aligning: Whether the initial alignment goes on, during which there is no estimate.
        without_gravity: Whether it failed because the specific force has not the size of gravity.
        residual: Velocity of the IMU by the contacts minus the predicted one [m/s], shape (3,).
        variance_factor: Actual variance of tilt errors by noise over that in the covariance of the state.
        since_bias_step: Time since a step of the gyroscope's bias was detected [s]; infinite: never.
        interval: Time between two looks [s].
    """

    state: TiltState
    aligning: bool
    without_gravity: bool
    residual: Array
    since_bias_step: float
    interval, variance_factor = 0.0, 1.0

    @abstractmethod
    def reset(self) -> None:
        """Discard all state, including the gyroscope's bias."""

    @abstractmethod
    def restart(self) -> None:
        """Restart the initial alignment, for example after a gap; the bias is kept."""

    def bridge(self, _h: float, _rate: Array) -> bool:
        """Go on after a gap of h seconds with a mean angular rate; return whether that is possible."""
        return False

    @abstractmethod
    def step(self, h: float, reading: Array, look: Look | None) -> None:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            reading: Mean specific force and angular rate over the step [m/s^2, rad/s], shape (6,).
            look: Measurements at its end; None between two looks.
        """

    @abstractmethod
    def inflate_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""

    @property
    @abstractmethod
    def contact_noise(self) -> float:
        """Estimated standard deviation of a contact velocity [m/s]."""

    @property
    def free_speed(self) -> float:
        """Estimated rms velocity of a body without contacts, along one axis [m/s]; zero: unknown."""
        return 0.0

    def _begin(self, radius: float, bias: Array, P: Array) -> None:
        """Start the initial alignment, for round feet of a radius [m], with a bias and a covariance."""
        up = np.array([0.0, 0.0, 1.0])
        self.state = TiltState(np.zeros(3), up, bias, np.zeros(3), P)
        self.aligning, self.without_gravity = True, False
        self._alignment, self._odometry = InitialAlignment(), ContactOdometry(radius)

    def _align(self, h: float, reading: Array, look: Look | None) -> Array | None:
        """Collect readings and contact velocities; after `STARTUP`, initialise velocity and vertical.

        Returns:
            The covariance of the errors of one axis (`InitialAlignment.solve`) once initialised, else None.
        """
        alignment, odometry, rate = self._alignment, self._odometry, reading[3:] - self.state.bias
        alignment.propagate(h, rate, reading[:3])
        odometry.propagate(h, rate)
        if look is None:
            return None
        velocity, covariance = None if look.feet is None else odometry.velocity(look.feet), None
        if velocity is not None:
            alignment.add_velocity(odometry.time, velocity)
        if alignment.time >= STARTUP:
            found = alignment.solve()
            self.aligning, self.without_gravity = found is None, found is None
            if found is None:
                self._alignment = InitialAlignment()
            else:
                self.state.velocity[:], self.state.vertical[:], covariance = found
        if look.feet is not None or not self.aligning:  # once aligned, the origin is predicted, too
            odometry.restart(look.feet, self.state.vertical)
        return covariance

    def level(self, force: Array) -> None:
        """During the initial alignment, set the vertical along a specific force [m/s^2], shape (3,)."""
        if self.aligning:
            self.state.vertical[:] = force / max(float(np.linalg.norm(force)), 1e-9)

    def looks(self, time: float) -> bool:
        """Return whether a look is due, a time [s] after the last one."""
        return time > self.interval - SHORTER
