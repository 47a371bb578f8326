"""Base parameters: the combinations of standard parameters that act on the rows (Gautier 1991)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identifiability import RANK_TOLERANCE
from inertial_estimation.identification.identification_result import Identifiability
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

SMALLEST_COUPLING = 1e-6  # smallest share of one column in another that is reported


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns, of which all others are linear combinations: A = A[:, columns] @ coupling.

    Attributes:
        columns: Indices of the columns, each of the unknown a base parameter is named after, shape (r,).
        coupling: Share of each unknown in each base parameter, shape (r, n): base = coupling @ x.
        identifiability: Identifiability of each unknown from rows of this kind.
    """

    columns: Indices
    coupling: Array
    identifiability: tuple[Identifiability, ...]

    @property
    def acting(self) -> Indices:
        """Indices of the unknowns that act on any row; columns of the others are round-off."""
        acts = [k for k, what in enumerate(self.identifiability) if what is not Identifiability.NOT]
        return np.array(acts, dtype=np.int64)

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    def grouped(self, index: int) -> tuple[int, ...]:
        """Return the other unknowns that act on the rows only through a base parameter."""
        share = self.coupling[index].copy()
        share[int(self.columns[index])] = 0.0
        return tuple(
            np.flatnonzero(np.abs(share) > SMALLEST_COUPLING * max(1.0, float(np.abs(share).max()))).tolist()
        )


def base_parameters(A: Array, preferred: Sequence[int] | None = None) -> BaseParameters:
    """Group unknowns into base parameters.

    Columns are examined one by one. A column that depends on earlier independent ones does not define a base
    parameter but contributes to theirs: A_rest = A_columns K gives base = [1, K] x.

    Args:
        A: Rows at many states, many more than columns, shape (N, n).
        preferred: All unknowns in the order in which they are examined; None takes the order of the columns.
            Pivoting by the remaining norm would make the choice depend on round-off, since many are equal.

    Returns:
        The independent columns and the couplings of the others.

    Raises:
        ConfigurationError: If no column acts on any row, or the order does not name every column once.
    """
    length = np.linalg.norm(A, axis=0)
    acts = length > RANK_TOLERANCE * max(float(length.max(initial=0.0)), 1e-300)
    if not acts.any():
        raise ConfigurationError("no unknown acts on any measured row: choose other rows or parameters")
    used = np.flatnonzero(acts)
    scaled = np.asarray(np.linalg.qr(A[:, used] / length[used], mode="r"))
    order = range(A.shape[1]) if preferred is None else preferred
    if sorted(order) != list(range(A.shape[1])):
        raise ConfigurationError(f"the order has {len(order)} positions, expected each of {A.shape[1]} once")
    position = {int(k): i for i, k in enumerate(used)}
    leading = _first_independent(scaled, [position[k] for k in order if k in position])
    columns = used[leading]
    K = linear_algebra.lstsq(scaled[:, leading], scaled) * length[used] / length[columns][:, None]
    K[:, leading] = np.eye(len(leading))
    coupling = np.zeros((len(columns), A.shape[1]))
    coupling[:, used] = np.where(np.abs(K) > SMALLEST_COUPLING * np.abs(K).max(initial=1.0), K, 0.0)
    return BaseParameters(columns, coupling, _identifiability(coupling, columns, acts))


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


def _identifiability(
    coupling: Array, columns: Indices, acts: NDArray[np.bool_]
) -> tuple[Identifiability, ...]:
    alone = {int(c) for i, c in enumerate(columns) if np.count_nonzero(coupling[i]) == 1}
    return tuple(
        Identifiability.NOT
        if not acts[k]
        else (Identifiability.IDENTIFIABLE if k in alone else Identifiability.COMBINATION)
        for k in range(len(acts))
    )
