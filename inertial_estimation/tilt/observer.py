"""What estimates velocity and vertical of an IMU, whatever its method."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, log_so3
from inertial_estimation.tilt.error_state import TiltState
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


class Carried:
    """The contacts at the last look, and the frame that the IMU had then, carried along since.

    Attributes:
        feet: The contacts then; None where they were not known.
        time: Since then [s].
        origin: Origin of that frame as it is expected now, in the IMU frame; zero where the gyroscope alone
            carries it; changed in place [m], shape (3,).
        axes: Its axes as they are expected now, one in each row; changed in place, shape (3, 3).
    """

    def __init__(self, radius: float) -> None:
        """Begin without contacts; those of round feet lie a radius [m] below their frames."""
        self._radius = radius
        self.see(None, np.zeros(3))

    def see(self, feet: Feet | None, up_I: Array) -> None:
        """Begin with these contacts and the vertical now, shape (3,)."""
        self.feet, self._below, self.time = feet, -self._radius * up_I, 0.0
        self.origin, self.axes = np.zeros(3), np.eye(3)

    def turn(self, h: float, rate: Array) -> None:
        """Take the mean angular rate, bias removed [rad/s], shape (3,), over a step of h seconds."""
        self.axes, self.time = self.axes @ exp_so3(h * rate), self.time + h

    def points(self, feet: Feet) -> tuple[Array, Array] | None:
        """Return where points that stand are expected, and where joints see them now [m], shape (n, 3) each.

        None at the first look, without contact, and after too long a time.
        """
        if self.feet is None or not 0.0 < self.time <= LONGEST_INTERVAL or not feet.shares.any():
            return None
        expected = (self.feet.points + self._below) @ self.axes + self.origin
        return expected, feet.points + feet.turns_since(self.feet) @ self._below

    def velocity(self, feet: Feet) -> Array | None:
        """Return the mean velocity by contacts that stand, where the gyroscope alone carries [m/s]."""
        points = self.points(feet)
        return None if points is None else feet.shares @ (points[0] - points[1]) / self.time

    def soles(self, feet: Feet) -> tuple[Array, Array]:
        """Return the shares of soles that have stood flat since then, and the rotation that each shows [rad].

        It is what the gyroscope has missed: with R the rotation of a vector fixed in the world, in the IMU
        frame, R_foot R_gyro' = exp(S(missed)). Shapes (k,) and (k, 3).
        """
        assert self.feet is not None
        flat = feet.soles & (np.minimum(feet.shares, self.feet.shares) > SOLE_SHARE)
        missed = [log_so3(R) for R in feet.turns_since(self.feet)[flat] @ self.axes]
        return feet.shares[flat], np.array(missed).reshape(-1, 3)


class TiltObserver(ABC):
    """Estimates velocity and vertical of an IMU from its readings and from contacts that stand.

    Attributes:
        state: Velocity, vertical and bias, with the covariance of their errors; changed in place.
        aligning: Whether the vertical at the start is still being determined, and there is no estimate.
        residual: Velocity that the contacts have shown beyond the expected one [m/s], shape (3,).
        variance_factor: Variance of tilt errors by noise over that in the covariance of the state.
        since_bias_step: Time since a step of the gyroscope's bias was found [s]; infinite: never.
        interval: Time between two looks [s].
    """

    state: TiltState
    aligning: bool
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

    def _begin(self, radius: float, bias: Array, P: Array) -> None:
        """Begin with the alignment, for round feet of a radius [m], with a bias and a covariance."""
        up = np.array([0.0, 0.0, 1.0])
        self.state, self.aligning = TiltState(np.zeros(3), up, bias, np.zeros(3), P), True
        self._alignment, self._carried = InitialAlignment(), Carried(radius)

    def _align(self, h: float, reading: Array, look: Look | None) -> Array | None:
        """Collect readings and contact velocities, and begin with their vertical when the time is over.

        Returns:
            Then the covariance of the errors of one axis; see `InitialAlignment.solve`.
        """
        alignment, carried, rate = self._alignment, self._carried, reading[3:] - self.state.bias
        alignment.turn(h, rate, reading[:3])
        carried.turn(h, rate)
        if look is None:
            return None
        velocity, covariance = None if look.feet is None else carried.velocity(look.feet), None
        if velocity is not None:
            alignment.see(carried.time, velocity)
        if alignment.time >= STARTUP:
            self.state.velocity[:], self.state.vertical[:], covariance = alignment.solve()
            self.aligning = False
        if look.feet is not None or not self.aligning:  # by the velocity, too, from here on
            carried.see(look.feet, self.state.vertical)
        return covariance

    def level(self, force: Array) -> None:
        """Take the vertical along a specific force [m/s^2], shape (3,), until it is determined."""
        if self.aligning:
            self.state.vertical[:] = force / max(float(np.linalg.norm(force)), 1e-9)

    def looks(self, time: float) -> bool:
        """Return whether it takes what is seen, some time after it has [s]."""
        return time > self.interval - SHORTER
