"""The filter in log-Cholesky coordinates: exact without noise, consistent always, steady without data."""

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.estimators.inertial.information import informed_directions, relative_information
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Decision
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia

both = pytest.mark.parametrize("convention", ["rucker", "foster"])


def ekf(scene, convention="rucker", *, gate=False, memory=MEMORY, overlap=1.0):
    return LogCholeskyEkf(scene.bodies, PRIOR, scene.gate(enabled=gate), memory, overlap, convention)


def relative_torque_error(scene, filter_, n=20):
    predicted, true = [], []
    for _ in range(n):
        equation = scene.equation(noisy=False)
        predicted.append(filter_.predict(equation))
        true.append(equation.value)
    return np.linalg.norm(np.array(predicted) - true) / np.linalg.norm(true)


@pytest.mark.parametrize(("convention", "bound"), [("rucker", 1e-6), ("foster", 3e-3)])
def test_without_noise_excited_parameters_become_exact(convention, bound):
    scene = ArmScene(sigma_torque=1e-4)
    scene.add_payload(0, 1.0, (0.0, 0.05, 0.02))
    scene.add_payload(1, 2.0, (0.03, 0.0, 0.1))
    filter_ = ekf(scene, convention)
    assert relative_torque_error(scene, filter_) > 0.05
    for _ in range(400):
        filter_.update(scene.equation(noisy=False), 0.003)
    assert relative_torque_error(scene, filter_) < bound
    pi_C, _covariance = filter_.body_parameters()
    assert pi_C[1, 0] == pytest.approx(scene.truth[1][0], rel=bound)  # the last link's mass is excited


@both
@pytest.mark.parametrize("payload", [0.5, 5.44, 30.0])
def test_a_large_payload_is_found_without_explosion(convention, payload):
    scene = ArmScene(links=("panda_link7",))
    scene.add_payload(0, payload, (0.0, 0.0, 0.1))
    filter_ = ekf(scene, convention)
    masses = []
    for _ in range(60):
        filter_.update(scene.equation(), 0.003)
        masses.append(filter_.body_parameters()[0][0, 0])
    assert max(masses) < 1.5 * scene.truth[0][0]
    assert masses[-1] == pytest.approx(scene.truth[0][0], rel=0.02)


@both
def test_every_estimate_is_possible_even_from_nonsense(convention):
    scene = ArmScene()
    filter_ = ekf(scene, convention)
    for k in range(200):
        bare = scene.equation()
        nonsense = LinearEquation(bare.regressor, -3.0 * bare.value, bare.noise, bare.value)
        filter_.update(nonsense if k % 2 else bare, 0.003)
        for pi in filter_.body_parameters()[0]:
            assert np.isfinite(pi).all()
            assert np.linalg.eigvalsh(pseudo_inertia(pi)).min() > 0.0
            assert not InertialParameters.from_vector(pi).violations()


def test_what_is_not_excited_stays_at_nominal_within_its_prior():
    """The same resting pose for 100 000 updates: no drift, no growth of the covariance."""
    scene = ArmScene(links=("panda_link1",))  # turns about the vertical: only Izz matters, and not at rest
    filter_ = ekf(scene, memory=1000.0)
    equation = scene.equation(state=scene.state(still=True))
    x0, P0 = filter_.x.copy(), filter_.P.copy()
    for _ in range(2000):
        filter_.update(equation, 0.15)
    assert np.allclose(filter_.x, x0, atol=1e-6)
    assert np.allclose(filter_.P, P0, atol=1e-9)
    assert informed_directions(relative_information(filter_.P, filter_.prior_factor)) == 0


def test_without_information_the_state_returns_to_nominal_and_the_covariance_to_the_prior():
    scene = ArmScene()
    filter_ = ekf(scene, memory=10.0)
    nominal, prior = filter_.x.copy(), filter_.P.copy()
    for _ in range(50):
        filter_.update(scene.equation(), 0.003)
    filter_.propagate(200.0)
    assert np.allclose(filter_.x, nominal, atol=1e-6)
    assert np.allclose(filter_.P, prior, atol=1e-6)


def test_information_counts_the_directions_that_one_equation_informs():
    scene = ArmScene(links=("panda_link7",), sigma_torque=1e-4)
    filter_ = ekf(scene)
    assert np.allclose(relative_information(filter_.P, filter_.prior_factor), 0.0, atol=1e-9)
    equation = scene.equation()
    filter_.update(equation, 0.003)
    eigenvalues = relative_information(filter_.P, filter_.prior_factor)
    assert np.all(np.diff(eigenvalues) >= 0)
    assert informed_directions(eigenvalues) == np.linalg.matrix_rank(equation.regressor, tol=1e-6)


def test_frozen_parameters_only_report_the_residual():
    scene = ArmScene()
    filter_ = ekf(scene)
    for _ in range(20):
        filter_.update(scene.equation(), 0.003)
    x, P = filter_.x.copy(), filter_.P.copy()
    equation = scene.equation()
    update = filter_.update(equation, 0.003, learn=False)
    assert np.array_equal(filter_.x, x)
    assert np.array_equal(filter_.P, P)
    assert not update.accepted
    assert update.decision is Decision.DISABLED
    assert np.allclose(update.innovation, equation.value - filter_.predict(equation))


def test_covariance_stays_symmetric_and_positive():
    scene = ArmScene(sigma_torque=1e-5)
    filter_ = ekf(scene)
    for _ in range(500):
        filter_.update(scene.equation(), 0.003)
    assert np.array_equal(filter_.P, filter_.P.T)
    assert np.linalg.eigvalsh(filter_.P).min() > 0.0


def test_mistakes_are_named():
    scene = ArmScene()
    with pytest.raises(ConfigurationError, match="'cholesky'; there are rucker, foster"):
        ekf(scene, "cholesky")
    bad = scene.equation()
    with pytest.raises(MeasurementError, match="beyond any sensor's range"):
        ekf(scene).update(LinearEquation(bad.regressor, bad.value * np.inf, bad.noise, bad.value), 0.1)


def test_measurements_are_taken_to_be_independent_unless_said_otherwise():
    scene = ArmScene()
    equation, gate = scene.equation(), scene.gate(enabled=False)
    filters = [
        LogCholeskyEkf(scene.bodies, PRIOR, gate, MEMORY, *overlap) for overlap in ((), (1.0,), (2.0,))
    ]
    for filter_ in filters:
        filter_.update(equation, 0.0)
    np.testing.assert_array_equal(filters[0].P, filters[1].P)
    assert np.trace(filters[2].P) > np.trace(filters[0].P)
