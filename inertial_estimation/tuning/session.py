"""One run of the command tune: recordings, objectives and searches of one or both estimators."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.inertial.estimator import StepOutcome
from inertial_estimation.parallel import Workers
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.signals import NANOSECONDS, Array, seconds
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.filter_scores import kolmogorov_distance, negative_log_likelihood
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.search import Search, Trial, importances, run_trials, trials_of
from inertial_estimation.tuning.tilt_scores import LaterReadings, ReferenceTilt, TiltScore
from inertial_estimation.tuning.trials import OBJECTIVES, Objective, Report, Trials, Values
from inertial_estimation.tuning.tuning import TuningResult, concluded
from inertial_estimation.tuning.variation import Variation


class TiltTrials(Trials):
    """Replays a recording through the tilt pipeline again and again."""

    def __init__(self, run: RecordedRun, division: Division, score: TiltScore) -> None:
        """Take what a trial needs.

        Args:
            run: The recording.
            division: Its parts and blocks.
            score: Judges the estimates.
        """
        self._run, self.division, self._score = run, division, score

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the tilt with other parameters; see `Trials.scores`."""
        until_ns = self.division.part_end_ns(parts - 1)
        return self.checked(self._score.of(*self.tilts(values, until_ns), until_ns), parts)

    def tilts(self, values: Values, until_ns: int | None = None) -> tuple[NDArray[np.int64], Array]:
        """Return stamps [ns] and verticals in the base frame, shapes (n,) and (n, 3), of a trial.

        Args:
            values: The parameters that differ, by dotted name.
            until_ns: Stamp after which nothing is replayed [ns]; None: all is.
        """
        overrides = [(TILT_NODE, name, value) for name, value in values.items()]
        base = self._run.replayed(overrides, only=[TILT_NODE], until_ns=until_ns).run.base
        stamps = np.array([estimate.state.stamp_ns for estimate in base], dtype=np.int64)
        return stamps, np.array([estimate.tilt_B for estimate in base]).reshape(-1, 3)


def searched(search: Search, problem: Problem, workers: Workers, count: int = 1) -> list[Trial]:
    """Run a search until it has its trials.

    Args:
        search: What is searched, in a storage that all processes reach.
        problem: What scores the values.
        workers: The processes.
        count: How many of them take part at most; each runs trials until there are enough.

    Returns:
        The completed trials.
    """
    workers.results([partial(run_trials, search, problem.scores, number) for number in range(count)])
    return trials_of(search)


ADAPTATION = "adapt_noise"


class FilterTrials(Trials):
    """Replays a recording again and again.

    Where noise parameters are varied the filter must not adapt them: it would scale any value to the same.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed.

        Args:
            run: The recording.
            division: Its parts and blocks.
            adapting: Whether the filter may adapt its noise, if the parameter files have it so.
        """
        self._run, self.division, self._fixed = run, division, {} if adapting else {ADAPTATION: False}

    def updates(
        self, values: Values, parts: int, learn_until_ns: int | None = None
    ) -> Iterator[tuple[int, StepOutcome]]:
        """Replay the first parts of the recording.

        Args:
            values: The parameters that differ, by dotted name.
            parts: How many parts.
            learn_until_ns: Stamp from which on the parameters are frozen [ns]; None: never.

        Yields:
            Stamp [ns] and outcome of each update.
        """
        changed = [(INERTIAL_NODE, name, value) for name, value in {**self._fixed, **values}.items()]
        end_ns = self.division.part_end_ns(parts - 1)
        for step, update in self._run.updates(changed, learn_until_ns):
            if step.stamp_ns > end_ns:
                return
            yield step.stamp_ns, update


class LikelihoodTrials(FilterTrials):
    """Scores the filter by the negative log-likelihood of its innovations, per row."""

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the innovations; see `Trials.scores`."""
        return self.checked(
            _by_blocks(self.updates(values, parts), self.division, negative_log_likelihood, report), parts
        )


class CalibrationTrials(FilterTrials):
    """Scores the filter by the distance of the distribution of its NIS from chi-square."""

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the NIS; see `Trials.scores`."""
        count = self.division.parts * self.division.blocks
        seen: list[list[float]] = [[] for _ in range(count)]
        rows = 1
        for stamp_ns, update in self.updates(values, parts):
            rows, block = len(update.innovation), self.division.block_at(stamp_ns)
            if block >= 0:
                seen[block].append(update.nis)
        return self.checked(np.array([kolmogorov_distance(np.array(nis), rows) for nis in seen]), parts)


class TorqueTrials(FilterTrials):
    """Scores what the filter has learnt by the residual of data from which it did not learn.

    The filter learns until the last of the parts that are run begins, and is frozen then. Each row counts by
    its mean square over that of the nominal model: 1 is no better than the description.
    """

    def __init__(self, run: RecordedRun, division: Division, *, adapting: bool = True) -> None:
        """Take what is replayed; see `FilterTrials`."""
        super().__init__(run, division, adapting=adapting)
        self._usual: dict[int, Array] = {}  # by number of parts, the same in every trial

    def scores(self, values: Values, parts: int, report: Report | None = None) -> Array:
        """Score the residuals of the last part; see `Trials.scores`."""
        begin_ns = self.division.part_end_ns(parts - 2)
        if parts not in self._usual:
            self._usual[parts] = self._nominal(parts, begin_ns)
        usual = self._usual[parts]

        def share(update: StepOutcome) -> float:
            return float(np.mean(update.innovation**2 / usual))

        found = _by_blocks(self.updates(values, parts, begin_ns), self.division, share, report)
        found[self.division.part_of_block < parts - 1] = np.nan
        return self.checked(found, parts)

    def _nominal(self, parts: int, begin_ns: int) -> Array:
        """Return the mean square residual of each row by the nominal model, in the last part."""
        rows = [
            update.innovation
            for stamp_ns, update in self.updates({}, parts, learn_until_ns=0)
            if stamp_ns >= begin_ns
        ]
        usual: Array = np.maximum((np.array(rows) ** 2).mean(axis=0), np.finfo(float).tiny)
        return usual


def _by_blocks(
    updates: Iterator[tuple[int, StepOutcome]],
    division: Division,
    score: Callable[[StepOutcome], float],
    report: Report | None,
) -> Array:
    """Return the mean score of the updates of each block; blocks are reported when they are over."""
    stamps: list[int] = []
    values: list[float] = []
    begin, current = 0, -1
    for stamp_ns, update in updates:
        block = division.block_at(stamp_ns)
        if report is not None and block != current and current >= 0:
            _report(values[begin:], current, report)
            begin = len(values)
        current = block
        stamps.append(stamp_ns)
        values.append(score(update))
    return division.means(np.array(stamps, dtype=np.int64), np.array(values, dtype=float))


def _report(values: list[float], block: int, report: Report) -> None:
    known = [value for value in values if math.isfinite(value)]
    if known:
        report(block, sum(known) / len(known))


FILTER_TRIALS: dict[str, type[FilterTrials]] = {
    "likelihood": LikelihoodTrials,
    "calibration": CalibrationTrials,
    "torque": TorqueTrials,
}
SHORTEST_S = 10.0  # of a recording, after what is not scored


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


@dataclass(frozen=True)
class SearchOptions:
    """How values are searched.

    Attributes:
        method: One of `search.METHODS`.
        trials: Number of trials.
        seed: Of random values.
        storage: Journal file or URL of a database.
        identity: Everything else that determines the scores, as text.
        processes: How many processes take part at most.
    """

    method: str
    trials: int
    seed: int
    storage: str
    identity: str
    processes: int = 1


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
    variations: Sequence[Variation],
    objective: Objective,
    judging: Judging,
    options: SearchOptions,
    workers: Workers,
) -> TuningResult:
    """Search for better values of one estimator.

    Args:
        runs: The recordings.
        variations: Parameters, of which those of the objective's node are varied.
        objective: What is made small.
        judging: By what estimates are judged.
        options: How values are searched.
        workers: The processes that run trials.
    """
    own = tuple(v for v in variations if v.node == objective.node)
    trials = [trials_for(run, k, own, objective, judging) for k, run in enumerate(runs)]
    problem = Problem(objective, trials, judging.parts)
    search = Search(
        _study(own, objective, options),
        own,
        options.method,
        options.trials,
        options.seed,
        options.storage,
        stops=objective.name == "likelihood",
    )
    found = searched(search, problem, workers, options.processes)
    return concluded(problem, own, found, importances(search))


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
    if objective.name in FILTER_TRIALS:
        adapting = not any(v.name.startswith("noise.") for v in variations)
        return FILTER_TRIALS[objective.name](run, division, adapting=adapting)
    if objective.name == "reference":
        return TiltTrials(run, division, ReferenceTilt(division, reference.samples, reference.trusted))
    kept = run.replayed(only=[TILT_NODE], keep=True)
    assert kept.pipelines.tilt is not None
    later = LaterReadings(division, kept.steps, kept.pipelines.tilt.estimator.radius)
    return TiltTrials(run, division, later)


def _study(variations: Sequence[Variation], objective: Objective, options: SearchOptions) -> str:
    """Return the name of the study: the same for the same search on the same data."""
    content: Mapping[str, Any] = {
        "variations": [repr(variation) for variation in variations],
        "objective": objective.name,
        "options": repr(replace(options, storage="", processes=1)),
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return f"{objective.node}-{objective.name}-{digest}"
