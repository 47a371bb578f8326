"""How good an estimate of the vertical is while a biped is pushed: rms by phase, convergence times."""

from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.experiments.biped_push import PUSHES
from inertial_estimation.experiments.tilt_benchmark import INITIAL_ERROR
from inertial_estimation.signals import Array

SETTLED_ERROR = np.radians(1.0)  # [rad]
HALF_ERROR = 0.5 * INITIAL_ERROR  # [rad]
TO_ONE_DEGREE = "time to 1 deg"
TO_HALF = "time to half the initial error"
Metrics = dict[str, float]


def tilt_error(estimated: Array, true: Array) -> Array:
    """Return the angle between unit vectors [rad], shape (n,) of shapes (n, 3)."""
    sine = np.linalg.norm(np.cross(estimated, true), axis=1)
    angle: Array = np.arctan2(sine, np.einsum("ij,ij->i", estimated, true))
    return angle


def settling_time(time: Array, error: Array, threshold: float, until: float) -> float:
    """Return when the error goes below the threshold for the last time.

    Args:
        time: [s], shape (n,).
        error: Shape (n,).
        threshold: In the unit of the error.
        until: End of the evaluated time [s].

    Returns:
        The time after which it stays below until `until` [s]; NaN where it is above at the end.
    """
    before = time < until
    above = np.flatnonzero(error[before] > threshold)
    if len(above) == 0:
        return float(time[0])
    last = int(above[-1])
    return float(time[last + 1]) if last + 1 < int(before.sum()) else float("nan")


def _phases(end: float) -> Mapping[str, tuple[float, float]]:
    first, second = (time for time, _ in PUSHES)
    return {
        "whole run": (0.0, end),
        "convergence": (0.0, first),
        "first push": (first, second),
        "fall": (second, end),
    }


def tilt_metrics(time: Array, error: Array) -> Metrics:
    """Return rms by phase [deg] and convergence times [s].

    Args:
        time: Since the release [s], shape (n,).
        error: Angle between estimated and true vertical [rad], shape (n,).
    """
    metrics = {}
    for phase, (begin, end) in _phases(float(time[-1]) + 1.0).items():
        inside = (time >= begin) & (time < end)
        metrics[f"rms, {phase}"] = float(np.degrees(np.sqrt(np.mean(error[inside] ** 2))))
    until = PUSHES[0][0]
    metrics[TO_ONE_DEGREE] = settling_time(time, error, float(SETTLED_ERROR), until)
    metrics[TO_HALF] = settling_time(time, error, HALF_ERROR, until)
    return metrics


def values_of_seeds(metrics: Sequence[Metrics], quantity: str) -> Array:
    """Return the values of all seeds; a time that was not reached counts as that of the push."""
    values = np.array([one[quantity] for one in metrics])
    return np.where(np.isnan(values), PUSHES[0][0], values)
