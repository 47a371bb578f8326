"""The filter on information: a batch of all data at any stated noise, consistent bodies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.errors import NumericalError
from inertial_estimation.inertial.comparison_filters import LinearKalman, LogCholeskyEkf
from inertial_estimation.inertial.config import PriorConfig
from inertial_estimation.inertial.filter import DRIFT_S, MEMORY_S, GroupedInformation, InformationFilter
from inertial_estimation.inertial.link_estimates import central_jacobian
from inertial_estimation.inertial.noise import EquationBlock
from inertial_estimation.inertial.posterior import (
    LARGEST_DEVIATION,
    LARGEST_STEP,
    MOST_STEPS,
    LinearPrior,
    Posterior,
    Unknowns,
    informed_part,
    most_probable,
)
from inertial_estimation.signals import Decision
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

PAYLOAD = (2.0, (0.02, -0.01, 0.1))


def learned(scene, blocks, *, adapt=True, convention="rucker"):
    noise = scene.noise()
    noise.adapting = adapt
    filter_ = InformationFilter(scene.unknowns(convention), noise)
    for block in blocks:
        filter_.learn(block)
    return filter_


def smallest_eigenvalue(at):
    return min(np.linalg.eigvalsh(pseudo_inertia(pi))[0] for pi in at.pi_C)


@pytest.mark.parametrize("convention", ["rucker", "foster"])
def test_the_most_probable_state_is_that_of_a_general_minimiser(convention):
    scene = ArmScene()
    scene.add_payload(1, *PAYLOAD)
    unknowns, blocks = scene.unknowns(convention), [scene.block()[0] for _ in range(25)]
    data = GroupedInformation(scene.noise().groups, unknowns.size)
    for block in blocks:
        data.add(block, np.ones(7))
    centre = unknowns.nominal + np.random.default_rng(1).normal(0.0, 0.3, unknowns.size)
    mean = unknowns.at(centre)
    found = most_probable(unknowns, data.weighted(np.ones(1)), unknowns.at(unknowns.nominal), centre=mean)
    for _ in range(10):
        found = most_probable(unknowns, data.weighted(np.ones(1)), found.at, centre=mean)

    def cost(x):
        prior = (x - centre) @ unknowns.prior_information @ (x - centre)
        rest = [b.value - b.A @ unknowns.at(x).phi for b in blocks]
        return prior + sum(r @ np.linalg.solve(b.noise, r) for r, b in zip(rest, blocks, strict=True))

    best = minimize(cost, found.x, method="BFGS")
    assert cost(found.x) <= best.fun + 1e-3


@pytest.mark.parametrize("factor", [1.0 / 3.0, 3.0])
def test_a_wrong_stated_noise_hardly_matters_and_is_found(factor):
    estimates, scales = [], []
    for stated in (1.0, factor):
        scene = ArmScene(seed=3)
        scene.add_payload(1, *PAYLOAD)
        blocks = [scene.block()[0] for _ in range(200)]
        filter_ = learned(scene, [replace(b, noise=stated**2 * b.noise) for b in blocks])
        estimates.append(filter_.posterior.at.pi_C[:, 0])
        scales.append(filter_.noise.factors()["noise.torque"])
    assert estimates[1] == pytest.approx(estimates[0], abs=0.01)
    assert scales == pytest.approx([1.0, 1.0 / factor], rel=0.15)


@pytest.mark.parametrize("convention", ["rucker", "foster"])
def test_every_estimate_is_possible_even_from_nonsense(convention):
    scene = ArmScene()
    filter_ = learned(scene, [], convention=convention)
    for _ in range(40):
        block = scene.block()[0]
        filter_.learn(replace(block, value=100.0 * scene.rng.normal(size=7)))
        assert smallest_eigenvalue(filter_.posterior.at) > 0.0
        assert np.isfinite(filter_.posterior.P).all()
        assert np.linalg.eigvalsh(filter_.posterior.P)[0] > 0.0


def test_without_data_the_past_is_forgotten():
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, *PAYLOAD)
    noise = scene.noise()
    filter_ = InformationFilter(scene.unknowns(), noise)
    for _ in range(50):
        filter_.learn(scene.block()[0])
    block = scene.block()[0]
    filter_.learn(replace(block, A=0.0 * block.A, value=0.0 * block.value, dt=60.0 * MEMORY_S))
    assert filter_.posterior.x == pytest.approx(filter_.unknowns.nominal, abs=1e-3)


def test_equations_at_rest_inform_as_often_as_they_come_and_the_noise_in_them_does_not():
    scene = ArmScene(links=("panda_link7",))
    block, rng = scene.block()[0], np.random.default_rng(0)
    blocks = [replace(block, value=block.value + rng.normal(0.0, 0.01, 7)) for _ in range(300)]
    noisy = [replace(b, A=b.A + 0.05 * np.abs(b.A).max() * rng.normal(size=b.A.shape)) for b in blocks]

    def after(many, *, at_rest):
        return learned(scene, [replace(b, at_rest=at_rest) for b in many], adapt=False)

    def directions(filter_):
        return informed_part(filter_.unknowns, filter_.posterior, filter_.centre.x).directions

    rest, motion = (after(blocks, at_rest=at_rest) for at_rest in (True, False))
    sigma = np.sqrt(motion.posterior.P.diagonal())
    np.testing.assert_allclose(rest.posterior.x / sigma, motion.posterior.x / sigma, atol=0.01)
    np.testing.assert_allclose(rest.posterior.P.diagonal(), motion.posterior.P.diagonal(), rtol=0.01)
    counts = [directions(after(noisy, at_rest=at_rest)) for at_rest in (True, False)]
    assert counts[0] == directions(rest) < counts[1]


def test_an_offset_of_a_sensor_is_estimated():
    scene, offset = ArmScene(links=("panda_link7",)), 0.8
    plain = scene.unknowns()
    errors = LinearPrior(("offset",), np.zeros(1), np.ones(1))
    unknowns = Unknowns(plain.bodies, plain.body_prior, errors=errors)
    filter_ = InformationFilter(unknowns, scene.noise())
    column = np.zeros((7, 1))
    column[5] = 1.0
    for _ in range(80):
        block = scene.block()[0]
        A = np.concatenate((block.A, column), axis=1)
        filter_.learn(replace(block, A=A, value=block.value + offset * column[:, 0]))
    mean, sigma = filter_.posterior.x[10], np.sqrt(filter_.posterior.P[10, 10])
    assert mean == pytest.approx(offset, abs=0.1)
    assert sigma < 0.2


def test_the_linear_filter_is_least_squares_with_a_prior():
    scene = ArmScene()
    filter_ = LinearKalman(scene.unknowns(), memory=MEMORY, gated=False)
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


@pytest.mark.parametrize("kind", [LinearKalman, LogCholeskyEkf])
def test_the_gate_rejects_an_impact_and_opens_for_a_payload(kind):
    scene = ArmScene(links=("panda_link7",))
    filter_ = kind(scene.unknowns(), memory=MEMORY)
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
    filter_ = LogCholeskyEkf(scene.unknowns(), memory=MEMORY, gated=False)
    x, P = filter_.posterior.x, filter_.posterior.P
    nominal, keep = filter_.unknowns.nominal, np.exp(-0.01 / MEMORY)
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


def test_errors_of_sensors_drift_by_their_prior_variance_within_the_time_of_drifts():
    scene = ArmScene(links=("panda_link7",))
    errors = LinearPrior(tuple("abcdefg"), np.zeros(7), np.full(7, 2.0))
    plain, noise = scene.unknowns(), scene.noise()
    noise.adapting = False
    filter_ = InformationFilter(Unknowns(plain.bodies, plain.body_prior, errors=errors), noise)
    block = replace(scene.block()[0], A=np.eye(7, 17, 10), value=np.zeros(7), dt=6.0)
    information = 0.0
    for k in range(5):  # a drift after the second and the fourth block, of 12 s each
        filter_.learn(block)
        information += 1.0 / scene.sigma_torque**2
        if k % 2:
            information = 1.0 / (1.0 / information + 4.0 * 2.0 * 12.0 / DRIFT_S)
        expected = 1.0 / (information + 0.25)
        assert filter_.posterior.P[10:, 10:] == pytest.approx(expected * np.eye(7), rel=1e-4)


@pytest.mark.parametrize(
    ("share", "information"), [(1.0, 0.0), (0.5, 1.0), (0.28, 2.571429), (0.24, 3.166667), (0.01, 99.0)]
)
def test_information_is_that_of_the_data_over_that_of_the_prior(share, information):
    unknowns = ArmScene(links=("panda_link7",)).unknowns()
    moved = Posterior(unknowns.at(unknowns.nominal + 0.1), share * unknowns.prior_covariance)
    part = informed_part(unknowns, moved, unknowns.nominal)
    assert part.information == pytest.approx(np.full(10, information), abs=1e-6)
    assert part.x == pytest.approx(moved.x if information > 3.0 else unknowns.nominal)


def test_what_is_considered_changes_estimates_as_it_says():
    """By values that an amplitude changes, learned before and after the body is opened."""
    scene, rng = ArmScene(links=("panda_link7",)), np.random.default_rng(5)
    blocks = [replace(scene.block()[0], considered=rng.normal(size=(7, 3))) for _ in range(12)]
    blocks = [replace(block, value=block.A @ scene.true_parameters()) for block in blocks]
    amplitude, found = 1e-4, []
    for k in (None, 0, 1, 2):
        filter_ = InformationFilter(scene.unknowns(), scene.noise(), 3)
        filter_.noise.adapting = False
        for i, block in enumerate(blocks):
            added = 0.0 if k is None else amplitude * block.considered[:, k]
            filter_.learn(replace(block, value=block.value + added))
            if i == 6:
                filter_.admit_change(0, np.eye(10)[:, :4])
        for _ in range(10):
            filter_.solve()
        found.append(filter_.posterior)
    change = [(posterior.x - found[0].x) / amplitude for posterior in found[1:]]
    np.testing.assert_allclose(np.array(change).T, found[0].considered, rtol=0.02, atol=0.02)
    assert found[0].covariance == pytest.approx(found[0].P + found[0].considered @ found[0].considered.T)


def some_information(seed=0, size=4):
    rng, groups = np.random.default_rng(seed), np.array([0, 1, 1, 2, 0])
    data, root = GroupedInformation(groups, size), rng.normal(size=(5, 5))
    block = EquationBlock(rng.normal(size=(5, size)), rng.normal(size=5), root @ root.T + np.eye(5), 0.01)
    return rng, data, block


@pytest.mark.parametrize("weights", [np.ones(5), np.array([1.0, 0.2, 0.5, 1.0, 0.05])])
def test_information_of_groups_is_that_of_noise_scaled_in_each_of_them_and_by_weights(weights):
    _rng, data, block = some_information()
    w = np.array([1.0, 0.5, 3.0])
    data.add(block, weights)
    assert block.size == 5.0, "all are reached"
    root = w[data.groups] * np.sqrt(weights)
    scaled = np.linalg.inv(block.noise) * np.outer(root, root)
    matrix, vector = data.weighted(w)
    assert matrix == pytest.approx(block.A.T @ scaled @ block.A)
    assert vector == pytest.approx(block.A.T @ scaled @ block.value)
    data.settle(w)
    data.discount(0.3)
    assert data.weighted(7.0 * w)[0] == pytest.approx(0.3 * matrix)
    assert data.weighted(7.0 * w)[1] == pytest.approx(0.3 * vector)


def test_a_random_step_adds_its_covariance_and_leaves_the_mean():
    rng, data, block = some_information(size=3)
    w, step = np.array([1.0, 0.5, 3.0]), rng.normal(size=(3, 2))
    data.add(block, np.ones(5))
    before, vector = data.weighted(w)
    data.admit_change(step, w)
    after, moved = data.weighted(w)
    assert np.linalg.inv(after) == pytest.approx(np.linalg.inv(before) + step @ step.T)
    assert np.linalg.solve(after, moved) == pytest.approx(np.linalg.solve(before, vector))


def test_information_stays_positive_where_a_step_leaves_little_of_it():
    rng, data, block = some_information(size=20)
    data.add(replace(block, A=block.A * np.geomspace(1e6, 1.0, 20)), np.ones(5))
    data.admit_change(rng.normal(size=(20, 10)) * np.geomspace(1.0, 0.05, 10), np.ones(3))
    eigenvalues = np.linalg.eigvalsh(data.weighted(np.ones(3))[0])
    assert eigenvalues[0] > -1e-9 * max(eigenvalues[-1], 1.0)


def test_the_prior_is_stated_of_mass_and_centre_of_mass():
    scene, prior = ArmScene(), PriorConfig(mass=0.3, com=0.02, radii=0.2)
    unknowns = Unknowns(scene.bodies, prior)
    covariances = Posterior(unknowns.at(unknowns.nominal), unknowns.prior_covariance).body_covariances
    for body, covariance in zip(scene.bodies, covariances, strict=True):
        D = central_jacobian((body.to_link @ body.nominal_C)[None])[0] @ body.to_link
        sigma = np.sqrt((D @ covariance @ D.T).diagonal())
        assert sigma[0] == pytest.approx(0.3 * body.nominal_J.mass)
        assert sigma[1:4] == pytest.approx(np.full(3, 0.02))


@pytest.mark.parametrize("share", [0.1, 10.0])
def test_a_body_that_may_carry_a_load_is_not_tens_of_loads_heavy(share):
    body = ArmScene(links=("panda_link7",)).bodies[0]
    load = share * body.nominal_J.mass
    unknowns = Unknowns((body,), PriorConfig(mass=0.2), loads=(load,))
    nothing, start = np.zeros((10, 10)), unknowns.at(unknowns.nominal)
    without = most_probable(unknowns, (nothing, np.zeros(10)), start)
    assert without.x == pytest.approx(unknowns.nominal)
    assert np.allclose(without.P, unknowns.prior_covariance)
    expected = np.hypot(0.2 * body.nominal_J.mass, load)
    measured, sigma = body.nominal_J.mass + 30.0 * expected, 8.0 * expected
    data = nothing.copy()
    data[0, 0] = sigma**-2
    for _ in range(20):
        start = most_probable(unknowns, (data, data[0] * measured), start).at
    assert 0.0 < start.pi_C[0, 0] - body.nominal_J.mass < 3.0 * expected


def test_a_state_is_bounded_and_approached_in_steps():
    unknowns = ArmScene(links=("panda_link7",)).unknowns()
    start = unknowns.at(unknowns.nominal)
    data = 1e8 * np.eye(10), 1e8 * unknowns.at(unknowns.nominal + 2.4).phi
    found = most_probable(unknowns, data, start)
    moved = np.abs(found.x - unknowns.nominal).max()
    assert 1 < found.steps <= MOST_STEPS
    assert LARGEST_STEP < moved <= found.steps * LARGEST_STEP * (1.0 + 1e-9)
    for sign in (-1.0, 1.0):
        far = unknowns.bounded(unknowns.nominal + sign * 1e3) - unknowns.nominal
        assert sign * far == pytest.approx(LARGEST_DEVIATION)


def test_an_expected_body_stays_where_it_is_without_data():
    scene = ArmScene()
    scene.add_payload(1, *PAYLOAD)
    filter_ = learned(scene, [scene.block()[0] for _ in range(80)])
    informed = informed_part(filter_.unknowns, filter_.posterior, filter_.centre.x)
    filter_.expect(1)
    filter_.data.discount(0.0)
    for _ in range(20):
        filter_.solve()
    expected = np.concatenate((filter_.unknowns.nominal[:10], informed.x[10:]))
    assert filter_.posterior.x == pytest.approx(expected, abs=1e-3)
    assert informed.directions == np.count_nonzero(informed.information > 3.0) > 3


def test_a_prediction_is_as_uncertain_as_the_state_and_what_fails_is_not_learned(monkeypatch):
    scene = ArmScene()
    filter_ = learned(scene, [scene.block()[0] for _ in range(10)])
    block, before = scene.block()[0], filter_.data.matrices.copy()
    H = block.A @ filter_.posterior.at.D
    assert filter_.predicted_variance(block) == pytest.approx((H @ filter_.posterior.P @ H.T).diagonal())

    def fails():
        raise NumericalError("not positive definite")

    monkeypatch.setattr(filter_, "solve", fails)
    with pytest.raises(NumericalError):
        filter_.learn(block)
    assert filter_.data.matrices == pytest.approx(before)
