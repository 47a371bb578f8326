"""What estimates velocity and vertical of an IMU, whatever its method."""

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
from inertial_estimation.tilt.error_state import MotionRows, TiltState
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.imu_readings import ImuStatistics
from inertial_estimation.tilt.initial_alignment import STARTUP, InitialAlignment

SHORTER = 1e-4  # by which steps may be shorter than they should [s]
SOLE_SHARE = 0.2  # of the weight, from which a sole is flat on the ground
LONGEST_INTERVAL = 0.1  # between two looks, beyond which a velocity does not follow from them [s]


class Look(NamedTuple):
    """What is taken at the end of an interval, beyond the readings of each step.

    Attributes:
        feet: The contacts; None where they are not known.
        imu: What the readings of the interval show.
    """

    feet: Feet | None
    imu: ImuStatistics


@compiled
def contact_rows(
    then: Feet, now: Feet, below: Column, origin: Column, axes: Table, time: float
) -> MotionRows:
    """Return what contacts that stand show of the motion over an interval: all points, then all soles.

    A point that the IMU has carried along is expected where p' = -w x p - v takes it. It is seen where the
    joints put it; the difference over the interval T is an error of the velocity,

        (p_carried - p_seen) / T = dv + p x db + noise.

    What the gyroscope has turned beyond a flat sole is an error of its bias: with R the rotation of a vector
    fixed in the world, in the IMU frame, R_foot R_gyro' = exp(T S(db)).

    Args:
        then: The contacts at the begin of the interval.
        now: The same at its end.
        below: Where contact points were then, from the frames of the contacts, in the IMU frame [m], (3,).
        origin: Origin of the frame of the IMU then, as it is expected now [m], shape (3,).
        axes: Its axes, one in each row, shape (3, 3).
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
    """Motion of the IMU over the contacts of the last look, whose frame is propagated since.

    Attributes:
        feet: The contacts then; None where they were not known.
        time: Since then [s].
        origin: Origin of that frame as it is expected now, in the IMU frame; zero where the gyroscope alone
            propagates it; changed in place [m], shape (3,).
        axes: Its axes as they are expected now, one in each row; changed in place, shape (3, 3).
    """

    def __init__(self, radius: float) -> None:
        """Begin without contacts; those of round feet lie a radius [m] below their frames."""
        self._radius = radius
        self.restart(None, np.zeros(3))

    def restart(self, feet: Feet | None, up_I: Array) -> None:
        """Begin with these contacts and the vertical now, shape (3,)."""
        self.feet, self._below, self.time = feet, -self._radius * up_I, 0.0
        self.origin, self.axes = np.zeros(3), np.eye(3)

    def propagate(self, h: float, rate: Array) -> None:
        """Take the mean angular rate, bias removed [rad/s], shape (3,), over a step of h seconds."""
        self.axes, self.time = self.axes @ exp_so3(h * rate), self.time + h

    def rows(self, feet: Feet | None) -> MotionRows | None:
        """Return what contacts that stand show since then; see `contact_rows`.

        None where the contacts are not known, at the first look, without contact, and after too long a time.
        """
        if feet is None or self.feet is None or not 0.0 < self.time <= LONGEST_INTERVAL:
            return None
        if not feet.shares.any():
            return None
        return contact_rows(self.feet, feet, self._below, self.origin, self.axes, self.time)

    def velocity(self, feet: Feet) -> Array | None:
        """Return the mean velocity by contacts that stand, where the gyroscope alone propagates [m/s]."""
        rows = self.rows(feet)
        return None if rows is None else feet.shares @ rows.innovations[: len(feet.shares)]


class TiltObserver(ABC):
    """Estimates velocity and vertical of an IMU from its readings and from contacts that stand.

    Attributes:
        state: Velocity, vertical and bias, with the covariance of their errors; changed in place.
        aligning: Whether the vertical at the start is still being determined, and there is no estimate.
        without_gravity: Whether it has not been found for the size of what the accelerometer shows.
        residual: Velocity that the contacts have shown beyond the expected one [m/s], shape (3,).
        variance_factor: Variance of tilt errors by noise over that in the covariance of the state.
        since_bias_step: Time since a step of the gyroscope's bias was found [s]; infinite: never.
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
        """Forget everything, including the gyroscope's bias."""

    @abstractmethod
    def restart(self) -> None:
        """Determine velocity and vertical anew, for example after a gap; the bias is kept."""

    @abstractmethod
    def step(self, h: float, reading: Array, look: Look | None) -> None:
        """Advance by one step.

        Args:
            h: Its duration [s].
            reading: Mean specific force and angular rate over it [m/s^2, rad/s], shape (6,).
            look: What is seen at its end; None within an interval.
        """

    @abstractmethod
    def inflate_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""

    @property
    @abstractmethod
    def contact_noise(self) -> float:
        """Standard deviation of a contact velocity, as the contacts show it [m/s]."""

    @property
    def free_speed(self) -> float:
        """Velocity of a body without contacts, as it shows of itself [m/s]; zero: not known."""
        return 0.0

    def _begin(self, radius: float, bias: Array, P: Array) -> None:
        """Begin with the alignment, for round feet of a radius [m], with a bias and a covariance."""
        up = np.array([0.0, 0.0, 1.0])
        self.state = TiltState(np.zeros(3), up, bias, np.zeros(3), P)
        self.aligning, self.without_gravity = True, False
        self._alignment, self._odometry = InitialAlignment(), ContactOdometry(radius)

    def _align(self, h: float, reading: Array, look: Look | None) -> Array | None:
        """Collect readings and contact velocities, and begin with their vertical when the time is over.

        Returns:
            Then the covariance of the errors of one axis; see `InitialAlignment.solve`.
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
        if look.feet is not None or not self.aligning:  # by the velocity, too, from here on
            odometry.restart(look.feet, self.state.vertical)
        return covariance

    def level(self, force: Array) -> None:
        """Take the vertical along a specific force [m/s^2], shape (3,), until it is determined."""
        if self.aligning:
            self.state.vertical[:] = force / max(float(np.linalg.norm(force)), 1e-9)

    def looks(self, time: float) -> bool:
        """Return whether it takes what is seen, some time after it has [s]."""
        return time > self.interval - SHORTER
