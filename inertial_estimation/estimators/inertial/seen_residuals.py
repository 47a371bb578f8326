"""The whitened residuals seen since causes are looked for, by which is judged what a cause leaves of them."""

from inertial_estimation.estimators.inertial.cause_bank import NoiseScale
from inertial_estimation.signals import Array

STRENGTH = 10.0  # residuals that the usual noise is worth: a larger one is learned from about as many
SMALLEST = 1e-6  # smallest usual variance of a whitened residual: data without noise
EXPLAINED = 4.0  # times the usual variance, up to which what a cause leaves is noise
UNEXPLAINED = 0.25  # share of what exceeds the usual variance that a cause may leave of a small event
LEFT = 0.05  # share of what was to be explained that a cause may leave: the equation is linear in it


class SeenResiduals:
    """Sums of the residuals, and the prior of their noise.

    Attributes:
        scale: Prior of the noise.
        total: Number of independent residuals, weights included.
        rss: Their squares, summed.
    """

    def __init__(self, variance: float) -> None:
        """Begin without residuals.

        Args:
            variance: Usual mean of the squared whitened residuals.
        """
        self.scale = NoiseScale(max(variance, SMALLEST), STRENGTH)
        self.total = self.rss = 0.0

    def add(self, residual: Array, weight: float) -> None:
        """Add the residuals of one measurement.

        Args:
            residual: Whitened, shape (m,).
            weight: Number of independent measurements that this one counts for.
        """
        self.total += weight * len(residual)
        self.rss += weight * float(residual @ residual)

    def is_noise(self, left: float) -> bool:
        """Return whether what a cause leaves is no more than noise.

        Args:
            left: Sum of its normalised innovations squared.
        """
        usual = self.scale.variance * self.total
        return left <= min(EXPLAINED * usual, usual + UNEXPLAINED * max(self.rss - usual, 0.0))

    def is_explained(self, left: float) -> bool:
        """Return whether what a cause leaves is noise, or little of what there was to explain.

        Args:
            left: Sum of its normalised innovations squared.
        """
        return self.is_noise(left) or left <= LEFT * self.rss
