"""The gate: impacts out, changes in."""

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Decision

DT = 0.003


def trained(seed=0):
    scene = ArmScene(links=("panda_link7",), seed=seed)
    filter_ = LogCholeskyEkf(scene.bodies, PRIOR, scene.gate(), MEMORY)
    for _ in range(300):
        filter_.update(scene.equation(), DT)
    return scene, filter_


def mass(filter_):
    return filter_.body_parameters()[0][0, 0]


def test_own_noise_passes():
    scene, filter_ = trained()
    decisions = [filter_.update(scene.equation(), DT).decision for _ in range(1000)]
    assert decisions.count(Decision.REJECTED) < 10
    assert Decision.REOPENED not in decisions


def test_impact_spikes_are_rejected_and_leave_no_trace():
    scene, filter_ = trained()
    before = mass(filter_)
    for k in range(600):
        equation = scene.equation()
        if k % 100 < 10:  # 30 ms, ten times: footfalls
            spike = LinearEquation(equation.regressor, equation.value + 15.0, equation.noise, equation.value)
            assert filter_.update(spike, DT).decision == Decision.REJECTED
        else:
            filter_.update(equation, DT)
    assert mass(filter_) == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("payload", [5.0, -1.0])
def test_a_lasting_change_reopens_after_the_stated_time_and_is_followed(payload):
    scene, filter_ = trained()
    truth = scene.truth[0][0]
    if payload > 0:
        scene.add_payload(0, payload, (0.0, 0.0, 0.1))
    else:
        scene.truth[0] = scene.truth[0] * (truth + payload) / truth
    decisions = []
    for _ in range(100):
        decisions.append(filter_.update(scene.equation(), DT).decision)
    reopened = decisions.index(Decision.REOPENED)
    assert DT * (reopened + 1) == pytest.approx(0.1, abs=0.02)
    assert decisions.count(Decision.REOPENED) == 1
    assert mass(filter_) == pytest.approx(truth + payload, rel=0.05)


def test_a_closed_gate_that_cannot_be_explained_keeps_the_covariance_bounded():
    scene, filter_ = trained()
    prior = np.diag(filter_._P_prior)
    for _ in range(500):
        equation = scene.equation()
        wrong = equation.value + scene.rng.normal(0.0, 20.0, 7)
        filter_.update(LinearEquation(equation.regressor, wrong, equation.noise, wrong), DT)
    assert np.all(np.diag(filter_.P) <= prior * (1 + 1e-9))
