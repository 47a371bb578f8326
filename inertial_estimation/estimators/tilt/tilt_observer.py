"""The interface of tilt observers: velocity and vertical in the IMU frame from IMU and contact velocity.

All observers estimate x1 = v_WI in I (velocity of the IMU) and x2 = R_WI^T e_z (the vertical), whose
dynamics are (B 16): x1' = -S(w) x1 - g0 x2 + f, x2' = -S(w) x2, with specific force f and rate w.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inertial_estimation.compilation import compiled, inlined, warm_up
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    combine,
    cross,
    distance,
    norm,
    normalised,
    rotate,
)

__all__ = [
    "STANDARD_GRAVITY",
    "GravityFallbackConfig",
    "TiltObserver",
    "lost_in_flight",
    "slow_root",
    "step_without_contact",
    "velocity_correction",
]

LONGEST_FLIGHT = 0.3  # time without contact after which a velocity integrated through it is dropped [s]
LARGEST_LANDING = 0.5  # difference from the contact velocity at landing for which it is dropped, too [m/s]
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


class TiltObserver(ABC, Generic[GainsT]):
    """Velocity and vertical of an IMU, corrected by a velocity measured from contacts.

    Attributes:
        config: Gains of the observer; they may be replaced while it runs.
        fallback: Correction without contact; it may be replaced while the observer runs.
        x1: Velocity of the IMU in its own frame [m/s].
        x2: The vertical in the IMU frame, unit norm.
        innovation: Velocity innovation y_v - x1 at the last step [m/s]; zero without contact.
        correction: Mean angular velocity by which the last step turned x2 beyond the gyroscope [rad/s]:
            x2' = -S(w - correction) x2. Its steady value is the horizontal gyro bias.
        velocity_aided: Whether the last step had a contact velocity.
        gravity_aided: Whether the last step was corrected by the accelerometer without a contact velocity.
        needs_feet: Whether the observer uses the positions of the contact points.
        x2_intermediate: The unconstrained vertical of a first stage; None for an observer without one.
    """

    x2_intermediate: Vector | None = None
    needs_feet = False

    def __init__(self, config: GainsT, fallback: GravityFallbackConfig) -> None:
        self.config = config
        self.fallback = fallback
        warm_up()
        self.initialise(ZERO, (0.0, 0.0, 1.0))

    def initialise(self, x1: Vector, x2: Vector) -> None:
        """Begin from a state.

        Args:
            x1: Velocity of the IMU in its frame [m/s].
            x2: The vertical in the IMU frame; normalised here.
        """
        self.x1 = x1
        self.x2 = normalised(x2)
        self.innovation = ZERO
        self.correction = ZERO
        self.velocity_aided = True
        self.gravity_aided = False
        self._flight = 0.0  # time without contact until now [s]

    def step(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None) -> None:
        """Advance by one step.

        Args:
            h: Duration of the step [s].
            w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].
            y_v: Velocity of the IMU in its frame from contacts [m/s]; None without contact.
        """
        if y_v is None:
            self._flight += h
            self._step_without_contact(h, w_I, f_I)
            return
        if not self.velocity_aided:
            self._land(y_v)
        self.velocity_aided, self.gravity_aided = True, False
        self._step_with_contact(h, w_I, f_I, y_v)

    @property
    def in_short_flight(self) -> bool:
        """Whether there is no contact, but not for longer than a gait with flight has none."""
        return 0.0 < self._flight <= LONGEST_FLIGHT

    def _land(self, y_v: Vector) -> None:
        """Begin with the first contact velocity after a flight.

        The feet strike and skid at the moment of landing. After a short flight the integrated velocity is the
        better one; after a long one, or after a push in flight, the measured velocity is.
        """
        if self._lost(y_v):
            self.initialise(y_v, self.x2)
        self._flight = 0.0

    def _lost(self, y_v: Vector) -> bool:
        return lost_in_flight(self._flight, self.x1, y_v)

    @property
    def state(self) -> tuple[float, ...]:
        """The numbers that steps change, for a run over a whole recording; empty where there is none."""
        return ()

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

    @property
    @abstractmethod
    def bias_sensitivity(self) -> float:
        """Steady tilt error per constant horizontal gyro bias [s]."""

    @property
    @abstractmethod
    def convergence_rate(self) -> float:
        """Slowest rate at which a small tilt error decays in contact [1/s]."""

    @abstractmethod
    def _step_with_contact(self, h: float, w_I: Vector, f_I: Vector, y_v: Vector) -> None:
        """Advance by one step with the measured velocity; set `innovation` and `correction`."""

    def _step_without_contact(self, h: float, w_I: Vector, f_I: Vector) -> None:
        """Propagate (B 16); where |f| is near g0, rotate x2 towards f and decay x1 at the same rate."""
        self.velocity_aided = False
        self.innovation = ZERO
        self.x1, self.x2, self.correction, self.gravity_aided = step_without_contact(
            h, self.fallback.gain, self.fallback.tolerance, (self.x1, self.x2), w_I, f_I
        )


def velocity_correction(x2: Vector, e: Vector, gain: float) -> Vector:
    """Return the angular velocity that moves x2 by the tangent part of -(gain/g0) e: -(gain/g0) x2 x e.

    Args:
        x2: A vertical.
        e: Error of a velocity [m/s].
        gain: Its gain [1/s].
    """
    scale = -gain / STANDARD_GRAVITY
    a = cross(x2, e)
    return scale * a[0], scale * a[1], scale * a[2]


@compiled
def step_without_contact(
    h: float, gain: float, tolerance: float, state: tuple[Vector, Vector], w_I: Vector, f_I: Vector
) -> tuple[Vector, Vector, Vector, bool]:
    """Propagate (B 16); where |f| is near g0, rotate x2 towards f and decay x1 at the same rate.

    Args:
        h: Duration of the step [s].
        gain: Rate of this correction [1/s]; 0: none.
        tolerance: Largest difference between |f| and g0 for it [m/s^2].
        state: x1 [m/s] and x2 at the begin.
        w_I: Angular velocity of the IMU, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].

    Returns:
        x1 and x2 at the end, the correction of the vertical [rad/s], and whether gravity has corrected it.
    """
    force = norm(f_I)
    aided = abs(force - STANDARD_GRAVITY) <= tolerance and gain > 0.0 and force > 0.0
    half = (-0.5 * h * w_I[0], -0.5 * h * w_I[1], -0.5 * h * w_I[2])
    x2_middle = rotate(half, state[1])
    x1 = rotate(half, state[0])
    x1 = combine(combine(x1, h, f_I), -h * STANDARD_GRAVITY, x2_middle)
    x1, x2, correction = rotate(half, x1), rotate(half, x2_middle), ZERO
    if aided:
        target = (f_I[0] / force, f_I[1] / force, f_I[2] / force)
        x2, turned = turn_towards(x2, target, gain * h)
        correction = (turned[0] / h, turned[1] / h, turned[2] / h)
        keep = 1.0 / (1.0 + gain * h)
        x1 = (keep * x1[0], keep * x1[1], keep * x1[2])
    return x1, normalised(x2), correction, aided


@inlined
def lost_in_flight(flight: float, x1: Vector, y_v: Vector) -> bool:
    """Return whether a velocity integrated without contact is less accurate than the first measured one.

    Args:
        flight: Time without contact [s].
        x1: The integrated velocity [m/s].
        y_v: The measured one [m/s].
    """
    return flight > LONGEST_FLIGHT or distance(x1, y_v) > LARGEST_LANDING


def slow_root(a1: float, a2: float) -> float:
    """Return the rate of the slower root of s^2 + a1 s + a2, its real part where complex [1/s]."""
    return 0.5 * (a1 - math.sqrt(max(a1 * a1 - 4.0 * a2, 0.0)))
