"""From trials to values: the best of them, which of them matter, and what they are worth on other data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inertial_estimation.errors import InertialEstimationError, MeasurementError
from inertial_estimation.signals import Array
from inertial_estimation.tuning.division import SIGNIFICANT, Comparison, compared
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.search import Trial
from inertial_estimation.tuning.trials import Objective, Values
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


KEPT_WITHIN = 1.0  # standard deviations: a parameter stays as it was unless that costs more


@dataclass(frozen=True, eq=False)
class TunedParameter:
    """One parameter after the search.

    Attributes:
        variation: What was varied.
        value: The value found; that in effect where another one is not better beyond noise.
        changed: Whether it differs from the value in effect.
        sensitivity: Score over its range, the others at their tuned values.
        importance: Its share in the variance of good scores; NaN where too few trials tell.
    """

    variation: Variation
    value: Any
    changed: bool
    sensitivity: Sensitivity
    importance: float


@dataclass(frozen=True)
class Judgement:
    """Tuned and shipped values on the same data.

    Attributes:
        tuned: Mean score.
        shipped: Mean score of the values in effect before.
        comparison: Of the blocks of both, tuned minus shipped.
    """

    tuned: float
    shipped: float
    comparison: Comparison

    @classmethod
    def of(cls, tuned: Array, shipped: Array) -> "Judgement":
        """Judge scores of the same blocks."""
        both = np.isfinite(tuned) & np.isfinite(shipped)
        if not both.any():
            return cls(np.nan, np.nan, compared(tuned, shipped))
        return cls(float(tuned[both].mean()), float(shipped[both].mean()), compared(tuned, shipped))


@dataclass(frozen=True)
class Fold:
    """Values chosen from the trials by some parts of the recordings and judged on another one.

    Attributes:
        part: Number of the part they are judged on, from 0.
        values: The best trial on the other parts.
        judgement: On that part.
    """

    part: int
    values: Mapping[str, Any]
    judgement: Judgement


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Outcome of a search for one estimator.

    Attributes:
        objective: What was made small.
        parameters: The parameters, in the order given.
        trials: All completed trials.
        best: The trial with the least score.
        training: On the parts that were searched on.
        held_out: On the part that was not.
        folds: The same for each of the parts that were searched on, among the same trials.
        blocks_s: Length of a block of each recording [s].
        selected: Parameters that differ from those in effect in all trials, by dotted name.
    """

    objective: Objective
    parameters: tuple[TunedParameter, ...]
    trials: tuple[Trial, ...]
    best: Trial
    training: Judgement
    held_out: Judgement
    folds: tuple[Fold, ...]
    blocks_s: tuple[float, ...]
    selected: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, Any]:
        """The values that differ from those in effect, by dotted name; none where nothing is better."""
        changed = {p.variation.name: p.value for p in self.parameters if p.changed}
        return {**self.selected, **changed} if changed else {}

    @property
    def warnings(self) -> list[str]:
        """What speaks against the tuned values, a sentence each."""
        found = []
        if not self.changes:
            found.append("No value is better than the present ones beyond noise: there is nothing to change.")
        elif not self.held_out.comparison.significant:
            found.append(
                "On the held-out part the tuned values do not differ from the present ones beyond noise: "
                "they are no safe improvement."
            )
        elif self.held_out.comparison.difference > 0.0:
            found.append(
                "On the held-out part the tuned values are WORSE than the present ones: do not use them."
            )
        failed = [trial for trial in self.trials if trial.failure]
        if failed:
            found.append(f"{len(failed)} of {len(self.trials)} trials failed: {failed[0].failure}")
        for parameter in self.parameters:
            if parameter.changed and parameter.sensitivity.at_edge:
                found.append(
                    f"{parameter.variation.name} = {parameter.value:.4g} lies at the edge of its range, or "
                    "the score does not tell it from the edge: the range may be too narrow, or the data do "
                    "not determine it."
                )
            elif parameter.changed and parameter.sensitivity.hardly_determined:
                low, high = parameter.sensitivity.low, parameter.sensitivity.high
                found.append(
                    f"{parameter.variation.name} = {parameter.value:.4g} is hardly determined: values from "
                    f"{low:.2g} to {high:.2g} are as good, some together with others of the other parameters."
                )
        return found


def concluded(
    problem: Problem,
    variations: Sequence[Variation],
    trials: Sequence[Trial],
    importance: Mapping[str, float],
) -> TuningResult:
    """Draw the conclusions from trials.

    Of the best trial, values return to those in effect one after another, as long as that is not worse
    beyond one standard deviation (the rule of one standard error: Hastie, Tibshirani, Friedman 2009, 7.10).

    Args:
        problem: The estimator and its recordings.
        variations: The parameters.
        trials: The completed trials.
        importance: Share of each parameter in the variance of good scores, as far as it is known.

    Raises:
        MeasurementError: If no trial ran with any values.
    """
    complete = [trial for trial in trials if trial.complete]
    if not complete:
        reason = next((trial.failure for trial in trials if trial.failure), "there are no trials")
        raise MeasurementError(f"no trial could be scored: {reason}")
    best = min(complete, key=lambda trial: trial.score)
    values = _simplified(problem, variations, best.values, importance)
    changes = {v.name: values[v.name] for v in variations if values[v.name] != v.shipped}
    tuned, shipped = problem.all_scores(changes), problem.all_scores({})
    equals = [t.values for t in complete if not compared(t.scores, problem.remembered(changes)).worse]
    last = problem.part_of_block == problem.parts - 1
    return TuningResult(
        problem.objective,
        tuple(
            TunedParameter(
                v,
                values[v.name],
                v.name in changes,
                sensitivity(problem, v, changes, values[v.name], equals),
                float(importance.get(v.name, np.nan)),
            )
            for v in variations
        ),
        tuple(trials),
        best,
        Judgement.of(problem.remembered(changes), problem.remembered({})),
        Judgement.of(tuned[last], shipped[last]),
        _folds(problem, complete),
        tuple(one.division.block_s for one in problem.trials),
    )


def _simplified(
    problem: Problem,
    variations: Sequence[Variation],
    best: Mapping[str, Any],
    importance: Mapping[str, float],
) -> dict[str, Any]:
    """Return the best values with those at their present value that do not matter.

    All are tried together first, since where two matter only by their ratio each alone seems to; and again at
    the end, since what was given up on the way adds up.
    """
    present = {variation.name: variation.shipped for variation in variations}
    if _as_good(problem, present, best):
        return present
    values = dict(best)
    for variation in sorted(variations, key=lambda v: importance.get(v.name, 0.0)):
        simpler = {**values, variation.name: variation.shipped}
        if _as_good(problem, simpler, best):
            values = simpler
    return present if _as_good(problem, present, values) else values


def _as_good(problem: Problem, values: Mapping[str, Any], best: Mapping[str, Any]) -> bool:
    """Return whether values score as well as the best ones, within one standard deviation."""
    try:
        comparison = problem.compared(values, best)
    except InertialEstimationError:
        return False
    return comparison.difference <= KEPT_WITHIN * comparison.sigma


def _folds(problem: Problem, complete: Sequence[Trial]) -> tuple[Fold, ...]:
    parts, shipped = problem.part_of_block, problem.remembered({})
    folds = []
    for part in range(problem.parts - 1):
        others = (parts != part) & (parts != problem.parts - 1)
        known = [trial for trial in complete if np.isfinite(trial.scores[others]).any()]
        if not known or not np.isfinite(shipped[parts == part]).any():
            continue
        chosen = min(known, key=lambda trial: float(np.nanmean(trial.scores[others])))
        judged = Judgement.of(chosen.scores[parts == part], shipped[parts == part])
        folds.append(Fold(part, chosen.values, judged))
    return tuple(folds)
