"""One step of the Kalman observer, with or without contact, on the numbers of `KalmanObserver`."""

from inertial_estimation.compilation import MutableColumn, compiled, inlined
from inertial_estimation.estimators.tilt.kalman_steps import (
    OFFSET,
    RATES,
    SIZE,
    forget_velocity,
    kalman_step,
    propagate,
    settle,
)
from inertial_estimation.estimators.tilt.observer_steps import (
    CORRECTION,
    FALLBACK_GAIN,
    FLIGHT,
    GRAVITY_AIDED,
    INNOVATION,
    RATE,
    SENSITIVITY,
    VELOCITY_AIDED,
    VELOCITY_GAIN,
    X1,
    X2,
    advance_without_contact,
    lost_in_flight,
    slow_root,
)
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.spatial.vectors import Vector, combine, cross, dot, store, vector_of

# Behind the numbers of `kalman_steps`: x1 at the end of the last step; density of the gyroscope's noise,
# variance of its bias and information of the contact velocity as they were seen last; window and memory, and
# the random walks, of `KalmanConfig`.
TOLD, SEEN, TIMES, DRIFTS, OWN_SIZE = SIZE, SIZE + 3, SIZE + 6, SIZE + 8, SIZE + 10
SLOWEST, FASTEST = 0.02, 10.0  # bounds of the rate of convergence that is reported [1/s]


@inlined
def velocity_was_set(shared: MutableColumn, own: MutableColumn) -> bool:
    """Return whether the velocity was set from outside since the last step.

    Args:
        shared: Numbers that all observers have.
        own: Those of the Kalman observer.
    """
    return vector_of(shared, X1) != vector_of(own, TOLD)


@inlined
def kalman_rate(own: MutableColumn) -> float:
    """Return the slowest root of the error with the gains of the last step, within bounds [1/s].

    Args:
        own: Numbers of the Kalman observer.
    """
    return min(max(slow_root(own[RATES], own[RATES + 1]), SLOWEST), FASTEST)


@inlined
def store_kalman_rates(shared: MutableColumn, own: MutableColumn) -> None:
    """Write the rates and gains of the last step to the numbers that all observers have.

    Args:
        shared: Those numbers; changed.
        own: Numbers of the Kalman observer.
    """
    shared[RATE] = kalman_rate(own)
    shared[SENSITIVITY] = 1.0 / shared[RATE]
    shared[VELOCITY_GAIN] = own[RATES + 1] / STANDARD_GRAVITY


@inlined
def expected_velocity(
    h: float, w_I: Vector, f_I: Vector, shared: MutableColumn, own: MutableColumn
) -> Vector:
    """Predict the mean velocity of a step [m/s], as `TiltObserver.expected_velocity`.

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        shared: Numbers that all observers have.
        own: Those of the Kalman observer.
    """
    x1 = vector_of(shared, X1)
    a = combine(combine(f_I, -1.0, vector_of(own, OFFSET)), -STANDARD_GRAVITY, vector_of(shared, X2))
    return combine(x1, 0.5 * h, combine(a, -1.0, cross(w_I, x1)))


@compiled
def advance_kalman(
    h: float,
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
    aided: bool,
    shared: MutableColumn,
    own: MutableColumn,
) -> None:
    """Advance the Kalman observer by one step.

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity of the IMU, bias removed, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU in its frame from contacts, mean over the step [m/s]; used with contact only.
        aided: Whether there is contact.
        shared: Numbers that all observers have; changed.
        own: Those of the Kalman observer; changed.
    """
    if not aided:
        _advance_in_flight(h, w_I, f_I, shared, own)
        return
    if (
        shared[VELOCITY_AIDED] == 0.0
    ):  # the first contact after a flight; what is known of the vertical is kept
        if lost_in_flight(shared[FLIGHT], vector_of(shared, X1), y_v):
            store(shared, X1, y_v)
        shared[FLIGHT] = 0.0
    shared[VELOCITY_AIDED], shared[GRAVITY_AIDED] = 1.0, 0.0
    if velocity_was_set(shared, own):
        forget_velocity(own)
    noise, before = vector_of(own, SEEN), (vector_of(shared, X1), vector_of(shared, X2))
    times, drifts = (own[TIMES], own[TIMES + 1]), (own[DRIFTS], own[DRIFTS + 1])
    x1, x2, innovation, correction = kalman_step(h, noise, times, drifts, before, w_I, f_I, y_v, own)
    store(shared, X1, x1)
    store(shared, X2, x2)
    store(shared, INNOVATION, innovation)
    store(shared, CORRECTION, correction)
    store(own, TOLD, x1)


@inlined
def _advance_in_flight(h: float, w_I: Vector, f_I: Vector, shared: MutableColumn, own: MutableColumn) -> None:
    was_set = velocity_was_set(shared, own)
    shared[FLIGHT] += h
    advance_without_contact(h, w_I, combine(f_I, -1.0, vector_of(own, OFFSET)), shared)
    turn_rate, drifts = dot(w_I, vector_of(shared, X2)), (own[DRIFTS], own[DRIFTS + 1])
    propagate(h, turn_rate, own[SEEN], own[SEEN + 1], drifts, own)
    if shared[GRAVITY_AIDED] > 0.0:
        settle(h, shared[FALLBACK_GAIN], own)
    if not was_set:
        store(own, TOLD, vector_of(shared, X1))
