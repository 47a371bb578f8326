"""Searches: complete and repeatable."""

import itertools

import numpy as np
import pytest

pytest.importorskip("optuna")

from inertial_estimation.errors import MeasurementError
from inertial_estimation.parallel import Workers
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.objectives import OBJECTIVES, Trials
from inertial_estimation.tuning.search import Search, searched
from inertial_estimation.tuning.tuning import Problem
from inertial_estimation.tuning.variation import Variation

X = Variation("node", "x", 1.0, 0.1, 10.0, log=True)
Y = Variation("node", "y", 0.0, -2.0, 2.0)
KIND = Variation("node", "kind", "a", choices=("a", "b"))


class Bowl(Trials):
    """Least at x = 3, y = 0.5; noisy blocks that are reported, and values at which nothing runs."""

    def __init__(self, fails_above=np.inf):
        self.division, self.fails_above = Division(0, 30 * 10**9, 3, 5), fails_above
        self.blocks = 0

    def scores(self, values, parts, report=None):
        if values["x"] > self.fails_above:
            raise MeasurementError("too stiff")
        square = np.log(values["x"] / 3.0) ** 2 + (values["y"] - 0.5) ** 2
        found = square + 0.01 * np.random.default_rng(0).normal(size=15)
        for block in range(5 * parts):
            report(block, found[block])
            self.blocks += 1
        return np.where(self.division.part_of_block < parts, found, np.nan)


def found_by(method, trials, *, variations=(X, Y), bowl=None, jobs=0):
    search = Search(variations, method, trials, 3)
    with Workers(max(jobs, 1)) as workers:
        problem = Problem(OBJECTIVES["likelihood"], [bowl or Bowl()], 3, workers if jobs else None)
        return searched(search, problem.run)


def test_the_optimiser_finds_the_least_score():
    found = found_by("optimiser", 40)
    assert len(found) == 40
    assert found[0].values == {"x": 1.0, "y": 0.0}, "the values in effect come first"
    best = min(found, key=lambda trial: trial.score)
    assert best.complete
    assert best.values["x"] == pytest.approx(3.0, rel=0.4)
    assert best.values["y"] == pytest.approx(0.5, abs=0.4)
    assert best.score == pytest.approx(np.nanmean(best.scores))


def test_a_grid_has_every_combination():
    found = found_by("grid", 19, variations=(X, Y, KIND))
    values = [tuple(trial.values.values()) for trial in found]
    assert values[0] == (1.0, 0.0, "a")
    xs, ys = (0.1, 1.0, 10.0), (-2.0, 0.0, 2.0)
    expected = {(x, y, kind) for x, y, kind in itertools.product(xs, ys, ("a", "b"))}
    assert {(round(x, 9), round(y, 9), kind) for x, y, kind in values} == expected


@pytest.mark.parametrize("method", ["optimiser", "random"])
def test_a_search_is_repeated_by_workers(method):
    alone, others = (found_by(method, 20, jobs=jobs) for jobs in (0, 1))
    assert len(alone) == 20
    assert [trial.values for trial in others] == [trial.values for trial in alone]
    assert [trial.score for trial in others] == [trial.score for trial in alone]


def test_parameters_that_do_not_run_are_told_apart():
    found = found_by("random", 12, bowl=Bowl(fails_above=2.0))
    failed = [trial for trial in found if trial.failure]
    assert {trial.failure for trial in failed} == {"too stiff"}
    assert all(trial.values["x"] > 2.0 for trial in failed)
    assert not any(trial.complete for trial in failed)


def test_a_trial_that_is_clearly_worse_is_stopped():
    bowl = Bowl()
    found = found_by("random", 24, bowl=bowl)
    stopped = [trial for trial in found if not trial.complete]
    assert len(stopped) > 1
    assert min(found, key=lambda trial: trial.score).complete
    assert bowl.blocks < 0.95 * 24 * 10
