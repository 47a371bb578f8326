"""Hand-over: no faster than stated, consistent on the way; draws of a posterior: consistent, as it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inertial_estimation as ie
from inertial_estimation.models.estimated_model import (
    LogCholeskyPosterior,
    TruncatedPosterior,
    posterior_from_values,
)
from inertial_estimation.models.hand_over import HandOver
from inertial_estimation.spatial.inertial_parameters import parameters_from_pseudo_inertia, pseudo_inertia
from inertial_estimation.spatial.log_cholesky import (
    log_cholesky_from_parameters,
    parameters_and_jacobian,
    parameters_from_log_cholesky,
)


class OneBody(HandOver):
    """Hand-over of a single body, parameters of shape (10,), at a rate of 3 kg/s."""

    def __init__(self, nominal):
        super().__init__(nominal[None])

    def advance(self, target, dt):
        return super().advance(target[None], 3.0 * dt)[0]


def body(seed):
    return parameters_from_log_cholesky(np.random.default_rng(seed).normal(0, 0.5, 10))


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(max_examples=40)
def test_every_published_value_is_possible_and_the_rate_is_kept(a, b):
    hand_over = OneBody(body(a))
    target, before = body(b), body(a)
    most = np.abs(pseudo_inertia(target - before)).max() / (3.0 * 0.01)  # mass and moments at the full rate
    for _ in range(int(most) + 2):
        published = hand_over.advance(target, 0.01)
        assert np.linalg.eigvalsh(pseudo_inertia(published)).min() > 0.0
        assert abs(published[0] - before[0]) <= 3.0 * 0.01 * (1 + 1e-9)
        before = published
        if np.array_equal(published, target):
            break
    assert np.allclose(published, target)


def moment_steps(nominal, target, dt=0.001):
    """Time to arrive [s], and the share of the way made in the first step."""
    hand_over = OneBody(nominal)
    first = np.linalg.norm(hand_over.advance(target, dt) - nominal) / np.linalg.norm(target - nominal)
    steps = 1
    while not np.allclose(hand_over.published, target, rtol=0.0, atol=1e-12):
        hand_over.advance(target, dt)
        steps += 1
    return steps * dt, first


MASS = 2.0
BALL = np.array([MASS, 0, 0, 0, *(MASS * np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]))])  # about its centre


@pytest.mark.parametrize(
    ("index", "change", "arrival", "first"),
    [
        (2, 1.2, 1.2 / 3.0, 3.0 * 0.001 / 1.2),  # first moment: as the mass at the gyration radius
        (1, 2.5, None, 3.0 * 0.001 / MASS),  # moments count at most as the mass of the body
        (1, 40.0, None, 3.0 * 0.001 / MASS),
        (0, 10.0, 10.0 / 3.0, 3.0 * 0.001 / 10.0),  # a mass is limited also where the body is lighter
    ],
)
def test_a_change_is_handed_over_at_the_rate_of_the_mass_that_it_counts_as(index, change, arrival, first):
    found_arrival, found_first = moment_steps(BALL, BALL + change * np.eye(10)[index])
    assert found_first == pytest.approx(first)
    assert arrival is None or found_arrival == pytest.approx(arrival, abs=0.002)


def test_each_of_several_bodies_moves_as_it_would_alone():
    nominal, target = (np.array([body(seed + k) for k in range(3)]) for seed in (1, 7))
    together = HandOver(nominal).advance(target, 0.03)
    alone = [OneBody(start).advance(end, 0.01) for start, end in zip(nominal, target, strict=True)]
    assert np.allclose(together, alone, rtol=1e-14, atol=0.0)


UNITS = np.eye(10)[None]


def random_body(rng, mass=2.0):
    """A random consistent body, in units of its size."""
    A = rng.normal(size=(3, 3))
    J = np.zeros((4, 4))
    J[:3, :3] = mass * (A @ A.T / 3.0 + 0.2 * np.eye(3))
    J[3, 3] = mass
    return parameters_from_pseudo_inertia(J)


def covariance(rng, size, scale):
    A = rng.normal(size=(size, size)) / np.sqrt(size)
    return scale**2 * (A @ A.T + 0.1 * np.eye(size))


def test_small_deviations_of_coordinates_have_the_covariance_that_the_filter_reports():
    rng = np.random.default_rng(0)
    pi = np.array([random_body(rng), random_body(rng, 0.4)])
    P, theta = covariance(rng, 20, 0.003), np.array([log_cholesky_from_parameters(one) for one in pi])
    X = np.array([np.eye(10), np.diag(rng.uniform(0.5, 2.0, 10))])
    posterior = LogCholeskyPosterior(theta, P, X, "rucker")
    drawn = posterior.draw(20_000, rng).reshape(-1, 20)
    _pi, G = parameters_and_jacobian(theta)
    slope = np.zeros((20, 20))
    for i in range(2):
        slope[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = X[i] @ G[i]
    expected = slope @ P @ slope.T
    scale = np.sqrt(np.diag(expected))
    assert np.abs(drawn.mean(axis=0) - np.einsum("nij,nj->ni", X, pi).ravel()).max() < 0.05 * scale.max()
    assert np.abs(np.cov(drawn.T) - expected).max() < 0.05 * (scale**2).max()


@pytest.mark.monte_carlo
def test_the_walk_finds_the_distribution_that_rejection_finds():
    """A body so uncertain that four of five draws of the normal distribution are impossible bodies."""
    rng = np.random.default_rng(3)
    mean, factor = random_body(rng), 0.6 * rng.normal(size=(10, 10)) / np.sqrt(10.0)
    plain = mean + rng.standard_normal((40_000, 10)) @ factor.T
    possible = plain[np.linalg.eigvalsh(pseudo_inertia(plain)).min(axis=1) > 0.0]
    assert len(possible) < 0.5 * len(plain)
    drawn = TruncatedPosterior(mean[None], factor, np.zeros(10)).draw(250, rng)[:, 0]
    sigma = possible.std(axis=0)
    assert np.abs(drawn.mean(axis=0) - possible.mean(axis=0)).max() < 0.25 * sigma.max()
    np.testing.assert_allclose(drawn.std(axis=0), sigma, rtol=0.25)
    truncated = np.abs(plain.mean(axis=0) - possible.mean(axis=0)) / sigma
    assert truncated.max() > 0.3, "the truncation makes a difference that the walk has to find"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_every_draw_is_consistent_however_large_the_uncertainty(scale):
    rng = np.random.default_rng(5)
    mean = np.array([random_body(rng), random_body(rng)])
    factor = scale * rng.normal(size=(20, 7))
    for robot in TruncatedPosterior(mean, factor, np.zeros(7)).draw(20, rng):
        assert not any(ie.InertialParameters.from_vector(pi).violations() for pi in robot)


def test_a_posterior_is_read_as_it_was_written():
    rng = np.random.default_rng(1)
    theta = log_cholesky_from_parameters(random_body(rng))[None]
    for posterior in (
        TruncatedPosterior(random_body(rng)[None], 0.01 * rng.normal(size=(10, 3)), np.zeros(3)),
        LogCholeskyPosterior(theta, covariance(rng, 10, 0.1), UNITS, "foster"),
    ):
        again = posterior_from_values(posterior.values())
        draws = [one.draw(3, np.random.default_rng(7)) for one in (posterior, again)]
        np.testing.assert_array_equal(*draws)
    for name, said in (("kind", "of the kind 'x'"), ("convention", "no convention 'x'")):
        with pytest.raises(ie.ConfigurationError, match=said):
            posterior_from_values({**posterior.values(), name: "x"})
