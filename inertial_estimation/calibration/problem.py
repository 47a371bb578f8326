"""Problem of a calibration: unknowns with prior knowledge, and residuals linear in small changes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """Unknowns common to all samples: joint offsets first, then nuisances.

    Attributes:
        names: One for each unknown; the first `n_offsets` are joints.
        n_offsets: How many are joint offsets.
        prior_sigma: Standard deviation of each about zero, known beforehand, shape (n,).
        bound: Largest magnitude of each, shape (n,); infinite for none.
        start: Where the solution starts, shape (n,).
        centre: What the prior is centred on, shape (n,).
        prismatic: Which offsets are those of prismatic joints [m], for each offset; empty for none.
    """

    names: tuple[str, ...]
    n_offsets: int
    prior_sigma: Array
    bound: Array
    start: Array
    centre: Array
    prismatic: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.names),)
        for name in ("prior_sigma", "bound", "start", "centre"):
            if getattr(self, name).shape != shape:
                raise ConfigurationError(f"{name} has shape {getattr(self, name).shape}, expected {shape}")

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


class CalibrationProblem(ABC):
    """A family of nonlinear least squares problems with a few common and many local unknowns.

    Attributes:
        unknowns: The common unknowns.
        channels: The kinds of rows.
        channel_of_row: Index into `channels` of each of the m rows of a sample, shape (m,).
        n_samples: K.
    """

    unknowns: Unknowns
    channels: tuple[Channel, ...]
    channel_of_row: "np.ndarray[tuple[int], np.dtype[np.int_]]"
    n_samples: int

    @abstractmethod
    def start_local(self) -> Array:
        """Return the local unknowns to start from, one row for each sample, shape (K, ...)."""

    @abstractmethod
    def linearise(self, x: Array, local: Array) -> Linearisation:
        """Return residuals and derivatives at the common unknowns x, shape (n,), and local ones."""

    def moved(self, local: Array, step: Array) -> Array:
        """Return local unknowns after a step of shape (K, l)."""
        return local

    @abstractmethod
    def subset(self, rows: "np.ndarray[tuple[int], np.dtype[np.int_]]") -> "CalibrationProblem":
        """Return the same problem on some of the samples."""
