import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.triad import rotation_from_tilt_and_yaw

from inertial_estimation.spatial.rotations import with_vertical
from inertial_estimation.spatial.vectors import (
    ZERO,
    add,
    combine,
    cross,
    dot,
    matrix,
    norm,
    normalised,
    rotation,
    times,
    vector,
)

TINY_TO_LARGE = st.sampled_from([0.0, 1e-12, 1e-6, 1e-4, 1e-3, 1.0, 3.1])


@given(st.integers(0, 10**6), TINY_TO_LARGE)
def test_rotations_agree_with_scipy(seed, size):
    rng = np.random.default_rng(seed)
    phi, a = tuple(size * rng.normal(size=3)), tuple(rng.normal(size=3))
    R = Rotation.from_rotvec(phi).as_matrix()
    np.testing.assert_allclose(rotation(phi), R, atol=1e-12)
    np.testing.assert_allclose(times(matrix(R), a), R @ a, atol=1e-14)


@given(st.integers(0, 10**6))
def test_products_and_sums_are_numpys(seed):
    rng = np.random.default_rng(seed)
    (a, b), k = rng.normal(size=(2, 3)), float(rng.normal())
    x, y = vector(a), vector(b)
    close = {"rtol": 0.0, "atol": 1e-14}
    np.testing.assert_allclose(cross(x, y), np.cross(a, b), **close)
    np.testing.assert_allclose(dot(x, y), a @ b, **close)
    np.testing.assert_allclose(norm(x), np.linalg.norm(a), **close)
    np.testing.assert_allclose(add(x, y), a + b, **close)
    assert add(x, ZERO) == x
    np.testing.assert_allclose(combine(x, k, y), a + k * b, **close)
    np.testing.assert_allclose(normalised(x), a / np.linalg.norm(a), **close)


@pytest.mark.parametrize("size", [9.9e-5, 1.01e-4, 1e-3])
def test_small_rotations_are_exact_to_the_last_digits(size):
    """On either side of where the series takes over."""
    phi = size * np.array([0.6, -0.48, 0.64])
    R = Rotation.from_rotvec(phi).as_matrix()
    np.testing.assert_allclose(rotation(vector(phi)), R, rtol=0.0, atol=1e-15)


@given(st.integers(0, 10**6))
def test_aligned_rows_have_the_tilt_and_the_yaw_nearest_to_the_rotation(seed):
    """Oracle: the yaw that maximises the trace, about any rotation with that tilt."""
    rng = np.random.default_rng(seed)
    R, x2 = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    x2 /= np.linalg.norm(x2)
    aligned = np.array(with_vertical(vector(R[0]), vector(R[2]), vector(x2)))
    np.testing.assert_allclose(aligned, rotation_from_tilt_and_yaw(x2, R), atol=1e-9)
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)


def test_rows_aligned_with_the_opposite_direction_are_a_rotation_all_the_same():
    R = Rotation.from_rotvec([0.3, -0.2, 1.0]).as_matrix()
    aligned = np.array(with_vertical(vector(R[0]), vector(R[2]), vector(-R[2])))
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(aligned), 1.0)
    np.testing.assert_allclose(aligned[0], R[0], atol=1e-12)
