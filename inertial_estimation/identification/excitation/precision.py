"""Information of rows about the unknowns: objectives of a design, and the precision that is expected from it.

Rows A x + noise of variance s^2 give Sigma = s^2 (A'A)^-1 (SYDE 652). Only the base parameters, certain
combinations of the standard parameters, act on the rows of any motion.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.excitation.design_robot import DesignRows, States
from inertial_estimation.identification.identifiability import BaseParameters
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

RIDGE_SHARE = 1e-13  # least eigenvalue of the scaled information, so that log det of a singular one is finite
SINGULAR_RATIO = 1e-7  # smallest ratio of singular values of A that exceeds the round-off of A'A
OBJECTIVES = ("condition", "max-variance", "log-det")


def objective(name: str, M: Array, base: BaseParameters, sharpness: float = math.inf) -> tuple[float, Array]:
    """Return an objective of the information and its gradient.

    - condition: log of the condition number of the rows, all columns scaled to unit length, on their row
      space (as identification reports it; no choice of base parameters enters)
    - max-variance: log of the largest variance of a base parameter, in SI units
    - log-det: -log det of the information of the base parameters, the volume of their uncertainty

    The first two are not differentiable where another value becomes the largest. A finite sharpness p
    replaces the maximum by the p-norm, which is smooth, as a gradient-based optimiser needs.

    Args:
        name: One of `OBJECTIVES`.
        M: A'A of all unknowns, shape (n, n).
        base: Identifiable combinations of the unknowns.
        sharpness: Order p of the norm; infinite gives the objective itself.

    Returns:
        Value, and its derivative with respect to M (symmetric), shape (n, n).
    """
    if name == "condition":
        return _log_condition(M, base, sharpness)
    G = np.zeros_like(M)
    block = np.ix_(base.columns, base.columns)
    S, d = unit_diagonal(M[block])
    values, vectors = linear_algebra.eigh(S)
    values = np.maximum(values, RIDGE_SHARE)
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
    S, d = unit_diagonal(M[block])
    values, vectors = linear_algebra.eigh(S)
    values, vectors = np.maximum(values[-base.rank :], RIDGE_SHARE), vectors[:, -base.rank :]
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

    M is A'A of all unknowns, shape (n, n). It is infinite if the rank of the rows is below that of the base.
    """
    return _condition(unit_diagonal(M[np.ix_(base.acting, base.acting)])[0], base.rank)


def covariance(M: Array, base: BaseParameters, noise: float) -> Array:
    """Return Sigma = s^2 (A'A)^-1 of the base parameters, shape (r, r), of M = A'A of all unknowns.

    It is infinite if the rows are too few or singular.
    """
    S, d = unit_diagonal(M[np.ix_(base.columns, base.columns)])
    if not np.isfinite(_condition(S, base.rank)):
        return np.full(S.shape, np.inf)
    return noise**2 * d[:, None] * linear_algebra.inv(S) * d


def unit_diagonal(M: Array) -> tuple[Array, Array]:
    """Return M with its rows and columns scaled to a diagonal of ones, and the scale."""
    d = 1.0 / np.sqrt(np.diag(M) + np.finfo(float).tiny)
    scaled: Array = d[:, None] * M * d
    return scaled, d


def _condition(M: Array, rank: int) -> float:
    values = linear_algebra.eigvalsh(M)
    large, small = float(values[-1]), float(values[-rank])
    return float(np.sqrt(large / small)) if small > SINGULAR_RATIO**2 * large else float("inf")


@dataclass(frozen=True)
class BaseDeviation:
    """Expected standard deviation of one base parameter."""

    name: str  # the unknown after which the base parameter is named
    unit: str
    sigma: float  # by the noise of the rows; infinite if they do not determine it
    together_with: Mapping[str, float]  # other unknowns in this combination, and their shares


@dataclass(frozen=True, eq=False)
class Precision:
    """Expected precision of the unknowns from rows with white noise."""

    samples: int  # number of times at which rows are taken
    rank: int  # number of base parameters
    unknowns: int
    condition: float  # with all columns scaled to unit length, as identification reports it
    objectives: Mapping[str, float]  # by name (logarithms)
    base_parameters: tuple[BaseDeviation, ...]
    not_excited: tuple[str, ...]  # unknowns that no motion of this kind excites

    @property
    def largest(self) -> float:
        """Largest standard deviation of a base parameter."""
        return max(one.sigma for one in self.base_parameters)


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision as a function of one varied quantity, shape (k,) each."""

    x: Array  # number of samples, or share of the speed
    variance: Array  # largest variance of a base parameter [SI units], infinite where singular
    condition: Array  # condition number of scaled columns


def precision(rows: DesignRows, states: States, noise: float, repeat: float = 1.0) -> Precision:
    """Compute the expected precision from the rows at given states.

    Args:
        rows: Computes the rows of a state.
        states: The states.
        noise: Standard deviation of each row [Nm].
        repeat: Number of samples that each state represents.
    """
    base, parameters = rows.base, rows.parameters
    A = rows.stacked(*states)
    M = repeat * A.T @ A
    sigma = np.sqrt(np.diag(covariance(M, base, noise)))
    units, unknowns = dict(zip(parameters.names, parameters.units, strict=True)), parameters.unknowns
    deviations = []
    for i, c in enumerate(base.columns.tolist()):
        others = {unknowns[k]: float(base.coupling[i, k]) for k in base.grouped(i)}
        deviations.append(BaseDeviation(unknowns[c], units[unknowns[c]], float(sigma[i]), others))
    return Precision(
        round(repeat * len(states.q)),
        base.rank,
        A.shape[1],
        scaled_condition(M, base),
        {name: objective(name, M, base)[0] for name in OBJECTIVES},
        tuple(deviations),
        tuple(name for k, name in enumerate(unknowns) if k not in base.acting),
    )


def sample_curve(
    rows: DesignRows, states: States, noise: float, counts: Sequence[int], *, spread: bool = True
) -> Curve:
    """Return the precision as a function of the number of samples.

    Args:
        rows: Computes the rows of a state.
        states: The states.
        noise: Standard deviation of each row [Nm].
        counts: Numbers of samples; where they exceed the number of states, each state counts several times.
        spread: Whether the samples are spread evenly over the states instead of being the first ones.
    """
    A = rows.rows(*states)
    informations = []
    for count in counts:
        used = min(count, len(A))
        last = len(A) - 1 if spread else used - 1
        picked = A[np.linspace(0, last, used).round().astype(int)].reshape(-1, A.shape[-1])
        informations.append(count / used * picked.T @ picked)
    return _curve(rows, counts, informations, noise)


def speed_curve(
    rows: DesignRows, states: States, noise: float, shares: Sequence[float], repeat: float = 1.0
) -> Curve:
    """Return the precision of the path at fractions of its speed, with the number of samples unchanged.

    The arguments are those of `precision`, with the states at full speed.
    """
    slowed = [rows.stacked(states.q, share * states.v, share**2 * states.a) for share in shares]
    return _curve(rows, shares, [repeat * A.T @ A for A in slowed], noise)


def _curve(rows: DesignRows, x: Sequence[float], informations: Sequence[Array], noise: float) -> Curve:
    variance = [float(np.diag(covariance(M, rows.base, noise)).max()) for M in informations]
    condition = [scaled_condition(M, rows.base) for M in informations]
    return Curve(np.array(x, dtype=np.float64), np.array(variance), np.array(condition))
