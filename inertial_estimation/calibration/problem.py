"""Problem of a calibration: unknowns of a kinematic chain with prior knowledge, and residuals of samples."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.calibration.calibration_config import CalibrationConfig
from inertial_estimation.models.chain_kinematics import ChainKinematics
from inertial_estimation.signals import Array

Numbers = NDArray[np.int_]
Problem = TypeVar("Problem", bound="CalibrationProblem")


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """Unknowns common to all samples: joint offsets, placement errors of joints, then nuisances.

    Attributes:
        names: One for each unknown; the first `n_offsets` are joints.
        n_offsets: How many are joint offsets.
        n_chain: How many are offsets or placement errors.
        prior_sigma: Standard deviation of each about its centre, known beforehand, shape (n,).
        bound: Largest magnitude of each, shape (n,); infinite for none.
        centre: What the prior is centred on, where the solution starts, shape (n,).
        prismatic: Which offsets are those of prismatic joints [m], for each offset; empty for none.
    """

    names: tuple[str, ...]
    n_offsets: int
    n_chain: int
    prior_sigma: Array
    bound: Array
    centre: Array
    prismatic: tuple[bool, ...] = ()

    def by_kind(self, revolute: float, prismatic: float) -> Array:
        """Return one value for each offset, by the kind of its joint, shape (n_offsets,)."""
        return np.where(self.prismatic or np.zeros(self.n_offsets, dtype=bool), prismatic, revolute)

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of residual; all of its rows have one noise level.

    Attributes:
        name: What it is.
        unit: "m" or "rad".
        sigma: Noise level to start from.
        floor: Smallest noise level.
        components: Rows that make up one vector; its norm is what is reported.
    """

    name: str
    unit: str
    sigma: float
    floor: float
    components: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """Residuals r + J dx + L dl of K samples with m rows each.

    Attributes:
        residual: r [m or rad], shape (K, m).
        by_unknowns: J, shape (K, m, n).
        by_local: L, by the unknowns that belong to one sample only, shape (K, m, l); l may be 0.
    """

    residual: Array
    by_unknowns: Array
    by_local: Array


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
        self.kinematics, self.q, self._config = kinematics, q, config
        self.n_offsets = len(kinematics.joints)
        sizes = np.repeat([config.placement_position_sigma, config.placement_rotation_sigma], 3)
        basis = kinematics.placement_basis()
        sigma = np.abs(basis) @ sizes  # (n, 5): zero for errors that are not allowed for
        self._rows = np.argwhere(sigma > 0.0)
        self._sigma = sigma[sigma > 0.0]
        self._to_twists = np.zeros((6 * self.n_offsets, len(self._rows)))
        for column, (j, i) in enumerate(self._rows):
            self._to_twists[6 * j : 6 * j + 6, column] = basis[j, i]
        self.n = self.n_offsets + len(self._rows)

    def subset(self, rows: Numbers) -> "CalibratedChain":
        """Return the chain restricted to some of the samples."""
        part = copy.copy(self)
        part.q = self.q[rows]
        return part

    def unknowns(self, nuisances: Sequence[tuple[str, float, float]]) -> Unknowns:
        """Return the unknowns, followed by nuisances of the problem.

        Args:
            nuisances: Name, prior standard deviation and centre of each.
        """
        joints, config, slides = self.kinematics.joints, self._config, self.kinematics.prismatic
        added, sigmas, centres = zip(*nuisances, strict=True) if nuisances else ((), (), ())
        names = (*joints, *(f"{joints[j]}/placement_{i}" for j, i in self._rows), *added)
        sigma = [config.prismatic_sigma if slide else config.offset_sigma for slide in slides]
        bounds = [config.prismatic_bound if slide else config.offset_bound for slide in slides]
        return Unknowns(
            names,
            self.n_offsets,
            self.n,
            np.concatenate((sigma, self._sigma, sigmas)),
            np.array([*bounds, *[np.inf] * (len(names) - self.n_offsets)]),
            np.array([*[0.0] * self.n, *centres]),
            slides,
        )

    def poses(self, x: Array) -> ChainPoses:
        """Return poses and derivatives at the chain's part of the unknowns (those beyond are ignored)."""
        offsets = x[: self.n_offsets]
        if not len(self._rows):
            poses = self.kinematics.poses(self.q, offsets)
            return ChainPoses(poses.R_SF, poses.p_SF, poses.dR, poses.dp)
        twists = (self._to_twists @ x[self.n_offsets : self.n]).reshape(-1, 6)
        poses = self.kinematics.poses(self.q, offsets, twists)
        dR = np.concatenate([poses.dR, poses.dR_twist @ self._to_twists], axis=3)
        dp = np.concatenate([poses.dp, poses.dp_twist @ self._to_twists], axis=3)
        return ChainPoses(poses.R_SF, poses.p_SF, dR, dp)


class CalibrationProblem(ABC):
    """A family of nonlinear least squares problems with a few common and many local unknowns.

    Attributes:
        chain: The kinematic chain, with the measured positions of all samples.
        unknowns: The common unknowns.
        channels: The kinds of rows.
        channel_of_row: Index into `channels` of each of the m rows of a sample, shape (m,).
        n_samples: K.
    """

    chain: CalibratedChain
    unknowns: Unknowns
    channels: tuple[Channel, ...]
    channel_of_row: Numbers
    n_samples: int

    @abstractmethod
    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return residuals and derivatives at the common unknowns x, shape (n,), and local ones."""

    def start_local(self) -> Array:
        """Return the local unknowns to start from, one row for each sample, shape (K, ...); here none."""
        return np.zeros((self.n_samples, 0))

    def moved(self, local: Array, step: Array) -> Array:
        """Return local unknowns after a step of shape (K, l)."""
        return local

    def subset(self: Problem, rows: Numbers) -> Problem:
        """Return the same problem on some of the samples, with the same unknowns."""
        part = copy.copy(self)
        part.chain, part.n_samples = self.chain.subset(rows), len(rows)
        return part
