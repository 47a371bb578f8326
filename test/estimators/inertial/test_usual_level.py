"""Limit of the NIS from which on data are suspect, against samples of known distributions."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.usual_level import UsualLevel

ROWS, DT, FACTOR = 38, 0.01, 8.0


def level_of(samples):
    level = UsualLevel(ROWS, InnovationGate(GateConfig(), ROWS))
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
