import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from inertial_estimation.spatial.sphere import turn_towards
from inertial_estimation.spatial.vectors import cross, matrix, rotate, rotation, times, transpose

TINY_TO_LARGE = st.sampled_from([0.0, 1e-12, 1e-6, 1e-4, 1e-3, 1.0, 3.1])


@given(st.integers(0, 10**6), TINY_TO_LARGE)
def test_rotations_agree_with_scipy(seed, size):
    rng = np.random.default_rng(seed)
    phi, a = tuple(size * rng.normal(size=3)), tuple(rng.normal(size=3))
    R = Rotation.from_rotvec(phi).as_matrix()
    np.testing.assert_allclose(rotation(phi), R, atol=1e-12)
    np.testing.assert_allclose(rotate(phi, a), R @ a, atol=1e-12)
    np.testing.assert_allclose(times(matrix(R), a), R @ a, atol=1e-14)
    np.testing.assert_allclose(transpose(matrix(R)), R.T)


@given(st.integers(0, 10**6))
def test_cross_product_is_numpys(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 3))
    np.testing.assert_allclose(cross(tuple(a), tuple(b)), np.cross(a, b), atol=1e-14)


@given(st.integers(0, 10**6), st.floats(0.1, 3.0), st.floats(0.01, 3.0))
def test_turning_towards_is_the_flow_on_the_sphere(seed, length, exposure):
    """Oracle: the differential equation x' = (x x y) x x in many small steps."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 3))
    x, y = x / np.linalg.norm(x), length * y / np.linalg.norm(y)
    exact, turn = turn_towards(tuple(x), tuple(y), exposure)
    np.testing.assert_allclose(rotate(turn, tuple(x)), exact, atol=1e-12)
    n = 400
    for _ in range(n):
        middle = x + 0.5 * exposure / n * (y * (x @ x) - x * (x @ y))  # the double cross product, expanded
        x = x + exposure / n * (y * (middle @ middle) - middle * (middle @ y))
    np.testing.assert_allclose(exact, x, atol=1e-4)


def test_aligned_and_opposite_directions_stay():
    up = (0.0, 0.0, 1.0)
    assert turn_towards(up, (0.0, 0.0, 2.0), 5.0)[0] == up
    assert turn_towards(up, (0.0, 0.0, -2.0), 5.0)[0] == up
    moved, _ = turn_towards(up, (1.0, 0.0, 0.0), 1e9)
    assert moved == pytest.approx((1.0, 0.0, 0.0))
