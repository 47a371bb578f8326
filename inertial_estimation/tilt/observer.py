"""What estimates velocity and vertical of an IMU, whatever its method."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.tilt.error_state import TiltState
from inertial_estimation.tilt.feet_sensing import Feet
from inertial_estimation.tilt.imu_readings import ImuStatistics

SHORTER = 1e-4  # by which steps may be shorter than they should [s]
LONGEST_INTERVAL = 0.1  # between two looks, beyond which a velocity does not follow from them [s]


class Look(NamedTuple):
    """What is taken at the end of an interval, beyond the readings of each step.

    Attributes:
        feet: The contacts; None where they are not known.
        imu: What the readings of the interval show.
    """

    feet: Feet | None
    imu: ImuStatistics


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

    def level(self, force: Array) -> None:
        """Take the vertical along a specific force [m/s^2], shape (3,), until it is determined."""
        if self.aligning:
            self.state.vertical[:] = force / max(float(np.linalg.norm(force)), 1e-9)

    def looks(self, time: float) -> bool:
        """Return whether it takes what is seen, some time after it has [s]."""
        return time > self.interval - SHORTER
