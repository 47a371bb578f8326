"""The Kalman observer over a whole recording at once, for tuning.

The steps are those of `KalmanObserver`, compiled into one loop where numba is installed. What does not
depend on its parameters (kinematics, contact velocities, alignment, noise of the gyroscope) is computed once
for a recording and used for many runs.
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    numbers,
    warm_up,
    zeros,
)
from inertial_estimation.estimators.tilt.kalman_observer import KalmanConfig
from inertial_estimation.estimators.tilt.kalman_steps import (
    OFFSET,
    SIZE,
    forget_velocity,
    kalman_step,
    propagate,
    settle,
)
from inertial_estimation.estimators.tilt.observer_batch import ObservedStates, ObserverReadings
from inertial_estimation.estimators.tilt.observer_steps import lost_in_flight, step_without_contact
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial.vectors import ZERO, Vector, combine, dot, store, vector_of

SET_OUTSIDE, NUMBERS = 6, 7  # places in `KalmanObserver.state`, after x1 and x2


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNoise:
    """What the gains follow at each of K steps, in addition to the innovation (`KalmanObserver.see_noise`).

    Attributes:
        density: Density of the gyroscope's noise [rad^2/s], shape (K,).
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2], shape (K,).
        information: Information of the contact velocity over the usual one, shape (K,).
    """

    density: Array
    bias_variance: Array
    information: Array

    def __post_init__(self) -> None:
        for name in ("density", "bias_variance", "information"):
            values = frozen_array(name, np.ascontiguousarray(getattr(self, name)), (len(self.density),))
            object.__setattr__(self, name, values)


def observe_with_covariance(
    readings: ObserverReadings,
    noise: MeasuredNoise,
    config: KalmanConfig,
    fallback: GravityFallbackConfig,
    start: Array,
) -> ObservedStates:
    """Run the Kalman observer over a recording.

    Args:
        readings: What it takes at each of K steps.
        noise: What its gains follow.
        config: Its parameters; `accelerometer_offset` is that with which the state at the begin was set.
        fallback: Correction without contact.
        start: `KalmanObserver.state` at the begin, shape (55,).

    Returns:
        The states after each step, with the numbers of `KalmanObserver.step`.
    """
    warm_up()
    states, state = zeros(len(readings.h), 12), zeros(SIZE)
    state[:] = start[NUMBERS:].tolist()
    _observe(
        numbers(readings.h),
        (numbers(readings.w_I), numbers(readings.f_I), numbers(readings.y_v)),
        (numbers(noise.density), numbers(noise.bias_variance), numbers(noise.information)),
        config.times,
        config.drifts,
        (fallback.gain, fallback.tolerance),
        (vector_of(start, 0), vector_of(start, 3)),
        start[SET_OUTSIDE] > 0.0,
        state,
        states,
    )
    found = np.asarray(states).reshape(-1, 12)
    return ObservedStates(found[:, :3], found[:, 3:6], found[:, 6:9], found[:, 9:])


@compiled
def _observe(
    h: Column,
    readings: tuple[Table, Table, Table],
    noise: tuple[Column, Column, Column],
    times: tuple[float, float],
    drifts: tuple[float, float],
    fallback: tuple[float, float],
    start: tuple[Vector, Vector],
    set_outside: bool,
    state: MutableColumn,
    states: MutableTable,
) -> None:
    """Write x1, x2, innovation and correction after each step."""
    x1, x2 = start
    flight, in_contact = 0.0, True
    for k in range(len(h)):
        w, f, y = vector_of(readings[0][k], 0), vector_of(readings[1][k], 0), vector_of(readings[2][k], 0)
        density, bias_variance, innovation = noise[0][k], noise[1][k], ZERO
        if y[0] == y[0] and y[1] == y[1] and y[2] == y[2]:
            if not in_contact:
                if lost_in_flight(flight, x1, y):
                    x1, set_outside = y, True
                flight, in_contact = 0.0, True
            if set_outside:
                forget_velocity(state)
            seen = density, bias_variance, noise[2][k]
            x1, x2, innovation, correction = kalman_step(h[k], seen, times, drifts, (x1, x2), w, f, y, state)
            set_outside = False
        else:
            flight, in_contact = flight + h[k], False
            a = combine(f, -1.0, vector_of(state, OFFSET))
            x1, x2, correction, aided = step_without_contact(h[k], fallback[0], fallback[1], (x1, x2), w, a)
            propagate(h[k], dot(w, x2), density, bias_variance, drifts, state)
            if aided:
                settle(h[k], fallback[0], state)
        store(states[k], 0, x1)
        store(states[k], 3, x2)
        store(states[k], 6, innovation)
        store(states[k], 9, correction)
