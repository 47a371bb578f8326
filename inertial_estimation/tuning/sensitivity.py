"""How much the score depends on one parameter, and within which interval it does not tell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import SIGNIFICANT, Comparison
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.trials import Values
from inertial_estimation.tuning.variation import Variation

__all__ = ["Sensitivity", "sensitivity"]

POINTS = 9  # over the range
EDGE = 0.01  # share of the range that counts as its edge


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Score over the range of one parameter, the others at their tuned values.

    Attributes:
        values: Values of the parameter, ascending; of choices in their order.
        scores: Mean score at each; NaN where the estimator does not run.
        comparisons: Each compared with the tuned value.
        low: Smallest value that the score does not tell from the tuned one.
        high: Largest such value.
        at_edge: Whether the tuned value, or the whole range, cannot be told from the edge of the range.
        equivalent: Of choices: those that the score does not tell from the tuned one.
    """

    values: tuple[Any, ...]
    scores: tuple[float, ...]
    comparisons: tuple[Comparison, ...]
    low: float = np.nan
    high: float = np.nan
    at_edge: bool = False
    equivalent: tuple[Any, ...] = ()


def sensitivity(problem: Problem, variation: Variation, changes: Values, tuned: Any) -> Sensitivity:
    """Vary one parameter about the tuned values.

    Args:
        problem: The estimator and its recordings.
        variation: The parameter and its range.
        changes: The tuned values.
        tuned: That of this parameter.
    """
    values = _values(variation, tuned)
    scores, comparisons = [], []
    for value in values:
        try:
            changed = {**changes, variation.name: value}
            comparisons.append(problem.compared(changed, changes))
            scores.append(float(np.nanmean(problem.remembered(changed))))
        except InertialEstimationError:
            comparisons.append(Comparison(np.inf, 0.0, 0))
            scores.append(np.nan)
    if variation.choices:
        same = tuple(v for v, c in zip(values, comparisons, strict=True) if not _worse(c))
        return Sensitivity(values, tuple(scores), tuple(comparisons), equivalent=same)
    share = variation.share_of(tuned)
    shares = np.array([variation.share_of(value) for value in values])
    at = int(np.argmin(np.abs(shares - share)))
    noise = np.array([SIGNIFICANT * c.sigma for c in comparisons])
    excess = np.array([c.difference for c in comparisons]) - noise
    low, high = (_crossing(shares, excess, noise, at, step) for step in (-1, 1))
    edge = min(share - shares[0], shares[-1] - share) < EDGE or (low <= shares[0] and high >= shares[-1])
    return Sensitivity(
        values,
        tuple(scores),
        tuple(comparisons),
        variation.value_at(low),
        variation.value_at(high),
        bool(edge),
    )


def _worse(comparison: Comparison) -> bool:
    return comparison.difference > SIGNIFICANT * comparison.sigma


def _values(variation: Variation, tuned: Any) -> tuple[Any, ...]:
    if variation.choices:
        return variation.choices
    grid = {variation.value_at(k / (POINTS - 1)) for k in range(POINTS)}
    return tuple(sorted({*grid, float(tuned), float(variation.shipped)}))


def _crossing(shares: Array, excess: Array, noise: Array, at: int, step: int) -> float:
    """Return where the excess over noise becomes positive, from the tuned value in one direction.

    Near the tuned value the difference grows with the square of the distance and its noise linearly, farther
    away both are taken as linear.
    """
    k = at
    while 0 <= k + step < len(shares):
        after = k + step
        if excess[after] > 0.0:
            if not np.isfinite(excess[after]):
                return float(shares[k])
            below = min(excess[k], 0.0)
            part = (
                noise[after] / (excess[after] + noise[after]) if k == at else -below / (excess[after] - below)
            )
            return float(shares[k] + (shares[after] - shares[k]) * part)
        k = after
    return float(shares[k])
