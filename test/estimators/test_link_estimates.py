"""What is reported of a link: about its centre of mass, with a covariance that fits."""

import numpy as np
import pinocchio as pin
from inertial_scenes import ArmScene

from inertial_estimation.estimators.link_estimates import (
    LinkReport,
    central_jacobian,
    central_parameters,
)

UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


def central_vector(pi):
    mass, com, inertia = central_parameters(pi[None])
    return np.concatenate((mass, com[0], inertia[0][UPPER]))


def test_central_parameters_are_pinocchios():
    for seed in range(10):
        pin.seed(seed)
        body = pin.Inertia.Random()
        mass, com, inertia = central_parameters(body.toDynamicParameters()[None])
        assert np.isclose(mass[0], body.mass)
        assert np.allclose(com[0], body.lever)
        assert np.allclose(inertia[0], body.inertia)


def test_jacobian_is_the_central_difference():
    h = 1e-6
    for seed in range(10):
        pin.seed(seed)
        pi = pin.Inertia.Random().toDynamicParameters()
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
    link = LinkReport(scene.bodies).estimates(truth, sigma[None] ** 2, body.nominal_C[None])[0]
    assert np.isclose(link.payload.mass, 2.0)
    assert np.allclose(link.payload.com_L, [0.0, 0.0, 0.1])
    assert np.allclose(link.payload.inertia_Lcm, 2.0 * 0.4 * 0.05**2 * np.eye(3))
    assert np.isclose(link.estimate.mass, link.published.mass + 2.0)
    draws = truth + scene.rng.normal(0.0, 1e-4, (20000, 10))
    sample = np.cov(np.array([central_vector(body.to_link @ pi) for pi in draws]).T)
    scale = np.sqrt(np.outer(np.diag(link.covariance), np.diag(link.covariance)))
    assert np.abs((sample - link.covariance) / scale).max() < 0.05
