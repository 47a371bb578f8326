"""Means and slopes of the inputs over the window around a step."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from inertial_estimation.inputs.clocks import Times
from inertial_estimation.models.differentiation import FEWEST_SAMPLES, window_weights
from inertial_estimation.signals import Array, seconds


class WindowMean(NamedTuple):
    """Mean and slope of the rows of a window."""

    mean: Array  # shape (width,)
    slope: Array  # [1/s], shape (width,)
    weights: Array  # of the mean, shape (n,)
    centroid: float  # time that the mean belongs to, relative to the centre of the window [s]


@lru_cache(maxsize=16)
def _weights(relative: bytes) -> tuple[Array, float]:
    """Return the weights of mean and slope, shape (2, n), and the centroid, of times as bytes [ns]."""
    weights = window_weights(seconds(np.frombuffer(relative, np.int64)))
    return np.stack((weights.mean, weights.slope)), weights.centroid


def window_mean(centre_ns: int, times: Times, rows: Array, at: float | None = None) -> WindowMean | None:
    """Return mean and slope of the rows of a window; None where they are too few.

    Args:
        centre_ns: Centre of the window [ns].
        times: Times of the rows, increasing [ns], shape (n,).
        rows: Shape (n, width).
        at: Time that the mean shall belong to, relative to the centre [s]: it is moved along the slope, which
            is exact for linear signals. None: the centroid of the weights.
    """
    if len(times) < FEWEST_SAMPLES:
        return None
    weights, centroid = _weights((times - centre_ns).tobytes())
    mean, slope = weights @ rows
    if at is not None and at != centroid:
        mean, centroid = mean + (at - centroid) * slope, at
    return WindowMean(mean, slope, weights[0], centroid)
