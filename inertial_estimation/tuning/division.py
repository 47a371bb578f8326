"""Division of a recording into parts and blocks, and comparison of scores block by block."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array, seconds

BLOCK_S = 2.0  # longer than the memory of the scored errors, so that blocks are nearly independent [s]
FEWEST = 5  # smallest number of blocks of a part, even of a short recording
LEAST_SAMPLES = 0.5  # share of the median number of samples below which a block has no score
SIGNIFICANT = 2.0  # standard deviations beyond which a difference is significant


@dataclass(frozen=True)
class Division:
    """A recording cut into parts of equal length, and these into blocks."""

    begin_ns: int  # stamp of the start [ns]
    end_ns: int  # stamp of the end [ns]
    parts: int  # number of parts
    blocks: int  # number of blocks in each part

    @classmethod
    def of(cls, begin_ns: int, end_ns: int, parts: int) -> "Division":
        """Divide a recording so that blocks are about `BLOCK_S` long."""
        length_s = seconds(end_ns - begin_ns) / parts
        return cls(begin_ns, end_ns, parts, max(round(length_s / BLOCK_S), FEWEST))

    @property
    def part_of_block(self) -> NDArray[np.int64]:
        """Number of the part of each block, shape (parts * blocks,)."""
        return np.repeat(np.arange(self.parts), self.blocks)

    def part_end_ns(self, part: int) -> int:
        """Return the stamp at which a part ends [ns]."""
        return self.begin_ns + (self.end_ns - self.begin_ns) * (part + 1) // self.parts

    def blocks_at(self, stamps_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the block of each stamp, shape (n,); -1 before the start and after the end."""
        count = self.parts * self.blocks
        number = (stamps_ns - self.begin_ns) * count // max(self.end_ns - self.begin_ns, 1)
        return np.where((number >= 0) & (number < count), number, -1)

    def means(self, stamps_ns: NDArray[np.int64], values: Array) -> Array:
        """Return the mean of values in each block; values that are NaN do not count.

        Args:
            stamps_ns: Stamps [ns], shape (n,).
            values: Values at the stamps, shape (n,).

        Returns:
            Means, shape (parts * blocks,); NaN where a block has too few values.
        """
        count = self.parts * self.blocks
        number = self.blocks_at(stamps_ns)
        known = np.isfinite(values) & (number >= 0)
        sizes = np.bincount(number[known], minlength=count)
        sums = np.bincount(number[known], weights=values[known], minlength=count)
        median = np.median(sizes[sizes > 0]) if known.any() else 0.0
        return np.where(sizes > LEAST_SAMPLES * median, sums / np.maximum(sizes, 1), np.nan)


@dataclass(frozen=True)
class Judgement:
    """Scores of some values against those of other ones, over the blocks that have both."""

    mean: float  # mean score of the values; NaN without such a block
    before: float  # that of the values they are compared with
    difference: float  # mean minus that before, block by block
    sigma: float  # its standard deviation, with neighbouring blocks taken as correlated
    blocks: int  # number of blocks with both scores

    @property
    def significant(self) -> bool:
        """Whether the difference exceeds `SIGNIFICANT` standard deviations."""
        return abs(self.difference) > SIGNIFICANT * self.sigma

    @property
    def worse(self) -> bool:
        """Whether the scores are significantly larger than those before."""
        return self.difference > SIGNIFICANT * self.sigma


def compared(first: Array, second: Array) -> Judgement:
    """Compare scores of the same blocks.

    Only neighbouring blocks are taken as correlated: the variance of the mean is that of a block plus twice
    the covariance of neighbours, if it is positive, over the number of blocks.

    Args:
        first: Scores, shape (n,); NaN where a block has none.
        second: Scores of the same blocks, shape (n,).
    """
    both = np.isfinite(first) & np.isfinite(second)
    first, second, n = first[both], second[both], int(both.sum())
    d = first - second
    mean, before, difference = (float(x.mean()) if n else np.nan for x in (first, second, d))
    if n < 2:
        return Judgement(mean, before, difference, np.inf, n)
    e = d - difference
    variance = float(e @ e) / (n - 1)
    lagged = max(float(e[1:] @ e[:-1]) / (n - 1), 0.0)
    sigma = float(np.sqrt((variance + 2.0 * lagged) / n))
    return Judgement(mean, before, difference, sigma, n)
