"""Calibration of one frame: held flush on an unknown plane, or with a motion-capture marker on it."""

import numpy as np

from inertial_estimation.calibration.problem import (
    CalibrationConfig,
    CalibrationProblem,
    Channel,
    Linearisation,
    Numbers,
)
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, left_jacobian_so3, skew, skews

MARKER_CHANNELS = (Channel("marker", "m", 3e-3, components=3),)
LOOSE_SIGMA = 10.0  # prior standard deviation of unknowns without prior knowledge [m or rad]
MARKER_SIGMA = 1.0  # prior standard deviation of the marker's position on the link [m]


class MarkerProblem(CalibrationProblem):
    """Offsets from measured positions of a marker M on a link F, in an unknown frame C of the cameras.

    Residual r = p_CM - (R_CS (p_SF + R_SF m_F) + t_C), with R_CS = exp(a) A, A the initial alignment, and S a
    link that does not move relative to the cameras (a fixed base, a foot on the ground).
    """

    kind = "marker"
    channels = MARKER_CHANNELS
    channel_of_row = np.zeros(3, dtype=int)

    def __init__(
        self, kinematics: ChainKinematics, q: Array, config: CalibrationConfig, positions_C: Array
    ) -> None:
        """Set up a chain whose first frame carries the marker, at positions in the cameras' frame, (K, 3)."""
        self.positions_C = positions_C
        nominal = kinematics.poses(q, np.zeros(len(kinematics.joints)))
        self._A, start = aligned(nominal.p_SF[:, 0], positions_C)
        super().__init__(
            *(kinematics, q, config),
            [
                *((f"camera_rotation_{i}", LOOSE_SIGMA, 0.0) for i in "xyz"),
                *((f"camera_position_{i}", LOOSE_SIGMA, float(start[k])) for k, i in enumerate("xyz")),
                *((f"marker_{i}", MARKER_SIGMA, 0.0) for i in "xyz"),
            ],
        )

    def subset(self, rows: Numbers) -> "MarkerProblem":
        """Return the same problem on some of the postures."""
        part = super().subset(rows)
        part.positions_C = self.positions_C[rows]
        return part

    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return measured minus predicted positions, with derivatives."""
        poses, n = self.poses(x), self.unknowns.n_offsets
        a, t, m = x[n : n + 3], x[n + 3 : n + 6], x[n + 6 : n + 9]
        R_CS = exp_so3(a) @ self._A
        R, p = poses.R_SF[:, 0], poses.p_SF[:, 0]
        arm = R @ m
        turned = (p + arm) @ R_CS.T
        J = np.zeros((self.n_samples, 3, self.unknowns.count))
        lever = np.array([skew(row) for row in arm])
        J[:, :, :n] = -R_CS @ (poses.dp[:, 0] - lever @ poses.dR[:, 0])
        J[:, :, n : n + 3] = np.array([skew(row) for row in turned]) @ left_jacobian_so3(a)
        J[:, :, n + 3 : n + 6] = -np.eye(3)
        J[:, :, n + 6 : n + 9] = -R_CS @ R
        return Linearisation(self.positions_C - turned - t, J, np.zeros((self.n_samples, 3, 0)))


def aligned(points_S: Array, points_C: Array) -> tuple[Array, Array]:
    """Return R_CS and t_C of points_C = R_CS points_S + t_C, shape (K, 3) each [m] (Kabsch 1976)."""
    mean_S, mean_C = points_S.mean(axis=0), points_C.mean(axis=0)
    U, _, Vt = linear_algebra.svd((points_C - mean_C).T @ (points_S - mean_S))
    R = U @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(U @ Vt)))]) @ Vt
    return R, mean_C - R @ mean_S


PLANE_CHANNELS = (Channel("height", "m", 2e-3), Channel("roll", "rad", 4e-3), Channel("pitch", "rad", 4e-3))
FLUSH_SIGMA = 0.035  # prior standard deviation of the frame's axis from the normal of the face [rad]


class PlaneProblem(CalibrationProblem):
    """Offsets from postures in which a frame F lies on one plane, fixed relative to the reference S.

    S is a sole of a robot that stands (the base pose follows from the leg), or the base of an arm. The plane
    is n . p = h, n = exp(a, b, 0) e with e the axis of S nearest to F's flush axis f. The residuals are, with
    c = exp(u) f the flush axis corrected for the mounting error of the face, and v = R_SF^T n:

        height  n . p_SF - h,     roll, pitch: the two components of c x v across f.

    Attributes:
        axis_F: Flush axis f in F, a signed coordinate axis.
        normal_S: The axis e of S with which the flush axis is compared.
    """

    kind = "plane"
    channels = PLANE_CHANNELS
    channel_of_row = np.arange(3)

    def __init__(self, kinematics: ChainKinematics, q: Array, config: CalibrationConfig) -> None:
        """Set up a chain whose first frame is held on the plane.

        The flush axis is the frame's axis that is most nearly constant over the postures, with the sign that
        points along the reference's z unless both are nearly perpendicular.
        """
        poses = kinematics.poses(q, np.zeros(len(kinematics.joints)))
        R_SF = poses.R_SF[:, 0]
        self.axis_F = _constant_axis(R_SF)
        mean = (R_SF @ self.axis_F).mean(axis=0)
        k = int(np.abs(mean).argmax())
        self.normal_S = np.sign(mean[k]) * np.eye(3)[k]
        self._across_S = _across(self.normal_S)
        self._across_F = _across(self.axis_F)
        height = float((poses.p_SF[:, 0] @ self.normal_S).mean())
        super().__init__(
            *(kinematics, q, config),
            [
                ("plane_tilt_1", LOOSE_SIGMA, 0.0),
                ("plane_tilt_2", LOOSE_SIGMA, 0.0),
                ("plane_height", LOOSE_SIGMA, height),
                ("flush_tilt_1", FLUSH_SIGMA, 0.0),
                ("flush_tilt_2", FLUSH_SIGMA, 0.0),
            ],
        )

    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return height, roll and pitch on the plane, with derivatives."""
        poses, n = self.poses(x), self.unknowns.n_offsets
        a, u = x[n : n + 2] @ self._across_S, x[n + 3 : n + 5] @ self._across_F
        normal, face = exp_so3(a) @ self.normal_S, exp_so3(u) @ self.axis_F
        d_normal = _turned(a, self.normal_S) @ self._across_S.T  # (3, 2)
        d_face = _turned(u, self.axis_F) @ self._across_F.T
        R, p = poses.R_SF[:, 0], poses.p_SF[:, 0]
        v = np.swapaxes(R, 1, 2) @ normal
        residual, J = np.empty((self.n_samples, 3)), np.zeros((self.n_samples, 3, self.unknowns.count))
        residual[:, 0] = p @ normal - x[n + 2]
        residual[:, 1:] = np.cross(face, v) @ self._across_F.T
        J[:, 0, :n] = normal @ poses.dp[:, 0]
        J[:, 0, n : n + 2] = p @ d_normal
        J[:, 0, n + 2] = -1.0
        across = self._across_F @ skew(face)  # (2, 3): takes dv to the residual
        R_FS = np.swapaxes(R, 1, 2)
        J[:, 1:, :n] = across @ R_FS @ skew(normal) @ poses.dR[:, 0]  # dv = R' (n x w)
        J[:, 1:, n : n + 2] = across @ R_FS @ d_normal
        J[:, 1:, n + 3 : n + 5] = -np.einsum("ci,kij,jd->kcd", self._across_F, skews(v), d_face)
        return Linearisation(residual, J, np.zeros((self.n_samples, 3, 0)))


def _across(axis: Array) -> Array:
    """Return two unit vectors perpendicular to a coordinate axis, shape (2, 3): x and y for z."""
    k = int(np.abs(axis).argmax())
    return np.eye(3)[[(k + 1) % 3, (k + 2) % 3]]


def _turned(a: Array, axis: Array) -> Array:
    """Return the derivative of exp(a) axis by a, shape (3, 3): -S(exp(a) axis) J_l(a)."""
    return -skew(exp_so3(a) @ axis) @ left_jacobian_so3(a)


def _constant_axis(R_SF: Array) -> Array:
    """Return the axis of F whose direction in S is most constant, with the sign of S's z if near to it."""
    mean = R_SF.mean(axis=0)
    k = int(np.linalg.norm(mean, axis=0).argmax())
    sign = -1.0 if mean[2, k] < -0.5 else 1.0
    axis: Array = sign * np.eye(3)[k]
    return axis
