"""Local polynomials: joint accelerations and means with equal delay, and slopes without delay.

The slope of a least-squares line through v(t_i) over a window is sum_i c_i v_i, and since
v_{i+1} - v_i is the integral of the acceleration over a step, it is also a weighted mean of the
acceleration, with a parabolic weight over the window. Torque, wrenches and specific force averaged with
these weights have the same delay: the equation of motion, which is linear in all of them, then holds
between the filtered signals for any spacing of the stamps.
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array

FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True, eq=False)
class WindowWeights:
    """Weights that turn a window of samples into one mean and one slope.

    Attributes:
        mean: Weights of the mean, sum one, shape (n,).
        slope: Weights of the time derivative [1/s], sum zero, shape (n,).
        centroid: Time to which the mean belongs, relative to the window's centre [s].
    """

    mean: Array
    slope: Array
    centroid: float


def window_weights(times: Array) -> WindowWeights:
    """Return the weights of the slope and of the matching mean over one window.

    c_i = (t_i - t_mean) / sum (t_j - t_mean)^2. By partial summation the slope equals sum_j w_j a_j,
    w_j = -(c_0 + ... + c_j) (t_{j+1} - t_j) >= 0 the weight of step j, whose acceleration is the mean
    of its two ends.

    Args:
        times: Times relative to the window's centre, increasing [s], shape (n,), n >= 3.

    Returns:
        The weights.

    Raises:
        MeasurementError: If there are fewer than three samples.
    """
    if len(times) < FEWEST_SAMPLES:
        raise MeasurementError(
            f"{len(times)} samples in the differentiation window, expected at least {FEWEST_SAMPLES}"
        )
    centred = times - times.sum() / len(times)
    slope = centred / (centred @ centred)
    steps = slope[:-1].cumsum() * (times[:-1] - times[1:])
    mean = np.zeros_like(times)
    mean[:-1] = steps
    mean[1:] += steps
    mean *= 0.5
    return WindowWeights(mean, slope, float(mean @ times))


def end_slope_weights(times: Array) -> Array:
    """Return the weights of the slope, at the last sample, of a least-squares parabola over a window.

    With polynomials orthogonal over the samples, p1 = t - mean and p2 = p1^2 - beta p1 - mean(p1^2), the
    slope at the end is sum_i (p1_i / |p1|^2 + p2'(t_n) p2_i / |p2|^2) q_i, p2'(t_n) = 2 p1_n - beta.

    Args:
        times: Times of the samples, increasing [s], shape (n,), n >= 3.

    Returns:
        Weights [1/s], sum zero, shape (n,).

    Raises:
        MeasurementError: If there are fewer than three samples.
    """
    n = len(times)
    if n < FEWEST_SAMPLES:
        raise MeasurementError(f"{n} samples to fit a parabola to, expected at least {FEWEST_SAMPLES}")
    p1 = times - np.add.reduce(times) / n
    square = p1 * p1
    norm1 = float(p1.dot(p1))
    beta = float(square.dot(p1)) / norm1
    p2 = square - beta * p1 - norm1 / n
    at_end = (2.0 * float(p1[-1]) - beta) / float(p2.dot(p2))
    weights: Array = p1 * (1.0 / norm1) + p2 * at_end
    return weights
