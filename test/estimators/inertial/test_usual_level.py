"""Limit of the NIS from which on data are suspect."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.usual_level import UsualLevel

ROWS, DT, FACTOR = 6, 0.01, 8.0


def level_of(samples):
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    for nis in samples:
        level.feed(float(nis), DT)
    return level


def test_noise_stands_out_at_the_configured_factor_of_its_mean():
    rng = np.random.default_rng(1)
    nis = 0.03 * rng.chisquare(ROWS, 1000) * np.exp(rng.normal(0.0, 0.8, 1000))
    level = level_of(nis)
    assert level.variance * ROWS == pytest.approx(nis[-500:].mean(), rel=0.2)
    assert level.limit(FACTOR) == pytest.approx(FACTOR * level.variance * ROWS)
    assert level.limit(2.0) == pytest.approx(2.0 * level.variance * ROWS)


@pytest.mark.parametrize("rows", [18, 38])
def test_white_noise_in_many_rows_stands_out_sooner_and_hardly_ever(rows):
    rng = np.random.default_rng(2)
    level = UsualLevel(rows, InnovationGate(GateConfig(), rows), 0.05)
    for nis in 0.03 * rng.chisquare(rows, 3000):
        level.feed(float(nis), DT)
    assert level.limit(FACTOR) < 0.7 * FACTOR * level.variance * rows
    assert (0.03 * rng.chisquare(rows, 100_000) > level.limit(FACTOR)).sum() == 0


def test_the_bound_of_the_gate_holds_while_there_is_no_level():
    level = level_of([])
    assert not level.is_known
    assert level.limit(FACTOR) == InnovationGate(GateConfig(), ROWS).bound


def test_rest_and_motion_have_their_own_levels():
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS), 0.05)
    level.moving = False
    for _ in range(1000):
        level.feed(0.5, DT)
    assert level.limit(FACTOR) == pytest.approx(0.5 * FACTOR)
    level.moving = True  # a motion that has not been seen: errors of the model may show in it
    assert level.limit(FACTOR) == 0.5 * InnovationGate(GateConfig(), ROWS).quantile
    for nis in np.random.default_rng(3).chisquare(2, 300):
        level.feed(float(nis), DT)
    in_motion = level.limit(FACTOR)
    level.moving = False
    assert level.limit(FACTOR) == pytest.approx(0.5 * FACTOR)
    assert in_motion > 3.0 * level.limit(FACTOR)


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
