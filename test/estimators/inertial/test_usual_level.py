"""Limit of the NIS from which on data are suspect, against samples of known distributions."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.usual_level import UsualLevel

ROWS, DT, FACTOR = 38, 0.01, 8.0


def level_of(samples):
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    for nis in samples:
        level.feed(float(nis), DT)
    return level


def test_white_noise_in_many_rows_stands_out_at_three_times_its_level():
    nis = 0.03 * np.random.default_rng(0).chisquare(ROWS, 1000)
    level = level_of(nis)
    assert level.limit(FACTOR) == pytest.approx(3.0 * nis[-500:].mean(), rel=0.1)


def test_noise_whose_level_varies_stands_out_at_the_configured_factor():
    rng = np.random.default_rng(1)
    nis = 0.03 * rng.chisquare(ROWS, 1000) * np.exp(rng.normal(0.0, 0.8, 1000))
    level = level_of(nis)
    assert level.limit(FACTOR) == pytest.approx(FACTOR * level.variance * ROWS)
    assert level.limit(2.0) == pytest.approx(2.0 * level.variance * ROWS)


def test_a_few_samples_do_not_make_the_limit_narrow():
    narrow, short = level_of([1.0] * 1000), level_of([1.0] * 35)
    assert pytest.approx(narrow.limit(FACTOR)) == 3.0
    assert short.limit(FACTOR) > 3.5


def test_false_alarms_are_rare_for_the_spread_that_was_seen():
    rng = np.random.default_rng(2)
    level = level_of(rng.chisquare(6, 3000))
    assert (rng.chisquare(6, 100_000) > level.limit(FACTOR)).sum() <= 2


def test_the_bound_of_the_gate_holds_while_there_is_no_level():
    level = level_of([])
    assert not level.is_known
    assert level.limit(FACTOR) == InnovationGate(GateConfig(), ROWS).bound


def test_how_little_a_rest_varies_says_nothing_about_the_motion_that_follows():
    """Errors of the model show in motion: a first step after a rest must not stand out."""
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    level.moving = False
    for _ in range(1000):
        level.feed(1.0, DT)
    at_rest = level.limit(FACTOR)
    level.moving = True
    assert level.is_known
    assert at_rest == pytest.approx(3.0)
    assert level.limit(FACTOR) == pytest.approx(FACTOR)
    for nis in np.random.default_rng(3).chisquare(2, 300) * 2.0:
        level.feed(float(nis), DT)
    in_motion = level.limit(FACTOR)
    level.moving = False
    assert level.limit(FACTOR) == pytest.approx(at_rest)
    assert in_motion > 5.0 * at_rest


def test_a_rest_that_was_not_seen_is_judged_as_a_motion():
    level = level_of([1.0] * 1000)
    in_motion = level.limit(FACTOR)
    level.moving = False
    assert level.limit(FACTOR) == in_motion


def test_what_comes_just_before_suspect_data_does_not_count():
    """A load enters the window of averaged readings gradually: its beginning is below the limit."""
    usual, poisoned = level_of([1.0] * 100), level_of([1.0] * 100)
    for nis in np.linspace(1.0, 2.9, 10):
        poisoned.feed(float(nis), DT)
    assert poisoned.limit(FACTOR) == pytest.approx(usual.limit(FACTOR), rel=0.1)
    poisoned.forget_recent()
    for level in (usual, poisoned):
        for _ in range(30):
            level.feed(1.0, DT)
    assert poisoned.limit(FACTOR) == pytest.approx(usual.limit(FACTOR), rel=0.05)
