"""Yaw, position and velocity of the base against a reference, after the best constant alignment."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import MeasurementError
from inertial_estimation.replay.estimate_series import TiltSeries
from inertial_estimation.replay.metrics import interpolated, lies_within, low_pass_zero_phase, summarise
from inertial_estimation.signals import Array, OrientationSample, PoseSample, seconds
from inertial_estimation.spatial.rotations import exp_so3

JUMP_MARGIN_S = (
    0.3  # around samples that are not trusted, and at both ends, where velocities are not used [s]
)
FEWEST = 40  # samples, below which nothing is compared


@dataclass(frozen=True, eq=False)
class BaseErrors:
    """Yaw, position and velocity of a reference in the world of the estimates; n samples.

    Attributes:
        stamps_ns: Stamps of the reference [ns], shape (n,).
        used: Whether the reference is trusted there, shape (n,).
        reference_yaws: Aligned, unwrapped [rad], shape (n,).
        yaw_errors: Estimate minus reference [rad], shape (n,).
        reference_positions_W: Aligned [m], shape (n, 3); None where the reference has orientations only.
        position_errors_W: Estimate minus reference [m], shape (n, 3), or None.
        velocity_stamps_ns: Stamps of the velocities [ns], shape (k,), or None.
        reference_velocities_B: Derivative of the low-passed positions, base frame [m/s], shape (k, 3).
        velocity_errors_B: Estimate, equally filtered, minus reference [m/s], shape (k, 3).
        velocity_used: Whether the velocity is trusted, shape (k,).
    """

    stamps_ns: NDArray[np.int64]
    used: NDArray[np.bool_]
    reference_yaws: Array
    yaw_errors: Array
    reference_positions_W: Array | None = None
    position_errors_W: Array | None = None
    velocity_stamps_ns: NDArray[np.int64] | None = None
    reference_velocities_B: Array | None = None
    velocity_errors_B: Array | None = None
    velocity_used: NDArray[np.bool_] | None = None

    def metrics(self) -> dict[str, Any]:
        """Return the statistics for `metrics.json`; what the reference does not contain is left out."""
        found = {"yaw_error_deg": vars(summarise(np.degrees(self.yaw_errors[self.used])))}
        if self.position_errors_W is not None:
            found["position_error_m"] = _summary(self.position_errors_W[self.used])
        if self.velocity_errors_B is not None and np.any(self.velocity_used):
            found["velocity_error_m_s"] = _summary(self.velocity_errors_B[self.velocity_used])
        return found


def yaws(quaternions_xyzw: Array) -> Array:
    """Return the continuous yaw of orientations, about the vertical of the world [rad], shape (n,)."""
    matrices = Rotation.from_quat(quaternions_xyzw).as_matrix()
    angles: Array = np.unwrap(np.arctan2(matrices[:, 1, 0], matrices[:, 0, 0]))
    return angles


def base_errors(
    series: TiltSeries,
    reference: Sequence[OrientationSample],
    trusted: NDArray[np.bool_] | None = None,
    *,
    settle_ns: int = 0,
) -> BaseErrors | None:
    """Compare the base with a reference whose world has another origin and another yaw.

    Four constants are fitted by least squares over the trusted samples, the translation and the rotation
    about the vertical (Zhang and Scaramuzza 2018, posyaw alignment); only the rotation where the reference
    has no positions. Velocities are compared in the base frame and need no alignment.

    Args:
        series: Estimates.
        reference: Reference orientations, with positions where they are `PoseSample`.
        trusted: One flag per reference sample that is used; None uses all.
        settle_ns: Time after the first estimate that is excluded from the comparison [ns].

    Returns:
        The errors; None where too few trusted samples lie within the estimates.
    """
    stamps = np.array([sample.stamp_ns for sample in reference], dtype=np.int64)
    within = lies_within(stamps, series.stamps_ns, settle_ns)
    chosen = np.flatnonzero(within).tolist()
    flags = np.ones(len(stamps), dtype=bool) if trusted is None else trusted
    stamps, used = stamps[within], flags[within]
    if used.sum() < FEWEST:
        return None
    yaw = yaws(np.array([reference[k].quaternion_xyzw for k in chosen]))
    times, at = seconds(series.stamps_ns - stamps[0]), seconds(stamps - stamps[0])
    estimated = np.interp(at, times, yaws(series.quaternions_xyzw))
    poses = [sample for k in chosen if isinstance(sample := reference[k], PoseSample)]
    if len(poses) < len(chosen):
        offset = float(np.median((estimated - yaw)[used]))
        return BaseErrors(stamps, used, yaw + offset, estimated - yaw - offset)
    p_ref = np.array([pose.p_WB for pose in poses])
    p = interpolated(at, times, series.positions_W)
    angle, aligned = _aligned(p, p_ref, estimated - yaw, used)
    turned = yaw + angle
    turns = 2.0 * np.pi * np.round(np.median((estimated - turned)[used]) / (2.0 * np.pi))
    errors = BaseErrors(stamps, used, turned + turns, estimated - turned - turns, aligned, p - aligned)
    return _with_velocities(errors, series, poses)


def _aligned(p: Array, p_ref: Array, yaw_difference: Array, used: NDArray[np.bool_]) -> tuple[float, Array]:
    """Return the best rotation about the vertical, and the reference positions with it and a translation.

    The rotation follows from the positions, weighted by how far they move, and the yaws, which count as
    positions at a lever of 1 m where the robot stays in place.
    """
    a = (p_ref - p_ref[used].mean(axis=0))[used, :2]
    b = (p - p[used].mean(axis=0))[used, :2]
    cosine = np.sum(a * b) + np.sum(np.cos(yaw_difference[used]))
    sine = np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) + np.sum(np.sin(yaw_difference[used]))
    angle = float(np.arctan2(sine, cosine))
    rotated = p_ref @ exp_so3(np.array([0.0, 0.0, angle])).T
    aligned: Array = rotated + (p - rotated)[used].mean(axis=0)
    return angle, aligned


def _with_velocities(errors: BaseErrors, series: TiltSeries, poses: Sequence[PoseSample]) -> BaseErrors:
    stamps, used = errors.stamps_ns, errors.used
    step_ns = int(np.median(np.diff(stamps)))
    t, positions = seconds(stamps - stamps[0]), np.array([pose.p_WB for pose in poses])
    bridged = interpolated(t, t[used], positions[used])  # a jump would spread through the filter
    try:
        smooth = low_pass_zero_phase(stamps, bridged)
    except MeasurementError:
        return errors
    grid = stamps[0] + step_ns * np.arange(len(smooth), dtype=np.int64)
    at = seconds(grid - stamps[0])
    nearest = np.clip(np.searchsorted(stamps, grid), 0, len(stamps) - 1)
    R = Rotation.from_quat(np.array([poses[k].quaternion_xyzw for k in nearest.tolist()]))
    v_ref = R.inv().apply(np.gradient(smooth, seconds(step_ns), axis=0))
    estimated = interpolated(at, seconds(series.stamps_ns - stamps[0]), series.velocities_B)
    v = low_pass_zero_phase(grid, estimated)
    margin = round(JUMP_MARGIN_S / seconds(step_ns))
    if len(v) != len(grid) or len(grid) <= 2 * margin:
        return errors
    doubtful = np.convolve(~used[nearest], np.ones(2 * margin + 1), mode="same") > 0
    doubtful[:margin], doubtful[len(doubtful) - margin :] = True, True
    return replace(
        errors,
        velocity_stamps_ns=grid,
        reference_velocities_B=v_ref,
        velocity_errors_B=v - v_ref,
        velocity_used=~doubtful,
    )


def _summary(vectors: Array) -> dict[str, float]:
    return vars(summarise(np.linalg.norm(vectors, axis=1)))
