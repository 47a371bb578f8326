"""Contact velocities and accelerometer readings that contradict one another do not reach the tilt.

The velocity predicted with the last specific force and the velocity from the contacts differ by an
innovation that changes little from step to step. A jump of it has one of two causes:

- the accelerometer: the innovation is opposite to the velocity that the last large readings have added. That
  velocity is taken back, as an error of the velocity and not of the tilt;
- joints or contacts: the velocity from the contacts is left out. If it stays where it jumped to, the
  observer's velocity restarts from it, as after a landing.
"""

import math

from inertial_estimation.estimators.tilt.tilt_observer import lost_in_flight
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import ZERO, Vector, add, combine, cross, distance, norm

__all__ = ["VelocityGuard"]

LARGE_SURGE = 0.05  # velocity that one step adds beyond gravity from which it is doubted [m/s]
LEAST_SURGE = 0.12  # added velocity below which an error of the accelerometer is not looked for [m/s]
SURGE_STEPS = 3  # steps after a large reading in which the innovation can show that it was wrong
EXPLAINED = 0.45  # the surge explains an innovation of which it leaves less than this share
UNUSUAL = 4.0  # times the mean innovation: one that is looked into
LEAST_JUMP = 0.15  # change of the innovation in one step that is never doubted [m/s]
JUMP_FACTOR = 10.0  # changes up to this many times their mean are not doubted
CONTRADICTION = 1.0  # change of the innovation in one step that no impact explains [m/s]
MEAN_MEMORY = 1.0  # time constant of the means [s]
LONGEST_DOUBT = 0.1  # a velocity that stays where it jumped to is believed after this long [s]


class VelocityGuard:
    """Compares the contact velocity with the prediction before every step of the observer.

    Attributes:
        force_outliers: Number of times that the accelerometer's contribution was taken back.
        velocity_outliers: Number of contact velocities left out.
        contradiction: Whether the last of them jumped by more than any impact makes it.
    """

    def __init__(self) -> None:
        self.force_outliers = 0
        self.velocity_outliers = 0
        self.reset()

    def reset(self) -> None:
        """Begin without a velocity; the counters stay."""
        self._innovation: Vector | None = None
        self._flight = math.inf  # time without contact until now [s]
        self._mean_jump = 0.0
        self._mean_innovation = 0.0
        self._surge: Vector = ZERO
        self._surge_steps = 0
        self._doubted_for = 0.0
        self.contradiction = False

    @property
    def doubting(self) -> bool:
        """Whether the last contact velocity was left out."""
        return self._doubted_for > 0.0

    def check(
        self, h: float, w_I: Vector, f_I: Vector, y_v: Vector | None, x1: Vector, x2: Vector
    ) -> tuple[Vector, Vector, Vector | None]:
        """Judge the readings of one step.

        Args:
            h: Duration of the step [s].
            w_I: Angular velocity of the IMU, mean over the step [rad/s].
            f_I: Specific force, mean over the step [m/s^2].
            y_v: Velocity of the IMU from contacts [m/s]; None without contact.
            x1: The observer's velocity at the begin of the step [m/s].
            x2: Its vertical.

        Returns:
            Velocity, specific force and contact velocity with which the observer makes the step. The contact
            velocity is None only where it was None.
        """
        added = combine(f_I, -STANDARD_GRAVITY, x2)
        added = (h * added[0], h * added[1], h * added[2])
        predicted = combine(add(x1, added), -h, cross(w_I, x1))
        if y_v is None:
            self._innovation, self._doubted_for = None, 0.0
            self._flight += h
            return x1, f_I, None
        e = (y_v[0] - predicted[0], y_v[1] - predicted[1], y_v[2] - predicted[2])
        surge = self._wrong_surge(added, e)
        if surge is not None:  # as if the base were not accelerated in this step
            x1, e = add(combine(x1, -1.0, surge), added), add(e, surge)
            f_I = (STANDARD_GRAVITY * x2[0], STANDARD_GRAVITY * x2[1], STANDARD_GRAVITY * x2[2])
        before = self._innovation
        if before is None:  # after a flight, and where the observer's velocity begins at this one
            self._innovation = ZERO if lost_in_flight(self._flight, x1, y_v) else e
            self._flight = 0.0
            return x1, f_I, y_v
        jump = distance(e, before)
        limit = max(LEAST_JUMP, JUMP_FACTOR * self._mean_jump)
        share = h / (h + MEAN_MEMORY)
        self._mean_jump += share * (min(jump, limit) - self._mean_jump)
        self._mean_innovation += share * (min(norm(e), limit) - self._mean_innovation)
        if jump <= limit:
            self._innovation = e
            self._doubted_for = 0.0
            return x1, f_I, y_v
        x1, y_v = self._doubt(h, x1, y_v, e, jump)
        return x1, f_I, y_v

    def _wrong_surge(self, added: Vector, e: Vector) -> Vector | None:
        """Return what large readings of the accelerometer have added if the innovation is its opposite."""
        x, y, z = added
        if x * x + y * y + z * z > LARGE_SURGE * LARGE_SURGE:
            self._surge = add(self._surge, added)
            self._surge_steps = 0
        elif self._surge is ZERO:
            return None
        else:
            self._surge_steps += 1
        surge, size = self._surge, norm(self._surge)
        if size > LEAST_SURGE:
            left, whole = norm(add(e, surge)), norm(e)
            if left < EXPLAINED * whole and whole > UNUSUAL * self._mean_innovation:
                self._surge, self.force_outliers = ZERO, self.force_outliers + 1
                return surge
        if self._surge_steps >= SURGE_STEPS:
            self._surge = ZERO
        return None

    def _doubt(self, h: float, x1: Vector, y_v: Vector, e: Vector, jump: float) -> tuple[Vector, Vector]:
        self.velocity_outliers += 1
        self.contradiction = jump > CONTRADICTION
        self._doubted_for += h
        if self._doubted_for > LONGEST_DOUBT:
            self._doubted_for, self._innovation, self._flight = 0.0, None, math.inf
            return y_v, y_v
        # The prediction in the place of the measurement: an innovation of zero.
        return x1, (y_v[0] - e[0], y_v[1] - e[1], y_v[2] - e[2])
