"""Errors of the base against a reference whose world and base frame differ a little from ours."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import MeasurementError, RecordingError
from inertial_estimation.files.text_file import read_text
from inertial_estimation.recordings.recording import BagRecording, read_orientations
from inertial_estimation.recordings.truth_file import TrueInertias, read_truth
from inertial_estimation.replay.metrics import (
    FEWEST,
    TRANSIENT_S,
    ErrorSummary,
    angles_between,
    interpolated,
    low_pass_zero_phase,
    summarise,
    verticals,
    yaws,
)
from inertial_estimation.signals import NANOSECONDS, Array, OrientationSample, PoseSample, seconds
from inertial_estimation.spatial.rotations import exp_so3
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC

ROBUST_SCALE = np.radians(0.5)  # residuals well above this count linearly in the alignment [rad]
FEWEST_TILTS = 10  # smallest number of trusted samples for a comparison
GAP_NS, GAP_STEPS = 100_000_000, 3.0  # a longer time [ns] and more median steps between estimates are a gap

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ReplayReference:
    """Reference and truth that a replay is compared with."""

    # reference orientations, with positions if they are poses; empty: none
    samples: Sequence[OrientationSample] = ()
    trusted: Flags | None = None  # flags of the samples that are used; None uses all
    exact: bool = False  # whether the samples are the truth of a simulation, not measured ones
    # true inertias of a simulated or synthetic recording; None where they are not known
    truth: TrueInertias | None = None
    settle_ns: int = 0  # time after the first estimate for which the base is not compared [ns]


def read_reference(
    recording: BagRecording, bag: Path, given: str | None, trusted_file: Path | None, settle_s: float
) -> tuple[str, ReplayReference]:
    """Read the reference of a recording, and its truth if it is simulated.

    Args:
        recording: The recording.
        bag: Path of the recording.
        given: Topic of the reference; None: that of the true pose, if the recording is simulated.
        trusted_file: File with a flag for each reference sample that is trusted; None: all are.
        settle_s: Time after the first estimate that is not compared [s].

    Returns:
        The topic, empty if there is none, and the reference.

    Raises:
        RecordingError: If the topic or a file cannot be read, or the file does not fit the topic.
    """
    trusted = read_trusted(trusted_file) if trusted_file else None
    truth = read_truth(bag)
    simulated = truth is not None and GROUND_TRUTH_TOPIC in recording.topics
    topic = given or (GROUND_TRUTH_TOPIC if simulated else "")
    samples = read_orientations(recording, topic) if topic else []
    if trusted is not None and len(trusted) != len(samples):
        raise RecordingError(
            f"'{trusted_file}' has {len(trusted)} flags, expected one for each of the "
            f"{len(samples)} messages on '{topic}'"
        )
    exact = simulated and topic == GROUND_TRUTH_TOPIC
    return topic, ReplayReference(samples, trusted, exact, truth, round(settle_s * NANOSECONDS))


def read_trusted(path: Path) -> Flags:
    """Read the flags of the trusted reference samples: one 0 or 1 per line, comments after ``#``.

    Raises:
        RecordingError: If the file is missing or contains anything else; the message names the line.
    """
    text = read_text(path, "trusted flags", RecordingError)
    flags: list[bool] = []
    for number, line in enumerate(text.splitlines(), start=1):
        flag = line.partition("#")[0].strip()
        if flag in ("0", "1"):
            flags.append(flag == "1")
        elif flag:
            raise RecordingError(f"line {number} of '{path}' is '{flag}', expected 0 or 1")
    if not flags:
        raise RecordingError(f"'{path}' has no flags, expected one 0 or 1 per reference sample")
    return np.array(flags, dtype=bool)


@dataclass(frozen=True, eq=False)
class ReferenceErrors:
    """One quantity against a reference after the best constant alignment; n samples."""

    stamps_ns: NDArray[np.int64]  # stamps [ns], shape (n,)
    trusted: Flags  # whether the reference is trusted there, shape (n,)
    reference: Array  # the reference, aligned, shape (n, k)
    # estimate minus reference, shape (n, k); of the tilt, the angle between them [rad], shape (n,)
    errors: Array

    @property
    def summary(self) -> ErrorSummary:
        """Statistics of the magnitudes over the trusted samples."""
        used = self.errors[self.trusted]
        return summarise(used if used.ndim == 1 else np.linalg.norm(used, axis=1))


def tilt_errors(
    stamps_ns: NDArray[np.int64],
    tilts_B: Array,
    reference: Sequence[OrientationSample],
    trusted: Flags | None = None,
    *,
    settle_ns: int = 0,
) -> ReferenceErrors:
    """Compare estimated tilt with a reference after the best constant alignment.

    The base frame and the vertical of the reference differ a little from ours, so two constant rotations are
    fitted: two angles of the world's vertical and three of the base, by robust least squares (soft L1) over
    the trusted samples. The estimate is interpolated at the stamps of the reference; reference samples
    outside its span are left out.

    Args:
        stamps_ns: Stamps of the estimates, ascending [ns], shape (n,).
        tilts_B: Estimated vertical in the base frame, shape (n, 3).
        reference: Reference orientations.
        trusted: One flag per reference sample that is used; None uses all.
        settle_ns: Time after the first estimate that is excluded from the comparison [ns].

    Returns:
        Angles between the estimated and the reference vertical.

    Raises:
        RecordingError: If the flags do not match the reference in number, or too few samples are left.
    """
    if trusted is not None and len(trusted) != len(reference):
        raise RecordingError(
            f"{len(trusted)} trusted flags for {len(reference)} reference samples, expected one for each"
        )
    t_ref, within = _within(reference, stamps_ns, settle_ns)
    flags = np.ones(len(within), dtype=bool) if trusted is None else trusted[within]
    if int(flags.sum()) < FEWEST_TILTS:
        raise RecordingError(
            f"only {int(flags.sum())} trusted reference samples lie within the estimates; "
            "are their stamps of the same clock?"
        )
    quaternions = np.array([reference[k].quaternion_xyzw for k in within.tolist()])
    estimated = _tilts_at(t_ref, stamps_ns, tilts_B)
    aligned = _aligned_verticals(estimated, quaternions, flags)
    return ReferenceErrors(t_ref, flags, aligned, angles_between(estimated, aligned))


def true_tilt_errors(stamps_ns: NDArray[np.int64], tilts_B: Array, reference: ReplayReference) -> Array:
    """Return the angle between estimated and true vertical, without any alignment [rad], shape (k,).

    Args:
        stamps_ns: Stamps of the estimates, ascending [ns], shape (n,).
        tilts_B: Estimated vertical in the base frame, shape (n, 3).
        reference: True orientations; those outside the estimates are left out.
    """
    t_ref, within = _within(reference.samples, stamps_ns, reference.settle_ns)
    true_B = verticals(np.array([reference.samples[k].quaternion_xyzw for k in within.tolist()]))
    return angles_between(_tilts_at(t_ref, stamps_ns, tilts_B), true_B)


def base_errors(state: Mapping[str, Any], reference: ReplayReference) -> dict[str, ReferenceErrors]:
    """Compare the base with a reference whose world has another origin and another yaw.

    Four constants are fitted by least squares over the trusted samples, the translation and the rotation
    about the vertical (Zhang and Scaramuzza 2018, posyaw alignment); only the rotation where the reference
    has no positions. Velocities are compared in the base frame and need no alignment.

    Args:
        state: Table of the base state: stamps, positions, yaw and velocities.
        reference: The reference.

    Returns:
        Errors of ``yaw`` [rad], ``position`` [m] and ``velocity`` in the base frame [m/s]; nothing where
        the reference does not contain it, or too few trusted samples lie within the estimates.
    """
    stamps_ns = state["stamp_ns"]
    stamps, within = _within(reference.samples, stamps_ns, reference.settle_ns)
    used = np.ones(len(within), dtype=bool) if reference.trusted is None else reference.trusted[within]
    if used.sum() < FEWEST:
        return {}
    samples = [reference.samples[k] for k in within.tolist()]
    yaw = yaws(np.array([sample.quaternion_xyzw for sample in samples]))
    times, at = seconds(stamps_ns - stamps[0]), seconds(stamps - stamps[0])
    estimated = np.interp(at, times, state["yaw"])
    poses = [sample for sample in samples if isinstance(sample, PoseSample)]
    if len(poses) < len(samples):
        turned = yaw + float(np.angle(np.exp(1j * (estimated - yaw)[used]).mean()))
        return {"yaw": _yaw_errors(stamps, used, turned, estimated)}
    p = interpolated(at, times, np.column_stack([state[axis] for axis in "xyz"]))
    angle, aligned = _aligned(p, np.array([pose.p_WB for pose in poses]), estimated - yaw, used)
    found = {
        "yaw": _yaw_errors(stamps, used, yaw + angle, estimated),
        "position": ReferenceErrors(stamps, used, aligned, p - aligned),
    }
    velocity = _velocity_errors(state, stamps, used, poses)
    return found if velocity is None else {**found, "velocity": velocity}


def _yaw_errors(
    stamps: NDArray[np.int64], used: Flags, reference: Array, estimated: Array
) -> ReferenceErrors:
    """Return the errors of the yaw without whole turns, by which a body tilted by 90 deg may differ."""
    turned = reference + math.tau * np.round(np.median((estimated - reference)[used]) / math.tau)
    errors = np.remainder(estimated - turned + math.pi, math.tau) - math.pi
    return ReferenceErrors(stamps, used, turned[:, None], errors[:, None])


def _within(
    reference: Sequence[OrientationSample], stamps_ns: NDArray[np.int64], settle_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return stamps and indices of the reference samples within the estimates, except in their gaps."""
    stamps = np.array([sample.stamp_ns for sample in reference], dtype=np.int64)
    if len(stamps_ns) < 2:
        return stamps[:0], np.zeros(0, dtype=np.intp)
    steps = np.diff(stamps_ns)
    around = steps[np.clip(np.searchsorted(stamps_ns, stamps) - 1, 0, len(steps) - 1)]
    estimated = around <= max(GAP_NS, GAP_STEPS * float(np.median(steps)))
    within = (stamps >= stamps_ns[0] + settle_ns) & (stamps <= stamps_ns[-1]) & estimated
    return stamps[within], np.flatnonzero(within)


def _tilts_at(at_ns: NDArray[np.int64], stamps_ns: NDArray[np.int64], tilts_B: Array) -> Array:
    mixed = interpolated(seconds(at_ns - stamps_ns[0]), seconds(stamps_ns - stamps_ns[0]), tilts_B)
    unit: Array = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return unit


def _aligned_verticals(estimated: Array, quaternions: Array, trusted: Flags) -> Array:
    """Return the reference verticals R_A R_ref^T n with the best R_A (3 angles) and n (2 angles)."""
    rotations = Rotation.from_quat(quaternions).as_matrix()
    ours, theirs = (np.vstack((one[trusted], np.eye(3))) for one in (estimated, rotations[:, 2]))
    weights = np.append(np.ones(trusted.sum()), np.full(3, 1e-6 * trusted.sum()))  # identity if undetermined
    start = Rotation.align_vectors(ours, theirs, weights=weights)[0].as_matrix()

    def aligned(angles: Array, selected: Flags | slice) -> Array:
        n = exp_so3(np.array([angles[3], angles[4], 0.0]))[:, 2]
        R_A = exp_so3(angles[:3]) @ start
        result: Array = (n @ rotations[selected]) @ R_A.T
        return result

    def residual(angles: Array) -> Array:
        return (estimated[trusted] - aligned(angles, trusted)).ravel()

    best = least_squares(residual, np.zeros(5), loss="soft_l1", f_scale=ROBUST_SCALE)
    return aligned(np.asarray(best.x, dtype=np.float64), slice(None))


def _aligned(p: Array, p_ref: Array, yaw_difference: Array, used: Flags) -> tuple[float, Array]:
    """Return the best angle about the vertical, and the reference positions rotated by it and translated.

    The angle follows from the positions, weighted by their distance from the mean, and from the yaws, which
    count like positions at a lever of 1 m and decide where the robot stays in place.
    """
    a = (p_ref - p_ref[used].mean(axis=0))[used, :2]
    b = (p - p[used].mean(axis=0))[used, :2]
    cosine = np.sum(a * b) + np.sum(np.cos(yaw_difference[used]))
    sine = np.sum(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) + np.sum(np.sin(yaw_difference[used]))
    angle = float(np.arctan2(sine, cosine))
    rotated = p_ref @ exp_so3(np.array([0.0, 0.0, angle])).T
    aligned: Array = rotated + (p - rotated)[used].mean(axis=0)
    return angle, aligned


def _velocity_errors(
    state: Mapping[str, Any], stamps: NDArray[np.int64], used: Flags, poses: Sequence[PoseSample]
) -> ReferenceErrors | None:
    """Return errors against the derivative of the low-passed positions; None if there are too few samples."""
    step_ns = int(np.median(np.diff(stamps)))
    t, positions = seconds(stamps - stamps[0]), np.array([pose.p_WB for pose in poses])
    bridged = interpolated(t, t[used], positions[used])  # a jump would spread through the filter
    try:
        smooth = low_pass_zero_phase(stamps, bridged)
    except MeasurementError:
        return None
    grid = stamps[0] + step_ns * np.arange(len(smooth), dtype=np.int64)
    at = seconds(grid - stamps[0])
    following = np.clip(np.searchsorted(stamps, grid), 0, len(stamps) - 1)
    R = Rotation.from_quat(np.array([poses[k].quaternion_xyzw for k in following.tolist()]))
    v_ref = R.inv().apply(np.gradient(smooth, seconds(step_ns), axis=0))
    velocities = np.column_stack([state[name] for name in ("vx", "vy", "vz")])
    v = low_pass_zero_phase(grid, interpolated(at, seconds(state["stamp_ns"] - stamps[0]), velocities))
    margin = round(TRANSIENT_S / seconds(step_ns))  # around untrusted samples and at both ends
    if len(v) != len(grid) or len(grid) <= 2 * margin:
        return None
    doubtful = np.convolve(~used[following], np.ones(2 * margin + 1), mode="same") > 0
    doubtful[:margin], doubtful[len(doubtful) - margin :] = True, True
    return None if doubtful.all() else ReferenceErrors(grid, ~doubtful, v_ref, v - v_ref)
