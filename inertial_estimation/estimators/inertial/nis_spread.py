"""Mean and variance of the NIS that is seen, and the bound of a gate they call for."""

import math
from collections import deque

from inertial_estimation.estimators.inertial.gate import chi_square_quantile

LARGEST = 4.0  # times the bound: what a single outlier counts at most
LOOSEST = 10.0  # largest factor on the chi-square bound
OUTLIER = 5  # NIS that one bad reading may spoil, as it stays in the windows of the signals
BETWEEN = 0.05  # share of new data after which the bound is computed again


class NisSpread:
    """Matches a scaled chi-square distribution to the NIS seen (Welch-Satterthwaite).

    With NIS / m of mean mu and variance V, mu/nu chi2_nu with nu = 2 mu^2 / V has the same moments. Noise
    whose level changes, and model errors, give fewer degrees of freedom than there are rows.

    Attributes:
        gate_factor: Quantile of that distribution over the chi-square quantile, 1 to `LOOSEST`.
    """

    def __init__(self, rows: int, quantile: float) -> None:
        """Begin with Gaussian noise.

        Args:
            rows: Number of rows m.
            quantile: Of the gate.
        """
        self._rows, self._quantile = rows, quantile
        self._stated = chi_square_quantile(rows, quantile) / rows
        self.reset()

    def reset(self) -> None:
        """Return to Gaussian noise."""
        self._mean, self._square = 1.0, 1.0 + 2.0 / self._rows
        self._new = 0.0
        self._last = deque([float(self._rows)] * OUTLIER, maxlen=OUTLIER)
        self.gate_factor = 1.0

    def feed(self, nis: float, share: float, *, starting: bool = False) -> None:
        """Add one NIS.

        Args:
            nis: Normalised innovation squared.
            share: Its weight in the mean.
            starting: Whether so few have been seen that one bad reading would open the gate for itself; then
                the least of the last `OUTLIER` counts.
        """
        if not math.isfinite(nis):
            nis = math.inf
        self._last.append(nis)
        if starting:
            nis = min(self._last)
        relative = min(nis / self._rows, LARGEST * self.gate_factor * self._stated)
        self._mean += share * (relative - self._mean)
        self._square += share * (relative * relative - self._square)
        self._new += share
        if self._new >= BETWEEN:
            self._new = 0.0
            self.gate_factor = self._factor()

    def _factor(self) -> float:
        variance = max(self._square - self._mean**2, 2.0 * self._mean**2 / self._rows, 1e-12)
        freedom = 2.0 * self._mean**2 / variance
        bound = self._mean / freedom * chi_square_quantile(freedom, self._quantile)
        return min(max(bound / self._stated, 1.0), LOOSEST)
