"""Foster's random walk is the textbook's filter; weights of rows are information."""

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.posterior_linearisation import CurvedPosterior
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.estimators.inertial.process_config import ProcessConfig
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import RowSelection

CAD = PriorSigma(mass=0.2, com=0.02, radii=0.1, friction=np.zeros(0))
WALK = ProcessConfig(model="random_walk").walk(0)
DT = 0.004


@pytest.fixture(scope="module")
def scene():
    return ArmScene(links=("panda_link7",))


def walking(scene, kind, walk=WALK):
    return kind(scene.bodies, CAD, scene.gate(enabled=False), MEMORY, walk=walk)


def test_a_random_walk_is_the_extended_kalman_filter_of_the_textbook(scene):
    """x stays, P grows by Q, the measurement is linearised at the present state (Foster 10-11, 20)."""
    scene.rng = np.random.default_rng(0)
    scene.add_payload(0, 0.5, (0.0, 0.02, 0.05))
    filter_ = walking(scene, LogCholeskyEkf)
    x, P = filter_.x.copy(), filter_.P.copy()
    Q = walking(scene, LogCholeskyEkf)._Q
    assert pytest.approx(filter_._P_prior * np.outer(*2 * [np.sqrt(np.diag(Q) / np.diag(P))])) == Q
    for _ in range(30):
        equation = scene.equation()
        filter_.update(equation, DT)
        pi, G = filter_._body_map(x[None])
        A = equation.regressor @ scene.bodies[0].to_joint
        H, P = A @ G[0], P + DT * Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + equation.noise)
        x, P = x + K @ (equation.value - A @ pi[0]), P - K @ H @ P
    np.testing.assert_allclose(filter_.x, x, atol=1e-9)
    np.testing.assert_allclose(filter_.P, P, atol=1e-9 * P.max())
    assert filter_.masses_of(filter_.x)[0] == pytest.approx(scene.truth[0][0], rel=0.1)


def test_without_data_a_random_walk_loses_what_it_knew_and_keeps_its_estimate(scene):
    filter_ = walking(scene, LogCholeskyEkf)
    before = filter_.P.copy()
    for _ in range(100):
        filter_.propagate(0.1)
    np.testing.assert_array_equal(filter_.x, filter_._x_nominal)
    np.testing.assert_allclose(filter_.P, before + 10.0 * filter_._Q, rtol=1e-12)
    report = CurvedPosterior(filter_, 0.1)
    report.update(filter_.state, 0)
    np.testing.assert_array_equal(report.parameters_of(filter_.state)[1], filter_.body_parameters()[1])


def measurement(scene, weights):
    noise = MeasurementNoise(torque=0.3, joint_acceleration=0.5)
    return DynamicsMeasurement(scene.robot, scene.bodies, RowSelection(), noise, row_weights=weights)


def test_a_weight_multiplies_the_information_of_its_rows(scene):
    state = scene.state()
    plain = measurement(scene, ()).equation(state).noise
    weighted = measurement(scene, ("*=4", "panda_joint2=9")).equation(state)
    scale = np.array([2.0, 3.0] + 5 * [2.0])
    np.testing.assert_allclose(weighted.noise * np.outer(scale, scale), plain, rtol=1e-12)
    again = measurement(scene, ("panda_joint2=9",)).restated(weighted).noise
    ones = np.array([1.0, 3.0] + 5 * [1.0])
    np.testing.assert_allclose(again * np.outer(ones, ones), plain, rtol=1e-12)


@pytest.mark.parametrize("entry", ["panda_joint9=1", "panda_joint1", "panda_joint1=-1", "panda_joint1=much"])
def test_a_weight_of_no_row_or_of_no_value_is_refused(scene, entry):
    with pytest.raises(ConfigurationError, match=r"row_weights: .*, expected|no row .* the measurement has"):
        measurement(scene, (entry,))
