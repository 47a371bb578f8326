"""All rows of a recording, reduced to one triangular factor for each row name and to moments over time.

A QR factorisation keeps the norm of every combination of columns: with [A, b, y] = Q R of the rows of one
name, ||A x - b|| = ||R [x; -1; 0]|| for any x. Residuals, weights, costs and validation of any solution are
therefore computed from the factor, and the memory does not grow with the number of rows.
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.rows import RowBlock
from inertial_estimation.signals import NANOSECONDS, Array
from inertial_estimation.spatial import linear_algebra

FEWEST_PENDING = 256  # smallest number of rows of one name that are collected before a factorisation
ROUND_OFF = 1e-11  # share of the largest singular value below which the others are round-off
BLOCK_S = 0.5  # shortest block [s]; the smoothing's two windows of 0.12 s correlate no further
FEWEST_BLOCKS = 8  # with which a scatter means anything
MEMORY = 64_000_000  # largest size of all blocks [bytes]
CORRELATED = 0.1  # correlation of neighbouring scores above which blocks are joined in pairs
EXACT = 1e-12  # squared residual over squared deviation from nominal below which it is round-off


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

    def truncated(self, condition_limit: float) -> "ReducedEquation":
        """Return the equation with the small singular values of R set to zero (Y 22, 23).

        Args:
            condition_limit: c_max: those of 1 / c_max of the largest, or less, count as zero.
        """
        U, s, Vt = linear_algebra.svd(self.R)
        R = (U * np.where(s > s[0] / condition_limit, s, 0.0)) @ Vt
        return ReducedEquation(R, self.z, self.rest, self.rows)


class EquationStack:
    """Rows of equal names, each reduced to a triangular factor.

    Attributes:
        row_names: Name of each row.
        unknowns: Number of unknowns.
        counts: Rows of each name that were kept, shape (m,).
        left_out: Rows that were left out because their joint stood still.
        scatter: Scatter of the rows over blocks of time.
    """

    def __init__(self, row_names: tuple[str, ...], unknowns: int, *, pooled: bool = False) -> None:
        """Begin without rows; `pooled` if all row names have one weight."""
        self.row_names, self.unknowns = row_names, unknowns
        m, width = len(row_names), unknowns + 5  # [A, value, measured, sign, velocity, 1]
        self.counts, self.left_out = np.zeros(m, dtype=np.int64), 0
        self.scatter = BlockScatter(m, unknowns, pooled=pooled)
        self._times, self._independent = 0, 0.0
        self._factors = np.zeros((m, width, width))
        self._pending: list[list[Array]] = [[] for _ in row_names]

    @property
    def rows(self) -> int:
        """Number of rows of all names."""
        return int(self.counts.sum())

    @property
    def correlation(self) -> float:
        """Number of rows per independent row, the factor by which noise correlation enlarges variances."""
        return self._times / self._independent if self._independent else 1.0

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        self.scatter.add(block)
        self._times += block.size
        self._independent += block.independent
        self.left_out += int((~block.used).sum())
        self.counts += block.used.sum(axis=0)
        columns = (block.value[..., None], block.measured[..., None], block.friction)
        rows = np.concatenate((block.regressor, *columns, np.ones((*block.value.shape, 1))), axis=2)
        for i, pending in enumerate(self._pending):
            pending.append(rows[block.used[:, i], i])
            if sum(map(len, pending)) >= max(FEWEST_PENDING, 2 * rows.shape[2]):
                self._factor(i)

    def _factor(self, row: int) -> Array:
        """Return the triangular factor of the rows of one name, shape (n + 5, n + 5)."""
        if self._pending[row]:
            stacked = np.vstack((self._factors[row], *self._pending[row]))
            self._factors[row] = linear_algebra.square_factor(linear_algebra.triangular_factor(stacked))
            self._pending[row].clear()
        factor: Array = self._factors[row]
        return factor

    def _all_factors(self) -> Array:
        """Return the factors of all names, shape (m, n + 5, n + 5)."""
        for i in range(len(self.row_names)):
            self._factor(i)
        return self._factors

    def _residuals(self, x: Array) -> Array:
        """Return what has the norm of the residual of each row name, shape (m, n + 5)."""
        residuals: Array = self._all_factors() @ np.concatenate((x, [-1.0, 0.0, 0.0, 0.0, 0.0]))
        return residuals

    def residual_squares(self, x: Array) -> Array:
        """Return the sum of squares of measured minus predicted of each row name, shape (m,)."""
        squares: Array = (self._residuals(x) ** 2).sum(axis=1)
        return squares

    def friction_shares(self, x: Array) -> Array:
        """Return the share of each row's squared residual that friction of its joint would explain.

        It is that of a least-squares fit of Coulomb and viscous friction to the residual, the unknowns held;
        zero for rows of no joint, shape (m,).
        """
        shares = np.zeros(len(self.row_names))
        for i, residual in enumerate(self._residuals(x)):
            F = self._factors[i][:, -3:-1]  # of sign and velocity
            left = residual - F @ linear_algebra.lstsq(F, residual)
            size = float(residual @ residual)
            shares[i] = 1.0 - float(left @ left) / size if size > 0.0 else 0.0
        return np.clip(shares, 0.0, 1.0)

    def measured_squares(self) -> Array:
        """Return the sum of squares of the measured values of each row name, shape (m,)."""
        squares: Array = (self._all_factors()[:, :, -4] ** 2).sum(axis=1)
        return squares

    def reduced(self, sigma: Array) -> ReducedEquation:
        """Return all rows, each divided by the sigma of its name, as one triangular system.

        Args:
            sigma: Standard deviation of the noise of each row name [Nm, N], shape (m,).
        """
        n = self.unknowns
        R = np.zeros((n + 1, n + 1))
        for i, s in enumerate(sigma):
            if self.counts[i]:
                stacked = np.vstack((R, self._factor(i)[:, : n + 1] / s))
                R = linear_algebra.square_factor(linear_algebra.triangular_factor(stacked))
        return ReducedEquation(R[:n, :n], R[:n, n], float(R[n, n] ** 2), self.rows)

    def mean_rows(self) -> "EquationStack":
        """Return a stack of the mean row of each name, which holds all information about a robot at rest.

        A mean that its standard error explains is zero: at rest there is no motion to tell anything from.
        """
        means = EquationStack(self.row_names, self.unknowns)
        means.counts, means._times, means._independent = np.minimum(self.counts, 1), 1, 1.0
        mean, scatter = self._moments()
        noise = np.abs(mean) < 3.0 * np.sqrt(scatter * self.correlation / np.maximum(self.counts, 1)[:, None])
        noise[:, self.unknowns :] = False
        means._factors[:, 0] = np.where(noise, 0.0, mean)
        return means

    def mean_deviations(self) -> Array:
        """Return the standard deviation of the mean value of each row name, from the scatter about it.

        Correlated rows count as fewer, shape (m,).
        """
        independent = np.maximum(self.counts / self.correlation - 1.0, 1.0)
        deviations: Array = np.sqrt(self._moments()[1][:, self.unknowns] / independent)
        return deviations

    def _moments(self) -> tuple[Array, Array]:
        """Return mean and variance of each column of each row name, shape (m, n + 5) each."""
        factors, counts = self._all_factors(), np.maximum(self.counts, 1)[:, None]
        mean = np.einsum("mij,mi->mj", factors, factors[:, :, -1]) / counts  # by the column of ones
        return mean, np.maximum((factors**2).sum(axis=1) / counts - mean**2, 0.0)


class BlockScatter:
    """Scatter of the fit over blocks of time: how much less the rows tell than their noise alone would say.

    Where the model is incomplete (friction, flexible joints), residuals are correlated far beyond the
    smoothing, and standard deviations from their size alone are too small. With the weighted rows
    A_b x = h_b of a block b of time, r_b their residual and g_b = A_b' r_b the gradient of the cost (the
    score), white noise of unit variance gives

        E sum_b g_b' P g_b = sum_b tr(P S_b - P S_b P S_b),    S_b = A_b' A_b,    P = (sum_b S_b + T'T)^-1,

    T the prior; the second term is what the fit takes out of each block. The ratio of what is found to that
    is the factor by which variances grow: a cluster-robust covariance (Liang and Zeger 1986) whose clusters
    are blocks of time, reduced to its mean over all directions, since few blocks do not determine a matrix.

    A'A and A'b of every row name are collected over blocks of equal length. When the memory is full, the
    blocks become twice as long. A row with too many unknowns for the fewest blocks is not collected.
    """

    def __init__(self, rows: int, unknowns: int, *, pooled: bool) -> None:
        """Begin without data.

        Args:
            rows: Number of row names.
            unknowns: Number of unknowns.
            pooled: Whether all row names have one weight, so that they are collected as one.
        """
        self._pooled = pooled
        self._most = MEMORY // (8 * (1 if pooled else rows) * (unknowns + 1) ** 2)
        self._blocks: dict[int, Array] = {}  # by the number of the block since the stamp 0
        self._length_ns = round(BLOCK_S * NANOSECONDS)

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        if self._most < 2 * FEWEST_BLOCKS:
            return
        numbers = block.stamps_ns // self._length_ns
        for number in np.unique(numbers).tolist():
            self._join(number, self._moments(block, numbers == number))
        while len(self._blocks) > self._most:
            blocks, self._blocks = self._blocks, {}
            self._length_ns *= 2
            for number, moments in blocks.items():
                self._join(number // 2, moments)

    def inflation(self, sigma: Array, equation: ReducedEquation, T: Array) -> float:
        """Return the factor by which variances exceed those of white noise, 1 or more.

        Blocks are joined in pairs while the scores of neighbours are correlated. With too few blocks, or a
        residual that is nothing but round-off, it is 1.

        Args:
            sigma: Standard deviation of each row name as it counts in the fit [Nm, N], shape (m,).
            equation: The same rows with these weights.
            T: Triangular factor of the prior, shape (n, n).
        """
        if len(self._blocks) < FEWEST_BLOCKS:
            return 1.0
        half = linear_algebra.inv(linear_algebra.triangular_factor(np.vstack((equation.R, T)))).T
        x = half.T @ (half @ (equation.R.T @ equation.z))  # P = half' half
        left = float(np.sum((equation.R @ x - equation.z) ** 2)) + equation.rest
        if not left > EXACT * (float(equation.z @ equation.z) + equation.rest):
            return 1.0
        moments = np.stack([self._blocks[number] for number in sorted(self._blocks)])
        weighted = np.einsum("i,bijk->bjk", 1.0 / sigma[: moments.shape[1]] ** 2, moments)
        S, h = weighted[:, :-1, :-1], weighted[:, :-1, -1]
        scores = (h - S @ x) @ half.T
        information = half @ S @ half.T
        while len(scores) >= 2 * FEWEST_BLOCKS and _neighbours(scores) > CORRELATED:
            scores, information = _in_pairs(scores), _in_pairs(information)
        expected = np.trace(information, axis1=1, axis2=2).sum() - float(np.sum(information**2))
        return max(1.0, float(np.sum(scores**2)) / expected) if expected > 0.0 else 1.0

    def _join(self, number: int, moments: Array) -> None:
        self._blocks[number] = self._blocks.get(number, 0.0) + moments

    def _moments(self, block: RowBlock, part: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Array:
        rows = np.concatenate((block.regressor[part], block.value[part, :, None]), axis=2)
        rows = np.where(block.used[part, :, None], rows, 0.0).transpose(1, 0, 2)
        if self._pooled:
            rows = rows.reshape(1, -1, rows.shape[-1])
        moments: Array = rows.transpose(0, 2, 1) @ rows
        return moments


def _neighbours(scores: Array) -> float:
    """Return the correlation of each block's score with the next one's."""
    return float(np.sum(scores[1:] * scores[:-1]) / np.sum(scores**2))


def _in_pairs(blocks: Array) -> Array:
    """Return the sums of neighbours; an odd last one joins the pair before it."""
    pairs: Array = blocks[: len(blocks) // 2 * 2].reshape(-1, 2, *blocks.shape[1:]).sum(axis=1)
    if len(blocks) % 2:
        pairs[-1] += blocks[-1]
    return pairs
