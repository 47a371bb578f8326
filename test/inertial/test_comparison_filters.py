"""The papers' filters: the textbook's, a batch solver's on linear problems, and what only one keeps."""

from dataclasses import replace

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.inertial.comparison_filters import LinearKalman, LogCholeskyEkf
from inertial_estimation.signals import Decision
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia


def test_the_linear_filter_is_least_squares_with_a_prior():
    scene = ArmScene()
    filter_ = LinearKalman(scene.unknowns(), memory=MEMORY, reopen_after=0.0)
    start, P = filter_.posterior.x, filter_._prior
    D, information, vector = filter_.posterior.at.D, np.linalg.inv(P), np.linalg.solve(P, start)
    for _ in range(30):
        block = scene.block(dt=0.003)[0]
        filter_.update(block)
        H = block.A @ D
        information = information + H.T @ np.linalg.solve(block.noise, H)
        vector = vector + H.T @ np.linalg.solve(block.noise, block.value)
    assert filter_.posterior.x == pytest.approx(np.linalg.solve(information, vector), abs=1e-6)
    assert pytest.approx(np.linalg.inv(information), abs=1e-6) == filter_.posterior.P


def test_only_the_consistent_filter_gives_possible_bodies():
    scene = ArmScene(sigma_torque=2.0)
    smallest = {LinearKalman: np.inf, LogCholeskyEkf: np.inf}
    filters = [kind(scene.unknowns(), memory=MEMORY, reopen_after=0.0) for kind in smallest]
    for _ in range(40):
        block = scene.block(dt=0.003)[0]
        for filter_ in filters:
            filter_.update(block)
            J = pseudo_inertia(filter_.posterior.at.pi_C)
            smallest[type(filter_)] = min(smallest[type(filter_)], np.linalg.eigvalsh(J).min())
    assert smallest[LogCholeskyEkf] > 0.0
    assert smallest[LinearKalman] < 0.0


@pytest.mark.parametrize("kind", [LinearKalman, LogCholeskyEkf])
def test_the_gate_rejects_an_impact_and_opens_for_a_payload(kind):
    scene = ArmScene(links=("panda_link7",))
    filter_ = kind(scene.unknowns(), memory=MEMORY, reopen_after=0.05)
    for _ in range(100):
        assert filter_.update(scene.block(dt=0.003)[0]) is not Decision.REOPENED
    before = filter_.posterior.at.pi_C[0, 0]
    shock = scene.block(dt=0.003)[0]
    assert filter_.update(replace(shock, value=shock.value + 50.0)) is Decision.REJECTED
    assert filter_.posterior.at.pi_C[0, 0] == pytest.approx(before)
    scene.add_payload(0, 5.0, (0.0, 0.0, 0.1))
    decisions = [filter_.update(scene.block(dt=0.003)[0]) for _ in range(150)]
    assert Decision.REOPENED in decisions
    assert filter_.posterior.at.pi_C[0, 0] == pytest.approx(scene.truth[0][0], rel=0.05)


def test_it_is_the_extended_kalman_filter_of_the_textbook():
    scene = ArmScene(links=("panda_link7",))
    filter_ = LogCholeskyEkf(scene.unknowns(), memory=MEMORY, reopen_after=0.0)
    x, P, nominal, keep = (
        filter_.posterior.x,
        filter_.posterior.P,
        filter_.unknowns.nominal,
        np.exp(-0.01 / MEMORY),
    )
    prior = P.copy()
    for _ in range(20):
        block = scene.block(dt=0.01)[0]
        filter_.update(block)
        x, P = nominal + keep * (x - nominal), keep**2 * P + (1.0 - keep**2) * prior
        at = filter_.unknowns.at(x)
        H = block.A @ at.D
        S = H @ P @ H.T + block.noise
        K = P @ H.T @ np.linalg.inv(S)
        x, P = x + K @ (block.value - block.A @ at.phi), P - K @ S @ K.T
    assert filter_.posterior.x == pytest.approx(x, abs=1e-8)
    assert pytest.approx(P, abs=1e-8) == filter_.posterior.P
