"""Which directions of the state the data have informed."""

import numpy as np
from scipy.linalg.lapack import dtrtrs

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

__all__ = ["informed_directions", "relative_information"]


def relative_information(P: Array, prior_factor: Array) -> Array:
    """Return the eigenvalues of the accumulated information relative to the prior's.

    A covariance P that started at P_0 = L L' holds the information P^-1 - P_0^-1. Relative to the prior
    that is (L^-1 P L^-T)^-1 - 1, so its eigenvalues are 1/mu - 1, mu those of L^-1 P L^-T: no inverse and
    no sum over the data. Zero: the data say nothing; one: as much as the prior; 100: sigma is a tenth.

    Args:
        P: Covariance, shape (n, n).
        prior_factor: Lower Cholesky factor L of the prior covariance, shape (n, n).

    Returns:
        Eigenvalues, ascending, shape (n,).
    """
    half, _info = dtrtrs(prior_factor, P, lower=1)
    relative, _info = dtrtrs(prior_factor, half.T, lower=1)
    mu = linear_algebra.eigvalsh(0.5 * (relative + relative.T))[::-1]
    information: Array = 1.0 / np.maximum(mu, np.finfo(float).eps) - 1.0
    return information


def informed_directions(eigenvalues: Array) -> int:
    """Return how many directions the data inform more than the prior does."""
    return int(np.count_nonzero(eigenvalues > 1.0))
