"""What rows say of the unknowns: base parameters, information matrix, objectives with their gradients.

Rows A x + noise of variance s^2 give Sigma = s^2 (A'A)^-1 (SYDE 652). Only some combinations of the standard
parameters act on the rows of any motion; the base parameters are a set of columns that carries them all.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_result import Identifiability
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array

__all__ = [
    "OBJECTIVES",
    "BaseParameters",
    "base_parameters",
    "covariance",
    "objective",
    "plain_condition",
    "scaled_condition",
]

RANK_TOLERANCE = 1e-5  # of columns of unit length, as in identifiability: URDFs round the axes of joints
COUPLING = 1e-6  # smallest share of one column in another that is named
RIDGE = 1e-13  # keeps the logarithm of a singular information finite
SINGULAR = 1e-7  # smallest ratio of singular values of A that is not round-off in A'A
OBJECTIVES = ("condition", "max-variance", "log-det")


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Columns that carry all others: A = A[:, columns] [1, K] up to order.

    Attributes:
        columns: Indices of the columns, increasing, shape (r,).
        coupling: Share of each unknown in each base parameter, shape (r, n): base = coupling @ x.
        identifiability: What motions of this kind can say of each unknown.
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
        """Return the unknowns that act only through a base parameter, besides its own."""
        share = self.coupling[index].copy()
        share[int(self.columns[index])] = 0.0
        return tuple(np.flatnonzero(np.abs(share) > COUPLING * max(1.0, float(np.abs(share).max()))).tolist())


def base_parameters(A: Array) -> BaseParameters:
    """Find the base parameters of a kind of motion by a pivoted QR of rows at many states.

    Args:
        A: Rows of random states of that kind, many more than columns, shape (N, n).

    Returns:
        The columns and what depends on them.

    Raises:
        ConfigurationError: If no column acts on any row.
    """
    length = np.linalg.norm(A, axis=0)
    acts = length > RANK_TOLERANCE * max(float(length.max(initial=0.0)), 1e-300)
    if not acts.any():
        raise ConfigurationError("no unknown acts on any measured row: choose other rows or parameters")
    used = np.flatnonzero(acts)
    R, pivots = qr(A[:, used] / length[used], mode="r", pivoting=True)[0:2]
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > RANK_TOLERANCE * diagonal[0]).sum())
    K = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    K = K * length[used[pivots[rank:]]] / length[used[pivots[:rank]]][:, None]
    coupling = np.zeros((rank, A.shape[1]))
    coupling[np.arange(rank), used[pivots[:rank]]] = 1.0
    coupling[:, used[pivots[rank:]]] = np.where(np.abs(K) > COUPLING * np.abs(K).max(initial=1.0), K, 0.0)
    order = np.argsort(used[pivots[:rank]])
    columns = used[pivots[:rank]][order]
    coupling = coupling[order]
    return BaseParameters(columns, coupling, _identifiability(coupling, columns, acts))


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


def objective(name: str, M: Array, base: BaseParameters, sharpness: float = math.inf) -> tuple[float, Array]:
    """Return an objective of the information and its gradient.

    - condition: log of the condition number of the rows, all columns scaled to unit length, on their row
      space (as identification reports it; no choice of base parameters enters)
    - max-variance: log of the largest variance of a base parameter, in SI units
    - log-det: -log det of the information of the base parameters, the volume of their uncertainty

    The first two have kinks where the largest changes place. A finite sharpness p puts the p-norm in place
    of the maximum, which an optimiser with gradients can follow.

    Args:
        name: One of `OBJECTIVES`.
        M: A'A of all unknowns, shape (n, n).
        base: What can be told of the unknowns.
        sharpness: p; infinite gives the objective itself.

    Returns:
        Value, and its derivative with respect to M (symmetric), shape (n, n).
    """
    if name == "condition":
        return _log_condition(M, base, sharpness)
    G = np.zeros_like(M)
    block = np.ix_(base.columns, base.columns)
    S, d = _unit_diagonal(M[block])
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, RIDGE)
    inverse = d[:, None] * ((vectors / values) @ vectors.T) * d
    if name == "log-det":
        G[block] = -inverse
        return float(-np.log(values).sum() + 2.0 * np.log(d).sum()), G
    largest, weights = _log_largest(np.diag(inverse), sharpness)
    G[block] = -(inverse * weights) @ inverse
    return largest, G


def _log_condition(M: Array, base: BaseParameters, sharpness: float) -> tuple[float, Array]:
    G = np.zeros_like(M)
    block = np.ix_(base.acting, base.acting)
    S, d = _unit_diagonal(M[block])
    values, vectors = np.linalg.eigh(S)
    values, vectors = np.maximum(values[-base.rank :], RIDGE), vectors[:, -base.rank :]
    large, up = _log_largest(values, sharpness)
    small, down = _log_largest(1.0 / values, sharpness)
    G_S = 0.5 * (vectors * (up - down / values**2)) @ vectors.T
    G[block] = d[:, None] * G_S * d - np.diag((G_S * S).sum(1) * d**2)
    return 0.5 * (large + small), G


def _log_largest(x: Array, sharpness: float) -> tuple[float, Array]:
    """Return log ||x||_p of positive numbers, and its derivative by them."""
    top = float(x.max())
    if math.isinf(sharpness):
        weights = np.zeros_like(x)
        weights[int(np.argmax(x))] = 1.0 / top
        return float(np.log(top)), weights
    powers = (x / top) ** sharpness
    total = float(powers.sum())
    return float(np.log(top) + np.log(total) / sharpness), powers / (x * total)


def scaled_condition(M: Array, base: BaseParameters) -> float:
    """Return the condition number of rows, columns scaled to unit length, on their row space.

    Args:
        M: A'A of all unknowns, shape (n, n).
        base: What can be told of the unknowns; its rank says how many singular values count.

    Returns:
        Largest singular value over the last one that counts; infinite where the rows do not fix as many.
    """
    return _condition(_unit_diagonal(M[np.ix_(base.acting, base.acting)])[0], base.rank)


def plain_condition(M: Array, base: BaseParameters) -> float:
    """Return the condition number of the base columns in SI units, not scaled; infinite for singular rows."""
    return _condition(M[np.ix_(base.columns, base.columns)], base.rank)


def covariance(M: Array, base: BaseParameters, noise: float) -> Array:
    """Return Sigma = s^2 (A'A)^-1 of the base parameters.

    Args:
        M: A'A of all unknowns, shape (n, n).
        base: The base parameters.
        noise: Standard deviation s of each row.

    Returns:
        Shape (r, r); infinite where the rows are too few or singular.
    """
    S, d = _unit_diagonal(M[np.ix_(base.columns, base.columns)])
    if not np.isfinite(_condition(S, base.rank)):
        return np.full(S.shape, np.inf)
    sigma: Array = noise**2 * d[:, None] * np.linalg.inv(S) * d
    return sigma


def _unit_diagonal(M: Array) -> tuple[Array, Array]:
    """Return M with its rows and columns scaled to a diagonal of ones, and the scale."""
    d = 1.0 / np.sqrt(np.diag(M) + np.finfo(float).tiny)
    scaled: Array = d[:, None] * M * d
    return scaled, d


def _condition(M: Array, rank: int) -> float:
    values = np.linalg.eigvalsh(M)
    large, small = float(values[-1]), float(values[-rank])
    return float(np.sqrt(large / small)) if small > SINGULAR**2 * large else float("inf")
