"""The unknowns of a kinematic chain: offsets and placement errors of its joints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.calibration.problem import Unknowns
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class ChainPoses:
    """Poses of frames in the reference S, with derivatives by the chain's unknowns.

    Attributes:
        R_SF: Shape (K, F, 3, 3).
        p_SF: [m], shape (K, F, 3).
        dR: Vectors w with dR_SF = S(w) R_SF, in S, shape (K, F, 3, n).
        dp: [m], shape (K, F, 3, n).
    """

    R_SF: Array
    p_SF: Array
    dR: Array
    dp: Array


class CalibratedChain:
    """Joint offsets and, where the description is not exact, five placement errors per joint.

    A placement error is a twist of a joint's frame in its parent, without the part that its offset
    represents. Placement errors are nuisances with a known standard deviation, so that errors of the
    description do not bias the offsets.

    Attributes:
        kinematics: The frames and joints.
        q: Measured positions in the model's order, shape (K, n_joints).
        n_offsets: Number of offsets.
        n: Number of unknowns.
    """

    def __init__(self, kinematics: ChainKinematics, q: Array, config: CalibrationConfig) -> None:
        self.kinematics = kinematics
        self.q = q
        self._config = config
        self.n_offsets = len(kinematics.joints)
        position, rotation = config.placement_position_sigma, config.placement_rotation_sigma
        self._sigmas = np.repeat([position, rotation], 3)
        self._basis = kinematics.placement_basis()
        keep = np.abs(self._basis) @ self._sigmas > 0.0  # (n, 5): errors that are allowed for
        self._rows = [(j, i) for j in range(self.n_offsets) for i in range(5) if keep[j, i]]
        self.n = self.n_offsets + len(self._rows)

    def subset(self, rows: "np.ndarray[tuple[int], np.dtype[np.int_]]") -> "CalibratedChain":
        """Return the chain restricted to some of the samples."""
        return CalibratedChain(self.kinematics, self.q[rows], self._config)

    def unknowns(self, nuisances: Sequence[tuple[str, float, float]]) -> Unknowns:
        """Return the unknowns, followed by nuisances of the problem.

        Args:
            nuisances: Name, prior standard deviation and start (which is also the prior's centre) of each.
        """
        joints = self.kinematics.joints
        names = [
            *joints,
            *(f"{joints[j]}/placement_{i}" for j, i in self._rows),
            *(n for n, _, _ in nuisances),
        ]
        config, slides = self._config, self.kinematics.prismatic
        sigma = [
            *(config.prismatic_sigma if slide else config.offset_sigma for slide in slides),
            *(float(np.abs(self._basis[j, i]) @ self._sigmas) for j, i in self._rows),
            *(s for _, s, _ in nuisances),
        ]
        start = np.array([*[0.0] * self.n, *(value for _, _, value in nuisances)])
        bounds = [config.prismatic_bound if slide else config.offset_bound for slide in slides]
        bound = np.array([*bounds, *[np.inf] * (len(names) - self.n_offsets)])
        return Unknowns(tuple(names), self.n_offsets, np.array(sigma), bound, start, start.copy(), slides)

    def poses(self, x: Array) -> ChainPoses:
        """Return poses and derivatives at the chain's part of the unknowns (those beyond are ignored)."""
        offsets = x[: self.n_offsets]
        if not self._rows:
            poses = self.kinematics.poses(self.q, offsets)
            return ChainPoses(poses.R_SF, poses.p_SF, poses.dR, poses.dp)
        to_twists = np.zeros((6 * self.n_offsets, len(self._rows)))
        for column, (j, i) in enumerate(self._rows):
            to_twists[6 * j : 6 * j + 6, column] = self._basis[j, i]
        twists = (to_twists @ x[self.n_offsets : self.n]).reshape(-1, 6)
        poses = self.kinematics.poses(self.q, offsets, twists)
        dR = np.concatenate([poses.dR, poses.dR_twist @ to_twists], axis=3)
        dp = np.concatenate([poses.dp, poses.dp_twist @ to_twists], axis=3)
        return ChainPoses(poses.R_SF, poses.p_SF, dR, dp)
