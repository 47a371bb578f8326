"""A suspicion ends where innovations are usual again, not where they have only fallen below the limit."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.settling import Settling
from inertial_estimation.estimators.inertial.usual_level import UsualLevel
from inertial_estimation.estimators.inertial.watch_config import WatchConfig

ROWS, DT, CONFIG = 38, 0.01, WatchConfig()


@pytest.fixture
def level():
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    for nis in 0.05 * np.random.default_rng(0).chisquare(15, 2000):
        level.feed(float(nis), DT)
    return level


def fed(level, nis, time_s):
    settling = Settling(level)
    for _ in range(round(time_s / DT)):
        settling.feed(nis, DT, CONFIG)
    return settling


def test_a_usual_innovation_ends_a_suspicion_within_the_time_of_the_evidence(level):
    usual = level.variance * ROWS
    assert not fed(level, usual, CONFIG.evidence - DT).is_over(CONFIG)
    assert fed(level, usual, CONFIG.evidence + DT).is_over(CONFIG)


def test_one_just_below_the_limit_ends_it_only_after_the_patience(level):
    below = 0.95 * level.limit(CONFIG.suspect)
    assert not fed(level, below, 5.0 * CONFIG.evidence).is_over(CONFIG)
    assert fed(level, below, CONFIG.patience + DT).is_over(CONFIG)


def test_suspect_data_begin_the_time_anew(level):
    settling = fed(level, level.variance * ROWS, 2.0 * CONFIG.evidence)
    settling.feed(1.1 * level.limit(CONFIG.suspect), DT, CONFIG)
    assert settling.usual_for == settling.below_limit_for == 0.0
    assert not settling.is_over(CONFIG)


def test_one_in_a_hundred_clean_innovations_is_beyond_the_usual_range(level):
    nis = 0.05 * np.random.default_rng(1).chisquare(15, 20_000)
    assert (nis > level.usual_range(CONFIG.suspect)).mean() == pytest.approx(0.01, abs=0.006)


def test_the_usual_range_is_the_limit_while_the_usual_spread_is_not_known(level):
    unknown = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    assert unknown.usual_range(CONFIG.suspect) == unknown.limit(CONFIG.suspect)
    unknown.moving = False
    for _ in range(100):
        unknown.feed(1.0, DT)
    assert unknown.usual_range(CONFIG.suspect) < unknown.limit(CONFIG.suspect)
    unknown.moving = True  # a motion that has not been seen
    assert unknown.usual_range(CONFIG.suspect) == unknown.limit(CONFIG.suspect)


def test_the_usual_range_reaches_to_the_limit_where_the_nis_varies_by_more_than_noise():
    """Errors of a model last as long as the motion that shows them, those of the Panda for 0.2 s."""
    rng = np.random.default_rng(2)
    varying = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    for nis in 0.05 * rng.chisquare(15, 2000) * np.exp(rng.normal(0.0, 0.7, 2000)):
        varying.feed(float(nis), DT)
    assert varying.usual_range(CONFIG.suspect) == varying.limit(CONFIG.suspect)


def test_a_second_of_data_does_not_show_that_the_nis_varies_as_noise_does():
    """With windows of 0.1 s it has ten values, of which the spread is known to a factor of two."""
    early = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
        for mean in rng.chisquare(3, 10):  # spread 2 / 3: errors of a model
            for _ in range(10):
                level.feed(float(mean), DT)
        early += level.usual_range(CONFIG.suspect) < level.limit(CONFIG.suspect)
    assert early <= 10
