"""From recordings to values: the search, which values matter, and what they are worth on other data."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.errors import (
    ConfigurationError,
    InertialEstimationError,
    MeasurementError,
    RecordingError,
    one_line,
)
from inertial_estimation.parallel import Workers
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.tuning.division import SIGNIFICANT, Comparison, Division, compared
from inertial_estimation.tuning.filter_trials import LikelihoodTrials, TorqueTrials
from inertial_estimation.tuning.objectives import OBJECTIVES, Objective, Trials, Values
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.search import Search, StoppedError, Trial, Watch, searched
from inertial_estimation.tuning.tilt_trials import GAINS, LaterReadings, ReferenceTilt
from inertial_estimation.tuning.variation import Variation

SHORTEST_S = 9.0  # of a recording, after what is not scored: one of 12 s is long enough by some samples
POINTS = 9  # over the range
EDGE = 0.01  # share of the range that counts as its edge
HARDLY_RATIO = 4.0  # of the ends of an interval from which on a logarithmic parameter is hardly determined
HARDLY_SHARE = 0.5  # of the range, for a linear one
KEPT_WITHIN = 1.0  # standard deviations: a parameter stays as it was unless that costs more


class Problem:
    """One estimator over several recordings, each set of values scored once.

    Attributes:
        objective: What is made small.
        trials: The estimator over each recording.
        parts: Parts of every recording; values are searched on all but the last one.
    """

    def __init__(
        self, objective: Objective, trials: Sequence[Trials], parts: int, workers: Workers | None = None
    ) -> None:
        """Take the estimator; without workers trials run in this process."""
        self.objective, self.trials, self.parts, self._workers = objective, trials, parts, workers
        self._pickled = b"" if workers is None else pickle.dumps(trials)
        self._known: dict[tuple[int, str], Trial] = {}

    @property
    def part_of_block(self) -> NDArray[np.int64]:
        """Number of the part of each block of all recordings."""
        return np.concatenate([trials.division.part_of_block for trials in self.trials])

    def run(self, many: Sequence[Values], best: Array | None = None) -> list[Trial]:
        """Run trials on the parts that are searched on, each until it is clearly worse than scores given."""
        return self._run(many, self.parts - 1, best)

    def _run(self, many: Sequence[Values], parts: int, best: Array | None = None) -> list[Trial]:
        keys = [(parts, repr(sorted(values.items()))) for values in many]
        unknown = {k: values for k, values in zip(keys, many, strict=True) if k not in self._known}
        if self._workers is None:
            found = [run_trial(self.trials, values, parts, best) for values in unknown.values()]
        else:
            calls = [partial(_run_sent, self._pickled, values, parts, best) for values in unknown.values()]
            found = self._workers.results(calls)
        new = dict(zip(unknown, found, strict=True))
        self._known |= {key: trial for key, trial in new.items() if trial.complete or trial.failure}
        return [new[key] if key in new else self._known[key] for key in keys]

    def scores(self, values: Values, parts: int | None = None) -> Array:
        """Return the score of every block; NaN in parts that are not run.

        Args:
            values: Parameters that differ from those of the files.
            parts: How many parts are run; None: those that are searched on.

        Raises:
            MeasurementError: If the estimator does not run with them.
        """
        (trial,) = self._run([values], self.parts - 1 if parts is None else parts)
        if trial.failure:
            raise MeasurementError(trial.failure)
        return trial.scores

    def compared(self, first: Values, second: Values) -> Comparison:
        """Compare the scores of two sets of values on the parts that are searched on."""
        return compared(self.scores(first), self.scores(second))


def run_trial(trials: Sequence[Trials], values: Values, parts: int, best: Array | None = None) -> Trial:
    """Run a trial on the first parts of the recordings, until it is clearly worse than the scores given."""
    watch, found = Watch(best), list[Array]()
    try:
        for one in trials:
            watch.first = sum(map(len, found))
            found.append(one.scores(values, parts, watch.report))
            if not np.isfinite(found[-1]).any():
                raise MeasurementError("no part of the recording could be scored: there are no estimates")
    except StoppedError as stopped:
        return Trial(values, stopped.args[0])
    except (InertialEstimationError, ArithmeticError, ValueError) as error:
        return Trial(values, np.nan, failure=one_line(error, limit=200))
    scores = np.concatenate(found)
    return Trial(values, float(np.nanmean(scores)), scores)


def _run_sent(pickled: bytes, values: Values, parts: int, best: Array | None) -> Trial:
    return run_trial(_unpickled(pickled), values, parts, best)


@lru_cache(maxsize=1)
def _unpickled(pickled: bytes) -> Sequence[Trials]:
    trials: Sequence[Trials] = pickle.loads(pickled)
    return trials


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
    values, base = _values(variation, tuned), problem.scores(changes)
    ran = problem.run([{**changes, variation.name: value} for value in values])
    scores = [trial.score for trial in ran]
    worse = Comparison(np.inf, 0.0, 0)
    comparisons = [worse if trial.failure else compared(trial.scores, base) for trial in ran]
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


@dataclass(frozen=True, eq=False)
class TunedParameter:
    """One parameter after the search.

    Attributes:
        variation: What was varied.
        value: The value found; that in effect where the data do not support another one.
        changed: Whether it differs from the value in effect.
        sensitivity: Score over its range, the others at their tuned values.
    """

    variation: Variation
    value: Any
    changed: bool
    sensitivity: Sensitivity


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
        blocks_s: Length of a block of each recording [s].
        selected: Parameters that differ from those in effect in all trials, by dotted name.
        rejected: Values that are better on the parts that were searched on, but not on the held-out one.
    """

    objective: Objective
    parameters: tuple[TunedParameter, ...]
    trials: Sequence[Trial]
    best: Trial
    training: Judgement
    held_out: Judgement
    blocks_s: tuple[float, ...]
    selected: Mapping[str, Any] = field(default_factory=dict)
    rejected: Mapping[str, Any] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, Any]:
        """The values that differ from those in effect, by dotted name; none where nothing is better."""
        changed = {p.variation.name: p.value for p in self.parameters if p.changed}
        return {**self.selected, **changed} if changed else {}

    @property
    def warnings(self) -> list[str]:
        """What speaks against the tuned values, a sentence each."""
        found = []
        if self.rejected:
            values = ", ".join(f"{name} = {_shown(value)}" for name, value in self.rejected.items())
            against = "WORSE than" if self.held_out.comparison.worse else "not better beyond noise than"
            found.append(
                f"The best values of the search ({values}) are on the held-out part {against} the present "
                "ones: nothing is changed."
            )
        elif not self.changes:
            found.append("No value is better than the present ones beyond noise: there is nothing to change.")
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
                    f"{low:.3g} to {high:.3g} are as good, some together with others of the other parameters."
                )
        return found


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def concluded(
    problem: Problem,
    variations: Sequence[Variation],
    trials: Sequence[Trial],
) -> TuningResult:
    """Draw the conclusions from trials.

    Of the best trial, values return to those in effect one after another, as long as that is not worse
    beyond one standard deviation (the rule of one standard error: Hastie, Tibshirani, Friedman 2009, 7.10).
    Those that differ move to the best of their ranges, and all return where the held-out part, which no value
    was chosen by, is not better beyond noise.

    Args:
        problem: The estimator and its recordings.
        variations: The parameters.
        trials: The completed trials.

    Raises:
        MeasurementError: If no trial ran with any values.
    """
    complete = [trial for trial in trials if trial.complete]
    if not complete:
        reason = next((trial.failure for trial in trials if trial.failure), "there are no trials")
        raise MeasurementError(f"no trial could be scored: {reason}")
    best = min(complete, key=lambda trial: trial.score)
    values = _simplified(problem, variations, best.values)
    found = _polished(
        problem, variations, {v.name: values[v.name] for v in variations if values[v.name] != v.shipped}
    )
    tuned, shipped = (problem.scores(v, problem.parts) for v in (found, {}))
    last = problem.part_of_block == problem.parts - 1
    held_out = Judgement.of(tuned[last], shipped[last])
    supported = held_out.comparison.significant and not held_out.comparison.worse
    changes = found if supported else {}
    equals = [t.values for t in complete if not compared(t.scores, problem.scores(changes)).worse]
    return TuningResult(
        problem.objective,
        tuple(
            TunedParameter(
                v,
                changes.get(v.name, v.shipped),
                v.name in changes,
                sensitivity(problem, v, changes, changes.get(v.name, v.shipped), equals),
            )
            for v in variations
        ),
        trials,
        best,
        Judgement.of(problem.scores(found), problem.scores({})),
        held_out,
        tuple(one.division.block_s for one in problem.trials),
        rejected={} if supported else found,
    )


def _polished(problem: Problem, variations: Sequence[Variation], changes: Values) -> dict[str, Any]:
    """Return changed values, each moved to the best of its range with the others fixed."""
    found = dict(changes)
    for variation in variations:
        if variation.name in found:
            scanned = sensitivity(problem, variation, found, found[variation.name])
            found[variation.name] = scanned.values[int(np.nanargmin(scanned.scores))]
    return found


def _simplified(
    problem: Problem,
    variations: Sequence[Variation],
    best: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the best values with those at their present value that do not matter.

    All are tried together first, since where two matter only by their ratio each alone seems to; and again at
    the end, since what was given up on the way adds up.
    """
    present = {variation.name: variation.shipped for variation in variations}
    if _as_good(problem, present, best):
        return present
    values = dict(best)
    for variation in variations:
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


@dataclass(frozen=True, eq=False)
class Judging:
    """By what the estimates are judged.

    Attributes:
        references: Of each recording.
        parts: Parts of every recording.
        settle_s: Time at its begin that is not scored [s].
    """

    references: Sequence[ReplayReference]
    parts: int
    settle_s: float

    def division(self, run: RecordedRun) -> Division:
        """Return parts and blocks of a recording.

        Raises:
            RecordingError: If it is too short.
        """
        begin_ns = run.begin_ns + round(self.settle_s * NANOSECONDS)
        if seconds(run.end_ns - begin_ns) < SHORTEST_S:
            raise RecordingError(
                f"'{run.name}' has {seconds(run.end_ns - run.begin_ns):.1f} s, expected at least "
                f"{SHORTEST_S + self.settle_s:g} s, of which the first {self.settle_s:g} s are not scored"
            )
        return Division.of(begin_ns, run.end_ns, self.parts)


def chosen_objectives(
    given: Sequence[str], variations: Sequence[Variation], *, referenced: bool
) -> dict[str, Objective]:
    """Return the objective of each estimator that has a varied parameter, by node.

    Raises:
        ConfigurationError: If one is given for an estimator of which nothing is varied, two are given for
            one, or a reference is needed.
    """
    nodes = [node for node in (TILT_NODE, INERTIAL_NODE) if any(v.node == node for v in variations)]
    chosen: dict[str, Objective] = {}
    for name in given:
        objective = OBJECTIVES[name]
        if objective.node not in nodes or objective.node in chosen:
            raise ConfigurationError(
                f"--objective {name} judges {objective.node}, "
                + ("which has another one" if objective.node in chosen else "of which nothing is varied")
            )
        chosen[objective.node] = objective
    if "reference" in given and not referenced:
        raise ConfigurationError("--objective reference needs --reference TOPIC")
    defaults = {TILT_NODE: "reference" if referenced else "later_readings", INERTIAL_NODE: "likelihood"}
    return {node: chosen.get(node, OBJECTIVES[defaults[node]]) for node in nodes}


def tuned(
    runs: Sequence[RecordedRun],
    search: Search,
    objective: Objective,
    judging: Judging,
    workers: Workers,
) -> TuningResult:
    """Search for better values of one estimator.

    Args:
        runs: The recordings.
        search: What is searched; of its variations those of the objective's node are varied.
        objective: What is made small.
        judging: By what estimates are judged.
        workers: What runs the trials.
    """
    own = tuple(v for v in search.variations if v.node == objective.node)
    trials = [trials_for(run, k, own, objective, judging) for k, run in enumerate(runs)]
    problem = Problem(objective, trials, judging.parts, workers)
    return concluded(problem, own, searched(replace(search, variations=own), problem.run))


def trials_for(
    run: RecordedRun, number: int, variations: Sequence[Variation], objective: Objective, judging: Judging
) -> Trials:
    """Return the trials of one estimator over one recording.

    Args:
        run: The recording.
        number: Its number among the references.
        variations: What is varied.
        objective: What is made small.
        judging: By what estimates are judged.
    """
    division, reference = judging.division(run), judging.references[number]
    if objective.node == INERTIAL_NODE:
        kind = LikelihoodTrials if objective.name == "likelihood" else TorqueTrials
        return kind(run, division, adapting=not any(v.name.startswith("noise.") for v in variations))
    gains = all(v.name.startswith(GAINS) for v in variations)
    if objective.name == "reference":
        return ReferenceTilt(run, division, reference.samples, reference.trusted, gains=gains)
    return LaterReadings(run, division, gains=gains)
