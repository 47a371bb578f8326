"""Information of the data, per pair of groups of rows in stated units, weighted by the noise known now.

With stated covariance R_0 of a block of rows and scales s_g of the noise of its groups, R = D R_0 D, so

    A' R^-1 A = sum_gh Lambda_gh / (s_g s_h),    Lambda_gh = A_g' (R_0^-1)_gh A_h

The sums over all blocks are kept, not weighted: what was learned while the noise was not yet known counts by
what is known now, and a wrong stated noise is forgotten.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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


@dataclass
class GroupedInformation:
    """Information of all data learned about phi.

    Attributes:
        groups: Group of each row, shape (m,).
        count: Number of groups.
        matrices: Lambda_gh for g <= h, h given in both orders added up, shape (pairs, n, n).
        vectors: The same of A' R_0^-1 value, shape (pairs, n).
        settled: Information whose weights do not change any more, shape (n, n).
        settled_vector: Shape (n,).
    """

    groups: Array
    count: int
    matrices: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    vectors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    settled: Array = field(default_factory=lambda: np.zeros((0, 0)))
    settled_vector: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def nothing(cls, groups: Array, size: int) -> "GroupedInformation":
        """Return that of no data.

        Args:
            groups: Group of each row, from zero on, shape (m,).
            size: Number of parameters.
        """
        count = int(groups.max()) + 1
        pairs = count * (count + 1) // 2
        zeros = np.zeros((pairs, size, size)), np.zeros((pairs, size))
        return cls(groups, count, *zeros, np.zeros((size, size)), np.zeros(size))

    def copy(self) -> "GroupedInformation":
        """Return a copy."""
        arrays = self.matrices.copy(), self.vectors.copy(), self.settled.copy(), self.settled_vector.copy()
        return GroupedInformation(self.groups, self.count, *arrays)

    def spread(self, kept: NDArray[np.int64], size: int) -> "GroupedInformation":
        """Return the information among more parameters, nothing about the new ones.

        Args:
            kept: Places of the parameters among the new ones.
            size: Number of these.
        """
        other = GroupedInformation.nothing(self.groups, size)
        at = np.ix_(kept, kept)
        for target, source in zip(other.matrices, self.matrices, strict=True):
            target[at] = source
        other.vectors[:, kept], other.settled_vector[kept] = self.vectors, self.settled_vector
        other.settled[at] = self.settled
        return other

    def add(self, block: RowBlock, weights: Array) -> None:
        """Learn from a block.

        Args:
            block: The equations.
            weights: Of each row, one for a row that agrees, shape (m,).
        """
        root = np.sqrt(weights)
        precision = root[:, None] * linear_algebra.inv(block.noise) * root
        pair = 0
        for g in range(self.count):
            one = np.flatnonzero(self.groups == g)
            for h in range(g, self.count):
                other = np.flatnonzero(self.groups == h)
                P = precision[np.ix_(one, other)]
                part, value = P @ block.A[other], P @ block.value[other]
                matrix, vector = block.A[one].T @ part, block.A[one].T @ value
                if h > g:
                    matrix, vector = matrix + matrix.T, vector + part.T @ block.value[one]
                self.matrices[pair] += matrix
                self.vectors[pair] += vector
                pair += 1

    def weighted(self, weights: Array) -> tuple[Array, Array]:
        """Return Lambda and eta with the noise as known now.

        Args:
            weights: w_g = 1 / (s_g sqrt(c_g)) of each group, shape (count,).

        Returns:
            Shapes (n, n) and (n,).
        """
        of_pairs = np.array(
            [weights[g] * weights[h] for g in range(self.count) for h in range(g, self.count)]
        )
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
