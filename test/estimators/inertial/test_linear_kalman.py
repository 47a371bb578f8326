"""The linear filter equals batch least squares with a prior, and knows no consistency."""

import numpy as np
from support.inertial_scenes import MEMORY, PRIOR, ArmScene

from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.spatial.inertial_parameters import InertialParameters


def test_equals_the_information_form():
    scene = ArmScene()
    scene.add_payload(1, 2.0, (0.0, 0.0, 0.1))
    filter_ = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)
    to_joint = np.zeros((20, 20))
    for i, body in enumerate(scene.bodies):
        to_joint[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = body.to_joint
    information = np.linalg.inv(filter_.P)
    vector = information @ filter_.x
    for _ in range(40):
        equation = scene.equation()
        filter_.update(equation, 0.0)
        H = equation.regressor @ to_joint
        information = information + H.T @ np.linalg.solve(equation.noise, H)
        vector = vector + H.T @ np.linalg.solve(equation.noise, equation.value)
    assert np.allclose(filter_.x, np.linalg.solve(information, vector), atol=1e-7)
    assert np.allclose(filter_.P, np.linalg.inv(information), atol=1e-9)


def test_without_noise_excited_parameters_become_exact():
    scene = ArmScene(sigma_torque=1e-6)
    scene.add_payload(0, 1.0, (0.0, 0.05, 0.02))
    scene.add_payload(1, 2.0, (0.03, 0.0, 0.1))
    filter_ = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)
    for _ in range(150):
        filter_.update(scene.equation(noisy=False), 0.003)
    equation = scene.equation(noisy=False)
    assert np.allclose(filter_.predict(equation), equation.value, rtol=1e-6, atol=1e-6)
    assert np.isclose(filter_.body_parameters()[0][1, 0], scene.truth[1][0], rtol=1e-6)


def test_nis_is_that_of_the_innovation_and_its_covariance():
    scene = ArmScene()
    filter_ = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)
    equation = scene.equation()
    to_joint = np.column_stack(
        [
            equation.regressor[:, :10] @ scene.bodies[0].to_joint,
            equation.regressor[:, 10:] @ scene.bodies[1].to_joint,
        ]
    )
    S = to_joint @ filter_.P @ to_joint.T + equation.noise
    update = filter_.update(equation, 0.0)
    assert np.isclose(update.nis, update.innovation @ np.linalg.inv(S) @ update.innovation)


def test_gives_impossible_bodies_where_the_consistent_filter_does_not():
    scene = ArmScene(sigma_torque=2.0, seed=4)
    filter_ = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)
    impossible = 0
    for _ in range(100):
        filter_.update(scene.equation(), 0.003)
        pi_C, _covariance = filter_.body_parameters()
        impossible += any(InertialParameters.from_vector(pi).violations() for pi in pi_C)
    assert impossible > 0


def test_noise_shared_by_overlapping_windows_is_counted_once():
    """The same equation ten times with an overlap of ten informs like that equation once."""
    scene = ArmScene()
    equation = scene.equation()
    once = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)
    tenfold = LinearKalman(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY, 10.0)
    once.update(equation, 0.0)
    for _ in range(10):
        tenfold.update(equation, 0.0)
    assert np.allclose(tenfold.P, once.P, rtol=1e-6, atol=1e-9)
    assert np.allclose(tenfold.x, once.x, rtol=1e-6, atol=1e-9)
