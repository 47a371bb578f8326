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

ROUND_OFF = 1e-11  # share of the largest singular value below which the others are round-off
BLOCK_S = 0.5  # shortest block [s]; smoothing twice with windows of 0.12 s correlates rows less far
FEWEST_BLOCKS = 8  # least number of blocks from which a scatter is computed
MEMORY = 64_000_000  # largest size of all blocks [bytes]
CORRELATED = 0.1  # correlation of neighbouring scores above which blocks are joined in pairs
EXACT = 1e-12  # squared residual over squared deviation from nominal below which it is round-off


@dataclass(frozen=True, eq=False)
class ReducedEquation:
    """R dphi = z + noise of unit variance: all weighted rows, reduced by QR to one row per unknown.

    ||A dphi - b||^2 = ||R dphi - z||^2 + rest for every dphi.
    """

    R: Array  # upper triangular, shape (n, n)
    z: Array  # right-hand side, shape (n,)
    rest: float  # squared residual that no deviation explains
    rows: int  # number of rows before the reduction

    def truncated(self, condition_limit: float) -> "ReducedEquation":
        """Return the equation without singular values of R below 1 / c_max of the largest (Y 22, 23)."""
        U, s, Vt = linear_algebra.svd(self.R)
        R = (U * np.where(s > s[0] / condition_limit, s, 0.0)) @ Vt
        return ReducedEquation(R, self.z, self.rest, self.rows)


class EquationStack:
    """Rows of equal names, each reduced to a triangular factor.

    Attributes:
        row_names: Name of each row.
        unknowns: Number of unknowns.
        times: Number of times, which is the number of rows of each name.
        scatter: Scatter of the rows over blocks of time.
    """

    def __init__(self, row_names: tuple[str, ...], unknowns: int, *, pooled: bool = False) -> None:
        """Begin without rows; `pooled` says that all row names have one common weight."""
        self.row_names, self.unknowns, self.times = row_names, unknowns, 0
        m, width = len(row_names), unknowns + 2  # [A, value, measured]
        self.scatter = BlockScatter(m, unknowns, pooled=pooled)
        self._independent = 0.0
        self._factors = np.zeros((m, width, width))

    @property
    def rows(self) -> int:
        """Number of rows of all names."""
        return self.times * len(self.row_names)

    @property
    def correlation(self) -> float:
        """Number of rows per independent row, the factor by which noise correlation enlarges variances."""
        return self.times / self._independent if self._independent else 1.0

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        self.scatter.add(block)
        self.times += block.size
        self._independent += block.independent
        columns = (block.regressor, block.value[..., None], block.measured[..., None])
        rows = np.concatenate(columns, axis=2).transpose(1, 0, 2)
        for i, own in enumerate(rows):
            self._factors[i] = _folded(np.vstack((self._factors[i], own)))

    def residual_squares(self, x: Array) -> Array:
        """Return the sum of squares of measured minus predicted of each row name, shape (m,)."""
        squares: Array = ((self._factors @ np.concatenate((x, [-1.0, 0.0]))) ** 2).sum(axis=1)
        return squares

    def measured_squares(self) -> Array:
        """Return the sum of squares of the measured values of each row name, shape (m,)."""
        squares: Array = (self._factors[:, :, -1] ** 2).sum(axis=1)
        return squares

    def reduced(self, sigma: Array) -> ReducedEquation:
        """Return all rows, each divided by the standard deviation of its name, shape (m,), as one system."""
        n = self.unknowns
        R = np.zeros((n + 1, n + 1))
        for factor, s in zip(self._factors, sigma, strict=True):
            R = _folded(np.vstack((R, factor[:, : n + 1] / s)))
        return ReducedEquation(R[:n, :n], R[:n, n], float(R[n, n] ** 2), self.rows)


def _folded(rows: Array) -> Array:
    return linear_algebra.square_factor(linear_algebra.triangular_factor(rows))


class BlockScatter:
    """Scatter of the fit over blocks of time, by which correlated residuals enlarge the variances.

    Where the model is incomplete (friction, flexible joints), residuals are correlated far beyond the
    smoothing, and standard deviations from their size alone are too small. With the weighted rows
    A_b x = h_b of a block b of time, r_b their residual and g_b = A_b' r_b the gradient of the cost (the
    score), white noise of unit variance gives

        E sum_b g_b' P g_b = sum_b tr(P S_b - P S_b P S_b),    S_b = A_b' A_b,    P = (sum_b S_b + T'T)^-1,

    T the prior; the second term is the part of each block's noise that the fit absorbs. The ratio of the
    measured sum to this expectation is the factor of the variances: a cluster-robust covariance (Liang and
    Zeger 1986) with blocks of time as clusters, averaged over all directions: few blocks determine no matrix.

    A'A and A'b of every row name are collected over blocks of equal length. When the memory is full, the
    blocks become twice as long. A row with too many unknowns for the fewest blocks is not collected.
    """

    def __init__(self, rows: int, unknowns: int, *, pooled: bool) -> None:
        """Begin without data; `pooled` row names have one common weight and are collected together."""
        self._pooled = pooled
        self._most = MEMORY // (8 * (1 if pooled else rows) * (unknowns + 1) ** 2)
        self._blocks: dict[int, Array] = {}  # by the number of the block since the stamp 0
        self._length_ns = round(BLOCK_S * NANOSECONDS)

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        if self._most < 2 * FEWEST_BLOCKS:
            return
        numbers = block.stamps_ns // self._length_ns
        rows = np.concatenate((block.regressor, block.value[..., None]), axis=2)
        for number in np.unique(numbers).tolist():
            own = rows[numbers == number].transpose(1, 0, 2)
            own = own.reshape(1, -1, own.shape[-1]) if self._pooled else own
            self._join(number, own.transpose(0, 2, 1) @ own)
        while len(self._blocks) > self._most:
            blocks, self._blocks = self._blocks, {}
            self._length_ns *= 2
            for number, moments in blocks.items():
                self._join(number // 2, moments)

    def inflation(self, sigma: Array, equation: ReducedEquation, T: Array) -> float:
        """Return the factor by which variances exceed those of white noise, 1 or more.

        Blocks are joined in pairs while the scores of neighbours are correlated. With too few blocks, or a
        residual that is only round-off, it is 1.

        Args:
            sigma: Standard deviation of each row name by which the fit weights it [Nm, N], shape (m,).
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


def _neighbours(scores: Array) -> float:
    """Return the correlation of each block's score with the next one's."""
    return float(np.sum(scores[1:] * scores[:-1]) / np.sum(scores**2))


def _in_pairs(blocks: Array) -> Array:
    """Return the sums of pairs of neighbours; of an odd number, the last one is added to the last pair."""
    pairs: Array = blocks[: len(blocks) // 2 * 2].reshape(-1, 2, *blocks.shape[1:]).sum(axis=1)
    if len(blocks) % 2:
        pairs[-1] += blocks[-1]
    return pairs
