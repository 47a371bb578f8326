"""Scatter of the fit over blocks of time: how much less the rows tell than their noise alone would say.

Where the model is incomplete (friction, flexible joints), residuals are correlated far beyond the smoothing,
and standard deviations from their size alone are too small. With the weighted rows A_b x = h_b of a block b
of time, r_b their residual and g_b = A_b' r_b the gradient of the cost (the score), white noise of unit
variance gives

    E sum_b g_b' P g_b = sum_b tr(P S_b - P S_b P S_b),    S_b = A_b' A_b,    P = (sum_b S_b + T'T)^-1,

T the prior; the second term is what the fit takes out of each block. The ratio of what is found to that is
the factor by which variances grow: a cluster-robust covariance (Liang and Zeger 1986) whose clusters are
blocks of time, reduced to its mean over all directions, since few blocks do not determine a matrix.
"""

import numpy as np

from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.identification.row_block import RowBlock
from inertial_estimation.signals import Array, seconds
from inertial_estimation.spatial import linear_algebra

BLOCK_S = 0.5  # shortest block [s]; the smoothing's two windows of 0.12 s correlate no further
FEWEST_BLOCKS = 8  # with which a scatter means anything
MEMORY = 64_000_000  # largest size of all blocks [bytes]
CORRELATED = 0.1  # correlation of neighbouring scores above which blocks are joined in pairs
EXACT = 1e-12  # squared residual over squared deviation from nominal below which it is round-off


class BlockScatter:
    """Collects A'A and A'b of every row name over consecutive blocks of time, in bounded memory.

    When the memory is full, neighbouring blocks are joined and those to come are twice as long. A row with
    too many unknowns for the fewest blocks is not collected.
    """

    def __init__(self, rows: int, unknowns: int, *, pooled: bool) -> None:
        """Begin without data.

        Args:
            rows: Number of row names.
            unknowns: Number of unknowns.
            pooled: Whether all row names have one weight, so that they are collected as one.
        """
        self._pooled = pooled
        self._shape = (1 if pooled else rows, unknowns + 1, unknowns + 1)
        self._most = MEMORY // (8 * int(np.prod(self._shape)))
        self._blocks: list[Array] = []
        self._length_s = BLOCK_S
        self._start_ns: int | None = None
        self._last_ns = 0

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block, whose times ascend."""
        if self._most < 2 * FEWEST_BLOCKS:
            return
        stamps, first = block.stamps_ns, 0
        while first < len(stamps):
            start = int(stamps[first])
            elapsed = None if self._start_ns is None else seconds(start - self._start_ns)
            if elapsed is None or not 0.0 <= elapsed < self._length_s or start < self._last_ns:
                self._begin(start)
            assert self._start_ns is not None
            end_ns = self._start_ns + round(self._length_s * 1e9)
            last = max(int(np.searchsorted(stamps, end_ns)), first + 1)
            self._blocks[-1] += self._moments(block, slice(first, last))
            self._last_ns = int(stamps[last - 1])
            first = last

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
        weights = 1.0 / sigma[: self._shape[0]] ** 2
        weighted = np.einsum("i,bijk->bjk", weights, np.stack(self._blocks))
        S, h = weighted[:, :-1, :-1], weighted[:, :-1, -1]
        scores = (h - S @ x) @ half.T
        information = half @ S @ half.T
        while len(scores) >= 2 * FEWEST_BLOCKS and _neighbours(scores) > CORRELATED:
            scores, information = _in_pairs(scores), _in_pairs(information)
        expected = np.trace(information, axis1=1, axis2=2).sum() - float(np.sum(information**2))
        return max(1.0, float(np.sum(scores**2)) / expected) if expected > 0.0 else 1.0

    def _begin(self, start_ns: int) -> None:
        if len(self._blocks) >= self._most:
            self._blocks = list(_in_pairs(np.stack(self._blocks)))
            self._length_s *= 2.0
        self._blocks.append(np.zeros(self._shape))
        self._start_ns = start_ns

    def _moments(self, block: RowBlock, part: slice) -> Array:
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
