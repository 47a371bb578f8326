"""Draws from what is known of bodies: consistent all of them, and distributed as the posterior says."""

import numpy as np
import pytest

from inertial_estimation.models.estimated_model import (
    LogCholeskyPosterior,
    TruncatedPosterior,
    posterior_from_values,
)
from inertial_estimation.spatial.inertial_parameters import (
    InertialParameters,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
)
from inertial_estimation.spatial.log_cholesky import log_cholesky_from_parameters, parameters_and_jacobian

UNITS = np.eye(10)[None]


def body(rng, mass=2.0):
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
    pi = np.array([body(rng), body(rng, 0.4)])
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
    assert np.abs(np.cov(drawn.T) - expected / 1.0).max() < 0.05 * (scale**2).max()


def test_the_walk_finds_the_distribution_that_rejection_finds():
    """A body so uncertain that four of five draws of the normal distribution are impossible bodies."""
    rng = np.random.default_rng(3)
    mean, factor = body(rng), 0.6 * rng.normal(size=(10, 10)) / np.sqrt(10.0)
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
    mean = np.array([body(rng), body(rng)])
    factor = scale * rng.normal(size=(20, 7))
    for robot in TruncatedPosterior(mean, factor, np.zeros(7)).draw(20, rng):
        assert not any(InertialParameters.from_vector(pi).violations() for pi in robot)


def test_a_posterior_is_read_as_it_was_written():
    rng = np.random.default_rng(1)
    theta = log_cholesky_from_parameters(body(rng))[None]
    for posterior in (
        LogCholeskyPosterior(theta, covariance(rng, 10, 0.1), UNITS, "foster"),
        TruncatedPosterior(body(rng)[None], 0.01 * rng.normal(size=(10, 3)), np.zeros(3)),
    ):
        again = posterior_from_values(posterior.values())
        draws = [one.draw(3, np.random.default_rng(7)) for one in (posterior, again)]
        np.testing.assert_array_equal(*draws)
