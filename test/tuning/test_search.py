"""Searches: they find the least score, are repeatable, and survive values that do not run."""

import numpy as np
import pytest

from inertial_estimation.errors import MeasurementError
from inertial_estimation.parallel import Workers
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.search import searched
from inertial_estimation.tuning.trials import LikelihoodTrials, Trials
from inertial_estimation.tuning.tuning import Problem
from inertial_estimation.tuning.variation import Variation

X = Variation("node", "x", 1.0, 0.1, 10.0)
Y = Variation("node", "y", 0.0, -2.0, 2.0)


class Bowl(Trials):
    """Least at x = 3, y = 0.5, with noisy blocks, and values at which nothing runs."""

    objective = LikelihoodTrials.objective

    def __init__(self, fails_above=np.inf):
        self.division, self.fails_above = Division(0, 30 * 10**9, 3, 5), fails_above

    def scores(self, values, parts):
        if values["x"] > self.fails_above:
            raise MeasurementError("too stiff")
        square = np.log(values["x"] / 3.0) ** 2 + (values["y"] - 0.5) ** 2
        found = square + 0.01 * np.random.default_rng(0).normal(size=15)
        return np.where(self.division.part_of_block < parts, found, np.nan)


def found_by(trials, bowl=None):
    return searched((X, Y), trials, 3, Problem([bowl or Bowl()], Workers()).run)


def test_the_least_score_is_found():
    found = found_by(60)
    assert len(found) == 60
    assert found[0].values == {"x": 1.0, "y": 0.0}, "the values in effect come first"
    best = min(found, key=lambda trial: trial.score)
    assert best.values["x"] == pytest.approx(3.0, rel=0.1)
    assert best.values["y"] == pytest.approx(0.5, abs=0.1)
    assert best.score == pytest.approx(np.nanmean(best.scores))


def test_a_search_is_repeated_by_its_seed():
    one, other = found_by(20), found_by(20)
    assert [trial.values for trial in one] == [trial.values for trial in other]


def test_parameters_that_do_not_run_are_told_apart():
    found = found_by(12, bowl=Bowl(fails_above=2.0))
    failed = [trial for trial in found if trial.failure]
    assert {trial.failure for trial in failed} == {"too stiff"}
    assert all(trial.values["x"] > 2.0 for trial in failed)
    assert all(trial.values["x"] <= 2.0 for trial in found if not trial.failure)
