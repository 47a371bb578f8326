"""Search for the parameters with the least score: batches of trials, the same for any number of processes.

The values of a grid or of a random search (Sobol sequence) are laid out before the first trial. The
optimiser (a tree-structured Parzen estimator, Bergstra et al. 2011) begins with such a layout, too, and then
chooses the values of each batch by the trials that are done.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from scipy.stats import qmc, wilcoxon

from inertial_estimation.signals import Array
from inertial_estimation.tuning.objectives import Values
from inertial_estimation.tuning.variation import Variation

METHODS = ("optimiser", "random", "grid")
BATCH = 8  # trials whose values are chosen together; few, since none of them knows of the others' scores
LAID_OUT = 0.2  # share of an optimiser's trials that are laid out
FEWEST_LAID_OUT = 10
STOPPED_P = 0.02  # probability by chance, below which a trial is stopped that is worse than the best one
STOPPED_BLOCKS = 6  # before which none is stopped
FAILED_SCORE = 1e9  # of parameters with which the estimator does not run


@dataclass(frozen=True)
class Search:
    """What is searched, and how.

    Attributes:
        variations: The parameters.
        method: One of `METHODS`.
        trials: Number of trials.
        seed: Of random values.
    """

    variations: tuple[Variation, ...]
    method: str
    trials: int
    seed: int

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
        first = {v.name: v.shipped for v in self.variations if v.contains(v.shipped)}
        points = [first] if len(first) == len(self.variations) else []
        if self.method == "grid":
            return points + _grid(self.variations, self.trials - len(points))
        count = self.trials
        if self.method == "optimiser":
            count = min(self.trials, max(FEWEST_LAID_OUT, round(LAID_OUT * self.trials)))
        sequence = qmc.Sobol(len(self.variations), seed=self.seed)
        shares = sequence.random_base2(int(np.ceil(np.log2(max(count, 2)))))
        for row in shares[: count - len(points)]:
            points.append({v.name: v.value_at(float(s)) for v, s in zip(self.variations, row, strict=True)})
        return points


def _grid(variations: Sequence[Variation], most: int) -> list[dict[str, Any]]:
    """Return a grid of at most so many points, as many values of each range as that allows."""
    fixed = int(np.prod([len(v.choices) for v in variations if v.choices]))
    ranges = sum(not v.choices for v in variations)
    each = max(int((most / fixed) ** (1.0 / ranges) + 1e-9), 2) if ranges else 0
    axes = [list(v.choices) or [v.value_at(k / (each - 1)) for k in range(each)] for v in variations]
    names = [v.name for v in variations]
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*axes)]


@dataclass(frozen=True, eq=False)
class Trial:
    """An estimator that has been run with some values.

    Attributes:
        values: The parameters by name.
        score: Mean over the blocks that were run.
        scores: Score of every block, NaN where there is none; of a trial that was stopped empty.
        failure: Why the estimator did not run with these values; empty if it did.
    """

    values: Mapping[str, Any]
    score: float
    scores: Array = field(default_factory=lambda: np.zeros(0))
    failure: str = ""

    @property
    def complete(self) -> bool:
        """Whether every block was run."""
        return bool(len(self.scores))


Run = Callable[[Sequence[Values], Array | None], Sequence[Trial]]
"""Runs trials with some values, each until it is clearly worse than the given scores of the best one."""


def searched(search: Search, run: Run) -> list[Trial]:
    """Run the trials of a search."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(
            seed=search.seed, n_startup_trials=0, multivariate=True, constant_liar=True
        )
    study, done = optuna.create_study(sampler=sampler), list[Trial]()
    for batch in _batches(study, search):
        best = min((trial for trial in done if trial.complete), key=lambda trial: trial.score, default=None)
        ran = run([one.params for one in batch], None if best is None else best.scores)
        for one, trial in zip(batch, ran, strict=True):
            study.tell(one, FAILED_SCORE if trial.failure else trial.score)
        done += ran
    return done


def _batches(study: "optuna.Study", search: Search) -> Iterator[list["optuna.Trial"]]:
    """Yield trials whose values are chosen: those that are laid out, then those by the optimiser."""
    layout = search.layout()
    for values in layout:
        study.enqueue_trial(values)
    wanted = search.trials if search.method == "optimiser" else len(layout)
    for begun in range(0, wanted, BATCH):
        yield [study.ask(search.distributions) for _ in range(min(BATCH, wanted - begun))]


class StoppedError(Exception):
    """A trial is clearly worse than the best one; its argument is the mean score until then."""


class Watch:
    """Ends a trial that is clearly worse than the best one, by Wilcoxon's signed-rank test of its blocks.

    Attributes:
        first: Number of the first block of the recording that is run, among the blocks of all.
    """

    def __init__(self, best: Array | None) -> None:
        """Take the scores of the blocks of the best trial; None while there is none."""
        self._best, self._seen, self.first = best, dict[int, float](), 0

    def report(self, block: int, score: float) -> None:
        """Take the score of a block of that recording.

        Raises:
            StoppedError: If the trial is clearly worse.
        """
        self._seen[self.first + block] = score
        if self._best is None or len(self._seen) < STOPPED_BLOCKS:
            return
        own, best = np.array(list(self._seen.values())), self._best[list(self._seen)]
        compared = np.isfinite(best)
        if compared.sum() < STOPPED_BLOCKS or own[compared].mean() <= best[compared].mean():
            return
        test = wilcoxon(own[compared] - best[compared], alternative="greater", zero_method="zsplit")
        if test.pvalue < STOPPED_P:
            raise StoppedError(float(own.mean()))
