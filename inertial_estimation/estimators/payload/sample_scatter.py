"""Mean and scatter of repeated measurements of one vector, and how one sample correlates with the next."""

import numpy as np

from inertial_estimation.signals import Array

LARGEST_CORRELATION = 0.999


class SampleScatter:
    """Running mean, covariance and correlation of successive samples; old ones are forgotten.

    Attributes:
        count: Number of samples.
        mean: Shape (n,).
        covariance: Of one sample about the mean, shape (n, n).
        forgetting: Weight of the newest sample in the mean.
    """

    def __init__(self, size: int = 3) -> None:
        self.count = 0
        self.forgetting = 1.0
        self.mean: Array = np.zeros(size)
        self.covariance: Array = np.zeros((size, size))
        self._product = 0.0
        self._last: Array = np.zeros(size)

    def add(self, sample: Array, gain: float) -> None:
        """Take a sample.

        Args:
            sample: Shape (n,).
            gain: Weight of a new sample once there are many; the first ones count equally.
        """
        self.count += 1
        self.forgetting = weight = max(1.0 / self.count, gain)
        before = sample - self.mean
        self.mean = self.mean + weight * before
        spread = (1.0 - weight) * np.multiply.outer(before, before)
        self.covariance = (1.0 - weight) * self.covariance + weight * spread
        if self.count > 1:
            self._product += weight * (float(before @ self._last) - self._product)
        self._last = sample - self.mean

    @property
    def correlation(self) -> float:
        """Correlation of one sample with the next, in [0, 1): windows that overlap share their noise."""
        total = float(np.trace(self.covariance))
        if not total > 0.0:
            return 0.0
        return min(max(self._product / total, 0.0), LARGEST_CORRELATION)

    def filtered_covariance(self, gain: float) -> Array:
        """Return the steady covariance of x += beta (z - x) over such samples, shape (n, n).

        beta / (2 - beta) (1 + rho') / (1 - rho') times that of a sample, rho' = (1 - beta) rho: exact for
        noise whose correlation falls as rho^k, too large by up to two for overlapping windows. Until the
        gain has taken over, the mean of all samples so far.

        Args:
            gain: beta, in (0, 1].
        """
        beta = max(gain, 1.0 / max(self.count, 1))
        rho = (1.0 - beta) * self.correlation
        whole: Array = min(1.0, beta / (2.0 - beta) * (1.0 + rho) / (1.0 - rho)) * self.covariance
        return whole
