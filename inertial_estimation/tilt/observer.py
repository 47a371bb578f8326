"""What estimates velocity and vertical of an IMU, whatever its method."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from inertial_estimation.signals import Array

NOT_CLIPPED = np.zeros(3, dtype=bool)
NOT_CLIPPED.flags.writeable = False


class Feet(NamedTuple):
    """The contacts as joints and forces show them at one time.

    Attributes:
        points: Contact points in the IMU frame [m], shape (n, 3).
        rotations: IMU frame from the frame of each contact, shape (n, 3, 3).
        shares: Share of each contact in the weight, zero where it is not in use, of sum one or zero, shape
            (n,).
        soles: Whether each contact is a sole that stands flat, shape (n,).
    """

    points: Array
    rotations: Array
    shares: Array
    soles: Array


class Uncertainty(NamedTuple):
    """Covariances of small errors, IMU frame.

    Attributes:
        rotation: Of the orientation [rad^2], shape (3, 3); along the vertical that of the integrated yaw.
        velocity: [m^2/s^2], shape (3, 3).
        bias: Of the gyroscope's bias [rad^2/s^2], shape (3, 3).
    """

    rotation: Array
    velocity: Array
    bias: Array


class TiltObserver(ABC):
    """Estimates velocity and vertical of an IMU from its readings and from contacts that stand.

    Attributes:
        residual: Velocity that the contacts have shown beyond the expected one [m/s], shape (3,).
        doubt: Time since the gyroscope's bias was doubted [s]; infinite: never.
    """

    residual: Array
    doubt: float

    @abstractmethod
    def reset(self) -> None:
        """Forget everything, including the gyroscope's bias."""

    @abstractmethod
    def restart(self) -> None:
        """Determine velocity and vertical anew, for example after a gap; the bias is kept."""

    @abstractmethod
    def looks_at_contacts(self, h: float) -> bool:
        """Return whether a step of this duration [s] takes contacts; else they are not needed."""

    @abstractmethod
    def step(self, h: float, reading: Array, feet: Feet | None, clipped: Array = NOT_CLIPPED) -> None:
        """Advance by one step.

        Args:
            h: Its duration [s].
            reading: Mean specific force and angular rate over it [m/s^2, rad/s], shape (6,).
            feet: The contacts at its end; None where they are not known, or not looked at.
            clipped: About which axes the gyroscope is at the end of its range, shape (3,).
        """

    @abstractmethod
    def doubt_bias(self) -> None:
        """Make the gyroscope's bias as uncertain as at the start."""

    @property
    @abstractmethod
    def aligning(self) -> bool:
        """Whether the vertical at the start is still being determined, and there is no estimate."""

    @property
    @abstractmethod
    def vertical(self) -> Array:
        """The vertical in the IMU frame, unit norm, shape (3,)."""

    @property
    @abstractmethod
    def velocity(self) -> Array:
        """Velocity of the IMU in its frame [m/s], shape (3,)."""

    @property
    @abstractmethod
    def bias(self) -> Array:
        """Bias of the gyroscope [rad/s], shape (3,)."""

    @property
    @abstractmethod
    def uncertainty(self) -> Uncertainty:
        """Covariances of the errors."""

    @property
    @abstractmethod
    def contact_noise(self) -> float:
        """Standard deviation of a contact velocity, as the contacts show it [m/s]."""

    @property
    @abstractmethod
    def at_rest(self) -> bool:
        """Whether the robot has been quiet for as long as rest is believed."""
