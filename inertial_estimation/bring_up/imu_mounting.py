"""How an IMU is really mounted: the rotation between the axes of its readings and those of its link.

Two directions of evidence. The angular rate over standing feet gives R by the orthogonal Procrustes problem:
max tr(R' sum w e'), w measured and e expected, whose solution is the product of the orthogonal factors of the
correlation matrix (Kabsch 1976), a reflection allowed, because a flipped axis is one. The specific force at
rest must point along the normal of the ground under the feet, which fixes two of the three angles.
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.bring_up.uniform_signals import UniformSignals
from inertial_estimation.data_checks.imu_checks import PERMUTATIONS, axis_names
from inertial_estimation.models.robot_config import RobotConfig, RobotSetup
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import (
    log_so3,
    roll_pitch_of,
    rotation_from_roll_pitch_yaw,
    yaw_of,
)

PARTS = 6
FEWEST = 100
NEAR = math.radians(8.0)  # rotation within which axes are exchanged or flipped, not turned
LOADED = 0.15  # share of the load from which a foot stands
RICH = 0.02  # share of the rotation about the least turned axis, from which all three axes are determined


@dataclass(frozen=True, eq=False)
class AxesFit:
    """measured = scale R expected of an angular rate.

    Attributes:
        R: Orthogonal, a reflection where an axis is flipped, shape (3, 3).
        sigma: Standard deviation of its angle, from parts of the data [rad].
        scale: Ratio of the sizes.
        score: Share of the measured variance explained with it.
        as_described: The same with R = 1 and the best scale.
        full: Whether all three axes are determined.
    """

    R: Array
    sigma: float
    scale: float
    score: float
    as_described: float
    full: bool

    @property
    def flips(self) -> bool:
        """Whether it is a reflection, which no mounting explains."""
        return bool(np.cross(self.R[0], self.R[1]) @ self.R[2] < 0.0)

    @property
    def angle(self) -> float:
        """Angle of the rotation, pi for a reflection [rad]."""
        return math.pi if self.flips else float(np.linalg.norm(log_so3(self.R)))


def nearest_axes(R: Array) -> str:
    """Return the names of the axes of the signed permutation near an orthogonal matrix, empty if none is."""
    traces = np.einsum("kij,ij->k", PERMUTATIONS, R)
    best = int(np.argmax(traces))
    near = traces[best] > 1.0 + 2.0 * math.cos(NEAR)
    return axis_names(best) if near else ""


def fit_gyroscope(measured: Array, expected: Array) -> AxesFit | None:
    """Fit axes and scale of a gyroscope to the rate expected over standing feet.

    Args:
        measured: [rad/s], shape (N, 3), at the times of the expected one.
        expected: NaN where unknown, shape (N, 3).

    Returns:
        The fit, None where fewer than 2 s are known.
    """
    known = np.isfinite(expected).all(axis=1) & np.isfinite(measured).all(axis=1)
    if known.sum() < FEWEST:
        return None
    w, e = measured[known], expected[known]
    w, e = w - np.median(w, axis=0), e - np.median(e, axis=0)
    power = float(np.sum(w**2))
    if not power > 0.0:
        return None
    parts = [w[i].T @ e[i] for i in np.array_split(np.arange(len(w)), PARTS)]
    total = np.sum(parts, axis=0)
    R, values = _nearest_orthogonal(total)
    angles = [_angle_between(_nearest_orthogonal(total - part)[0], R) for part in parts]
    size = float(np.sum(e**2))
    spread = linear_algebra.eigvalsh(e.T @ e)
    return AxesFit(
        R=R,
        sigma=math.sqrt(float(np.sum(np.square(angles))) * (PARTS - 1) / PARTS),
        scale=float(values.sum()) / size,
        score=float(values.sum()) ** 2 / (power * size),
        as_described=max(float(np.trace(total)), 0.0) ** 2 / (power * size),
        full=bool(spread[0] > RICH * spread[2]),
    )


def ground_normal(signals: UniformSignals, setup: RobotSetup) -> Array:
    """Return the normal of the ground under the standing feet, in base axes, shape (N, 3).

    Of up to two soles it is their mean normal, weighted by their loads; of three or more points that of their
    plane. NaN where too few stand. The ground is assumed to be level.
    """
    table = signals.table
    load = np.nan_to_num(np.linalg.norm(table.wrenches[:, :, :3], axis=2))
    total = load.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(total > 0.0, load / total, 1.0 / max(load.shape[1], 1))
    if table.point_contacts:
        return _planes(table.points_B, share)
    turns = [setup.robot.fixed_transform(c.wrench_frame, c.frame).rotation for c in setup.contacts]
    normals = np.einsum("nkij,kj->nki", table.rotations_BF, np.array(turns)[:, :, 2])
    mean = np.einsum("nk,nki->ni", share, normals)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Array = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return unit


def gravity_angle(signals: UniformSignals, normal_B: Array, R_IS: Array) -> float:
    """Return the angle between mean specific force and mean ground normal, both in axes of the link [rad].

    Args:
        signals: The signals.
        normal_B: Normal of the ground, shape (N, 3).
        R_IS: Assumed axes of the readings in those of the link, shape (3, 3).

    Returns:
        The angle; NaN where nothing is known.
    """
    pair = gravity_pair(signals, normal_B)
    if pair is None:
        return math.nan
    f, n = pair
    return float(np.arccos(np.clip(float(R_IS @ f @ n), -1.0, 1.0)))


def gravity_pair(signals: UniformSignals, normal_B: Array) -> tuple[Array, Array] | None:
    """Return mean specific force in its own axes and mean ground normal in those of the link, unit length."""
    table = signals.table
    normal_I = np.einsum("nji,nj->ni", table.R_BI, normal_B)
    known = np.isfinite(normal_I).all(axis=1) & np.isfinite(table.f_I).all(axis=1)
    if known.sum() < FEWEST // 4:
        return None
    f, n = table.f_I[known].mean(axis=0), normal_I[known].mean(axis=0)
    sizes = float(np.linalg.norm(f)), float(np.linalg.norm(n))
    return (f / sizes[0], n / sizes[1]) if min(sizes) > 0.0 else None


def _planes(points: Array, share: Array) -> Array:
    normals = np.full((len(points), 3), np.nan)
    for i, (p, stands) in enumerate(zip(points, share > LOADED, strict=True)):
        if stands.sum() < 3:
            continue
        spread = p[stands] - p[stands].mean(axis=0)
        _values, vectors = linear_algebra.eigh(spread.T @ spread)
        normal = vectors[:, 0]
        normals[i] = (
            normal if normal @ p[stands].mean(axis=0) < 0.0 else -normal
        )  # the base is above the feet
    return normals


def _nearest_orthogonal(matrix: Array) -> tuple[Array, Array]:
    U, values, Vt = linear_algebra.svd(matrix)
    R: Array = U @ Vt
    return R, values


def _angle_between(A: Array, B: Array) -> float:
    """Angle of the rotation from one orthogonal matrix to another, pi between rotation and reflection."""
    cosine = 0.5 * (float(np.sum(A * B)) - 1.0)
    return math.acos(min(1.0, max(-1.0, cosine)))


def added_frame(config: RobotConfig, R_IS: Array) -> tuple[dict[str, object], list[float]]:
    """Return the parameters of a frame that has the axes of the readings, and its roll, pitch and yaw.

    Args:
        config: The present parameters.
        R_IS: Rotation from the axes of the readings into those of the present frame, shape (3, 3).
    """
    names, links = list(config.frames.names), list(config.frames.links)
    poses = [list(pose) for pose in np.reshape(config.frames.poses, (-1, 6)).tolist()]
    frame = config.imu_frame
    if frame not in names:
        names, links, frame = [*names, f"{frame}_measured"], [*links, frame], f"{frame}_measured"
        poses.append([0.0] * 6)
    pose = poses[names.index(frame)]
    R = rotation_from_roll_pitch_yaw(*pose[3:]) @ R_IS
    rpy = [round(value, 4) + 0.0 for value in (*roll_pitch_of(R), yaw_of(R))]
    pose[3:] = rpy
    flat = [value for numbers in poses for value in numbers]
    values: dict[str, object] = {
        "frames.names": names,
        "frames.links": links,
        "frames.poses": flat,
        "imu_frame": frame,
    }
    return values, rpy
