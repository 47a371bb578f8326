"""Calibration with both feet flat on a level floor and measured base orientation (Yamane, section II).

Unknown: joint offsets, and for each sample the orientation of the base and its height. Cost (1)

    1/2 sum_k (L_k + C_k),

L_k the orientation error of the links with an IMU, C_k the variance of the heights of the sole corners. Only
rotations about horizontal axes change heights, so the yaw of the base is excluded unless IMUs share a yaw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from inertial_estimation.calibration.problem import (
    CalibrationConfig,
    CalibrationProblem,
    Channel,
    Linearisation,
    Numbers,
)
from inertial_estimation.models.chain_kinematics import ChainKinematics, FramePoses
from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import exp_so3, skew, vector, with_vertical

HEIGHT, TILT = Channel("sole height", "m", 2e-3), Channel("sole tilt", "m", 1e-3)
IMU_TILT, IMU_YAW = Channel("imu tilt", "rad", 5e-3), Channel("imu yaw", "rad", 5e-3)
FLAT_FEET_CHANNELS = HEIGHT, TILT, IMU_TILT, IMU_YAW


@dataclass(frozen=True, slots=True, eq=False)
class ImuOrientations:
    """Measured orientations of one link with an IMU."""

    R_WI: Array  # orientations of the frame in a world with z up, shape (K, 3, 3)
    use_yaw: bool = False  # whether its yaw is used, because several IMUs share one yaw reference


class FlatFeetProblem(CalibrationProblem):
    """Offsets from postures with both soles flat on one level floor.

    The rows of a sample are, for each sole, three combinations of its corners' heights with the same sum of
    squares as the heights themselves (those of a plane have no fourth), then for each IMU the horizontal
    components of R_WB R_BI R_WI^T e_z and, if it is used, the yaw of R_WB R_BI R_WI^T. Local unknowns are the
    rotation of the base about the world's x and y (and z if a yaw is used), and the height of the base.
    """

    kind = "flat-feet"

    def __init__(
        self,
        kinematics: ChainKinematics,
        q: Array,
        config: CalibrationConfig,
        soles: Sequence[Array],
        imus: Sequence[ImuOrientations],
    ) -> None:
        """Set up the problem.

        Args:
            kinematics: Chain with the base as reference, whose frames are the contact of each sole, then each
                IMU.
            q: Measured positions in the model's order [rad or m], shape (K, n_joints).
            config: Prior knowledge.
            soles: Corners of each sole in its contact frame [m], shape (c, 3) each.
            imus: Orientations of each IMU; without any, the tilt of the base follows from the soles.
        """
        super().__init__(kinematics, q, config)
        self.soles, self.imus = tuple(soles), tuple(imus)
        self.use_yaw = any(imu.use_yaw for imu in imus)
        self._mixed = [_combinations(corners) for corners in self.soles]
        rows = [channel for mixed in self._mixed for channel in [HEIGHT, *[TILT] * (len(mixed) - 1)]]
        for imu in self.imus:
            rows += [IMU_TILT, IMU_TILT, *([IMU_YAW] if imu.use_yaw else [])]
        self.channels = tuple(channel for channel in FLAT_FEET_CHANNELS if channel in rows)
        self.channel_of_row = np.array([self.channels.index(row) for row in rows])

    @property
    def n_local(self) -> int:
        """Number of local unknowns: two angles, or three with yaw, and a height."""
        return 4 if self.use_yaw else 3

    def start_local(self) -> Array:
        """Return orientation and height of the base in each sample, shape (K, 4, 3): R_WB, (z, 0, 0).

        The orientation is the mean of the IMU readings transformed to the base; without IMUs, the mean
        normal of the soles is vertical.
        """
        poses = self.poses(np.zeros(self.unknowns.n_offsets))
        local: Array = np.zeros((self.n_samples, 4, 3))
        for k in range(self.n_samples):
            R = self._start_orientation(poses, k)
            local[k, :3] = R
            heights = [R[2] @ poses.p_SF[k, i] for i in range(len(self.soles))]
            local[k, 3, 0] = -float(np.mean(heights))
        return local

    def moved(self, local: Array, step: Array) -> Array:
        """Return local unknowns after a step: base orientations rotated in the world, heights shifted."""
        moved: Array = local.copy()
        angles = np.zeros((len(step), 3))
        angles[:, : self.n_local - 1] = step[:, :-1]
        for k, phi in enumerate(angles):
            moved[k, :3] = exp_so3(phi) @ local[k, :3]
        moved[:, 3, 0] += step[:, -1]
        return moved

    def subset(self, rows: Numbers) -> "FlatFeetProblem":
        """Return the same problem on some of the samples."""
        part = super().subset(rows)
        part.imus = tuple(ImuOrientations(imu.R_WI[rows], imu.use_yaw) for imu in self.imus)
        return part

    def heights(self, x: Array, local: Array) -> Array:
        """Return the heights of all corners above their mean in each sample [m], shape (K, N)."""
        poses, R_WB = self.poses(x), local[:, :3]
        columns = []
        for i, corners in enumerate(self.soles):
            p_B = poses.p_SF[:, i, None] + np.einsum("kij,cj->kci", poses.R_SF[:, i], corners)
            columns.append(np.einsum("kj,kcj->kc", R_WB[:, 2], p_B))
        heights = np.concatenate(columns, axis=1)
        centred: Array = heights - heights.mean(axis=1, keepdims=True)
        return centred

    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return combined heights and orientation errors, with derivatives."""
        poses, R_WB, z = self.poses(x), local[:, :3], local[:, 3, 0]
        parts = []
        for i, (corners, mixed) in enumerate(zip(self.soles, self._mixed, strict=True)):
            rows = self._heights(poses, R_WB, z, i, corners)
            parts.append((rows.residual @ mixed.T, mixed @ rows.by_unknowns, mixed @ rows.by_local))
        for i, imu in enumerate(self.imus):
            rows = self._orientation(poses, R_WB, len(self.soles) + i, imu)
            parts.append((rows.residual, rows.by_unknowns, rows.by_local))
        residual, by_x, by_local = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
        return Linearisation(residual, by_x, by_local)

    def _heights(self, poses: FramePoses, R_WB: Array, z: Array, frame: int, corners: Array) -> Linearisation:
        up = R_WB[:, 2]  # the vertical in the base
        arm = np.einsum("kij,cj->kci", poses.R_SF[:, frame], corners)
        p_B = poses.p_SF[:, frame, None] + arm
        heights = np.einsum("kj,kcj->kc", up, p_B) + z[:, None]
        by_x = np.einsum("kj,kjn->kn", up, poses.dp[:, frame])[:, None] + np.einsum(
            "kci,kin->kcn", np.cross(arm, up[:, None]), poses.dR[:, frame]
        )  # up . (w x arm) = (arm x up) . w
        p_W = np.einsum("kij,kcj->kci", R_WB, p_B)
        by_local = np.zeros((*heights.shape, self.n_local))
        by_local[:, :, 0], by_local[:, :, 1], by_local[:, :, -1] = p_W[:, :, 1], -p_W[:, :, 0], 1.0
        return Linearisation(heights, by_x, by_local)

    def _orientation(self, poses: FramePoses, R_WB: Array, frame: int, imu: ImuOrientations) -> Linearisation:
        E = R_WB @ poses.R_SF[:, frame] @ np.swapaxes(imu.R_WI, 1, 2)
        by_angle = R_WB @ poses.dR[:, frame]  # (K, 3, n): turn of E in the world
        turn = np.zeros((self.n_samples, 3, self.n_local))
        turn[:, :, : self.n_local - 1] = np.eye(3)[:, : self.n_local - 1]
        residual = [E[:, 0, 2], E[:, 1, 2]]  # horizontal part of E e_z: d(E e_z) = w x E e_z
        D = -np.array([skew(e) for e in E[:, :, 2]])[:, :2]
        if imu.use_yaw:
            residual.append(np.arctan2(E[:, 1, 0], E[:, 0, 0]))
            D = np.concatenate([D, _yaw_by_turn(E)[:, None]], axis=1)
        return Linearisation(np.stack(residual, axis=1), D @ by_angle, D @ turn)

    def _start_orientation(self, poses: FramePoses, k: int) -> Array:
        n = len(self.soles)
        if not self.imus:
            up_B = poses.R_SF[k, :n, :, 2].sum(axis=0)
            return upright(up_B)
        seen = [imu.R_WI[k] @ poses.R_SF[k, n + i].T for i, imu in enumerate(self.imus)]
        if self.use_yaw:
            return np.asarray(Rotation.from_matrix(seen).mean().as_matrix())
        return upright(np.sum([R_WB[2] for R_WB in seen], axis=0))


def _combinations(corners: Array) -> Array:
    """Return orthonormal combinations of the corners' heights: mean, then tilts; shape (r, c), r <= 3."""
    affine = np.column_stack([np.ones(len(corners)), corners[:, :2]])
    Q, R = np.linalg.qr(affine)
    kept = np.abs(np.diag(R)) > 1e-9
    combinations: Array = Q.T[: len(kept)][kept]
    return combinations


def upright(up_B: Array) -> Array:
    """Return the smallest rotation that takes a direction of the base to the world's vertical."""
    up = vector(up_B / np.linalg.norm(up_B))
    return np.array(with_vertical((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), up))


def _yaw_by_turn(E: Array) -> Array:
    """Return d atan2(E_10, E_00) / dw, w a rotation of E in the world, shape (K, 3): d(E e_x) = w x E e_x."""
    a = E[:, :, 0]
    square = a[:, 0] ** 2 + a[:, 1] ** 2
    return np.stack([-a[:, 2] * a[:, 0] / square, -a[:, 2] * a[:, 1] / square, np.ones(len(a))], axis=1)
