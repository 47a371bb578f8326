"""Information of the data about the directions of the state, relative to the prior."""

import numpy as np
from scipy.linalg.lapack import dsygst

from inertial_estimation.signals import Array, frozen_array, seconds
from inertial_estimation.spatial import linear_algebra


def relative_information(P: Array, prior_factor: Array) -> Array:
    """Return the eigenvalues of the accumulated information relative to the prior's.

    A covariance P that started at P_0 = L L' holds the information P^-1 - P_0^-1. Relative to the prior
    that is (L^-1 P L^-T)^-1 - 1, so its eigenvalues are 1/mu - 1 with mu those of L^-1 P L^-T; neither an
    inverse nor a sum over the data is needed. An eigenvalue of 0 means that the data hold no information,
    1 as much as the prior, and 100 that sigma is a tenth of the prior's.

    Args:
        P: Covariance, shape (n, n).
        prior_factor: Lower Cholesky factor L of the prior covariance, shape (n, n).

    Returns:
        Eigenvalues, ascending, shape (n,).
    """
    relative, _info = dsygst(P, prior_factor, lower=1)
    mu = linear_algebra.eigvalsh(relative)[::-1]  # which reads the lower triangle
    information: Array = 1.0 / np.maximum(mu, linear_algebra.EPSILON) - 1.0
    return information


def informed_directions(eigenvalues: Array) -> int:
    """Return the number of directions about which the data hold more information than the prior."""
    return int(np.count_nonzero(eigenvalues > 1.0))


class InformationReport:
    """The eigenvalues of the accumulated information, updated at most once a period.

    Attributes:
        period: Shortest time between two computations [s].
        eigenvalues: Information relative to the prior, ascending, shape (n,).
        informed: Number of directions about which the data hold more information than the prior.
    """

    def __init__(self, states: int, period: float) -> None:
        """Begin without information.

        Args:
            states: Number of states.
            period: Least time between two computations [s].
        """
        self.period = period
        self._states = states
        self.reset()

    def reset(self) -> None:
        """Set all eigenvalues to zero, as for the prior."""
        self.eigenvalues: Array = np.zeros(self._states)
        self.informed = 0
        self._computed_at_ns: int | None = None

    def is_due(self, time_ns: int) -> bool:
        """Return whether the period has passed since the last computation.

        Args:
            time_ns: Time of the covariance [ns].
        """
        last = self._computed_at_ns
        return last is None or not 0.0 <= seconds(time_ns - last) < self.period

    def update(self, time_ns: int, P: Array, prior_factor: Array) -> None:
        """Compute the eigenvalues if the period has passed since the last computation.

        Args:
            time_ns: Time of the covariance [ns].
            P: Covariance, shape (n, n).
            prior_factor: Lower Cholesky factor of the prior covariance, shape (n, n).
        """
        if not self.is_due(time_ns):
            return
        self._computed_at_ns = time_ns
        self.eigenvalues = frozen_array("information", relative_information(P, prior_factor))
        self.informed = informed_directions(self.eigenvalues)
