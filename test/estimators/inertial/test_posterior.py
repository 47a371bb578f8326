"""Moving a posterior to another linearisation, with several bodies and friction; Newton's step on it."""

import numpy as np
import pytest
from support.inertial_scenes import ArmScene

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial import linearisation
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.models.dynamics_measurement import LinearEquation


def test_the_inverse_is_exactly_symmetric_and_what_is_indefinite_is_refused():
    root = np.random.default_rng(0).normal(size=(6, 6))
    S = root @ root.T + np.eye(6)
    found = linearisation.inverse(S)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found @ S, np.eye(6), atol=1e-12)
    right = np.arange(12.0).reshape(6, 2)
    factor = linearisation.cholesky(np.array(S))
    np.testing.assert_allclose(S @ linearisation.solve(factor, right), right, atol=1e-11)
    with pytest.raises(MeasurementError, match="not positive definite"):
        linearisation.inverse(S - 100.0 * np.eye(6))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_newtons_step_counts_the_curvature_of_each_body_and_goes_downhill(sign):
    """Where the second derivative is not positive its size counts; friction has none."""
    rng, n = np.random.default_rng(2), 22
    root = rng.normal(size=(n, n))
    hessian, gradient, x = 0.01 * root @ root.T + np.eye(n), rng.normal(size=n), rng.normal(size=n)
    V = np.linalg.qr(rng.normal(size=(2, 10, 10)))[0]
    sizes = rng.uniform(50.0, 100.0, (2, 1, 10))
    curvature = sign * (V * sizes) @ V.transpose(0, 2, 1)
    at = linearisation.BodyLinearisation(
        x, np.zeros((2, 10)), np.zeros((2, 10, 10)), x, np.zeros((2, 10, 10))
    )
    posterior = linearisation.Posterior(at, x, np.eye(n), gradient, hessian, np.zeros((2, 10)))
    step = posterior.newton_point(curvature) - x
    full = hessian.copy()
    for body in range(2):
        block = slice(10 * body, 10 * body + 10)
        full[block, block] += sign * curvature[body]
    np.testing.assert_allclose(full @ step, -gradient, atol=1e-9)
    assert gradient @ step < 0.0


def test_two_bodies_with_friction_change_their_masses_many_times():
    """A filter that relinearises body by body, with friction states, has the mean of a batch of all data."""
    scene = ArmScene(sigma_torque=0.05)
    friction = np.array([0.5, -1.0])
    scene.add_payload(0, 8.0, (0.0, 0.05, 0.02))
    scene.add_payload(1, 12.0, (0.03, 0.0, 0.1))
    prior = PriorSigma(mass=1.0, com=0.1, radii=0.5, friction=np.array([1.0, 2.0]))
    filter_ = LogCholeskyEkf(scene.bodies, prior, scene.gate(enabled=False), 1e9)
    rng = np.random.default_rng(1)
    for _ in range(100):
        bare = scene.equation()
        F = rng.normal(size=(len(bare.value), 2))
        value = bare.value + F @ friction
        filter_.update(LinearEquation(np.hstack((bare.regressor, F)), value, bare.noise, value), 0.003)
    np.testing.assert_allclose(filter_.friction, friction, atol=0.02)
    assert filter_.body_parameters()[0][1, 0] == pytest.approx(scene.truth[1][0], rel=0.01)
    probe = scene.equation(noisy=False)
    with_friction = LinearEquation(
        np.hstack((probe.regressor, np.zeros((len(probe.value), 2)))), probe.value, probe.noise, probe.value
    )
    np.testing.assert_allclose(filter_.predict(with_friction), probe.value, atol=0.5)
