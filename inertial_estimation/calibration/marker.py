"""Calibration with a motion-capture marker on a link, whose position each posture gives."""

import numpy as np

from inertial_estimation.calibration.problem import (
    CalibratedChain,
    CalibrationProblem,
    Channel,
    Linearisation,
    Numbers,
)
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.rotations import exp_so3, left_jacobian_so3, skew

MARKER_CHANNELS = (Channel("marker", "m", 3e-3, components=3),)
LOOSE_SIGMA = 10.0  # [m or rad]
MARKER_SIGMA = 1.0  # prior standard deviation of the marker's position on the link [m]


class MarkerProblem(CalibrationProblem):
    """Offsets from measured positions of a marker M on a link F, in an unknown frame C of the cameras.

    Residual r = p_CM - (R_CS (p_SF + R_SF m_F) + t_C), with R_CS = exp(a) A, A the first alignment, and S a
    link the cameras do not move against (a fixed base, a foot on the ground).
    """

    kind = "marker"
    channels = MARKER_CHANNELS
    channel_of_row = np.zeros(3, dtype=int)

    def __init__(self, chain: CalibratedChain, positions_C: Array) -> None:
        """Set up a chain whose first frame carries the marker, at positions in the cameras' frame, (K, 3)."""
        self.positions_C = positions_C
        self._A, start = aligned(chain.poses(np.zeros(chain.n)).p_SF[:, 0], positions_C)
        super().__init__(
            chain,
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
        poses, n = self.chain.poses(x), self.chain.n
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
