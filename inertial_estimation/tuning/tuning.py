"""From recordings to tuned values: search, sensitivity of the score, and comparison on held-out data."""

import pickle
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.errors import InertialEstimationError, MeasurementError, RecordingError, one_line
from inertial_estimation.parallel import Workers
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.tuning.division import SIGNIFICANT, Division, Judgement, compared
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.tilt_trials import LaterReadings, ReferenceTilt
from inertial_estimation.tuning.trials import LikelihoodTrials, Objective, Trials, Values
from inertial_estimation.tuning.variation import Variation

BATCH = 8  # trials whose values are chosen together
SPREAD = 0.25  # share of the trials spread over the ranges, and half width of the first box in ranges
SHRINKING = 0.8  # ratio of the width of a box to that of the box before


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of an estimator with given values."""

    values: Mapping[str, Any]  # the parameters by name
    score: float  # mean score over the blocks; NaN if the estimator did not run
    # score of every block, NaN where a block has none
    scores: Array = field(default_factory=lambda: np.zeros(0))
    failure: str = ""  # why the estimator did not run with these values; empty if it did


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial with the least score; None if all failed."""
    return min((trial for trial in trials if not trial.failure), key=lambda trial: trial.score, default=None)


def searched(
    variations: Sequence[Variation], count: int, seed: int, run: Callable[[Sequence[Values]], Sequence[Trial]]
) -> list[Trial]:
    """Run a number of trials; the first has the values in effect, if they are within the ranges.

    The first quarter of the trials is spread over the ranges by a Halton sequence. The others are spread,
    batch by batch, over a box around the best trial so far, smaller with every batch. The values of a batch
    are chosen together, so that the search is the same for any number of processes. On quadratic and rippled
    bowls of 1 to 6 dimensions it comes as close in 100 trials as a tree-structured Parzen estimator.

    Args:
        variations: The parameters.
        count: Number of trials.
        seed: Seed of the sequence.
        run: Function that runs trials with given values.
    """
    sequence, done = qmc.Halton(len(variations), seed=seed), list[Trial]()
    centre, reach = np.full(len(variations), 0.5), 0.5
    while len(done) < count:
        offsets = reach * (2.0 * sequence.random(min(BATCH, count - len(done))) - 1.0)
        points = [
            {v.name: v.value_at(share) for v, share in zip(variations, row, strict=True)}
            for row in np.clip(centre + offsets, 0.0, 1.0).tolist()
        ]
        if not done and all(v.low <= v.shipped <= v.high for v in variations):
            points[0] = {v.name: v.shipped for v in variations}
        done += run(points)
        best = best_of(done)
        if best is not None and len(done) >= SPREAD * count:
            centre = np.array([v.share_of(best.values[v.name]) for v in variations])
            reach = SPREAD if reach > SPREAD else SHRINKING * reach
    return done


PARTS = 3  # parts of every recording: the search uses all but the last one, on which values are compared
SHORTEST_S = 9.0  # least scored duration: a recording of 12 s is just long enough
POINTS = 9  # number of points over the range of a parameter


class Problem:
    """One estimator over several recordings, each set of values scored once."""

    def __init__(self, trials: Sequence[Trials], workers: Workers) -> None:
        """Set the trials over each recording, and the workers that run them."""
        self._workers, self._pickled = workers, pickle.dumps(trials)
        self._known: dict[tuple[int, str], Trial] = {}
        self.part_of_block: NDArray[np.int64] = np.concatenate([one.division.part_of_block for one in trials])

    def run(self, many: Sequence[Values], parts: int = PARTS - 1) -> list[Trial]:
        """Run trials with values that differ from those of the files, on the first parts."""
        keys = [(parts, repr(sorted(values.items()))) for values in many]
        unknown = {k: values for k, values in zip(keys, many, strict=True) if k not in self._known}
        calls = [partial(run_trial, self._pickled, values, parts) for values in unknown.values()]
        self._known |= zip(unknown, self._workers.results(calls), strict=True)
        return [self._known[key] for key in keys]

    def scores(self, values: Values, parts: int = PARTS - 1) -> Array:
        """Return the score of every block; NaN in parts that are not run.

        Raises:
            MeasurementError: If the estimator does not run with the values.
        """
        (trial,) = self.run([values], parts)
        if trial.failure:
            raise MeasurementError(trial.failure)
        return trial.scores

    def as_good(self, values: Values, best: Values) -> bool:
        """Return whether values score as well as the best ones, within one standard deviation."""
        try:
            comparison = compared(self.scores(values), self.scores(best))
        except MeasurementError:
            return False
        return comparison.difference <= comparison.sigma


def run_trial(pickled: bytes, values: Values, parts: int) -> Trial:
    """Run a trial on the first parts of the recordings."""
    found: list[Array] = []
    try:
        for one in _unpickled(pickled):
            found.append(one.scores(values, parts))
            if not np.isfinite(found[-1]).any():
                raise MeasurementError("no part of the recording could be scored: there are no estimates")
    except (InertialEstimationError, ArithmeticError, ValueError) as error:
        return Trial(values, np.nan, failure=one_line(error, limit=200))
    scores = np.concatenate(found)
    return Trial(values, float(np.nanmean(scores)), scores)


@lru_cache(maxsize=1)
def _unpickled(pickled: bytes) -> Sequence[Trials]:
    trials: Sequence[Trials] = pickle.loads(pickled)
    return trials


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Score over the range of one parameter, the others at their tuned values."""

    values: tuple[float, ...]  # values of the parameter, ascending
    scores: tuple[float, ...]  # mean score at each value; NaN where the estimator does not run
    comparisons: tuple[Judgement, ...]  # comparison of each value with the tuned one
    # smallest of the values around the tuned one that are as good within noise, the other parameters at their
    # tuned values or, in a trial, at any values
    low: float
    high: float  # largest such value


def sensitivity(
    problem: Problem, variation: Variation, changes: Values, equals: Sequence[Values] = ()
) -> Sensitivity:
    """Vary one parameter about the tuned values.

    One parameter may compensate for another one, as two noises of the same innovation do. The interval with
    the others fixed is then too narrow, so it is widened to the values of all trials that score as well.

    Args:
        problem: The estimator and its recordings.
        variation: The parameter and its range.
        changes: The tuned values.
        equals: Values of the trials that score as well as the tuned ones within noise.
    """
    tuned = float(changes.get(variation.name, variation.shipped))
    grid = {variation.value_at(k / (POINTS - 1)) for k in range(POINTS)}
    values, base = sorted({*grid, tuned, float(variation.shipped)}), problem.scores(changes)
    ran = problem.run([{**changes, variation.name: value} for value in values])
    worse = Judgement(np.nan, np.nan, np.inf, 0.0, 0)
    comparisons = [worse if trial.failure else compared(trial.scores, base) for trial in ran]
    shares, at = [variation.share_of(value) for value in values], values.index(tuned)
    reached = [_reach(shares[at::step], comparisons[at::step]) for step in (-1, 1)]
    reached += [variation.share_of(one[variation.name]) for one in equals]
    low, high = (variation.value_at(end) for end in (min(reached), max(reached)))
    scores = tuple(trial.score for trial in ran)
    return Sensitivity(tuple(values), scores, tuple(comparisons), low, high)


def _reach(shares: Sequence[float], comparisons: Sequence[Judgement]) -> float:
    """Return the share of the range up to which values are as good; the first share is the tuned value's.

    The difference is taken as linear up to the first value that is worse, and its noise as constant.
    """
    last = shares[0]
    for share, comparison in zip(shares, comparisons, strict=True):
        if comparison.worse:
            part = SIGNIFICANT * comparison.sigma / comparison.difference
            crossing = shares[0] + part * (share - shares[0])
            return crossing if abs(crossing - shares[0]) > abs(last - shares[0]) else last
        last = share
    return last


@dataclass(frozen=True, eq=False)
class TunedParameter:
    """One parameter after the search."""

    variation: Variation  # the parameter and its range
    value: float  # the tuned value; that in effect if the data do not support another one
    changed: bool  # whether it differs from the value in effect
    sensitivity: Sensitivity  # score over its range, the others at their tuned values


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Outcome of a search for one estimator."""

    objective: Objective  # the objective that was minimised
    parameters: tuple[TunedParameter, ...]  # the parameters, in the order given
    trials: Sequence[Trial]  # all trials
    best: Trial  # the trial with the least score
    training: Judgement  # of the tuned values, on the parts that the search used
    held_out: Judgement  # the same on the part that it did not use
    # values that are better on the parts that the search used, but not on the held-out part
    rejected: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, float]:
        """The values that differ from those in effect, by dotted name; empty if no value is better."""
        return {p.variation.name: p.value for p in self.parameters if p.changed}

    @property
    def warnings(self) -> list[str]:
        """Reasons against the tuned values, a sentence each."""
        found = []
        if self.rejected:
            values = ", ".join(f"{name} = {value:.4g}" for name, value in self.rejected.items())
            against = "WORSE than" if self.held_out.worse else "not better beyond noise than"
            found.append(
                f"The best values of the search ({values}) are on the held-out part {against} the present "
                "ones: nothing is changed."
            )
        elif not self.changes:
            found.append("No value is better than the present ones beyond noise: there is nothing to change.")
        failed = [trial for trial in self.trials if trial.failure]
        if failed:
            found.append(f"{len(failed)} of {len(self.trials)} trials failed: {failed[0].failure}")
        return found


def concluded(
    objective: Objective, problem: Problem, variations: Sequence[Variation], trials: Sequence[Trial]
) -> TuningResult:
    """Draw the conclusions from trials.

    The values of the best trial are reset to those in effect one after another, as long as the score gets
    worse by at most one standard deviation (the one-standard-error rule: Hastie, Tibshirani, Friedman 2009,
    7.10). The remaining ones move to the best of their ranges. All are reset unless the score of the held-out
    part, by which no value was chosen, is better beyond noise.

    Args:
        objective: The objective that was minimised.
        problem: The estimator and its recordings.
        variations: The parameters.
        trials: The trials.

    Raises:
        MeasurementError: If no trial ran with any values.
    """
    best = best_of(trials)
    if best is None:
        raise MeasurementError(f"no trial could be scored: {trials[0].failure}")
    values = _simplified(problem, variations, best.values)
    found = _polished(
        problem, variations, {v.name: values[v.name] for v in variations if values[v.name] != v.shipped}
    )
    tuned, shipped = (problem.scores(v, PARTS) for v in (found, {}))
    last = problem.part_of_block == PARTS - 1
    held_out = compared(tuned[last], shipped[last])
    supported = held_out.significant and not held_out.worse
    changes = found if supported else {}
    base = problem.scores(changes)
    equals = [t.values for t in trials if not t.failure and not compared(t.scores, base).worse]
    return TuningResult(
        objective,
        tuple(
            TunedParameter(
                v, changes.get(v.name, v.shipped), v.name in changes, sensitivity(problem, v, changes, equals)
            )
            for v in variations
        ),
        trials,
        best,
        compared(problem.scores(found), problem.scores({})),
        held_out,
        rejected={} if supported else found,
    )


def _polished(problem: Problem, variations: Sequence[Variation], changes: Values) -> dict[str, Any]:
    """Return the changed values, each moved to the best of its range with the others fixed."""
    found = dict(changes)
    for variation in variations:
        if variation.name in found:
            scanned = sensitivity(problem, variation, found)
            found[variation.name] = scanned.values[int(np.nanargmin(scanned.scores))]
    return found


def _simplified(problem: Problem, variations: Sequence[Variation], best: Values) -> dict[str, Any]:
    """Return the best values, but the present value of each parameter that does not affect the score.

    All are reset together first, since of two that affect the score only by their ratio each alone seems to
    matter; and again at the end, since small losses add up.
    """
    present = {variation.name: variation.shipped for variation in variations}
    if problem.as_good(present, best):
        return present
    values = dict(best)
    for variation in variations:
        simpler = {**values, variation.name: variation.shipped}
        if problem.as_good(simpler, best):
            values = simpler
    return present if problem.as_good(present, values) else values


def tuned(
    runs: Sequence[RecordedRun],
    references: Sequence[ReplayReference],
    variations: Sequence[Variation],
    *,
    trials: int,
    seed: int,
    settle_s: float,
    workers: Workers,
) -> TuningResult:
    """Search for better values of one estimator.

    Args:
        runs: The recordings.
        references: Reference of the tilt of each recording; without samples, later readings are used.
        variations: Parameters of one node, and their ranges.
        trials: Number of trials.
        seed: Seed of the search.
        settle_s: Time at the start of a recording that is not scored [s].
        workers: Workers that run the trials.

    Raises:
        RecordingError: If a recording is too short.
        MeasurementError: If no trial ran with any values.
    """
    pairs = zip(runs, references, strict=True)
    over = [trials_over(run, reference, variations, settle_s) for run, reference in pairs]
    problem = Problem(over, workers)
    return concluded(over[0].objective, problem, variations, searched(variations, trials, seed, problem.run))


def trials_over(
    run: RecordedRun, reference: ReplayReference, variations: Sequence[Variation], settle_s: float
) -> Trials:
    """Return the trials of one estimator over one recording; see `tuned`."""
    begin_ns = run.begin_ns + round(settle_s * NANOSECONDS)
    if seconds(run.end_ns - begin_ns) < SHORTEST_S:
        raise RecordingError(
            f"'{run.name}' has {seconds(run.end_ns - run.begin_ns):.1f} s, expected at least "
            f"{SHORTEST_S + settle_s:g} s, of which the first {settle_s:g} s are not scored"
        )
    division = Division.of(begin_ns, run.end_ns, PARTS)
    if variations[0].node == INERTIAL_NODE:
        adapting = not any(v.name.startswith("noise.") for v in variations)
        return LikelihoodTrials(run, division, adapting=adapting)
    if reference.samples:
        return ReferenceTilt(run, division, reference)
    return LaterReadings(run, division)


def tuned_text(results: Sequence[TuningResult], source: str) -> str:
    """Return the content of a parameter file with the changed values.

    Args:
        results: Results of one or several estimators.
        source: Recordings that were used, for the comment at the top.

    Returns:
        YAML text to be read after the robot's own file.
    """
    lines = _comment(f"Written by `inertial-estimation tune` from {source}. Load it after the robot's file.")
    for result in results:
        objective = result.objective
        on = f"searched on {judgement_in_words(objective, result.training)}"
        held_out = f"held out {judgement_in_words(objective, result.held_out)}"
        texts = [f"{objective.title}: {on}, {held_out}.", *(f"WARNING: {one}" for one in result.warnings)]
        lines += ["", *(line for text in texts for line in _comment(text))]
        changed = [parameter for parameter in result.parameters if parameter.changed]
        lines += [f"/**/{objective.node}:", f"  ros__parameters:{'' if changed else ' {}'}"]
        for parameter in changed:
            value = f"    {parameter.variation.name}: {value_in_words(parameter.value)}"
            shipped = value_in_words(parameter.variation.shipped)
            lines.append(f"{value}  # before {shipped}; {interval_in_words(parameter)}")
    return "\n".join(lines) + "\n"


def judgement_in_words(objective: Objective, judgement: Judgement) -> str:
    """Return a judgement as text: shipped and tuned score, and whether they differ beyond noise."""
    shipped, tuned = objective.displayed(judgement.before), objective.displayed(judgement.mean)
    unit = f" {objective.unit}" if objective.unit else ""
    beyond = "beyond noise" if judgement.significant else "within noise"
    return f"{shipped:.4g} -> {tuned:.4g}{unit} ({beyond})"


def interval_in_words(parameter: TunedParameter) -> str:
    """Return in words which values of a parameter score as well as the tuned one, within noise."""
    found, variation = parameter.sensitivity, parameter.variation
    below = "or less " if found.low <= variation.low * (1 + 1e-9) else ""
    above = " or more" if found.high >= variation.high * (1 - 1e-9) else ""
    return f"as good: {found.low:.3g} {below}to {found.high:.3g}{above}"


def value_in_words(value: float) -> str:
    """Return a number as YAML, with four digits: data determine no more."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:.1f}" if rounded.is_integer() and abs(rounded) < 1e6 else f"{rounded!r}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def as_json(results: Sequence[TuningResult], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `tuning.json`; numbers may be NaN."""
    estimators = {
        result.objective.node: {
            **asdict(result),
            "warnings": result.warnings,
            "best": result.best.values,
            "trials": [{**asdict(trial), "scores": trial.scores.tolist()} for trial in result.trials],
        }
        for result in results
    }
    return {"estimators": estimators, "provenance": provenance}
