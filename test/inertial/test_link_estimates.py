"""What is reported of a link: about its centre of mass, with a covariance that fits."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.inertial.comparison_filters import LogCholeskyEkf
from inertial_estimation.inertial.link_estimates import (
    BodyEstimates,
    LinkEstimates,
    PublishedLinks,
    central_jacobian,
    central_parameters,
    estimate_defect,
    parameter_covariance,
)
from inertial_estimation.models.hand_over import central_row, published_defect
from inertial_estimation.signals import Decision, InertialEstimate, LinkInertia
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky

UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


def reported(bodies, pi_C, covariance_C):
    links = PublishedLinks(bodies, covariance_C)
    links.set_estimated(bodies)
    at, nothing = SimpleNamespace(pi_C=pi_C), np.zeros_like(covariance_C)
    posterior = SimpleNamespace(at=at, body_covariances=covariance_C, considered_covariances=nothing)
    links.take(posterior)
    return links.advance()


def central(pi):
    values = central_parameters(pi[None])[0]
    return values[0], values[1:4], values[4:].reshape(3, 3)


def central_vector(pi):
    mass, com, inertia = central(pi)
    return np.concatenate(([mass], com, inertia[UPPER]))


def test_central_parameters_are_pinocchios_and_their_jacobian_the_central_difference():
    h = 1e-6
    for seed in range(10):
        pin.seed(seed)
        body = pin.Inertia.Random()
        pi = body.toDynamicParameters()
        for found, expected in zip(central(pi), (body.mass, body.lever, body.inertia), strict=True):
            assert np.allclose(found, expected)
        pi[0] += 0.5
        D = central_jacobian(pi[None])[0]
        for k in range(10):
            step = h * np.eye(10)[k]
            difference = (central_vector(pi + step) - central_vector(pi - step)) / (2 * h)
            assert np.allclose(D[:, k], difference, atol=1e-7)


def test_payload_is_the_difference_to_nominal_and_covariance_that_of_samples():
    scene = ArmScene(links=("panda_link7",))
    body = scene.bodies[0]
    scene.add_payload(0, 2.0, (0.0, 0.0, 0.1))
    sigma = 1e-4 * np.eye(10)
    truth = scene.truth[0][None]
    link = reported(scene.bodies, truth, sigma[None] ** 2)[0]
    assert np.isclose(link.payload.mass, 2.0)
    assert np.allclose(link.payload.com_L, [0.0, 0.0, 0.1])
    assert np.allclose(link.payload.inertia_Lcm, 2.0 * 0.4 * 0.05**2 * np.eye(3))
    assert np.isclose(link.estimate.mass, link.published.mass + 2.0)
    draws = truth + scene.rng.normal(0.0, 1e-4, (20000, 10))
    sample = np.cov(np.array([central_vector(body.to_link @ pi) for pi in draws]).T)
    scale = np.sqrt(np.outer(np.diag(link.covariance), np.diag(link.covariance)))
    assert np.abs((sample - link.covariance) / scale).max() < 0.05


@pytest.mark.parametrize("convention", ["rucker", "foster"])
def test_parameter_covariance_is_that_of_bodies_drawn_from_the_filters_state(convention):
    """Monte Carlo through the log-Cholesky map itself; the filter has learned for a while.

    Draws from a hundredth of P: Foster's coordinates of this body are correlated so strongly that at the
    full P the second order of the map adds 30 % to the variance of the mass, which no Jacobian knows.
    """
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, 1.0, (0.02, 0.0, 0.1))
    body = scene.bodies[0]
    ekf = LogCholeskyEkf(scene.unknowns(convention), memory=MEMORY, gated=False)
    for _ in range(2000):
        ekf.update(scene.block(dt=0.01)[0])
    pi_C, P = ekf.posterior.at.pi_C, ekf.posterior.P
    covariance_C = ekf.posterior.body_covariances
    (link,) = reported(scene.bodies, pi_C, covariance_C)
    draws = scene.rng.multivariate_normal(ekf.posterior.x, 1e-2 * P, size=40000)
    bodies_L = parameters_from_log_cholesky(draws, convention) @ body.to_link.T
    sample = 1e2 * np.cov(bodies_L.T)
    covariance = parameter_covariance(link)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((sample - covariance) / scale).max() < 0.05
    correlation = covariance / scale - np.eye(10)
    assert np.abs(correlation).max() > 0.3, "a diagonal matrix would pass a test of the variances"


BALL = np.array([[2.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.02, 0.0, 0.0, 0.02]])
BODY = LinkInertia("hand", 2.0, np.zeros(3), np.diag([0.01, 0.02, 0.02]))


def estimate(published=BALL):
    one, nothing = np.eye(10)[None], np.zeros((1, 10, 10))
    bodies = BodyEstimates(("hand",), one, BALL, BALL, one, nothing)
    links, zero = LinkEstimates(bodies, published), np.zeros(2)
    return InertialEstimate(0, links, ("a", "b"), zero, 1.0, 9.0, True, Decision.ACCEPTED, zero, 0)


@pytest.mark.parametrize(
    ("published", "named"),
    [
        ({}, "^$"),
        ({"mass": np.nan}, "not finite"),
        ({"mass": -1.0}, "no real body"),
        ({"inertia_Lcm": np.diag([0.01, 0.01, 0.03])}, "no real body"),
    ],
)
def test_an_impossible_body_is_named_and_a_real_one_has_no_defect(published, named):
    assert re.search(named, published_defect([BODY.link], central_row(replace(BODY, **published))[None]))


def test_what_qualifies_an_estimate_must_be_finite():
    assert estimate_defect(estimate()) == ""
    assert "no real body" in estimate_defect(estimate(-BALL))
    assert "innovation" in estimate_defect(replace(estimate(), nis=np.inf))
    assert "information" in estimate_defect(replace(estimate(), information_eigenvalues=np.array([np.nan])))
    assert "friction" in estimate_defect(replace(estimate(), friction={"knee/coulomb": np.nan}))
