import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from inertial_estimation.spatial.vectors import (
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
def test_rotations_products_and_sums_are_those_of_scipy_and_numpy(seed, size):
    rng = np.random.default_rng(seed)
    (phi, a, b), k = rng.normal(size=(3, 3)), float(rng.normal())
    R, x, y = Rotation.from_rotvec(size * phi).as_matrix(), vector(a), vector(b)
    np.testing.assert_allclose(rotation(vector(size * phi)), R, atol=1e-12)
    pairs = [(times(matrix(R), x), R @ a), (cross(x, y), np.cross(a, b)), (dot(x, y), a @ b)]
    pairs += [(norm(x), np.linalg.norm(a)), (normalised(x), a / np.linalg.norm(a))]
    pairs += [(add(x, y), a + b), (combine(x, k, y), a + k * b)]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("size", [9.9e-5, 1.01e-4, 1e-3])
def test_small_rotations_are_exact_to_the_last_digits(size):
    """On either side of where the series takes over."""
    phi = size * np.array([0.6, -0.48, 0.64])
    R = Rotation.from_rotvec(phi).as_matrix()
    np.testing.assert_allclose(rotation(vector(phi)), R, rtol=0.0, atol=1e-15)
