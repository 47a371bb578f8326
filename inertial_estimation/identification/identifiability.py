"""Identifiability of each unknown from the rows, and base parameters (Gautier 1991).

Identifiability follows from the triangular factor of the weighted rows. Its columns are divided by their
norms first, so that units do not matter: with R D = U S V' the directions of V whose singular value is at
least `RANK_TOLERANCE` of the largest are identifiable. Dependencies between the columns of rigid-body
dynamics hold for any posture, velocity and acceleration, smoothed or not, so noise does not fill the null
space. Only rounding in the description does (joint axes rotated by 1.5708 instead of pi/2 are wrong by 4e-6).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.equations import ReducedEquation
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array, Identifiability
from inertial_estimation.spatial import linear_algebra

RANK_TOLERANCE = 1e-5  # least singular value of an identifiable direction, share of the largest one
PART_TOLERANCE = 1e-3  # largest share of a parameter's direction in the other space that is neglected
UNSEEN_EFFECT = 3e-7  # relative effect of a typical deviation below which a column counts as zero


@dataclass(frozen=True, eq=False)
class IdentifiableSpace:
    """The identifiable directions of the unknowns and their complement."""

    scale: Array  # diagonal of D, one over the norm of each column of R, zero for a zero column, shape (n,)
    singular_values: Array  # of R D, largest first, shape (n,)
    V: Array  # right singular vectors, shape (n, n); the first `rank` span the identifiable space
    rank: int

    @classmethod
    def of(cls, equation: ReducedEquation, typical: Array) -> "IdentifiableSpace":
        """Compute the identifiable space of the weighted equations.

        A column is zero if the typical deviation of its unknown, shape (n,), has the effect of round-off.
        """
        norms = np.linalg.norm(equation.R, axis=0)
        effect = norms * typical
        seen = effect > UNSEEN_EFFECT * (effect.max(initial=0.0) + np.finfo(float).tiny)
        scale = np.where(seen, 1.0 / np.where(seen, norms, 1.0), 0.0)
        _U, s, Vt = linear_algebra.svd(equation.R * scale)
        rank = int((s > RANK_TOLERANCE * s[0]).sum()) if s[0] > 0.0 else 0
        return cls(scale, s, Vt.T, rank)

    @property
    def condition(self) -> float:
        """Condition number of the identifiable part; infinite without one."""
        s = self.singular_values
        return float(s[0] / s[self.rank - 1]) if self.rank else float("inf")

    def covariance_factor(self) -> Array:
        """Return L with L L' the covariance of the unknowns within the identifiable part, shape (n, rank)."""
        return self.scale[:, None] * self.V[:, : self.rank] / self.singular_values[: self.rank]

    def minimum(self, equation: ReducedEquation) -> Array:
        """Return the least-squares solution within the identifiable space, zero outside of it."""
        U_z = linear_algebra.svd(equation.R * self.scale)[0].T @ equation.z
        x: Array = self.covariance_factor() @ U_z[: self.rank]
        return x

    def null_space(self) -> Array:
        """Return a basis of the deviations without effect on the data, shape (n, n - rank)."""
        return np.where(self.scale > 0.0, self.scale, 1.0)[:, None] * self.V[:, self.rank :]

    def verdicts(self, E: Array) -> tuple[Identifiability, ...]:
        """Return the identifiability of each standard parameter nominal + E_i x, E of shape (p, n)."""
        directions = E * np.where(self.scale == 0.0, 1.0, self.scale) @ self.V
        size = PART_TOLERANCE * np.linalg.norm(directions, axis=1)
        inside = np.linalg.norm(directions[:, : self.rank], axis=1) > size
        outside = np.linalg.norm(directions[:, self.rank :], axis=1) > size
        kinds = (Identifiability.NOT, Identifiability.IDENTIFIABLE, Identifiability.COMBINATION)
        return tuple(kinds[int(i) * (1 + int(o))] for i, o in zip(inside, outside, strict=True))

    def deviations(self, E: Array) -> Array:
        """Return the standard deviation of each standard parameter, infinite where it is not identifiable."""
        sigma = np.linalg.norm(E @ self.covariance_factor(), axis=1)
        fixed = np.array([one is Identifiability.IDENTIFIABLE for one in self.verdicts(E)])
        return np.where(fixed, sigma, np.inf)


SMALLEST_COUPLING = 1e-6  # smallest share of one column in another that is reported


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns, of which all others are linear combinations: A = A[:, columns] @ coupling."""

    columns: Indices  # index of the unknown after which each base parameter is named, shape (r,)
    coupling: Array  # share of each unknown in each base parameter, shape (r, n): base = coupling @ x
    acting: Indices  # indices of the unknowns that act on any row; columns of the others are round-off

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    def grouped(self, index: int) -> list[int]:
        """Return the other unknowns that act on the rows only through a base parameter."""
        others: list[int] = np.flatnonzero(self.coupling[index]).tolist()
        return [k for k in others if k != self.columns[index]]


def base_parameters(A: Array, preferred: Sequence[int] | None = None) -> BaseParameters:
    """Group unknowns into base parameters.

    Columns are examined one by one. A column that depends on earlier independent ones does not define a base
    parameter but contributes to theirs: A_rest = A_columns K gives base = [1, K] x.

    Args:
        A: Rows at many states, many more than columns, shape (N, n).
        preferred: All unknowns in the order in which they are examined; None: the order of the columns.
            Pivoting by remaining norms, many of which are equal, would make the choice depend on round-off.

    Raises:
        ConfigurationError: If no column acts on any row.
    """
    length = np.linalg.norm(A, axis=0)
    acts: NDArray[np.bool_] = length > RANK_TOLERANCE * max(float(length.max(initial=0.0)), 1e-300)
    if not acts.any():
        raise ConfigurationError("no unknown acts on any measured row: choose other rows or parameters")
    scaled = np.zeros((min(A.shape), A.shape[1]))
    scaled[:, acts] = linear_algebra.triangular_factor(A)[:, acts] / length[acts]
    columns = _first_independent(scaled, [k for k in preferred or range(A.shape[1]) if acts[k]])
    K = linear_algebra.lstsq(scaled[:, columns], scaled) * length / length[columns][:, None]
    K[:, columns] = np.eye(len(columns))
    coupling = np.where(np.abs(K) > SMALLEST_COUPLING * np.abs(K).max(initial=1.0), K, 0.0)
    return BaseParameters(columns, coupling, np.flatnonzero(acts))


def _first_independent(scaled: Array, order: Sequence[int]) -> Indices:
    leading: list[int] = []
    basis: Array = np.zeros((len(scaled), 0))
    for k in order:
        left = scaled[:, k] - basis @ (basis.T @ scaled[:, k])
        left -= basis @ (basis.T @ left)  # repeated, since one pass of Gram-Schmidt loses digits
        if np.linalg.norm(left) > RANK_TOLERANCE:
            leading.append(k)
            basis = np.column_stack((basis, left / np.linalg.norm(left)))
    return np.array(leading, dtype=np.int64)
