"""How well the inertial filter predicts its measurements, block by block."""

import math

import numpy as np
from scipy.stats import chi2

from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.signals import Array, Decision

OUTLIERS = 0.01  # share of measurements that are taken for outliers
WIDER = 10.0  # their standard deviation over that of the others
NO_INNOVATION = (Decision.WAITING_FOR_REST, Decision.CALIBRATING)


def negative_log_likelihood(update: StepOutcome) -> float:
    """Return the negative log-likelihood of an innovation y ~ N(0, S), for each of its m rows.

    A share of all measurements are outliers ~ N(0, c^2 S), so that single ones do not decide:

        -log[(1 - e) exp(-NIS/2) + e c^-m exp(-NIS/(2 c^2))] + (log det S + m log 2 pi) / 2

    Args:
        update: Outcome of an update.

    Returns:
        NaN for a measurement that was not compared.
    """
    if update.decision in NO_INNOVATION or not math.isfinite(update.log_det):
        return math.nan
    m = len(update.innovation)
    usual = math.log1p(-OUTLIERS) - 0.5 * update.nis
    outlier = math.log(OUTLIERS) - m * math.log(WIDER) - 0.5 * update.nis / WIDER**2
    likely = max(usual, outlier) + math.log1p(math.exp(-abs(usual - outlier)))
    return (0.5 * (update.log_det + m * math.log(2.0 * math.pi)) - likely) / m


def kolmogorov_distance(nis: Array, rows: int) -> float:
    """Return the largest difference between the distribution of the NIS and chi-square, 0 to 1.

    Args:
        nis: Normalised innovations squared, shape (n,).
        rows: Rows of the measurement.
    """
    levels = np.sort(chi2.cdf(nis, rows))
    n = len(levels)
    if not n:
        return math.nan
    steps = np.arange(n + 1) / n
    return float(max(np.abs(levels - steps[1:]).max(), np.abs(levels - steps[:-1]).max()))
