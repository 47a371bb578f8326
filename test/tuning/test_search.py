"""A search finds the least score, intervals are as wide as the data leave them, and ranges are checked."""

from types import SimpleNamespace

import numpy as np
import pytest

from inertial_estimation.errors import ConfigurationError, MeasurementError, RecordingError
from inertial_estimation.inertial.config import InertialPipelineConfig
from inertial_estimation.parallel import Workers
from inertial_estimation.replay.reference import ReplayReference
from inertial_estimation.tilt.config import TiltPipelineConfig
from inertial_estimation.tuning.division import Division, Judgement, compared
from inertial_estimation.tuning.trials import LikelihoodTrials, Trials
from inertial_estimation.tuning.tuning import (
    SHORTEST_S,
    Problem,
    Trial,
    _reach,
    concluded,
    searched,
    trials_over,
    value_in_words,
)
from inertial_estimation.tuning.variation import Variation, parse_variations

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
    """Scores by one of `SCORES`, with some noise of the blocks; beyond some value nothing runs."""

    objective = LikelihoodTrials.objective

    def __init__(self, score, noise, held_out=None, fails_above=np.inf):
        self.division = Division(0, 60 * 10**9, 3, 10)
        self._score, self._share, self._held_out = score, noise, held_out or score
        self._fails_above = fails_above
        self._noise = np.random.default_rng(0).normal(size=(2, 30))

    def scores(self, values, parts):
        if values.get("a", 10.0) > self._fails_above:
            raise MeasurementError("too stiff")
        a, b = np.log(values.get("a", 10.0)), np.log(values.get("b", 10.0))
        part = self.division.part_of_block
        found = np.where(part == 2, SCORES[self._held_out](a, b), SCORES[self._score](a, b))
        found = found + self._share * (a * self._noise[0] + b * self._noise[1])
        return np.where(part < parts, found, np.nan)


def found_by(trials, **given):
    return searched((A, B), trials, 3, Problem([Synthetic("bowl", 0.01, **given)], Workers()).run)


def test_the_least_score_is_found():
    found = found_by(60)
    assert len(found) == 60
    assert [trial.values == {"a": 10.0, "b": 10.0} for trial in found] == [True] + 59 * [False], "in effect"
    best = min(found, key=lambda trial: trial.score)
    assert [best.values[name] for name in "ab"] == pytest.approx([2.0, 0.5], rel=0.1)
    assert best.score == pytest.approx(np.nanmean(best.scores))
    assert [trial.values for trial in found_by(60)] == [trial.values for trial in found], "by its seed"


def test_parameters_that_do_not_run_are_told_apart():
    found = found_by(12, fails_above=20.0)
    assert {trial.failure for trial in found if trial.failure} == {"too stiff"}
    assert all((trial.values["a"] > 20.0) == bool(trial.failure) for trial in found)


SECOND = 1_000_000_000


def test_parts_and_blocks_cover_the_recording():
    division = Division.of(5 * SECOND, 65 * SECOND, 3)
    stamps = np.arange(0, 70 * SECOND, SECOND // 4)
    blocks = division.blocks_at(stamps)
    assert division.blocks == 10
    assert ((blocks >= 0) == ((stamps >= 5 * SECOND) & (stamps < 65 * SECOND))).all()
    parts = division.part_of_block[blocks[blocks >= 0]]
    assert (np.diff(parts) >= 0).all()
    assert [(parts == part).sum() for part in range(3)] == [80, 80, 80]
    assert division.part_end_ns(1) == 45 * SECOND


def test_means_leave_out_what_is_missing():
    division = Division(0, 4 * SECOND, 2, 2)
    stamps = np.arange(0, 4 * SECOND, SECOND // 10)
    values = np.floor(1e-9 * stamps)
    values[12:19] = np.nan
    means = division.means(stamps, values)
    assert means[[0, 2, 3]].tolist() == [0.0, 2.0, 3.0]
    assert np.isnan(means[1]), "three of ten samples are no mean"


def test_a_difference_beyond_noise_is_told_from_chance():
    """At two standard deviations chance alone is taken for a difference once in twenty trials."""
    rng = np.random.default_rng(0)
    common = rng.normal(0.0, 5.0, (400, 40))
    nothing = [compared(row, row + rng.normal(0.0, 1.0, 40)).significant for row in common]
    assert 0.02 < np.mean(nothing) < 0.12
    something = [compared(row + 0.8, row + rng.normal(0.0, 1.0, 40)).significant for row in common]
    assert np.mean(something) > 0.95


def test_correlated_blocks_tell_less():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(300, 61))
    slow = steps[:, 1:] + steps[:, :-1]
    found = np.mean([compared(row, np.zeros(60)).significant for row in slow])
    naive = np.mean([abs(row.mean()) > 2.0 * row.std(ddof=1) / np.sqrt(60) for row in slow])
    assert found < 0.6 * naive


def test_blocks_without_a_score_do_not_count_and_two_have_half_their_distance_as_deviation():
    found = compared(np.array([3.0, np.nan, 8.0, 2.0]), np.array([1.0, 0.0, 2.0, np.nan]))
    assert (found.blocks, found.difference) == (2, 4.0)
    assert found.sigma == pytest.approx(0.5 * (6.0 - 2.0))


def result(score, noise=0.3, held_out=None, trials_count=1000):
    problem = Problem([Synthetic(score, noise, held_out)], Workers())
    rng, trials = np.random.default_rng(1), []
    for _ in range(trials_count):
        values = {v.name: v.value_at(float(rng.random())) for v in (A, B)}
        scores = problem.scores(values)
        trials.append(Trial(values, float(np.nanmean(scores)), scores))
    return concluded(Synthetic.objective, problem, (A, B), trials)


def test_intervals_are_narrow_around_what_the_data_determine_and_wide_where_another_can_stand_in():
    """Of a product a = 0.1, b = 10 is as good as a = 10, b = 0.1."""
    for score in ("bowl", "valley of the product"):
        for parameter, true in zip(result(score).parameters, (2.0, 0.5), strict=True):
            low, high = parameter.sensitivity.low, parameter.sensitivity.high
            assert low <= parameter.value <= high
            assert low < true < high < 4.0 * low if score == "bowl" else low < 0.3 < 3.0 < high


def test_values_that_matter_by_their_ratio_alone_stay_where_none_is_better():
    """The present ones are on the valley's floor: each alone cannot return to it, both can."""
    found = result("valley of the ratio", noise=1e-3)
    assert found.best.values["a"] != 10.0
    assert found.changes == {}
    assert found.warnings[0].startswith("No value is better than the present ones")


@pytest.mark.parametrize(
    ("differences", "reach"),
    [([0.0, 1.0, 8.0], 0.5), ([0.0, 1.5, 2.5], 0.8), ([0.0, 1.9, 20.0], 0.5), ([0.0, 1.0, 2.0], 1.0)],
)
def test_an_interval_ends_where_the_line_to_the_first_worse_value_leaves_the_noise(differences, reach):
    """Of deviation one, at shares of 0, 0.5 and 1; never before a value that is as good."""
    for sign in (1.0, -1.0):
        shares = [sign * share for share in (0.0, 0.5, 1.0)]
        found = _reach(shares, [Judgement(0.0, 0.0, difference, 1.0, 9) for difference in differences])
        assert found == pytest.approx(sign * reach)


def test_a_recording_may_be_just_long_enough():
    run = SimpleNamespace(name="walk", begin_ns=0, end_ns=round(SHORTEST_S * SECOND))
    assert trials_over(run, ReplayReference([]), [A], 0.0).division.blocks == 5
    run.begin_ns = 1
    with pytest.raises(RecordingError, match="expected at least"):
        trials_over(run, ReplayReference([]), [A], 0.0)


@pytest.mark.parametrize(("value", "text"), [(0.123456, "0.1235"), (1000.0, "1000.0"), (2e20, "2e+20")])
def test_values_are_written_as_numbers_of_ros_with_four_digits(value, text):
    assert value_in_words(value) == text


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


CONFIGS = {
    "tilt_observer": TiltPipelineConfig(observer="two_stage"),
    "inertial_ekf": InertialPipelineConfig(),
}


def one(text, observer="two_stage"):
    configs = {**CONFIGS, "tilt_observer": TiltPipelineConfig(observer=observer)}
    (variation,) = parse_variations([text], configs)
    return variation


def test_gains_of_an_observer_that_is_not_in_use_are_refused():
    assert one("filter.freedom=0.05:1", observer="filter").node == "tilt_observer"
    with pytest.raises(ConfigurationError, match=r"no effect .* --param tilt_observer.observer=filter"):
        one("filter.freedom=0.05:1", observer="two_stage")


def test_ranges_and_a_name_alone():
    gamma = one("two_stage.gamma=0.3:3")
    assert (gamma.node, gamma.low, gamma.high, gamma.log) == ("tilt_observer", 0.3, 3.0, True)
    assert gamma.shipped == 1.0
    assert gamma.value_at(0.5) == pytest.approx(0.3**0.5 * 3.0**0.5)
    assert gamma.share_of(gamma.value_at(0.3)) == pytest.approx(0.3)
    assert one("inertial_ekf.effort_window=0:1").value_at(0.25) == 0.25
    alone = one("prior.com")
    assert (alone.low, alone.high, alone.log) == (pytest.approx(0.002), pytest.approx(0.2), True)
    bounded = one("two_stage.gamma")
    assert bounded.high == 10.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("two_stage.gama=1:2", "did you mean 'two_stage.gamma'"),
        ("rate=100:200", "of tilt_observer, inertial_ekf, expected one of them: tilt_observer.rate"),
        ("two_stage.gamma=3:1", "no range, expected LOW:HIGH"),
        ("two_stage.gamma=1:2:cubic", "no range"),
        ("two_stage.gamma=0:1", r"is 0.0, expected a value in \[0.001, 1000\]"),
        ("observer", "'observer' is no noise, prior or gain"),
        ("noise.torque", "is -1, expected a range"),
    ],
)
def test_what_cannot_be_varied_is_named(text, message):
    with pytest.raises(ConfigurationError, match=message):
        one(text)


def test_a_parameter_is_varied_once():
    with pytest.raises(ConfigurationError, match="varied twice"):
        parse_variations(["prior.mass", "inertial_ekf.prior.mass=1:2"], CONFIGS)
