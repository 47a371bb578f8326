"""The two-stage observer over a whole recording at once, for tuning.

The steps are those of `TwoStageObserver`, compiled into one loop where numba is installed. What does not
depend on the gains (kinematics, contact velocities, alignment) is computed once for a recording and used for
many runs.
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
from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.tilt.correction_rate import (
    DENSITY_SEEN,
    ELAPSED,
    MEMORY,
    ROW_SIZE,
    SIZE,
    SLOWEST,
    AdaptationConfig,
    best_rate,
    measure_velocity,
    uncorrected,
)
from inertial_estimation.estimators.tilt.observer_steps import lost_in_flight, step_without_contact
from inertial_estimation.estimators.tilt.tilt_observer import GravityFallbackConfig
from inertial_estimation.estimators.tilt.two_stage_observer import TwoStageConfig, two_stage_step
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial.vectors import ZERO, Vector, normalised, rotate, store, vector, vector_of


@dataclass(frozen=True, slots=True, eq=False)
class ObserverReadings:
    """What the observer takes at each of K steps.

    Attributes:
        h: Durations of the steps [s], shape (K,).
        w_I: Angular velocity of the IMU, bias removed, mean over each step [rad/s], shape (K, 3).
        f_I: Specific force, mean over each step [m/s^2], shape (K, 3).
        y_v: Velocity of the IMU in its frame from contacts [m/s], shape (K, 3); NaN without contact.
    """

    h: Array
    w_I: Array
    f_I: Array
    y_v: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", frozen_array("h", np.ascontiguousarray(self.h)))
        for name in ("w_I", "f_I", "y_v"):
            values = frozen_array(name, np.ascontiguousarray(getattr(self, name)), (len(self.h), 3))
            object.__setattr__(self, name, values)


@dataclass(frozen=True, slots=True, eq=False)
class ObservedStates:
    """States after each of K steps, all in the IMU frame.

    Attributes:
        x1: Velocity [m/s], shape (K, 3).
        x2: The vertical, shape (K, 3).
        innovation: Velocity innovation y_v - x1 at the middle of the step [m/s], shape (K, 3); zero without
            contact.
        correction: Angular velocity by which the step turned the vertical beyond the gyroscope [rad/s], shape
            (K, 3).
    """

    x1: Array
    x2: Array
    innovation: Array
    correction: Array


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveRates:
    """What the rate of the tilt correction follows, in addition to the velocity's innovation, at K steps.

    Attributes:
        config: How it follows.
        density: Density of the gyroscope's noise that was measured until each step [rad^2/s], shape (K,).
        bias_variance: Variance of the gyro bias across the vertical [rad^2/s^2], shape (K,).
        start: `CorrectionRate.state` before the first step.
    """

    config: AdaptationConfig
    density: Array
    bias_variance: Array
    start: tuple[float, ...]


def observe(
    readings: ObserverReadings,
    config: TwoStageConfig,
    fallback: GravityFallbackConfig,
    start: tuple[Array, ...],
    rates: Array | AdaptiveRates | None = None,
) -> ObservedStates:
    """Run the two-stage observer over a recording.

    Args:
        readings: What it takes at each step.
        config: Gains of (B 17).
        fallback: Correction without contact.
        start: x1 [m/s] and x2 at the begin, shape (3,) each, and where it differs from x2 the intermediate
            vertical x2'.
        rates: Rate at which the output follows the intermediate vertical in each step [1/s], shape (K,), or
            what it follows up to gamma; None: gamma in all of them.

    Returns:
        The states after each step, with the numbers of `TwoStageObserver.step`.

    Raises:
        MeasurementError: If `rates` has another length than the readings.
    """
    n = len(readings.h)
    adaptive = rates if isinstance(rates, AdaptiveRates) else None
    followed = np.full(n, config.gamma)
    if adaptive is None and rates is not None:
        followed = np.ascontiguousarray(rates, dtype=float)
    if followed.shape != (n,):
        raise MeasurementError(f"rates have shape {followed.shape}, expected ({n},)")
    warm_up()
    x2 = normalised(vector(start[1]))
    intermediate = vector(start[2]) if len(start) > 2 else x2
    states, noise, density, variance = zeros(n, 12), zeros(ROW_SIZE), np.zeros(1), np.zeros(1)
    if adaptive is not None:
        noise[:SIZE] = list(adaptive.start)
        noise[MEMORY], noise[SLOWEST] = adaptive.config.memory, adaptive.config.slowest
        density, variance = adaptive.density, adaptive.bias_variance
    _observe(
        numbers(readings.h),
        *(numbers(readings.w_I), numbers(readings.f_I), numbers(readings.y_v)),
        numbers(followed),
        (config.alpha1, config.alpha2),
        (fallback.gain, fallback.tolerance),
        (vector(start[0]), intermediate, x2),
        adaptive is not None,
        *(numbers(np.ascontiguousarray(density)), numbers(np.ascontiguousarray(variance))),
        noise,
        states,
    )
    found = np.asarray(states).reshape(n, 12)
    return ObservedStates(found[:, :3], found[:, 3:6], found[:, 6:9], found[:, 9:])


@compiled
def _observe(
    h: Column,
    w_I: Table,
    f_I: Table,
    y_v: Table,
    rates: Column,
    gains: tuple[float, float],
    fallback: tuple[float, float],
    start: tuple[Vector, Vector, Vector],
    adaptive: bool,
    density: Column,
    bias_variance: Column,
    noise: MutableColumn,
    states: MutableTable,
) -> None:
    """Write x1, x2, innovation and correction after each step."""
    x1, x2_intermediate, x2 = start
    flight, in_contact = 0.0, True
    for k in range(len(h)):
        w, f, y = vector_of(w_I[k], 0), vector_of(f_I[k], 0), vector_of(y_v[k], 0)
        innovation = ZERO
        if adaptive:
            noise[DENSITY_SEEN] = density[k]
            noise[ELAPSED] += h[k] if k else 0.0
        if y[0] == y[0] and y[1] == y[1] and y[2] == y[2]:
            if not in_contact:
                if lost_in_flight(flight, x1, y):
                    x1, x2_intermediate = y, x2
                flight, in_contact = 0.0, True
            rate = rates[k]
            if adaptive:
                rate = best_rate(h[k], bias_variance[k], rate, noise)
            state, innovation, correction = two_stage_step(
                h[k], gains, rate, (x1, x2_intermediate, x2), w, f, y
            )
            x1, x2_intermediate, x2 = state
            if adaptive:
                measure_velocity(h[k], innovation, x2, f, noise)
        else:
            if adaptive:
                uncorrected(h[k], bias_variance[k], noise)
            flight, in_contact = flight + h[k], False
            carried = rotate((-h[k] * w[0], -h[k] * w[1], -h[k] * w[2]), x2_intermediate)
            x1, x2, correction, aided = step_without_contact(h[k], fallback[0], fallback[1], (x1, x2), w, f)
            x2_intermediate = x2 if aided else carried
        store(states[k], 0, x1)
        store(states[k], 3, x2)
        store(states[k], 6, innovation)
        store(states[k], 9, correction)
