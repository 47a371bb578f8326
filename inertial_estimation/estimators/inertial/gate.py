"""Gate on the normalised innovation: rejects impacts and re-opens on a persistent change."""

import math
from dataclasses import dataclass

from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Decision


@dataclass(frozen=True)
class GateConfig:
    """Parameters by which measurements count as outliers, and outliers as a parameter change."""

    enabled: bool = parameter(
        True,
        "Whether measurements are tested against the innovation gate; if false, every measurement is used.",
        runtime=True,
    )
    quantile: float = parameter(
        0.999,
        "Chi-square quantile (degrees of freedom: number of rows) above which the normalised innovation "
        "squared rejects a measurement.",
        lower=0.5,
        upper=0.999999,
    )
    reopen_after: float = parameter(
        0.1,
        "Rejection that lasts this long is taken for a change of the parameters (a payload) instead of an "
        "impact, and the covariance is enlarged.",
        unit="s",
        lower=0.001,
        upper=10.0,
        runtime=True,
    )


class InnovationGate:
    """Accepts or rejects measurements one by one.

    y' S^-1 y is chi-square distributed with as many degrees of freedom as there are rows (Foster et al.
    22 gates it with a hand-picked bound). Rejection that lasts longer than an impact means that the
    parameters have changed; the gate then requests re-opening. Rejected time is added to a counter and
    accepted time subtracted, so a single measurement that fits by chance does not reset the counter.

    Attributes:
        config: Quantile and times.
        quantile: Chi-square quantile of as many rows.
        factor: Its factor in the bound, for noise that is not Gaussian.
    """

    def __init__(self, config: GateConfig, rows: int) -> None:
        self.config = config
        self.quantile = chi_square_quantile(rows, config.quantile)
        self.factor = 1.0
        self._rejected_for = 0.0

    @property
    def bound(self) -> float:
        """Largest NIS that is accepted: the chi-square quantile, times the factor the NIS seen calls for."""
        return self.factor * self.quantile

    @property
    def limit(self) -> float:
        """Largest NIS that `decide` accepts at once: the bound, infinite where the gate is switched off."""
        return self.bound if self.config.enabled else math.inf

    def reset(self) -> None:
        """Reset the counter of rejected time."""
        self._rejected_for = 0.0

    def decide(self, nis: float, dt: float) -> Decision:
        """Test one measurement.

        Args:
            nis: Normalised innovation squared y' S^-1 y.
            dt: Time since the measurement before [s].

        Returns:
            ACCEPTED, REJECTED, or REOPENED: accept it with a covariance that admits a change.
        """
        if not self.config.enabled:
            return Decision.ACCEPTED
        if nis <= self.bound:
            self._rejected_for = max(0.0, self._rejected_for - dt)
            return Decision.ACCEPTED
        self._rejected_for += dt
        if self._rejected_for < self.config.reopen_after:
            return Decision.REJECTED
        self._rejected_for = 0.0
        return Decision.REOPENED


def chi_square_quantile(freedom: float, quantile: float) -> float:
    """Return a quantile of a chi-square distribution.

    Args:
        freedom: Degrees of freedom.
        quantile: Probability below it, 0 to 1.
    """
    from scipy.special import chdtri  # as chi2.ppf, without the second that scipy.stats takes to import

    return float(chdtri(freedom, 1.0 - quantile))
