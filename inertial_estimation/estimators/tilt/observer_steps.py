"""What the steps of all observers have in common: numbers, and the motion without contact; arithmetic."""

import math

from inertial_estimation.compilation import MutableColumn, compiled, inlined
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    combine,
    distance,
    norm,
    normalised,
    rotate,
    store,
    vector_of,
)

LONGEST_FLIGHT = 0.3  # time without contact after which a velocity integrated through it is dropped [s]
LARGEST_LANDING = 0.5  # difference from the contact velocity for which it is dropped, too [m/s]
# Numbers that all observers have: x1 and x2, innovation and correction of the last step, whether it had a
# contact velocity and whether gravity corrected it, time without contact until now [s]; rate and sensitivity
# as in `TiltObserver`, as they were last stored; whether there is an intermediate vertical, and that
# vertical; gain and tolerance of `GravityFallbackConfig`; angular velocity by which a velocity innovation of
# 1 m/s turns the vertical at once, as it was last stored [rad/m], 0 where an intermediate vertical is turned.
X1, X2, INNOVATION, CORRECTION, VELOCITY_AIDED, GRAVITY_AIDED, FLIGHT = 0, 3, 6, 9, 12, 13, 14
RATE, SENSITIVITY, STAGED, INTERMEDIATE, FALLBACK_GAIN, TOLERANCE, VELOCITY_GAIN, SIZE = (
    *(15, 16, 17, 18),
    *range(21, 25),
)


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
def advance_without_contact(h: float, w_I: Vector, f_I: Vector, shared: MutableColumn) -> None:
    """Advance the numbers that all observers have by one step without contact (`step_without_contact`).

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity of the IMU, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        shared: `TiltObserver.shared`.
    """
    state = vector_of(shared, X1), vector_of(shared, X2)
    x1, x2, correction, aided = step_without_contact(
        h, shared[FALLBACK_GAIN], shared[TOLERANCE], state, w_I, f_I
    )
    store(shared, X1, x1)
    store(shared, X2, x2)
    store(shared, CORRECTION, correction)
    store(shared, INNOVATION, ZERO)
    shared[VELOCITY_AIDED], shared[GRAVITY_AIDED] = 0.0, 1.0 if aided else 0.0


@inlined
def lost_in_flight(flight: float, x1: Vector, y_v: Vector) -> bool:
    """Return whether a velocity integrated without contact is less accurate than the first measured one.

    Args:
        flight: Time without contact [s].
        x1: The integrated velocity [m/s].
        y_v: The measured one [m/s].
    """
    return flight > LONGEST_FLIGHT or distance(x1, y_v) > LARGEST_LANDING


@inlined
def slow_root(a1: float, a2: float) -> float:
    """Return the rate of the slower root of s^2 + a1 s + a2, its real part where complex [1/s]."""
    return 0.5 * (a1 - math.sqrt(max(a1 * a1 - 4.0 * a2, 0.0)))
