"""Local polynomials: derivatives and means of signals over windows, with equal delay, or without.

The slope of a least-squares line through v(t_i) over a window is sum_i c_i v_i, and since v_{i+1} - v_i is
the integral of the acceleration over a step, it is also a weighted mean of the acceleration, with a parabolic
weight over the window. Torque, wrenches and specific force averaged with these weights have the same delay:
the equation of motion, which is linear in all of them, then holds between the filtered signals for any
spacing of the stamps (`window_weights`).

Offline, a polynomial is fitted to a symmetric window around each of uniform samples, so that nothing is
delayed (Savitzky-Golay, `ZeroPhaseSmoother`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.signals import Array

FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True, eq=False)
class WindowWeights:
    """Weights that turn a window of samples into one mean and one slope."""

    mean: Array  # weights of the mean, sum one, shape (n,)
    slope: Array  # weights of the time derivative [1/s], sum zero, shape (n,)
    centroid: float  # time to which the mean belongs, relative to the window's centre [s]


def window_weights(times: Array) -> WindowWeights:
    """Return the weights of the slope and of the matching mean over one window.

    c_i = (t_i - t_mean) / sum (t_j - t_mean)^2. By partial summation the slope equals sum_j w_j a_j,
    w_j = -(c_0 + ... + c_j) (t_{j+1} - t_j) >= 0 the weight of step j, whose acceleration is the mean
    of its two ends.

    Args:
        times: Times relative to the window's centre, increasing [s], shape (n,), n >= 3.

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
    mean = np.zeros(len(times))
    mean[:-1] = steps
    mean[1:] += steps
    mean *= 0.5
    return WindowWeights(mean, slope, float(mean @ times))


def end_slope_weights(times: Array) -> Array:
    """Return the weights of the slope, at the last sample, of a least-squares parabola [1/s].

    With polynomials orthogonal over the samples, p1 = t - mean and p2 = p1^2 - beta p1 - mean(p1^2), the
    slope at the end is sum_i (p1_i / |p1|^2 + p2'(t_n) p2_i / |p2|^2) q_i, p2'(t_n) = 2 p1_n - beta.

    Args:
        times: Times of the samples, increasing [s], shape (n,), n >= 3.
    """
    n = len(times)
    p1 = times - np.add.reduce(times) / n
    square = p1 * p1
    norm1 = float(p1.dot(p1))
    beta = float(square.dot(p1)) / norm1
    p2 = square - beta * p1 - norm1 / n
    at_end = (2.0 * float(p1[-1]) - beta) / float(p2.dot(p2))
    weights: Array = p1 * (1.0 / norm1) + p2 * at_end
    return weights


@dataclass(frozen=True)
class ZeroPhaseSmoother:
    """Local polynomials over 2 half + 1 samples.

    It gives values only where the whole window is known, so how a signal is cut into overlapping blocks
    does not change them.
    """

    step_s: float  # time between samples [s]
    half: int  # samples on either side of the centre
    order: int  # degree of the polynomials

    def __post_init__(self) -> None:
        if 2 * self.half < self.order:
            raise ConfigurationError(
                f"a window of {2 * self.half + 1} samples {self.step_s:g} s apart is too short for "
                f"polynomials of degree {self.order}; widen it to {(self.order + 1) * self.step_s:g} s"
            )

    @classmethod
    def of_window(cls, window_s: float, step_s: float, order: int) -> "ZeroPhaseSmoother":
        """Return the smoother of polynomials of a degree whose window [s] comes nearest to a length.

        Raises:
            ConfigurationError: If the window holds too few samples for the degree.
        """
        return cls(step_s, round(0.5 * window_s / step_s), order)

    def weights(self, derivative: int = 0) -> Array:
        """Return the weights of a window's samples, first sample first, shape (2 half + 1,)."""
        from scipy.signal import savgol_coeffs  # nodes, which only use the windows above, load no SciPy

        length = 2 * self.half + 1
        weights: Array = savgol_coeffs(length, self.order, deriv=derivative, delta=self.step_s, use="dot")
        return weights

    def apply(self, signal: Array, derivative: int = 0, *, first: int = 0, stride: int = 1) -> Array:
        """Return the smoothed signal or a derivative of it.

        Args:
            signal: Samples, time first, shape (k, ...).
            derivative: 0 for the signal itself.
            first: Which sample with a whole window comes first: signal[half + first].
            stride: Number of samples between two returned values.

        Returns:
            Values at samples half + first, half + first + stride, ..., time first; empty if no window is
            whole.
        """
        length = 2 * self.half + 1
        if len(signal) < length:
            return np.empty((0, *signal.shape[1:]))
        windows = sliding_window_view(signal, length, axis=0)[first::stride]
        smoothed: Array = windows @ self.weights(derivative)
        return smoothed


def triangle_weights(half: int) -> Array:
    """Return the weights of a moving average of half + 1 samples, applied twice: sum 1, (2 half + 1,)."""
    heights = 1.0 - np.abs(np.arange(-half, half + 1)) / (half + 1)
    weights: Array = heights / heights.sum()
    return weights
