"""How much the score depends on one parameter, and within which interval it does not tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import SIGNIFICANT, Comparison
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.trials import Values
from inertial_estimation.tuning.variation import Variation

POINTS = 9  # over the range
EDGE = 0.01  # share of the range that counts as its edge
HARDLY_RATIO = 4.0  # of the ends of an interval from which on a logarithmic parameter is hardly determined
HARDLY_SHARE = 0.5  # of the range, for a linear one


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Score over the range of one parameter, the others at their tuned values.

    Attributes:
        values: Values of the parameter, ascending; of choices in their order.
        scores: Mean score at each; NaN where the estimator does not run.
        comparisons: Each compared with the tuned value.
        low: Smallest value that the score does not tell from the tuned one, with the other parameters at
            their tuned values or, in a trial, at any values.
        high: Largest such value.
        at_edge: Whether the tuned value, or the whole range, cannot be told from the edge of the range.
        hardly_determined: Whether that interval is so wide that the tuned value says little.
        equivalent: Of choices: those that the score does not tell from the tuned one.
    """

    values: tuple[Any, ...]
    scores: tuple[float, ...]
    comparisons: tuple[Comparison, ...]
    low: float = np.nan
    high: float = np.nan
    at_edge: bool = False
    hardly_determined: bool = False
    equivalent: tuple[Any, ...] = ()


def sensitivity(
    problem: Problem, variation: Variation, changes: Values, tuned: Any, equals: Sequence[Values] = ()
) -> Sensitivity:
    """Vary one parameter about the tuned values.

    One parameter may stand in for another one, as two noises of the same innovation do. The interval with
    the others fixed is then too narrow, so that it is widened to the values of all trials that the score
    does not tell from the tuned values.

    Args:
        problem: The estimator and its recordings.
        variation: The parameter and its range.
        changes: The tuned values.
        tuned: That of this parameter.
        equals: Values of the trials that the score does not tell from the tuned ones.
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
    others = [one[variation.name] for one in equals if variation.name in one]
    if variation.choices:
        same = tuple(v for v, c in zip(values, comparisons, strict=True) if not c.worse or v in others)
        return Sensitivity(values, tuple(scores), tuple(comparisons), equivalent=same)
    share = variation.share_of(tuned)
    shares = np.array([variation.share_of(value) for value in values])
    low, high = _interval(shares, comparisons, share)
    low = min([low, *(variation.share_of(value) for value in others)])
    high = max([high, *(variation.share_of(value) for value in others)])
    edge = min(share - shares[0], shares[-1] - share) < EDGE or (low <= shares[0] and high >= shares[-1])
    ends = variation.value_at(low), variation.value_at(high)
    wide = ends[1] > HARDLY_RATIO * ends[0] if variation.log else high - low > HARDLY_SHARE
    return Sensitivity(values, tuple(scores), tuple(comparisons), *ends, bool(edge), bool(wide))


def _interval(shares: Array, comparisons: Sequence[Comparison], share: float) -> tuple[float, float]:
    """Return the shares between which the score does not tell, the other parameters fixed."""
    at = int(np.argmin(np.abs(shares - share)))
    noise = np.array([SIGNIFICANT * c.sigma for c in comparisons])
    excess = np.array([c.difference for c in comparisons]) - noise
    low, high = (_crossing(shares, excess, noise, at, step) for step in (-1, 1))
    return low, high


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
