"""Contact velocities and accelerometer readings that contradict one another do not reach the tilt.

The velocity predicted with the last specific force and the velocity from the contacts differ by an
innovation that changes little from step to step. A jump of it has one of two causes:

- the accelerometer: the innovation is opposite to the velocity that the last large readings have added. That
  velocity is taken back, as an error of the velocity and not of the tilt;
- joints or contacts: the velocity from the contacts is left out. If it stays where it jumped to, the
  observer's velocity restarts from it, as after a landing.
"""

import math

from inertial_estimation.compilation import MutableColumn, cells, inlined, zeros
from inertial_estimation.estimators.tilt.observer_steps import lost_in_flight
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import (
    ZERO,
    Vector,
    add,
    combine,
    cross,
    distance,
    dot,
    norm,
    store,
    vector_of,
)

LARGE_SURGE = 0.05  # velocity that one step adds beyond gravity from which it is doubted [m/s]
LEAST_SURGE = 0.12  # added velocity below which an error of the accelerometer is not looked for [m/s]
SURGE_STEPS_LOOKED_AT = 3  # steps after a large reading in which the innovation can show that it was wrong
EXPLAINED = 0.45  # the surge explains an innovation of which it leaves less than this share
UNUSUAL = 4.0  # times the mean innovation: one that is looked into
LEAST_JUMP = 0.15  # change of the innovation in one step that is never doubted [m/s]
JUMP_FACTOR = 10.0  # changes up to this many times their mean are not doubted
CONTRADICTED = 1.0  # change of the innovation in one step that no impact explains [m/s]
MEAN_MEMORY = 1.0  # time constant of the means [s]
LONGEST_DOUBT = 0.1  # a velocity that stays where it jumped to is believed after this long [s]

# Numbers of the state: whether the last innovation is known, time without contact until now [s], means of
# jump and norm of the innovation [m/s], whether large readings are looked at and for how many steps, time
# for which the contact velocity has been left out [s], whether it jumped by more than any impact makes it,
# numbers of outliers of both kinds, the last innovation and what large readings have added [m/s].
KNOWN, FLIGHT, MEAN_JUMP, MEAN_INNOVATION, SURGING, SURGE_STEPS = range(6)
DOUBTED_FOR, CONTRADICTION, FORCE_OUTLIERS, VELOCITY_OUTLIERS, INNOVATION, SURGE, SIZE = *range(6, 11), 13, 16


class VelocityGuard:
    """State of the comparison of the contact velocity with the prediction, before every step of the observer.

    Attributes:
        row: Numbers of the state, for `judged_readings`.
    """

    def __init__(self, row: Array | None = None) -> None:
        """Begin without a velocity.

        Args:
            row: Memory for at least `SIZE` numbers; None: its own.
        """
        self.row = zeros(SIZE) if row is None else row
        self._cells = cells(self.row)
        self.reset()

    def reset(self) -> None:
        """Begin without a velocity; the counters stay."""
        for k in range(SIZE):
            if k not in (FORCE_OUTLIERS, VELOCITY_OUTLIERS):
                self._cells[k] = 0.0
        self._cells[FLIGHT] = math.inf

    @property
    def force_outliers(self) -> int:
        """Number of times that the accelerometer's contribution was taken back."""
        return int(self._cells[FORCE_OUTLIERS])

    @property
    def velocity_outliers(self) -> int:
        """Number of contact velocities left out."""
        return int(self._cells[VELOCITY_OUTLIERS])

    @property
    def contradiction(self) -> bool:
        """Whether the last of them jumped by more than any impact makes it."""
        return bool(self._cells[CONTRADICTION])

    @property
    def doubting(self) -> bool:
        """Whether the last contact velocity was left out."""
        return bool(self._cells[DOUBTED_FOR] > 0.0)


@inlined
def judged_readings(
    h: float,
    w_I: Vector,
    f_I: Vector,
    y_v: Vector,
    aided: bool,
    state: tuple[Vector, Vector],
    numbers: MutableColumn,
) -> tuple[Vector, Vector, Vector]:
    """Judge the readings of one step.

    Args:
        h: Duration of the step [s].
        w_I: Angular velocity of the IMU, mean over the step [rad/s].
        f_I: Specific force, mean over the step [m/s^2].
        y_v: Velocity of the IMU from contacts [m/s]; used with contact only.
        aided: Whether there is contact.
        state: The observer's velocity at the begin of the step [m/s], and its vertical.
        numbers: Those of `VelocityGuard`; updated.

    Returns:
        Velocity, specific force and contact velocity with which the observer makes the step.
    """
    if aided:
        return _judged(h, w_I, f_I, y_v, state[0], state[1], numbers)
    numbers[KNOWN], numbers[DOUBTED_FOR] = 0.0, 0.0
    numbers[FLIGHT] += h
    return state[0], f_I, y_v


@inlined
def _judged(
    h: float, w_I: Vector, f_I: Vector, y_v: Vector, x1: Vector, x2: Vector, state: MutableColumn
) -> tuple[Vector, Vector, Vector]:
    """Return velocity, specific force and contact velocity of a step with contact, as `judged_readings`."""
    added = combine(f_I, -STANDARD_GRAVITY, x2)
    added = (h * added[0], h * added[1], h * added[2])
    predicted = combine(add(x1, added), -h, cross(w_I, x1))
    e = (y_v[0] - predicted[0], y_v[1] - predicted[1], y_v[2] - predicted[2])
    wrong, surge = _wrong_surge(added, e, state)
    if wrong:  # as if the base were not accelerated in this step
        x1, e = add(combine(x1, -1.0, surge), added), add(e, surge)
        f_I = (STANDARD_GRAVITY * x2[0], STANDARD_GRAVITY * x2[1], STANDARD_GRAVITY * x2[2])
    if state[KNOWN] == 0.0:  # after a flight, and where the observer's velocity begins at this one
        store(state, INNOVATION, ZERO if lost_in_flight(state[FLIGHT], x1, y_v) else e)
        state[KNOWN], state[FLIGHT] = 1.0, 0.0
        return x1, f_I, y_v
    jump = distance(e, vector_of(state, INNOVATION))
    limit = max(LEAST_JUMP, JUMP_FACTOR * state[MEAN_JUMP])
    share = h / (h + MEAN_MEMORY)
    state[MEAN_JUMP] += share * (min(jump, limit) - state[MEAN_JUMP])
    state[MEAN_INNOVATION] += share * (min(norm(e), limit) - state[MEAN_INNOVATION])
    if jump <= limit:
        store(state, INNOVATION, e)
        state[DOUBTED_FOR] = 0.0
        return x1, f_I, y_v
    state[VELOCITY_OUTLIERS] += 1.0
    state[CONTRADICTION] = 1.0 if jump > CONTRADICTED else 0.0
    state[DOUBTED_FOR] += h
    if state[DOUBTED_FOR] > LONGEST_DOUBT:
        state[DOUBTED_FOR], state[KNOWN], state[FLIGHT] = 0.0, 0.0, math.inf
        return y_v, f_I, y_v
    # The prediction in the place of the measurement: an innovation of zero.
    return x1, f_I, (y_v[0] - e[0], y_v[1] - e[1], y_v[2] - e[2])


@inlined
def _wrong_surge(added: Vector, e: Vector, state: MutableColumn) -> tuple[bool, Vector]:
    """Return whether the innovation is the opposite of what large readings have added, and the latter."""
    surge = vector_of(state, SURGE)
    if dot(added, added) > LARGE_SURGE * LARGE_SURGE:
        surge = add(surge, added)
        state[SURGE_STEPS], state[SURGING] = 0.0, 1.0
    elif state[SURGING] == 0.0:
        return False, ZERO
    else:
        state[SURGE_STEPS] += 1.0
    size, wrong = norm(surge), False
    if size > LEAST_SURGE:
        left, whole = norm(add(e, surge)), norm(e)
        wrong = left < EXPLAINED * whole and whole > UNUSUAL * state[MEAN_INNOVATION]
        state[FORCE_OUTLIERS] += 1.0 if wrong else 0.0
    over = wrong or state[SURGE_STEPS] >= SURGE_STEPS_LOOKED_AT
    state[SURGING] = 0.0 if over else 1.0
    store(state, SURGE, ZERO if over else surge)
    return wrong, surge
