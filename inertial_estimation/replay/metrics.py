"""Functions of time series for the metrics: statistics, angles, interpolation, zero-phase filters."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array, seconds

FILTER_CUTOFF = 10.0  # cut-off frequency of the low-pass [Hz]
FILTER_ORDER = 4
TRANSIENT_S = 3.0 / FILTER_CUTOFF  # duration of the transients at the ends of a filtered series [s]
FEWEST = 10 * FILTER_ORDER  # smallest number of samples that can be filtered


class ErrorSummary(NamedTuple):
    """Statistics of a non-negative error."""

    mean: float
    rms: float
    p95: float
    max: float


def summarise(errors: Array) -> ErrorSummary:
    """Return mean, root mean square, 95th percentile and maximum of the magnitudes."""
    e = np.abs(errors)
    return ErrorSummary(
        float(e.mean()), float(np.sqrt(np.mean(e**2))), float(np.percentile(e, 95.0)), float(e.max())
    )


def verticals(quaternions_xyzw: Array) -> Array:
    """Return the vertical in the body frame, R_WB^T e_z, of orientations of shape (n, 4); shape (n, 3)."""
    return Rotation.from_quat(quaternions_xyzw).as_matrix()[:, 2]


def yaws(quaternions_xyzw: Array) -> Array:
    """Return the continuous yaw of orientations, about the vertical of the world [rad], shape (n,)."""
    matrices = Rotation.from_quat(quaternions_xyzw).as_matrix()
    return np.unwrap(np.arctan2(matrices[:, 1, 0], matrices[:, 0, 0]))


def angles_between(a: Array, b: Array) -> Array:
    """Return the angles between vectors of shape (n, 3), precise also for small ones [rad]."""
    angles: Array = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.sum(a * b, axis=1))
    return angles


def interpolated(at: Array, times: Array, values: Array) -> Array:
    """Interpolate columns linearly; before the first time and after the last one the end values are used.

    Args:
        at: Times at which values are wanted, shape (k,).
        times: Times of the values, increasing, shape (n,).
        values: Columns of values, shape (n, m).

    Returns:
        Values at the wanted times, shape (k, m).
    """
    return np.stack([np.interp(at, times, column) for column in values.T], axis=1)


def low_pass_zero_phase(stamps_ns: NDArray[np.int64], values: Array) -> Array:
    """Filter forward and backward (no delay) by a Butterworth low-pass, `FILTER_ORDER`, `FILTER_CUTOFF`.

    Samples are first interpolated to a uniform grid at their median step. A series whose Nyquist frequency
    is at most the cut-off frequency is returned on that grid unfiltered.

    Args:
        stamps_ns: Stamps, ascending [ns], shape (n,).
        values: Series, shape (n, m).

    Returns:
        Filtered series on the uniform grid, shape (k, m).

    Raises:
        MeasurementError: If there are too few samples to filter.
    """
    t = seconds(stamps_ns - stamps_ns[0])
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    if step <= 0.0 or len(t) < FEWEST:
        raise MeasurementError(f"{len(t)} samples are too few for the zero-phase filter")
    grid = np.arange(0.0, t[-1] + 0.5 * step, step)
    uniform = interpolated(grid, t, values)
    if 0.5 / step <= FILTER_CUTOFF:
        return uniform
    sections = butter(FILTER_ORDER, FILTER_CUTOFF, fs=1.0 / step, output="sos")
    return np.asarray(sosfiltfilt(sections, uniform, axis=0), dtype=np.float64)
