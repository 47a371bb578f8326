"""Base parameters: the combinations of standard parameters that act on the rows (Gautier 1991)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identifiability import RANK_TOLERANCE
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

SMALLEST_COUPLING = 1e-6  # smallest share of one column in another that is reported


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns, of which all others are linear combinations: A = A[:, columns] @ coupling."""

    columns: Indices  # each of the unknown a base parameter is named after, shape (r,)
    coupling: Array  # share of each unknown in each base parameter, shape (r, n): base = coupling @ x
    acting: Indices  # the unknowns that act on any row; columns of the others are round-off

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
        preferred: All unknowns in the order in which they are examined; None takes the order of the columns.
            Pivoting by the remaining norm would make the choice depend on round-off, since many are equal.

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
