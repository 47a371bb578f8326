"""Information of the data, per pair of groups of rows in stated units, weighted by the noise known now.

With stated covariance R_0 of a block of rows and scales s_g of the noise of its groups, R = D R_0 D, so

    A' R^-1 A = sum_gh Lambda_gh / (s_g s_h),    Lambda_gh = A_g' (R_0^-1)_gh A_h

The sums over all blocks are kept, not weighted: what was learned while the noise was not yet known counts by
what is known now, and a wrong stated noise is forgotten.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np

from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Equations of one time, as the filter learns from them: value = A phi + noise.

    Attributes:
        A: Regressor, friction and errors of sensors included, shape (m, n).
        value: Shape (m,).
        noise: Stated covariance of the rows, static friction included, shape (m, m).
        dt: Time that it stands for [s].
        time_ns: Time of the measurement [ns].
        at_rest: Whether the joints are at rest.
    """

    A: Array
    value: Array
    noise: Array
    dt: float
    time_ns: int = 0
    at_rest: bool = False


class GroupedInformation:
    """Information of all data learned about phi.

    Attributes:
        groups: Group of each row, shape (m,).
        matrices: Lambda_gh for g <= h, h given in both orders added up, shape (pairs, n, n).
        vectors: The same of A' R_0^-1 value, shape (pairs, n).
        settled: Information whose weights do not change any more, shape (n, n).
        settled_vector: Shape (n,).
    """

    def __init__(self, groups: Indices, size: int) -> None:
        """Begin without data.

        Args:
            groups: Group of each row, from zero on, shape (m,).
            size: Number of parameters, n.
        """
        self.groups, self._of_pairs = groups, np.triu_indices(int(groups.max()) + 1)
        g, h = (one[:, None, None] for one in self._of_pairs)
        row, column = groups[:, None], groups
        pairs = ((row == g) & (column == h)) | ((row == h) & (column == g))  # entries of each, (pairs, m, m)
        self._pairs: Array = pairs.astype(float)
        self.matrices, self.vectors = np.zeros((len(pairs), size, size)), np.zeros((len(pairs), size))
        self.settled, self.settled_vector = np.zeros((size, size)), np.zeros(size)

    def copy(self) -> "GroupedInformation":
        """Return a copy."""
        other = copy(self)
        other.matrices, other.vectors = self.matrices.copy(), self.vectors.copy()
        other.settled, other.settled_vector = self.settled.copy(), self.settled_vector.copy()
        return other

    def spread(self, kept: Indices, size: int) -> "GroupedInformation":
        """Return the information among more parameters, nothing about the new ones.

        Args:
            kept: Places of the parameters among the new ones.
            size: Number of these.
        """
        other = GroupedInformation(self.groups, size)
        rows, columns = kept[:, None], kept
        other.matrices[:, rows, columns], other.vectors[:, kept] = self.matrices, self.vectors
        other.settled[rows, columns], other.settled_vector[kept] = self.settled, self.settled_vector
        return other

    def add(self, block: RowBlock, weights: Array) -> None:
        """Learn from a block.

        Args:
            block: The equations.
            weights: Of each row, one for a row that agrees, shape (m,).
        """
        root = np.sqrt(weights)
        precision = root[:, None] * linear_algebra.inv(block.noise) * root
        left = block.A.T @ (self._pairs * precision)
        self.matrices += left @ block.A
        self.vectors += left @ block.value

    def weighted(self, weights: Array) -> tuple[Array, Array]:
        """Return Lambda and eta with the noise as known now.

        Args:
            weights: w_g = 1 / (s_g sqrt(c_g)) of each group, shape (count,).

        Returns:
            Shapes (n, n) and (n,).
        """
        g, h = self._of_pairs
        of_pairs = weights[g] * weights[h]
        matrix = self.settled + np.tensordot(of_pairs, self.matrices, 1)
        return matrix, self.settled_vector + of_pairs @ self.vectors

    def settle(self, weights: Array) -> None:
        """Give all information the weights of now for good."""
        self.settled, self.settled_vector = self.weighted(weights)
        self.matrices[:] = 0.0
        self.vectors[:] = 0.0

    def discount(self, share: float) -> None:
        """Keep a share of all information: the past is worth less, or forgotten."""
        for part in (self.matrices, self.vectors, self.settled, self.settled_vector):
            part *= share

    def open(self, columns: Array, covariance: Array, weights: Array) -> None:
        """Admit a change of some parameters: they have taken a random step of some covariance.

        Lambda - Lambda U (Q^-1 + U' Lambda U)^-1 U' Lambda, the information of phi + U step.

        Args:
            columns: U, shape (n, k).
            covariance: Q of the step, shape (k, k).
            weights: As for `weighted`.
        """
        self.settle(weights)
        L, U = self.settled, columns
        LU = L @ U
        gain = LU @ linear_algebra.inv(linear_algebra.inv(covariance) + U.T @ LU)
        self.settled = L - gain @ LU.T
        self.settled = 0.5 * (self.settled + self.settled.T)
        self.settled_vector = self.settled_vector - gain @ (U.T @ self.settled_vector)
