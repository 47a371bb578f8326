"""Information of rows about the unknowns: information matrix, objectives and their gradients.

Rows A x + noise of variance s^2 give Sigma = s^2 (A'A)^-1 (SYDE 652). Only the base parameters, certain
combinations of the standard parameters, act on the rows of any motion.
"""

import math

import numpy as np

from inertial_estimation.identification.base_parameters import BaseParameters
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

RIDGE_SHARE = 1e-13  # added to the scaled information, so that log det of a singular one is finite
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
        sharpness: p; infinite gives the objective itself.

    Returns:
        Value, and its derivative with respect to M (symmetric), shape (n, n).
    """
    if name == "condition":
        return _log_condition(M, base, sharpness)
    G = np.zeros_like(M)
    block = np.ix_(base.columns, base.columns)
    S, d = _unit_diagonal(M[block])
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
    S, d = _unit_diagonal(M[block])
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

    Args:
        M: A'A of all unknowns, shape (n, n).
        base: Identifiable combinations of the unknowns; its rank is the number of singular values considered.

    Returns:
        Largest singular value over the smallest considered one; infinite where the rows have a lower rank.
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
    sigma: Array = noise**2 * d[:, None] * linear_algebra.inv(S) * d
    return sigma


def _unit_diagonal(M: Array) -> tuple[Array, Array]:
    """Return M with its rows and columns scaled to a diagonal of ones, and the scale."""
    d = 1.0 / np.sqrt(np.diag(M) + np.finfo(float).tiny)
    scaled: Array = d[:, None] * M * d
    return scaled, d


def _condition(M: Array, rank: int) -> float:
    values = linear_algebra.eigvalsh(M)
    large, small = float(values[-1]), float(values[-rank])
    return float(np.sqrt(large / small)) if small > SINGULAR_RATIO**2 * large else float("inf")
