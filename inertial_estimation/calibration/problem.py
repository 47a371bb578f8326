"""Problem of a calibration: unknowns of a kinematic chain with prior knowledge, and residuals of samples."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.models.chain_kinematics import ChainKinematics, FramePoses
from inertial_estimation.parameters import numeric
from inertial_estimation.signals import Array


@dataclass(frozen=True)
class CalibrationConfig:
    """Prior knowledge, common to all kinds of calibration."""

    offset_sigma: float = numeric(
        *(0.2, 1e-4, 10.0, "rad"),
        "Prior standard deviation of every joint's offset about zero; a larger value lets the data move the "
        "offsets further. A decimetre of a prismatic joint counts as a radian.",
    )
    identifiable_sigma: float = numeric(
        *(0.01, 1e-6, 0.2, "rad"),
        "Standard deviation up to which the offset of a joint counts as identifiable; a decimetre of a "
        "prismatic joint counts as a radian.",
    )


Numbers = NDArray[np.int_]
Problem = TypeVar("Problem", bound="CalibrationProblem")
SLIDE_M = 0.1  # offset of a prismatic joint that counts as one radian of a revolute one: half a forearm


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Unknowns common to all samples: joint offsets, then nuisances."""

    names: tuple[str, ...]  # names of the unknowns, the first `n_offsets` are joints
    n_offsets: int
    prior_sigma: Array  # prior standard deviation of each unknown about its centre, shape (n,)
    centre: Array  # prior means, where the iteration starts, shape (n,)

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)


@dataclass(frozen=True)
class Channel:
    """One kind of residual; all of its rows have one noise level."""

    name: str
    unit: str  # "m" or "rad"
    sigma: float  # initial noise level
    floor: float = 1e-7  # smallest noise level
    components: int = 1  # number of rows that form one vector, of which the norm is reported


@dataclass(frozen=True, eq=False)
class Linearisation:
    """Residuals r + J dx + L dl of K samples with m rows each."""

    residual: Array  # r [m or rad], shape (K, m)
    by_unknowns: Array  # J, shape (K, m, n)
    by_local: Array  # L, derivatives by the local unknowns of each sample, shape (K, m, l); l may be 0


class CalibrationProblem(ABC):
    """A family of nonlinear least squares problems with a few common and many local unknowns.

    Attributes:
        kind: Name of the kind of calibration.
        channels: The kinds of rows.
        channel_of_row: Index into `channels` of each of the m rows of a sample, shape (m,).
        kinematics: The frames and joints.
        q: Measured positions of all samples in the model's order [rad or m], shape (K, n_joints).
        config: Prior knowledge.
        scale: Unit of each offset: 1 rad, or `SLIDE_M` for a prismatic joint, shape (n_offsets,).
        unknowns: The common unknowns.
    """

    kind: ClassVar[str] = ""
    channels: tuple[Channel, ...]
    channel_of_row: Numbers

    def __init__(
        self,
        kinematics: ChainKinematics,
        q: Array,
        config: CalibrationConfig,
        nuisances: Sequence[tuple[str, float, float]] = (),
    ) -> None:
        """Set the chain and its postures; nuisances (name, prior sigma, centre each) follow the offsets."""
        self.kinematics, self.q, self.config = kinematics, q, config
        self.scale = np.where(kinematics.prismatic, SLIDE_M, 1.0)
        n = len(kinematics.joints)
        names, sigmas, centres = zip(*nuisances, strict=True) if nuisances else ((), (), ())
        sigma = np.concatenate((config.offset_sigma * self.scale, sigmas))
        self.unknowns = Unknowns(
            (*kinematics.joints, *names), n, sigma, np.concatenate((np.zeros(n), centres))
        )

    @property
    def n_samples(self) -> int:
        """Number of samples K."""
        return len(self.q)

    def poses(self, x: Array) -> FramePoses:
        """Return poses and derivatives of all samples at the offsets, the first of the common unknowns x."""
        return self.kinematics.poses(self.q, x[: self.unknowns.n_offsets])

    @abstractmethod
    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return residuals and derivatives at the common unknowns x, shape (n,), and local ones."""

    def start_local(self) -> Array:
        """Return the initial local unknowns, one row for each sample, shape (K, ...); none by default."""
        return np.zeros((self.n_samples, 0))

    def moved(self, local: Array, step: Array) -> Array:
        """Return local unknowns after a step of shape (K, l)."""
        return local

    def heights(self, x: Array, local: Array) -> Array:
        """Return the lengths that the figure shows [m], shape (K, c): by default residuals in metres."""
        metres = [c for c, channel in enumerate(self.channels) if channel.unit == "m"]
        return self.linearise(x, local).residual[:, np.isin(self.channel_of_row, metres)]

    def displaced(self: Problem, joint: str, shift: Array) -> Problem:
        """Return the same problem with the placement of a joint shifted in its parent body [m]."""
        part = copy.copy(self)
        part.kinematics = self.kinematics.displaced(joint, shift)
        return part

    def subset(self: Problem, rows: Numbers) -> Problem:
        """Return the same problem on some of the samples, with the same unknowns."""
        part = copy.copy(self)
        part.q = self.q[rows]
        return part
