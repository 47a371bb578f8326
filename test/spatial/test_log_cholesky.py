"""Log-Cholesky coordinates: always consistent, one to one, Jacobians right; Pinocchio as oracle."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import inertial_estimation as ie
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES, pseudo_inertia
from inertial_estimation.spatial.log_cholesky import (
    CONVENTIONS,
    log_cholesky_from_parameters,
    parameters_and_jacobian,
    parameters_from_log_cholesky,
)

coordinates = arrays(float, 10, elements=st.floats(-2.0, 2.0))
FOSTER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
FOSTER_ORDER = [PARAMETER_NAMES.index(name) for name in FOSTER_NAMES]  # pi in the order of the paper
PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 6, 5, 7, 8, 9]  # its shears are s12, s23, s13
both = pytest.mark.parametrize("convention", CONVENTIONS)


@both
@given(theta=coordinates)
@settings(max_examples=100)
def test_every_point_is_a_possible_body_and_maps_back(convention, theta):
    pi = parameters_from_log_cholesky(theta, convention)
    J = pseudo_inertia(pi)
    alpha, d1, d2, d3, s12, s13, s23, t1, t2, t3 = theta
    diagonal = np.diag(np.exp([d1, d2, d3, 0.0]))
    above = np.array([[0.0, s12, s13, t1], [0.0, 0.0, s23, t2], [0.0, 0.0, 0.0, t3], np.zeros(4)])
    U = np.exp(alpha) * (diagonal + above)
    assert np.allclose(J, U @ U.T if convention == "rucker" else U.T @ U, rtol=1e-12)
    assert np.linalg.eigvalsh(J).min() > -1e-12 * np.trace(J)
    assert np.allclose(log_cholesky_from_parameters(pi, convention), theta, atol=1e-6)


@both
@given(theta=coordinates)
@settings(max_examples=50)
def test_jacobian_is_the_central_difference(convention, theta):
    pi, G = parameters_and_jacobian(theta[None], convention)
    h = 1e-6
    for k in range(10):
        step = h * np.eye(10)[k]
        ahead = parameters_from_log_cholesky(theta + step, convention)
        behind = parameters_from_log_cholesky(theta - step, convention)
        assert np.allclose(G[0, :, k], (ahead - behind) / (2 * h), atol=1e-7 * (1 + np.abs(pi).max()))


@given(theta=coordinates)
@settings(max_examples=50)
def test_rucker_is_pinocchios(theta):
    oracle = pin.LogCholeskyParameters(theta[PINOCCHIO_ORDER])
    pi, G = parameters_and_jacobian(theta[None], "rucker")
    assert np.allclose(pi[0], oracle.toDynamicParameters(), rtol=1e-10, atol=1e-10)
    assert np.allclose(G[0][:, PINOCCHIO_ORDER], oracle.calculateJacobian(), rtol=1e-10, atol=1e-9)


@given(theta=coordinates)
@settings(max_examples=50)
def test_foster_is_the_papers_equation_17(theta):
    alpha, d1, d2, d3, s12, s13, s23, t1, t2, t3 = theta
    e1, e2, e3 = np.exp([d1, d2, d3])
    paper = [
        t1**2 + t2**2 + t3**2 + 1,
        t1 * e1,
        t1 * s12 + t2 * e2,
        t1 * s13 + t2 * s23 + t3 * e3,
        s12**2 + s13**2 + s23**2 + e2**2 + e3**2,
        -s12 * e1,
        -s13 * e1,
        s13**2 + s23**2 + e1**2 + e3**2,
        -s12 * s13 - s23 * e2,
        s12**2 + e1**2 + e2**2,
    ]
    pi = parameters_from_log_cholesky(theta, "foster")
    assert np.allclose(pi[FOSTER_ORDER], np.exp(2 * alpha) * np.array(paper), rtol=1e-9, atol=1e-9)


@both
def test_an_impossible_body_has_no_coordinates(convention):
    flat = ie.InertialParameters(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.5])).vector
    for pi in (flat, -flat, np.zeros(10)):
        with pytest.raises(ie.InconsistentInertiaError, match="not positive definite"):
            log_cholesky_from_parameters(pi, convention)


@both
def test_a_nearly_flat_body_survives_the_round_trip(convention):
    pi = ie.InertialParameters(3.0, np.array([0.1, -0.2, 0.3]), np.diag([1.0, 1.0, 2.0 - 1e-9])).vector
    theta = log_cholesky_from_parameters(pi, convention)
    assert np.allclose(parameters_from_log_cholesky(theta, convention), pi, rtol=1e-7)
