"""Limits of the log-Cholesky coordinates of bodies: those that floating point can tell from inconsistent."""

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, compiled, inlined
from inertial_estimation.signals import Array
from inertial_estimation.spatial.log_cholesky import fill_condition_bounds

HALVINGS = 30  # of the way from nominal, until the limit is met to 1e-9 of it

# Nominal coordinates of k bodies and their largest distances from these, shape (10 k,) each, and largest
# bounds of the condition numbers of the bodies, shape (k,).
CoordinateLimits = tuple[Array, Array, Array]


@inlined
def limited(limits: tuple[Column, Column, Column], x: MutableColumn) -> None:
    """Limit the coordinates of bodies.

    Args:
        limits: As `CoordinateLimits`.
        x: State, bodies first; the coordinates of bodies are changed.
    """
    nominal, deviation, largest = limits
    n, conditions = len(nominal), np.empty(len(largest))
    x[:n] = np.minimum(np.maximum(x[:n], nominal - deviation), nominal + deviation)
    fill_condition_bounds(x[:n].reshape(-1, 10), conditions)
    for i in range(len(largest)):
        if conditions[i] > largest[i]:
            rows = slice(10 * i, 10 * i + 10)
            x[rows] = _within(largest[i], nominal[rows], x[rows].copy())


@inlined
def _within(limit: float, nominal: Column, coordinates: Column) -> Array:
    """Return the farthest point on the way from nominal to coordinates whose condition is within a limit."""
    inside, outside, condition = 0.0, 1.0, np.empty(1)
    for _ in range(HALVINGS):
        share = 0.5 * (inside + outside)
        fill_condition_bounds((nominal + share * (coordinates - nominal)).reshape(1, 10), condition)
        if condition[0] <= limit:
            inside = share
        else:
            outside = share
    point: Array = nominal + inside * (coordinates - nominal)
    return point


@compiled
def limit_coordinates(limits: tuple[Column, Column, Column], x: MutableColumn) -> None:
    """Limit the coordinates of bodies, as `limited`."""
    limited(limits, x)


@compiled
def touches_limits(limits: tuple[Column, Column, Column], x: Column) -> bool:
    """Return whether a coordinate of a body, or the condition of one of them, is at its limit.

    Args:
        limits: As `CoordinateLimits`.
        x: State, bodies first.
    """
    nominal, deviation, largest = limits
    n, conditions = len(nominal), np.empty(len(largest))
    fill_condition_bounds(x[:n].reshape(-1, 10), conditions)
    near = bool((conditions >= largest * (1.0 - 1e-6)).any())
    return near or bool((np.abs(x[:n] - nominal) >= deviation * (1.0 - 1e-9)).any())
