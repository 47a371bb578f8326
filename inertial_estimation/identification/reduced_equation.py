"""All weighted rows of an identification, reduced to a triangular factor."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

ROUND_OFF = 1e-11  # share of the largest singular value below which the others are round-off


@dataclass(frozen=True, eq=False)
class ReducedEquation:
    """R dphi = z + noise of unit variance: all weighted rows, reduced by QR to one row per unknown.

    ||A dphi - b||^2 = ||R dphi - z||^2 + rest for every dphi.

    Attributes:
        R: Upper triangular, shape (n, n).
        z: Shape (n,).
        rest: Squared norm of the residual that does not depend on dphi.
        rows: Number of rows before the reduction.
    """

    R: Array
    z: Array
    rest: float
    rows: int

    def pseudo_inverse_solution(self, condition_limit: float) -> tuple[Array, int]:
        """Return the minimum-norm minimiser of ||R x - z|| within the well excited directions (Y 18-21).

        Args:
            condition_limit: c_max: directions with 1 / c_max of the largest singular value, or less, stay
                at zero.

        Returns:
            x, shape (n,), and the number of directions.
        """
        U, s, Vt = linear_algebra.svd(self.R)
        kept = s * condition_limit > s[0]
        x: Array = Vt[kept].T @ ((U.T @ self.z)[kept] / s[kept])
        return x, int(kept.sum())


def truncated_factor(R: Array, condition_limit: float) -> Array:
    """Return R' = U S' V' with the small singular values set to zero (Y 22, 23).

    Args:
        R: Shape (n, n).
        condition_limit: c_max; singular values below 1 / c_max of the largest are set to zero. Infinite keeps
            all of them.

    Returns:
        Shape (n, n).
    """
    if not np.isfinite(condition_limit):
        return R
    U, s, Vt = linear_algebra.svd(R)
    kept: Array = (U * np.where(s * condition_limit > s[0], s, 0.0)) @ Vt
    return kept
