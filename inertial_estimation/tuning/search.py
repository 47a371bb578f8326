"""Search for the parameters with the least score: trials in a storage that several processes share.

The values of a grid or of a random search are laid out before the first trial, so that the result does not
depend on how many processes work on them. The optimiser (a tree-structured Parzen estimator, Bergstra et al.
2011) begins with such a layout, too, and then chooses values by the trials that are done.
"""

import hashlib
import itertools
import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState
from scipy.stats import qmc

from inertial_estimation.errors import InertialEstimationError, one_line
from inertial_estimation.signals import Array
from inertial_estimation.tuning.study_storage import (
    PROCESS,
    begin_study,
    is_begun_already,
    is_claimed,
    open_storage,
    own_process,
    recover_lost_trials,
)
from inertial_estimation.tuning.trials import Report
from inertial_estimation.tuning.variation import Variation

METHODS = ("optimiser", "random", "grid")
LAID_OUT = 0.2  # share of an optimiser's trials that are laid out
FEWEST_LAID_OUT = 10
STOPPED_P = 0.02  # probability by chance, below which a trial is stopped that is worse than the best one
STOPPED_BLOCKS = 6  # before which none is stopped
CHECKED_S = 0.5  # between two looks at a trial that has not noted its process
SEED_STEP = 7919  # between the seeds of two processes
FAILED_SCORE = 1e9  # of parameters with which the estimator does not run
SCORES, FAILURE = "scores", "failure"
ScoreOf = Callable[[Mapping[str, Any], Report | None], Array]


@dataclass(frozen=True)
class Search:
    """What is searched, and how.

    Attributes:
        identity: Everything else that determines the scores, as text.
        variations: The parameters.
        method: One of `METHODS`.
        trials: Number of trials.
        seed: Of random values.
        storage: Journal file or URL of a database.
        stops: Whether trials report their blocks and may be stopped early.
    """

    identity: str
    variations: tuple[Variation, ...]
    method: str
    trials: int
    seed: int
    storage: str
    stops: bool = False

    @property
    def study(self) -> str:
        """Name of the study in the storage: the same for the same search on the same data."""
        content = repr((self.identity, self.variations, self.method, self.trials, self.seed))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The values that each parameter may take, as Optuna has them."""
        return {
            v.name: CategoricalDistribution(v.choices)
            if v.choices
            else FloatDistribution(v.low, v.high, log=v.log)
            for v in self.variations
        }

    def layout(self) -> list[dict[str, Any]]:
        """Return the values that are laid out: those in effect first, as far as they are in range."""
        first = {v.name: v.shipped for v in self.variations if _contains(v)}
        points = [first] if len(first) == len(self.variations) else []
        if self.method == "grid":
            return points + _grid(self.variations, self.trials - len(points))
        count = self.trials
        if self.method == "optimiser":
            count = min(self.trials, max(FEWEST_LAID_OUT, round(LAID_OUT * self.trials)))
        sequence = qmc.Sobol(len(self.variations), seed=self.seed)
        with np.errstate(all="ignore"):
            shares = sequence.random_base2(int(np.ceil(np.log2(max(count, 2)))))
        for row in shares[: count - len(points)]:
            points.append({v.name: v.value_at(float(s)) for v, s in zip(self.variations, row, strict=True)})
        return points


@dataclass(frozen=True, eq=False)
class Trial:
    """A completed trial.

    Attributes:
        number: Its number in the study.
        values: The parameters by name.
        score: Mean over the blocks that were run.
        scores: Score of every block, NaN where there is none; of a stopped trial empty.
        failure: Why the estimator did not run with these values; empty if it did.
    """

    number: int
    values: dict[str, Any]
    score: float
    scores: Array
    failure: str = ""

    @property
    def complete(self) -> bool:
        """Whether every block was run."""
        return bool(len(self.scores)) and not self.failure


def run_trials(search: Search, score_of: ScoreOf, worker: int = 0) -> int:
    """Run trials until the study has enough; other processes may do so at the same time.

    Args:
        search: What is searched.
        score_of: Returns the scores of the blocks, with values and a function that takes each block's score.
        worker: Number of this process, for the seed of the optimiser.

    Returns:
        Number of trials that this process has completed.
    """
    optuna.logging.set_verbosity(logging.ERROR)
    study = begin_study(search.study, search.storage, search.layout())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.TPESampler(
            seed=search.seed + SEED_STEP * worker, n_startup_trials=0, multivariate=True, constant_liar=True
        )
        study.pruner = optuna.pruners.WilcoxonPruner(p_threshold=STOPPED_P, n_startup_steps=STOPPED_BLOCKS)
    done = 0
    while _wanted(study, search):
        trial = study.ask(search.distributions)
        trial.set_user_attr(PROCESS, own_process())
        if is_begun_already(study, trial.number):
            study.tell(trial, state=TrialState.FAIL)
            continue
        study.tell(trial, _scored(trial, search, score_of))
        done += 1
    return done


def _wanted(study: "optuna.Study", search: Search) -> bool:
    """Return whether another trial is to be begun; wait for what may become of those without a process."""
    while True:
        recover_lost_trials(study)
        states = [trial.state for trial in study.get_trials(deepcopy=False)]
        begun = sum(state in (TrialState.COMPLETE, TrialState.RUNNING) for state in states)
        if TrialState.WAITING in states or (search.method == "optimiser" and begun < search.trials):
            return True
        if is_claimed(study):
            return False
        time.sleep(CHECKED_S)


def _scored(trial: "optuna.Trial", search: Search, score_of: ScoreOf) -> float:
    """Return the score of a trial; of one that is stopped the mean of its blocks until then."""
    seen: list[float] = []

    def report(block: int, score: float) -> None:
        seen.append(score)
        trial.report(score, block)
        if trial.should_prune():
            raise optuna.TrialPruned

    try:
        scores = score_of(dict(trial.params), report if search.stops else None)
    except optuna.TrialPruned:
        return float(np.mean(seen))
    except (InertialEstimationError, ArithmeticError, ValueError) as error:
        trial.set_user_attr(FAILURE, one_line(error, limit=200))
        return FAILED_SCORE
    trial.set_user_attr(SCORES, [None if not np.isfinite(s) else float(s) for s in scores])
    return float(np.nanmean(scores))


def trials_of(search: Search) -> list[Trial]:
    """Return the completed trials of a search, in the order of their numbers."""
    study = optuna.load_study(study_name=search.study, storage=open_storage(search.storage))
    return [_trial(trial) for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))]


def importances(search: Search) -> dict[str, float]:
    """Return the share of each parameter in what makes scores good; empty for too few trials.

    Source: Watanabe et al., PED-ANOVA, IJCAI 2023.
    """
    if len(search.variations) < 2:
        return {variation.name: 1.0 for variation in search.variations}
    study = optuna.load_study(study_name=search.study, storage=open_storage(search.storage))
    try:
        found = optuna.importance.get_param_importances(
            study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
        )
    except (ValueError, RuntimeError):
        return {}
    return {name: float(share) for name, share in found.items()}


def _trial(trial: FrozenTrial) -> Trial:
    scores = trial.user_attrs.get(SCORES, [])
    return Trial(
        trial.number,
        dict(trial.params),
        float(trial.value if trial.value is not None else np.nan),
        np.array([np.nan if score is None else score for score in scores], dtype=float),
        str(trial.user_attrs.get(FAILURE, "")),
    )


def _contains(variation: Variation) -> bool:
    if variation.choices:
        return variation.shipped in variation.choices
    return bool(variation.low <= variation.shipped <= variation.high)


def _grid(variations: Sequence[Variation], most: int) -> list[dict[str, Any]]:
    """Return a grid of at most so many points, as many values of each range as that allows."""
    fixed = int(np.prod([len(v.choices) for v in variations if v.choices]))
    ranges = sum(not v.choices for v in variations)
    each = max(int((most / fixed) ** (1.0 / ranges) + 1e-9), 2) if ranges else 0
    axes = [list(v.choices) or [v.value_at(k / (each - 1)) for k in range(each)] for v in variations]
    names = [v.name for v in variations]
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*axes)]
