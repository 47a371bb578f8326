"""Noise level of each row from its own residual."""

import numpy as np

from inertial_estimation.identification.equation_stack import EquationStack
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.signals import Array

WEIGHT_ITERATIONS = 4
SMALLEST_SHARE = 1e-8  # of measured and nominal rms: a floor for data without noise


def row_deviations(stack: EquationStack, typical: Array, weighting: str, pooled: bool) -> Array:
    """Return the standard deviation of the noise of each row name.

    The least-squares solution in the identifiable space and the rms of its residuals are computed
    alternately; the residuals of a well weighted fit are those of the noise.

    Args:
        stack: All rows.
        typical: Typical deviation of each unknown, shape (n,).
        weighting: "residual"; "none" gives all rows the same.
        pooled: Whether all rows share one level, as rows in an arbitrary null-space basis need.

    Returns:
        Shape (m,).
    """
    counts = np.maximum(stack.counts, 1)
    floor = _floor(stack)
    sigma = np.ones(len(counts))
    for _ in range(WEIGHT_ITERATIONS if weighting == "residual" and not pooled else 1):
        equation = stack.reduced(sigma)
        space = IdentifiableSpace.of(equation, typical)
        squares = stack.residual_squares(space.minimum(equation))
        used = min(space.rank * stack.correlation / max(stack.rows, 1), 0.9)  # share of the fit
        if weighting == "none" or pooled:
            return np.full(len(counts), max(np.sqrt(squares.sum() / max(stack.rows, 1) / (1 - used)), floor))
        sigma = np.maximum(np.sqrt(squares / counts / (1.0 - used)), floor)
        sigma[stack.counts == 0] = sigma.max()  # row names that only the validation data may have
    return sigma


def mean_row_deviations(stack: EquationStack, weighting: str, pooled: bool) -> Array:
    """Return the standard deviation of the mean row of each name, of a robot at rest.

    With one mean row per name the noise cannot be determined from residuals of a fit; the scatter of the
    rows about their mean is used instead.

    Args:
        stack: All rows.
        weighting: As in `row_deviations`.
        pooled: As in `row_deviations`.

    Returns:
        Shape (m,).
    """
    sigma = np.maximum(stack.mean_deviations(), _floor(stack))
    if weighting == "none" or pooled:
        return np.full(len(sigma), np.sqrt(np.mean(sigma[stack.counts > 0] ** 2)))
    sigma[stack.counts == 0] = sigma.max()
    return sigma


def _floor(stack: EquationStack) -> float:
    """Lower bound of the noise level, since data without noise have zero residuals."""
    counts = np.maximum(stack.counts, 1)
    nominal = stack.residual_squares(np.zeros(stack.unknowns))
    size = float(np.sqrt((stack.measured_squares() + nominal) / counts).max())
    return SMALLEST_SHARE * (size or 1.0)
