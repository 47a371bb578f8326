"""Whether the innovations of the inertial filter are as large as its noise says: the NIS in a verdict."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from scipy.stats import chi2

from inertial_estimation.signals import Decision, InertialEstimate

NOISE_BAND = 1.7  # factor between the noise seen and that used within which they are called consistent
INTERVAL = 0.95


class NisVerdict(Enum):
    """What the normalised innovations squared say of the standard deviations that the filter uses.

    Attributes:
        CONSISTENT: They agree within a factor of `NOISE_BAND`.
        OVERCONFIDENT: The innovations are larger: the standard deviations of the estimates are too small.
        CAUTIOUS: The innovations are smaller: the standard deviations of the estimates are too large.
    """

    CONSISTENT = "consistent"
    OVERCONFIDENT = "overconfident"
    CAUTIOUS = "cautious"


def innovation_metrics(estimates: Sequence[InertialEstimate]) -> dict[str, Any]:
    """Return the NIS seen and expected, and the noise that the innovations show over the stated one.

    With a correct noise model the NIS of m rows follows a chi-square distribution with m degrees of freedom
    (Bar-Shalom, Li and Kirubarajan 2001, 5.4). The verdict is by the median, which single pushes do not move.

    Args:
        estimates: Of the inertial filter, in order.

    Returns:
        ``nis`` and ``noise`` of `metrics.json`; nothing if the filter never learned.
    """
    learned = [e for e in estimates if e.measured and e.decision is not Decision.DISABLED]
    if not learned:
        return {}
    last, nis = learned[-1], np.array([e.nis for e in learned])
    rows = len(last.row_names)
    low, high = chi2.interval(INTERVAL, rows)
    median = float(np.median(nis))
    ratio = float(np.sqrt(median / chi2.median(rows)))
    return {
        "nis": {
            "mean": float(nis.mean()),
            "median": median,
            "expected": rows,
            "inside_95": float(np.mean((nis >= low) & (nis <= high))),
            "noise_ratio": ratio,
            "verdict": _verdict(ratio).value,
        },
        "noise": {name: {"seen": seen, "used": used} for name, (seen, used) in last.noise.items()},
    }


def nis_sentence(nis: Mapping[str, Any]) -> str:
    """Return what the verdict rests on: how large innovations are beside the noise that the filter uses.

    Args:
        nis: Of `innovation_metrics`.
    """
    return f"innovations are {nis['noise_ratio']:.2g} times as large as the filter's noise says"


def _verdict(ratio: float) -> NisVerdict:
    if ratio > NOISE_BAND:
        return NisVerdict.OVERCONFIDENT
    return NisVerdict.CONSISTENT if ratio >= 1.0 / NOISE_BAND else NisVerdict.CAUTIOUS
