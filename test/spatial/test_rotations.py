import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from inertial_estimation.spatial.rotations import (
    exp_so3,
    log_so3,
    quaternion_from_rotation,
    roll_pitch_of,
    rotate_unit_vector,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
    rotation_from_tilt_and_yaw,
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


@given(vectors)
def test_a_unit_vector_stays_on_the_sphere(phi):
    x = rotate_unit_vector(E_Z, phi)
    np.testing.assert_allclose(x @ x, 1.0, atol=1e-14)
    np.testing.assert_allclose(x, exp_so3(phi) @ E_Z, atol=1e-14)


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
