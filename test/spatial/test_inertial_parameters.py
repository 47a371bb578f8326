"""Inertial parameters and log-Cholesky coordinates: Pinocchio, point masses and papers as oracles."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import inertial_estimation as ie
from inertial_estimation.errors import InconsistentInertiaError, MeasurementError
from inertial_estimation.spatial.inertial_parameters import (
    COVARIANCE_NAMES,
    PARAMETER_NAMES,
    InertialParameters,
    covariance_from_upper,
    parameters_from_pseudo_inertia,
    pseudo_inertia,
    transfer_matrix,
    upper_triangle,
)
from inertial_estimation.spatial.log_cholesky import (
    CONVENTIONS,
    log_cholesky_from_parameters,
    parameters_and_jacobian,
    parameters_from_log_cholesky,
)

seeds = st.integers(0, 2**32 - 1)


def point_masses(rng, n=6):
    return rng.uniform(0.1, 2.0, n), rng.normal(size=(n, 3))


def parameters_of(masses, points):
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    moments = [inertia[0, 0], inertia[0, 1], inertia[1, 1], inertia[0, 2], inertia[1, 2], inertia[2, 2]]
    return np.array([masses.sum(), *(masses @ points), *moments])


@given(seeds)
@settings(max_examples=50)
def test_bodies_are_their_point_masses_of_which_the_pseudo_inertia_is_the_second_moment(seed):
    masses, points = point_masses(np.random.default_rng(seed))
    homogeneous = np.column_stack((points, np.ones(len(masses))))
    expected = homogeneous.T @ (masses[:, None] * homogeneous)
    pi = parameters_of(masses, points)
    assert np.allclose(pseudo_inertia(pi), expected)
    assert np.allclose(parameters_from_pseudo_inertia(expected), pi)
    value = InertialParameters.from_vector(pi)
    assert np.allclose(value.vector, pi)
    assert np.allclose(InertialParameters.from_pinocchio(pin.Inertia.FromDynamicParameters(pi)).vector, pi)
    assert value.violations() == []


@given(seeds)
@settings(max_examples=50)
def test_moving_between_frames_moves_the_point_masses(seed):
    rng = np.random.default_rng(seed)
    masses, points = point_masses(rng)
    T = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    moved = parameters_of(masses, np.array([T.act(p) for p in points]))
    pi = parameters_of(masses, points)
    assert np.allclose(transfer_matrix(T) @ pi, moved)
    assert np.allclose(InertialParameters.from_vector(pi).expressed_in(T).vector, moved)


def test_what_is_not_symmetric_or_no_number_is_named():
    skewed = np.eye(3)
    skewed[0, 1] = 1e-3
    assert InertialParameters(1.0, np.zeros(3), skewed).violations() == ["inertia is not symmetric"]
    skewed[1, 0] = 1e-3 * (1.0 + 1e-7)  # by round-off of a file
    assert InertialParameters(1.0, np.zeros(3), skewed).violations() == []
    skewed[0, 0] = np.nan
    assert "is not finite" in InertialParameters(1.0, np.zeros(3), skewed).violations()[0]


@pytest.mark.parametrize(
    ("mass", "moments", "holds"),
    [
        (0.0, (1.0, 1.0, 1.0), "mass 0 kg is not positive"),
        (1.0, (0.0, 1.0, 1.0), "smallest principal moment 0 kg m^2 is not positive"),
        (1.0, (1.0, 1.0, 2.0), "break the triangle inequality"),
        (-1.0, (-1.0, 1.0, 3.0), "mass -1 kg is not positive; smallest principal moment -1 kg m^2 is"),
        (-1.0, (-1.0, 1.0, 3.0), "-1 kg m^2 is not positive; principal moments -1, 1, 3 kg m^2 break the"),
    ],
)
def test_borders_of_consistency_are_not_consistent_and_every_violated_condition_is_listed(
    mass, moments, holds
):
    assert holds in "; ".join(InertialParameters(mass, np.zeros(3), np.diag(moments)).violations())


def test_a_difference_of_bodies_of_equal_mass_keeps_its_moments():
    pi = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.1, 2.0, 0.2, 0.3, 3.0])
    value = InertialParameters.from_vector(pi)
    assert value.com_F.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(value.vector, pi)


@pytest.mark.parametrize(
    ("mass", "moments", "smallest"),
    [
        (2.0, (1.0, 1.0, 2.1), 1e-6 * 2.15),  # second moments 1.05, 1.05 and -0.05 kg m^2
        (200.0, (1.0, 1.0, 2.1), 1e-6 * 200.0),  # of a body of 1 mm
        (2.0, (0.0, 0.0, 0.0), 1e-6 * 2.0),
        (2.0, (1e-3, 1e-3, 2e-3), 1e-6 * 2.0),  # flat
    ],
)
def test_a_repair_raises_the_smallest_second_moment_and_keeps_the_others(mass, moments, smallest):
    R = pin.exp3(np.array([0.3, -0.5, 0.7]))
    value = InertialParameters(mass, np.array([0.1, 0.0, 0.0]), R @ np.diag(moments) @ R.T)
    repaired = value.made_consistent("body")
    assert repaired.violations() == []
    assert repaired.mass == value.mass
    np.testing.assert_array_equal(repaired.com_F, value.com_F)
    inertias = (value.inertia_Fcm, repaired.inertia_Fcm)
    second = [np.linalg.eigvalsh(0.5 * np.trace(inertia) * np.eye(3) - inertia) for inertia in inertias]
    np.testing.assert_allclose(second[1], np.maximum(second[0], smallest), rtol=1e-9)
    assert repaired.made_consistent("body") is repaired


def test_a_body_without_mass_is_not_repaired():
    with pytest.raises(InconsistentInertiaError, match="mass 0 kg"):
        InertialParameters(0.0, np.zeros(3), np.eye(3)).made_consistent("body")


coordinates = arrays(float, 10, elements=st.floats(-2.0, 2.0))
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


def test_there_and_back_is_the_same_matrix():
    factor = np.random.default_rng(0).normal(size=(10, 10))
    covariance = factor @ factor.T
    upper = upper_triangle(covariance)
    assert upper.shape == (55,)
    np.testing.assert_array_equal(covariance_from_upper(upper.tolist()), covariance_from_upper(upper).T)
    np.testing.assert_allclose(covariance_from_upper(upper), covariance, rtol=1e-14)


def test_a_name_says_which_entry_it_is_and_its_unit():
    for k, name in enumerate(COVARIANCE_NAMES):
        i, j = (PARAMETER_NAMES.index(part) for part in name.partition(" [")[0].split("/"))
        unit_matrix = np.zeros((10, 10))
        unit_matrix[i, j] = unit_matrix[j, i] = 1.0
        assert upper_triangle(unit_matrix)[k] == 1.0
    assert {"m/m [kg^2]", "m/mcx [kg^2 m]", "mcx/Izz [kg^2 m^3]", "Izz/Izz [kg^2 m^4]"} <= set(
        COVARIANCE_NAMES
    )


def test_another_number_of_entries_is_refused():
    with pytest.raises(MeasurementError, match=r"\(54,\), expected \(55,\)"):
        covariance_from_upper(np.zeros(54))
