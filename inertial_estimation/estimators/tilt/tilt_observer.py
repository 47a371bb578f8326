"""The interface of tilt observers: velocity and vertical in the IMU frame from IMU and contact velocity.

All observers estimate x1 = v_WI in I (velocity of the IMU) and x2 = R_WI^T e_z (the vertical), whose
dynamics are (B 16): x1' = -S(w) x1 - g0 x2 + f, x2' = -S(w) x2, with specific force f and rate w.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from inertial_estimation.compilation import cells, warm_up, zeros
from inertial_estimation.estimators.tilt.observer_steps import (
    CORRECTION,
    FALLBACK_GAIN,
    FLIGHT,
    GRAVITY_AIDED,
    INNOVATION,
    INTERMEDIATE,
    LONGEST_FLIGHT,
    RATE,
    SENSITIVITY,
    SIZE,
    STAGED,
    TOLERANCE,
    VELOCITY_AIDED,
    X1,
    X2,
)
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, normalised, rotate, store, vector_of

GainsT = TypeVar("GainsT")


@dataclass(frozen=True)
class GravityFallbackConfig:
    """Parameters of the tilt correction while no contact gives a velocity."""

    gain: float = parameter(
        0.5,
        "Rate at which the tilt converges to the accelerometer's direction while no foot is in contact; 0 "
        "disables this correction.",
        unit="1/s",
        lower=0.0,
        upper=100.0,
        runtime=True,
    )
    tolerance: float = parameter(
        0.5,
        "Largest difference between the magnitude of the specific force and gravity at which the "
        "accelerometer corrects the tilt.",
        unit="m/s^2",
        lower=0.0,
        upper=9.0,
        runtime=True,
    )


class _VectorAt:
    """A vector among the numbers that all observers have."""

    def __init__(self, first: int) -> None:
        self._first = first

    def __get__(self, observer: "TiltObserver[Any]", kind: object = None) -> Vector:
        return vector_of(observer._cells, self._first)

    def __set__(self, observer: "TiltObserver[Any]", value: Vector) -> None:
        store(observer._cells, self._first, value)


class _FlagAt:
    """Whether a number that all observers have is not zero."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, observer: "TiltObserver[Any]", kind: object = None) -> bool:
        return bool(observer._cells[self._place])


class TiltObserver(ABC, Generic[GainsT]):
    """Velocity and vertical of an IMU, corrected by a velocity measured from contacts.

    Attributes:
        x1: Velocity of the IMU in its own frame [m/s].
        x2: The vertical in the IMU frame, unit norm.
        innovation: Velocity innovation y_v - x1 at the last step [m/s]; zero without contact.
        correction: Mean angular velocity by which the last step turned x2 beyond the gyroscope [rad/s]:
            x2' = -S(w - correction) x2. Its steady value is the horizontal gyro bias.
        velocity_aided: Whether the last step had a contact velocity.
        gravity_aided: Whether the last step was corrected by the accelerometer without a contact velocity.
        needs_feet: Whether the observer uses the positions of the contact points.
        own_size: How many numbers of its own it has.
        shared: Numbers that all observers have, for compiled functions.
        own: Numbers of this kind of observer, for compiled functions.
    """

    x1, x2 = _VectorAt(X1), _VectorAt(X2)
    innovation, correction = _VectorAt(INNOVATION), _VectorAt(CORRECTION)
    velocity_aided, gravity_aided = _FlagAt(VELOCITY_AIDED), _FlagAt(GRAVITY_AIDED)
    needs_feet = False
    own_size = 1

    def __init__(
        self, config: GainsT, fallback: GravityFallbackConfig, rows: tuple[Array, Array] | None = None
    ) -> None:
        """Begin upright and at rest.

        Args:
            config: Gains of the observer.
            fallback: Correction without contact.
            rows: Memory for at least `SIZE` numbers that all observers have, and `own_size` others; None: its
                own.
        """
        self.shared, self.own = (zeros(SIZE), zeros(self.own_size)) if rows is None else rows
        self._cells, self._own_cells = cells(self.shared), cells(self.own)
        self.configure(config, fallback)
        warm_up()
        self.initialise(ZERO, (0.0, 0.0, 1.0))

    def configure(self, config: GainsT, fallback: GravityFallbackConfig) -> None:
        """Take gains and correction without contact, which may have changed at run time."""
        self.config, self.fallback = config, fallback
        self._cells[FALLBACK_GAIN], self._cells[TOLERANCE] = fallback.gain, fallback.tolerance

    @property
    def x2_intermediate(self) -> Vector | None:
        """The unconstrained vertical of a first stage; None for an observer without one."""
        return vector_of(self._cells, INTERMEDIATE) if self._cells[STAGED] else None

    @property
    def in_short_flight(self) -> bool:
        """Whether there is no contact, but not for longer than a gait with flight has none."""
        return bool(0.0 < self._cells[FLIGHT] <= LONGEST_FLIGHT)

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Begin from a state.

        Args:
            x1: Velocity of the IMU in its frame [m/s].
            x2: The vertical in the IMU frame; normalised here.
        """
        self.x1, self.x2 = x1, normalised(x2)
        self.innovation = self.correction = ZERO
        numbers = self._cells
        numbers[VELOCITY_AIDED], numbers[GRAVITY_AIDED], numbers[FLIGHT] = 1.0, 0.0, 0.0

    @abstractmethod
    def step(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None) -> None:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].
            y_v: Velocity of the IMU in its frame from contacts [m/s]; None without contact.
        """

    def see_feet(self, feet: Sequence[Vector | None]) -> None:
        """Take the positions of the contact points before a step; an observer of velocities ignores them.

        Args:
            feet: Position of each contact point in the IMU frame at the end of the step [m]; None for a
                contact that is not in use.
        """

    def see_noise(self, gyro_density: float, bias_variance: float, information: float) -> None:
        """Take the noise of the readings of the next step; an observer of given gains ignores it.

        Args:
            gyro_density: Density of the gyroscope's noise [rad^2/s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
            information: Information of the contact velocity over the usual one; feet that contradict the
                prediction have less.
        """

    def follow_noise(self, h: float, bias_variance: float, noise: Array) -> None:
        """Let the rate of the next step with contact follow the noise; ignored where no rate can be set.

        Args:
            h: Duration of the step [s].
            bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2].
            noise: Numbers of `CorrectionRate`.
        """

    def expected_velocity(self, h: float, w_I: Vector, f_I: Vector) -> Vector | None:
        """Predict the mean velocity of a step, which distinguishes contacts that slip from those that stand.

        Args:
            h: Duration of the step [s].
            w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].

        Returns:
            Velocity of the IMU in its frame [m/s]; None of an observer whose gains do not follow the
            information of the contacts.
        """
        return None

    def forget_noise(self) -> None:
        """Forget what was measured of the noise; an observer that measures none ignores it."""

    def trust(self, sigma: float) -> None:
        """Set the standard deviation of the vertical; an observer without a covariance ignores it.

        Args:
            sigma: Of a vertical that was determined with the specific force as it is read [rad].
        """

    def restore(self, x2: Vector) -> None:
        """Set the vertical and keep the velocity.

        Args:
            x2: The vertical in the IMU frame; normalised here.
        """
        self.x2 = normalised(x2)

    def hold(self, h: float, w_I: Vector, before: Vector) -> None:
        """Undo the correction of the vertical in the last step, so that only the gyroscope has moved it.

        Args:
            h: Duration of the step [s].
            w_I: Its angular velocity [rad/s].
            before: The vertical at its begin.
        """
        self.x2 = normalised(rotate((-h * w_I[0], -h * w_I[1], -h * w_I[2]), before))
        self.correction = ZERO

    def store_rates(self) -> None:
        """Write rate of convergence and sensitivity to the bias to the numbers that all observers have."""
        self._cells[RATE], self._cells[SENSITIVITY] = self.convergence_rate, self.bias_sensitivity

    @property
    @abstractmethod
    def bias_sensitivity(self) -> float:
        """Steady tilt error per constant horizontal gyro bias [s]."""

    @property
    @abstractmethod
    def convergence_rate(self) -> float:
        """Slowest rate at which a small tilt error decays in contact [1/s]."""
