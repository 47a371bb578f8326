"""All rows of a recording, reduced to one triangular factor for each row name.

A QR factorisation keeps the norm of every combination of columns: with [A, b, y] = Q R of the rows of one
name, ||A x - b|| = ||R [x; -1; 0]|| for any x. Residuals, weights, costs and validation of any solution are
therefore computed from the factor, and the memory does not grow with the number of rows.
"""

import numpy as np

from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

FEWEST_PENDING = 256  # smallest number of rows of one name that are collected before a factorisation


class EquationStack:
    """Rows of equal names, each reduced to a triangular factor.

    Attributes:
        row_names: Name of each row.
        unknowns: Number of unknowns.
        counts: Rows of each name that were kept, shape (m,).
        left_out: Rows that were left out because their joint stood still.
        times: Number of times rows were made at.
        sums: Sum of the rows [A, value, measured] of each name, shape (m, n + 2).
    """

    def __init__(self, row_names: tuple[str, ...], unknowns: int) -> None:
        self.row_names = row_names
        self.unknowns = unknowns
        m, width = len(row_names), unknowns + 2
        self.counts = np.zeros(m, dtype=np.int64)
        self.left_out = 0
        self.times = 0
        self.sums = np.zeros((m, width))
        self._friction = np.zeros((m, 2, 2))  # F'F, F sign and velocity of the row's joint
        self._friction_rows = np.zeros((m, 2, unknowns + 1))  # F'[A, value]
        self._independent = 0.0
        self._factors = np.zeros((m, width, width))
        self._pending: list[list[Array]] = [[] for _ in row_names]
        self._waiting = np.zeros(m, dtype=np.int64)
        self._limit = max(FEWEST_PENDING, 2 * width)

    @property
    def rows(self) -> int:
        """Number of rows of all names."""
        return int(self.counts.sum())

    @property
    def correlation(self) -> float:
        """Number of rows per independent row, the factor by which noise correlation enlarges variances."""
        return self.times / self._independent if self._independent else 1.0

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        self.times += block.size
        self._independent += block.independent
        rows = np.concatenate((block.regressor, block.value[:, :, None], block.measured[:, :, None]), axis=2)
        self.left_out += int((~block.used).sum())
        for i in range(len(self.row_names)):
            kept = rows[block.used[:, i], i]
            own = block.friction[block.used[:, i], i]
            self._friction[i] += own.T @ own
            self._friction_rows[i] += own.T @ kept[:, :-1]
            self.counts[i] += len(kept)
            self.sums[i] += kept.sum(axis=0)
            self._pending[i].append(kept)
            self._waiting[i] += len(kept)
            if self._waiting[i] >= self._limit:
                self._fold(i)

    def factor(self, row: int) -> Array:
        """Return the triangular factor of the rows [A, value, measured] of one name, shape (n + 2, n + 2)."""
        self._fold(row)
        factor: Array = self._factors[row]
        return factor

    def residual_squares(self, x: Array) -> Array:
        """Return the sum of squares of measured minus predicted of each row name, shape (m,)."""
        direction = np.concatenate((x, [-1.0, 0.0]))
        return np.array([np.sum((self.factor(i) @ direction) ** 2) for i in range(len(self.row_names))])

    def friction_shares(self, x: Array) -> Array:
        """Return the share of each row's squared residual that friction of its joint would explain.

        It is that of a least-squares fit of Coulomb and viscous friction to the residual, the unknowns held;
        zero for rows of no joint, shape (m,).
        """
        squares = self.residual_squares(x)
        shares = np.zeros(len(self.row_names))
        for i, (FF, FA) in enumerate(zip(self._friction, self._friction_rows, strict=True)):
            force = FA @ np.concatenate((-x, [1.0]))
            gain = float(force @ linear_algebra.lstsq(FF, force))
            shares[i] = gain / squares[i] if squares[i] > 0.0 else 0.0
        return np.clip(shares, 0.0, 1.0)

    def measured_squares(self) -> Array:
        """Return the sum of squares of the measured values of each row name, shape (m,)."""
        return np.array([np.sum(self.factor(i)[:, -1] ** 2) for i in range(len(self.row_names))])

    def reduced(self, sigma: Array) -> ReducedEquation:
        """Return all rows, each divided by the sigma of its name, as one triangular system.

        Args:
            sigma: Standard deviation of the noise of each row name [Nm, N], shape (m,).
        """
        n = self.unknowns
        stacked = np.zeros((0, n + 1))
        for i, s in enumerate(sigma):
            if self.counts[i]:
                stacked = linear_algebra.triangular_factor(
                    np.vstack((stacked, self.factor(i)[:, : n + 1] / s))
                )
        R = np.zeros((n + 1, n + 1))
        R[: len(stacked)] = stacked
        return ReducedEquation(R[:n, :n], R[:n, n], float(R[n, n] ** 2), self.rows)

    def mean_rows(self) -> "EquationStack":
        """Return a stack of the mean row of each name, which holds all information about a robot at rest.

        A mean that its standard error explains is zero: at rest there is no motion to tell anything from.
        """
        means = EquationStack(self.row_names, self.unknowns)
        means.counts = np.minimum(self.counts, 1)
        means.times, means._independent = 1, 1.0
        counts = np.maximum(self.counts, 1)[:, None]
        means.sums = self.sums / counts
        squares = np.array([np.sum(self.factor(i) ** 2, axis=0) for i in range(len(self.row_names))])
        scatter = np.maximum(squares / counts - means.sums**2, 0.0)
        noise = np.abs(means.sums) < 3.0 * np.sqrt(scatter * self.correlation / counts)
        means.sums[:, : self.unknowns][noise[:, : self.unknowns]] = 0.0
        means._factors[:, 0] = means.sums
        return means

    def mean_deviations(self) -> Array:
        """Return the standard deviation of the mean value of each row name, from the scatter about it.

        Correlated rows count as fewer, shape (m,).
        """
        counts = np.maximum(self.counts, 1)
        squares = np.array([np.sum(self.factor(i)[:, -2] ** 2) for i in range(len(self.row_names))])
        scatter = np.maximum(squares / counts - (self.sums[:, -2] / counts) ** 2, 0.0)
        deviations: Array = np.sqrt(scatter / np.maximum(counts / self.correlation - 1.0, 1.0))
        return deviations

    def _fold(self, row: int) -> None:
        if self._waiting[row]:
            self._factors[row] = linear_algebra.square_factor(
                linear_algebra.triangular_factor(np.vstack((self._factors[row], *self._pending[row])))
            )
            self._pending[row].clear()
            self._waiting[row] = 0
