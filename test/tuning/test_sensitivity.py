"""Intervals of tuned values are as wide as the data leave them, also where parameters replace each other."""

import numpy as np
import pytest

from inertial_estimation.parallel import Workers
from inertial_estimation.tuning.division import Division
from inertial_estimation.tuning.search import Trial
from inertial_estimation.tuning.trials import LikelihoodTrials, Trials
from inertial_estimation.tuning.tuning import Problem, concluded
from inertial_estimation.tuning.variation import Variation

A = Variation("inertial_ekf", "a", 10.0, 0.1, 100.0)
B = Variation("inertial_ekf", "b", 10.0, 0.1, 100.0)

SCORES = {
    "valley of the product": lambda a, b: (a + b) ** 2,
    "bowl": lambda a, b: 4.0 * (a - np.log(2.0)) ** 2 + 4.0 * (b - np.log(0.5)) ** 2,
    "valley of the ratio": lambda a, b: 40.0 * (a - b) ** 2,
    "nothing": lambda a, b: 0.0 * a,
    "rising": lambda a, b: a + b,
    "falling": lambda a, b: -a - b,
    "wide bowl": lambda a, b: (a - np.log(2.0)) ** 2 + (b - np.log(0.5)) ** 2,
}


class Synthetic(Trials):
    """Scores by one of `SCORES`, and some noise of the blocks that depends on both."""

    objective = LikelihoodTrials.objective

    def __init__(self, score, noise, held_out=None):
        self.division = Division(0, 60 * 10**9, 3, 10)
        self._score, self._share, self._held_out = score, noise, held_out or score
        self._noise = np.random.default_rng(0).normal(size=(2, 30))

    def scores(self, values, parts):
        a, b = np.log(values.get("a", 10.0)), np.log(values.get("b", 10.0))
        part = self.division.part_of_block
        found = np.where(part == 2, SCORES[self._held_out](a, b), SCORES[self._score](a, b))
        found = found + self._share * (a * self._noise[0] + b * self._noise[1])
        return np.where(part < parts, found, np.nan)


def result(score, noise=0.3, held_out=None, trials_count=1000):
    problem = Problem([Synthetic(score, noise, held_out)], Workers())
    rng, trials = np.random.default_rng(1), []
    for _ in range(trials_count):
        values = {v.name: v.value_at(float(rng.random())) for v in (A, B)}
        scores = problem.scores(values)
        trials.append(Trial(values, float(np.nanmean(scores)), scores))
    return concluded(Synthetic.objective, problem, (A, B), trials)


def test_what_another_parameter_can_stand_in_for_has_a_wide_interval():
    found = result("valley of the product")
    for parameter in found.parameters:
        low, high = parameter.sensitivity.low, parameter.sensitivity.high
        assert low <= parameter.value <= high
        assert low < 0.3, "a = 0.1, b = 10 is as good as a = 10, b = 0.1"
        assert high > 3.0


def test_what_the_data_determine_has_a_narrow_interval_around_the_truth():
    found = result("bowl")
    for parameter, true in zip(found.parameters, (2.0, 0.5), strict=True):
        low, high = parameter.sensitivity.low, parameter.sensitivity.high
        assert low < true < high < 4.0 * low


def test_values_that_matter_by_their_ratio_alone_stay_where_none_is_better():
    """The present ones are on the valley's floor: each alone cannot return to it, both can."""
    found = result("valley of the ratio", noise=1e-3)
    assert found.best.values["a"] != 10.0
    assert found.changes == {}
    assert found.warnings[0].startswith("No value is better than the present ones")


@pytest.mark.parametrize(("held_out", "said"), [("nothing", "not better beyond noise"), ("falling", "WORSE")])
def test_what_the_held_out_part_does_not_support_is_not_written(held_out, said):
    found = result("rising", held_out=held_out, trials_count=100)
    assert found.changes == {}
    assert found.rejected["a"] < 10.0
    assert [p.value for p in found.parameters] == [10.0, 10.0]
    assert said in found.warnings[0]


def test_no_value_of_the_range_is_better_than_the_one_that_is_written():
    found = result("wide bowl", trials_count=20)
    assert found.changes
    for parameter in found.parameters[-1:]:
        scores = dict(zip(parameter.sensitivity.values, parameter.sensitivity.scores, strict=True))
        assert scores[parameter.value] == min(scores.values())
