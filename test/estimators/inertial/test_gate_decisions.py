"""What the gate decides on a sequence of normalised innovations."""

import numpy as np
import pytest

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.signals import Decision

ACCEPTED, REJECTED, REOPENED = Decision.ACCEPTED, Decision.REJECTED, Decision.REOPENED
OUTLIER = 1e3
STEP = 0.125  # [s]; a binary fraction: times add up exactly


def decisions(gate, nis, dt=STEP):
    return [gate.decide(value, dt) for value in nis]


def test_bound_is_the_quantile_of_the_row_count():
    rng = np.random.default_rng(0)
    gate = InnovationGate(GateConfig(quantile=0.99), 7)
    nis = np.sum(rng.normal(size=(20000, 7)) ** 2, axis=1)
    assert np.mean(nis > gate.bound) == pytest.approx(0.01, abs=0.002)


def test_a_measurement_that_happens_to_fit_does_not_start_the_count_anew():
    gate = InnovationGate(GateConfig(reopen_after=0.1), 7)
    decisions = [gate.decide(1.0 if k % 5 == 0 else 1e3, 0.01) for k in range(40)]
    assert REOPENED in decisions


def test_a_gate_switched_off_accepts_everything():
    gate = InnovationGate(GateConfig(enabled=False), 3)
    assert gate.decide(1e12, 1.0) == ACCEPTED


def test_the_bound_itself_is_accepted():
    gate = InnovationGate(GateConfig(), 3)
    assert gate.decide(gate.bound, STEP) == ACCEPTED
    assert gate.decide(np.nextafter(gate.bound, np.inf), 0.01) == REJECTED


def test_outliers_reopen_the_gate_when_they_have_lasted_and_then_count_from_the_beginning():
    gate = InnovationGate(GateConfig(reopen_after=3 * STEP), 3)
    assert decisions(gate, 7 * [OUTLIER]) == 2 * [REJECTED, REJECTED, REOPENED] + [REJECTED]


def test_reset_forgets_the_time_rejected():
    gate = InnovationGate(GateConfig(reopen_after=3 * STEP), 3)
    decisions(gate, 2 * [OUTLIER])
    gate.reset()
    assert decisions(gate, 3 * [OUTLIER]) == [REJECTED, REJECTED, REOPENED]


def test_time_accepted_counts_down_but_not_below_zero():
    gate = InnovationGate(GateConfig(reopen_after=3 * STEP), 3)
    in_between = [OUTLIER, OUTLIER, 0.0, OUTLIER, OUTLIER]  # 2 - 1 + 2 steps
    assert decisions(gate, in_between) == [REJECTED, REJECTED, ACCEPTED, REJECTED, REOPENED]
    quiet = InnovationGate(GateConfig(reopen_after=3 * STEP), 3)
    assert decisions(quiet, 10 * [0.0] + 3 * [OUTLIER]) == 10 * [ACCEPTED] + [REJECTED, REJECTED, REOPENED]
