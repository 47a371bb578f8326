"""One run of the command tune: recordings, objectives and searches of one or both estimators."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.errors import ConfigurationError, RecordingError
from inertial_estimation.parallel import Workers
from inertial_estimation.replay.replay_metrics import ReplayReference
from inertial_estimation.signals import NANOSECONDS, seconds
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.filter_trials import (
    CalibrationTrials,
    FilterTrials,
    LikelihoodTrials,
    TorqueTrials,
)
from inertial_estimation.tuning.parallel_search import searched
from inertial_estimation.tuning.problem import Problem
from inertial_estimation.tuning.recorded_run import RecordedRun
from inertial_estimation.tuning.search import Search, importances
from inertial_estimation.tuning.tilt_scores import LaterReadings, ReferenceTilt
from inertial_estimation.tuning.tilt_trials import TiltTrials
from inertial_estimation.tuning.trials import OBJECTIVES, Objective, Trials
from inertial_estimation.tuning.tuning import TuningResult, concluded
from inertial_estimation.tuning.variation import Variation

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
