"""Scale factors, correlations and assignments between measured and predicted signals."""

import math

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

KEPT = 0.9  # share of the windows kept, those with the smallest residual
INDEPENDENT = 0.5  # share of the windows that count as independent


def scale_factor(measured: Array, predicted: Array) -> tuple[float, float]:
    """Fit measured = k predicted, the worst tenth of the windows left out.

    Args:
        measured: Shape (N,).
        predicted: Shape (N,).

    Returns:
        k and its standard deviation.
    """
    keep = plausible(measured)
    for _ in range(2):
        p, m = predicted[keep], measured[keep]
        power = float(p @ p)
        if not power > 0.0:
            return 0.0, math.inf
        k = float(p @ m) / power
        keep = trimmed(measured - k * predicted)
    r = m - k * p
    count = max(INDEPENDENT * len(m) - 1.0, 1.0)
    return k, math.sqrt(float(r @ r) / len(m) / count * len(m) / power)


def plausible(values: Array) -> Array:
    """Return which values are not far beyond the others, as single wrong readings are, shape (N,)."""
    size = np.abs(values)
    kept: Array = size <= 10.0 * np.quantile(size, 0.8) + np.finfo(np.float64).tiny
    return kept


def trimmed(residual: Array) -> Array:
    """Return which entries are among the smallest `KEPT` in size, shape (N,)."""
    size = np.abs(residual)
    kept: Array = size <= np.quantile(size, KEPT)
    return kept


def ridge(X: Array, y: Array, prior: Array) -> tuple[Array, Array]:
    """Fit y = X c with priors of zero mean, the worst tenth of the rows left out.

    Args:
        X: Shape (N, m).
        y: Shape (N,).
        prior: Standard deviations of the coefficients, infinite for none, shape (m,).

    Returns:
        Coefficients and their standard deviations, shape (m,) each.
    """
    variance = max(float(np.mean(y**2)) * 0.01, 1e-18)
    keep = np.ones(len(y), dtype=bool)
    for _ in range(3):
        A, b = X[keep], y[keep]
        weight = INDEPENDENT / variance
        information = weight * A.T @ A + np.diag(1.0 / prior**2)
        covariance = linear_algebra.pinv(information)
        c = covariance @ (weight * A.T @ b)
        residual = y - X @ c
        keep = trimmed(residual)
        variance = max(float(np.mean(residual[keep] ** 2)), 1e-18 + 1e-8 * float(np.mean(y**2)))
    return c, np.sqrt(np.diag(covariance))


def correlations(a: Array, b: Array) -> Array:
    """Return the correlation of every column of a with every column of b, about zero, shape (n, n)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        na, nb = a / np.linalg.norm(a, axis=0), b / np.linalg.norm(b, axis=0)
    product: Array = np.nan_to_num(na.T @ nb)
    return product


def best_assignment(likeness: Array, like: float, unlike: float) -> dict[int, int]:
    """Return the signals that belong to another one, the most alike first: {row: column}, each once.

    Args:
        likeness: Likeness of signal i measured and signal j predicted, at most 1, shape (n, n).
        like: Least likeness of each pair of the permutation.
        unlike: Largest likeness of each of them with its own prediction.
    """
    exchanged = (np.diag(likeness) < unlike)[:, None] & (likeness > like)
    np.fill_diagonal(exchanged, False)
    found: dict[int, int] = {}
    while exchanged.any():  # the most alike first; scipy's assignment takes a sixth of a second to import
        at = int(np.argmax(np.where(exchanged, likeness, -np.inf)))
        i, j = divmod(at, len(likeness))
        found[i] = j
        exchanged[i, :], exchanged[:, j] = False, False
    while open_ends := [i for i, j in found.items() if j not in found or i not in found.values()]:
        for i in open_ends:  # exchanged signals form cycles; what only resembles another one does not
            del found[i]
    return found
