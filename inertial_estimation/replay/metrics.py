"""Figures of merit of a replay: tilt error after alignment, relative torque error, timing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import MeasurementError, RecordingError
from inertial_estimation.signals import Array, OrientationSample, seconds
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3

FILTER_CUTOFF = 10.0  # [Hz]
FILTER_ORDER = 4
ROBUST_SCALE = np.radians(0.5)  # residuals well above this count linearly in the alignment [rad]


@dataclass(frozen=True)
class ErrorSummary:
    """Statistics of a non-negative error."""

    mean: float
    rms: float
    p95: float
    max: float


@dataclass(frozen=True, eq=False)
class TiltErrors:
    """Tilt against a reference after the best constant alignment.

    Attributes:
        stamps_ns: Stamps of the reference samples used [ns], shape (n,).
        errors: Angle between estimated and reference vertical [rad], shape (n,).
        trusted: Whether the reference is trusted there, shape (n,).
        reference_B: Reference vertical, aligned, base frame, shape (n, 3).
        summary: Statistics over the trusted samples [rad].
    """

    stamps_ns: NDArray[np.int64]
    errors: Array
    trusted: NDArray[np.bool_]
    reference_B: Array
    summary: ErrorSummary


def summarise(errors: Array) -> ErrorSummary:
    """Return mean, root mean square, 95th percentile and maximum of the magnitudes."""
    e = np.abs(errors)
    return ErrorSummary(
        float(e.mean()), float(np.sqrt(np.mean(e**2))), float(np.percentile(e, 95.0)), float(e.max())
    )


def verticals(quaternions_xyzw: Array) -> Array:
    """Return the vertical in the body frame, R_WB^T e_z, of many orientations.

    Args:
        quaternions_xyzw: Orientations of the body in a z-up world, shape (n, 4).

    Returns:
        Unit vectors, shape (n, 3).
    """
    return _rotations(quaternions_xyzw)[:, 2]


def tilt_errors(
    stamps_ns: NDArray[np.int64],
    tilts_B: Array,
    reference: Sequence[OrientationSample],
    trusted: NDArray[np.bool_] | None = None,
    *,
    settle_ns: int = 0,
) -> TiltErrors:
    """Compare estimated tilt with a reference after the best constant alignment.

    The reference's markers and world are mounted a little off, so two constant rotations are fitted:
    two angles of the world's vertical and three of the base, by robust least squares (soft L1) over
    the trusted samples. The estimate is interpolated at the stamps of the reference; reference samples
    outside its span are left out.

    Args:
        stamps_ns: Stamps of the estimates, ascending [ns], shape (n,).
        tilts_B: Estimated vertical in the base frame, shape (n, 3).
        reference: Reference orientations.
        trusted: One flag per reference sample that is used; None uses all.
        settle_ns: Time after the first estimate that is excluded from the comparison [ns].

    Returns:
        The errors.

    Raises:
        RecordingError: If the flags do not match the reference in number, or too few samples are left.
    """
    if trusted is not None and len(trusted) != len(reference):
        raise RecordingError(
            f"{len(trusted)} trusted flags for {len(reference)} reference samples, expected one for each"
        )
    flags = np.ones(len(reference), dtype=bool) if trusted is None else trusted
    t_ref = np.array([sample.stamp_ns for sample in reference], dtype=np.int64)
    used = lies_within(t_ref, stamps_ns, settle_ns)
    if int((used & flags).sum()) < 10:
        raise RecordingError(
            f"only {int((used & flags).sum())} trusted reference samples lie within the estimates; "
            "are their stamps of the same clock?"
        )
    t_ref, flags = t_ref[used], flags[used]
    quaternions = np.array([sample.quaternion_xyzw for sample in reference])[used]
    estimated = _interpolate(stamps_ns, tilts_B, t_ref)
    aligned = _aligned_verticals(estimated, quaternions, flags)
    errors = angles_between(estimated, aligned)
    return TiltErrors(t_ref, errors, flags, aligned, summarise(errors[flags]))


def lies_within(t_ref: NDArray[np.int64], stamps_ns: NDArray[np.int64], settle_ns: int) -> NDArray[np.bool_]:
    """Return which samples of a reference lie within the estimates that count.

    Args:
        t_ref: Stamps of the reference [ns], shape (k,).
        stamps_ns: Stamps of the estimates, ascending [ns], shape (n,).
        settle_ns: Time after the first estimate that does not count [ns].
    """
    if not len(stamps_ns):
        return np.zeros(len(t_ref), dtype=bool)
    return np.asarray((t_ref >= stamps_ns[0] + settle_ns) & (t_ref <= stamps_ns[-1]))


def angles_between(a: Array, b: Array) -> Array:
    """Return the angles between unit vectors, precise also for small ones [rad], shape (n,).

    Args:
        a: Unit vectors, shape (n, 3).
        b: Unit vectors, shape (n, 3).
    """
    chord = np.linalg.norm(a - b, axis=1)
    angles: Array = 2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0))
    return angles


def interpolated(at: Array, times: Array, values: Array) -> Array:
    """Interpolate columns linearly; before the first time and after the last one the end values hold.

    Args:
        at: Times wanted, shape (k,).
        times: Times of the values, increasing, shape (n,).
        values: Shape (n, m).

    Returns:
        Values at the times wanted, shape (k, m).
    """
    return np.stack([np.interp(at, times, column) for column in values.T], axis=1)


def low_pass_zero_phase(stamps_ns: NDArray[np.int64], values: Array) -> Array:
    """Filter forward and backward (no delay) by a Butterworth low-pass, `FILTER_ORDER`, `FILTER_CUTOFF`.

    Samples are taken to a uniform grid at their median step first. A series too slow to hold the
    cut-off frequency is returned on that grid unfiltered.

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
    if step <= 0.0 or len(t) < 10 * FILTER_ORDER:
        raise MeasurementError(f"{len(t)} samples are too few for the zero-phase filter")
    grid = np.arange(0.0, t[-1] + 0.5 * step, step)
    uniform = interpolated(grid, t, values)
    if 0.5 / step <= FILTER_CUTOFF:
        return uniform
    sections = butter(FILTER_ORDER, FILTER_CUTOFF, fs=1.0 / step, output="sos")
    return np.asarray(sosfiltfilt(sections, uniform, axis=0), dtype=np.float64)


def relative_error(stamps_ns: NDArray[np.int64], measured: Array, errors: Array) -> float:
    """Return the norm of the filtered errors over the norm of the filtered measurements.

    Args:
        stamps_ns: Stamps, ascending [ns], shape (n,).
        measured: Measured torques [Nm], shape (n, m).
        errors: Measured minus predicted [Nm], shape (n, m).
    """
    numerator = np.linalg.norm(low_pass_zero_phase(stamps_ns, errors))
    return float(numerator / np.linalg.norm(low_pass_zero_phase(stamps_ns, measured)))


def percentiles_us(durations_ns: Sequence[float]) -> dict[str, float]:
    """Return the 50th and 99th percentile of durations in microseconds."""
    if not durations_ns:
        return {}
    p50, p99 = np.percentile(np.array(durations_ns) * 1e-3, [50.0, 99.0])
    return {"p50": round(float(p50), 2), "p99": round(float(p99), 2)}


def _interpolate(stamps_ns: NDArray[np.int64], tilts: Array, at_ns: NDArray[np.int64]) -> Array:
    origin = stamps_ns[0]
    t, at = (stamps_ns - origin).astype(np.float64), (at_ns - origin).astype(np.float64)
    mixed = interpolated(at, t, tilts)
    unit: Array = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit


def _aligned_verticals(estimated: Array, quaternions: Array, trusted: NDArray[np.bool_]) -> Array:
    """Reference verticals R_A R_ref^T n for the best R_A (3 angles) and n (2 angles)."""
    rotations = _rotations(quaternions)
    start = _rotation_between(verticals(quaternions)[trusted], estimated[trusted])

    def aligned(angles: Array, selected: NDArray[np.bool_] | slice) -> Array:
        n = exp_so3(np.array([angles[3], angles[4], 0.0]))[:, 2]
        R_A = exp_so3(angles[:3]) @ start
        result: Array = (n @ rotations[selected]) @ R_A.T
        return result

    def residual(angles: Array) -> Array:
        difference: Array = (estimated[trusted] - aligned(angles, trusted)).ravel()
        return difference

    with linear_algebra.naming_failures("aligning the reference with the estimates"):
        best = least_squares(residual, np.zeros(5), loss="soft_l1", f_scale=ROBUST_SCALE)
    return aligned(np.asarray(best.x, dtype=np.float64), slice(None))


def _rotation_between(sources: Array, targets: Array) -> Array:
    """Rotation R that minimises sum |targets - R sources|^2 (Kabsch), identity where undetermined."""
    U, _, Vt = linear_algebra.svd(targets.T @ sources + 1e-6 * len(sources) * np.eye(3))
    R: Array = U @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(U @ Vt)))]) @ Vt
    return R


def _rotations(quaternions_xyzw: Array) -> Array:
    matrices: Array = Rotation.from_quat(quaternions_xyzw).as_matrix()  # normalises
    return matrices
