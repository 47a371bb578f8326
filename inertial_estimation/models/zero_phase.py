"""Zero-phase smoothing and differentiation of uniform signals by local polynomials (Savitzky-Golay).

A polynomial is fitted by least squares to a window around each sample; its value or derivative there is a
fixed weighted sum of the window's samples. The window is symmetric, so nothing is delayed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_coeffs

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array


@dataclass(frozen=True)
class ZeroPhaseSmoother:
    """Local polynomials over 2 half + 1 samples.

    It gives values only where the whole window is known, so how a signal is cut into overlapping blocks
    does not change them.

    Attributes:
        step_s: Time between samples [s].
        half: Samples on either side of the centre.
        order: Degree of the polynomials.
    """

    step_s: float
    half: int
    order: int

    def __post_init__(self) -> None:
        if 2 * self.half < self.order:
            raise ConfigurationError(
                f"a window of {2 * self.half + 1} samples {self.step_s:g} s apart is too short for "
                f"polynomials of degree {self.order}; widen it to {(self.order + 1) * self.step_s:g} s"
            )

    @classmethod
    def of_window(cls, window_s: float, step_s: float, order: int) -> "ZeroPhaseSmoother":
        """Return the smoother whose window comes nearest to a length.

        Args:
            window_s: Length of the window [s].
            step_s: Time between samples [s].
            order: Degree of the polynomials.

        Raises:
            ConfigurationError: If the window holds too few samples for the degree.
        """
        return cls(step_s, round(0.5 * window_s / step_s), order)

    def weights(self, derivative: int = 0) -> Array:
        """Return the weights of a window's samples, first sample first, shape (2 half + 1,)."""
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
        if len(signal) < length + first:
            return np.empty((0, *signal.shape[1:]))
        windows = sliding_window_view(signal, length, axis=0)[first::stride]
        smoothed: Array = windows @ self.weights(derivative)
        return smoothed


def triangle_weights(half: int) -> Array:
    """Return the weights of a moving average of half + 1 samples, applied twice.

    Args:
        half: Samples on either side.

    Returns:
        Weights of sum one, shape (2 half + 1,).
    """
    heights = 1.0 - np.abs(np.arange(-half, half + 1)) / (half + 1)
    weights: Array = heights / heights.sum()
    return weights
