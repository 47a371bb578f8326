"""A suspicion ends where innovations have stayed below the limit."""

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


def test_suspect_data_begin_the_time_anew(level):
    settling = fed(level, level.variance * ROWS, 2.0 * CONFIG.evidence)
    settling.feed(1.1 * level.limit(CONFIG.suspect), DT, CONFIG)
    assert settling.below_limit_for == 0.0
    assert not settling.is_over(CONFIG)
