import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from inertial_estimation.spatial.rotations import (
    add,
    combine,
    cross,
    dot,
    exp_so3,
    left_jacobian_so3,
    log_so3,
    matrix,
    norm,
    normalised,
    product,
    quaternion_from_rotation,
    roll_pitch_of,
    rotation,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
    rotation_vector,
    rows_of,
    skews,
    store,
    times,
    transposed,
    vector,
    vector_of,
    with_vertical,
    yaw_of,
)

small = st.floats(-1e-6, 1e-6)
vectors = arrays(float, 3, elements=st.one_of(st.floats(-3, 3), small))


@given(vectors, vectors)
def test_skews_are_the_cross_product_with_each_vector(a, b):
    both = np.array([a, b])
    np.testing.assert_allclose(skews(both) @ b, np.cross(both, b), atol=1e-12)


@given(vectors)
def test_rotations_and_quaternions_agree_with_scipy_and_the_logarithm_inverts_them(phi):
    R = exp_so3(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(exp_so3(log_so3(R)), R, atol=1e-7)
    assert np.linalg.norm(log_so3(R)) <= np.pi + 1e-9
    quaternion = quaternion_from_rotation(R)
    assert quaternion[3] >= 0
    np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), R, atol=1e-12)
    np.testing.assert_allclose(rotation_from_quaternion(3.0 * quaternion), R, atol=1e-12)


def test_every_case_of_the_quaternion_is_scipys():
    """Half turns about each axis, nearly: w, x, y, z the largest in turn."""
    for axis in (np.array([1.0, 0.2, -0.3]), np.array([0.2, -1.0, 0.3]), np.array([-0.3, 0.2, 1.0])):
        for size in (0.5, 2.5, 3.1, -3.1):
            rotation = Rotation.from_rotvec(size * axis / np.linalg.norm(axis))
            expected = rotation.as_quat(canonical=True)
            np.testing.assert_allclose(quaternion_from_rotation(rotation.as_matrix()), expected, atol=1e-12)
            np.testing.assert_allclose(log_so3(rotation.as_matrix()), rotation.as_rotvec(), atol=1e-9)


@pytest.mark.parametrize("size", [1e-13, 9.9e-5, 1.01e-4, 1e-3, 1e-2])
def test_small_rotations_are_exact_to_the_last_digits(size):
    """On either side of where a series takes over, in both directions."""
    phi = size * np.array([0.6, -0.48, 0.64])
    R = exp_so3(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(rotation(vector(phi)), R, rtol=0.0, atol=1e-15)
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


@given(st.integers(0, 10**6))
def test_a_rotation_with_another_vertical_is_the_one_nearest_in_yaw(seed):
    rng = np.random.default_rng(seed)
    R, x2 = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    x2 /= np.linalg.norm(x2)
    aligned = np.array(with_vertical(vector(R[0]), vector(R[2]), vector(x2)))
    np.testing.assert_allclose(aligned[2], x2, atol=1e-12)
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)
    M = aligned @ R.T  # the trace of M turned by psi about the vertical is largest at psi = 0
    np.testing.assert_allclose(M[0, 1] - M[1, 0], 0.0, atol=1e-9)
    assert M[0, 0] + M[1, 1] > -1e-12


def test_a_rotation_with_the_opposite_vertical_is_a_rotation_all_the_same():
    R = Rotation.from_rotvec([0.3, -0.2, 1.0]).as_matrix()
    aligned = np.array(with_vertical(vector(R[0]), vector(R[2]), vector(-R[2])))
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(aligned), 1.0)
    np.testing.assert_allclose(aligned[0], R[0], atol=1e-12)


TINY_TO_LARGE = st.sampled_from([0.0, 1e-12, 1e-6, 1e-4, 1e-3, 1.0, 3.1])


@given(st.integers(0, 10**6), TINY_TO_LARGE)
def test_rotations_products_and_sums_are_those_of_scipy_and_numpy(seed, size):
    rng = np.random.default_rng(seed)
    (phi, a, b), k = rng.normal(size=(3, 3)), float(rng.normal())
    R, x, y = Rotation.from_rotvec(size * phi).as_matrix(), vector(a), vector(b)
    np.testing.assert_allclose(rotation(vector(size * phi)), R, atol=1e-12)
    np.testing.assert_allclose(rotation_vector(matrix(R)), Rotation.from_matrix(R).as_rotvec(), atol=1e-7)
    pairs = [(times(matrix(R), x), R @ a), (cross(x, y), np.cross(a, b)), (dot(x, y), a @ b)]
    pairs += [(norm(x), np.linalg.norm(a)), (normalised(x), a / np.linalg.norm(a))]
    pairs += [(add(x, y), a + b), (combine(x, k, y), a + k * b)]
    A, B = rng.normal(size=(2, 3, 3))
    pairs += [(product(matrix(A), matrix(B)), A @ B), (transposed(matrix(A)), A.T), (rows_of(A), A)]
    store(B[1], 0, x)
    pairs += [(B[1], a), (vector_of(np.append(k, b), 1), b)]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)
