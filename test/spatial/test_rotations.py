import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation
from support.triad import rotation_from_tilt_and_yaw

from inertial_estimation.spatial.rotations import (
    exp_so3,
    left_jacobian_so3,
    log_so3,
    quaternion_from_rotation,
    roll_pitch_of,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
    skew,
    skews,
    vertical_of_quaternion,
    yaw_of,
)

E_Z = np.array([0.0, 0.0, 1.0])
small = st.floats(-1e-6, 1e-6)
vectors = arrays(float, 3, elements=st.one_of(st.floats(-3, 3), small))


@given(vectors, vectors)
def test_skew_is_the_cross_product(a, b):
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b), atol=1e-12)


@given(vectors)
def test_exponential_agrees_with_scipy(phi):
    np.testing.assert_allclose(exp_so3(phi), Rotation.from_rotvec(phi).as_matrix(), atol=1e-12)


@given(vectors)
def test_logarithm_inverts_the_exponential(phi):
    R = exp_so3(phi)
    np.testing.assert_allclose(exp_so3(log_so3(R)), R, atol=1e-7)
    assert np.linalg.norm(log_so3(R)) <= np.pi + 1e-9


@given(vectors)
def test_quaternions_agree_with_scipy(phi):
    R = exp_so3(phi)
    quaternion = quaternion_from_rotation(R)
    assert quaternion[3] >= 0
    np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), R, atol=1e-12)
    np.testing.assert_allclose(rotation_from_quaternion(3.0 * quaternion), R, atol=1e-12)


@given(vectors, vectors)
def test_triad_keeps_the_tilt_and_is_the_closest_in_yaw(phi, psi):
    x2 = exp_so3(phi) @ E_Z
    R_ref = exp_so3(psi)
    R = rotation_from_tilt_and_yaw(x2, R_ref)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(R.T @ E_Z, x2, atol=1e-9)
    closeness = np.trace(R_ref.T @ R)
    for angle in np.linspace(-3, 3, 13):
        assert np.trace(R_ref.T @ exp_so3(angle * E_Z) @ R) <= closeness + 1e-9


@given(vectors)
def test_triad_reproduces_a_reference_with_the_right_tilt(psi):
    R_ref = exp_so3(psi)
    np.testing.assert_allclose(rotation_from_tilt_and_yaw(R_ref.T @ E_Z, R_ref), R_ref, atol=1e-6)


@given(st.floats(-3.1, 3.1))
def test_yaw_of_a_pure_yaw(angle):
    np.testing.assert_allclose(yaw_of(exp_so3(angle * E_Z)), angle, atol=1e-12)


@pytest.mark.parametrize(("roll", "pitch", "yaw"), [(0.3, -0.7, 2.0), (-3.0, 1.5, 0.0), (0.0, 0.0, -1.0)])
def test_roll_and_pitch_are_those_the_rotation_was_made_of(roll, pitch, yaw):
    assert roll_pitch_of(rotation_from_roll_pitch_yaw(roll, pitch, yaw)) == pytest.approx((roll, pitch))


def test_skews_are_the_skew_matrix_of_each_vector():
    stacked = np.arange(12.0).reshape(2, 2, 3) - 5.0
    matrices = skews(stacked)
    for index in np.ndindex(2, 2):
        np.testing.assert_array_equal(matrices[index], skew(stacked[index]))


def test_vertical_of_a_quaternion_is_the_last_row_of_its_rotation_for_numbers_and_arrays():
    quaternions = np.random.default_rng(5).standard_normal((20, 4))
    rows = np.array([rotation_from_quaternion(quaternion)[2] for quaternion in quaternions])
    found = [vertical_of_quaternion(*quaternion.tolist()) for quaternion in quaternions]
    np.testing.assert_allclose(found, rows, atol=1e-14)
    np.testing.assert_allclose(np.stack(vertical_of_quaternion(*quaternions.T), axis=1), rows, atol=1e-14)


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))
def test_roll_pitch_and_yaw_are_scipys(roll, pitch, yaw):
    R = rotation_from_roll_pitch_yaw(roll, pitch, yaw)
    np.testing.assert_allclose(R, Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix(), atol=1e-12)
    np.testing.assert_allclose((*roll_pitch_of(R), yaw_of(R)), (roll, pitch, yaw), atol=1e-9)


def test_a_pitch_beyond_the_pole_by_round_off_is_the_pole():
    R = rotation_from_roll_pitch_yaw(0.0, 0.5 * np.pi, 0.0)
    for sign in (-1.0, 1.0):
        over = R.copy()
        over[2, 0] = -sign * (1.0 + 1e-12)
        assert roll_pitch_of(over)[1] == sign * 0.5 * np.pi


@pytest.mark.parametrize("size", [1e-13, 9.9e-5, 1.01e-4, 1e-2])
def test_small_rotations_are_exact_to_the_last_digits(size):
    """On either side of where a series takes over, in both directions."""
    phi = size * np.array([0.6, -0.48, 0.64])
    R = exp_so3(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(log_so3(R), phi, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("size", [0.0, 3e-6, 3e-5, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_left_jacobian_is_the_central_difference_of_the_exponential(size, seed):
    axis, h = np.random.default_rng(seed).normal(size=3), 1e-5
    phi = size * axis / np.linalg.norm(axis)
    J = np.empty((3, 3))
    for i, e in enumerate(h * np.eye(3)):
        J[:, i] = Rotation.from_matrix(exp_so3(phi + e) @ exp_so3(phi - e).T).as_rotvec() / (2 * h)
    np.testing.assert_allclose(left_jacobian_so3(phi), J, atol=1e-9)


@pytest.mark.parametrize("rest", [0.0, 1e-7, 1e-4, 2e-3])
def test_a_tilt_upside_down_or_nearly_so_keeps_the_nearest_yaw(rest):
    x2 = np.array([np.sin(rest), 0.0, -np.cos(rest)])
    R_ref = Rotation.from_euler("ZX", [0.7, np.pi - 0.1]).as_matrix()
    R = rotation_from_tilt_and_yaw(x2, R_ref)
    np.testing.assert_allclose(R[2], x2, atol=1e-12)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(R), 1.0)
    best = max(np.trace(R_ref.T @ exp_so3(a * E_Z) @ R) for a in np.linspace(-3.0, 3.0, 61))
    assert np.trace(R_ref.T @ R) >= best - 1e-9


def test_every_case_of_the_quaternion_is_scipys():
    """Half turns about each axis, nearly: w, x, y, z the largest in turn."""
    for axis in (np.array([1.0, 0.2, -0.3]), np.array([0.2, -1.0, 0.3]), np.array([-0.3, 0.2, 1.0])):
        for size in (0.5, 2.5, 3.1, -3.1):
            rotation = Rotation.from_rotvec(size * axis / np.linalg.norm(axis))
            expected = rotation.as_quat(canonical=True)
            np.testing.assert_allclose(quaternion_from_rotation(rotation.as_matrix()), expected, atol=1e-12)
            np.testing.assert_allclose(log_so3(rotation.as_matrix()), rotation.as_rotvec(), atol=1e-9)
