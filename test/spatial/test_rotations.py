"""Rotations against SciPy and finite differences; linear algebra is NumPy's and does not give up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.linalg import LinAlgError
from scipy.spatial.transform import Rotation

from inertial_estimation.errors import NumericalError
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial import rotations as so3

small = st.floats(-1e-6, 1e-6)
vectors = arrays(float, 3, elements=st.one_of(st.floats(-3, 3), small))


@given(vectors, vectors)
def test_skews_are_the_cross_product_with_each_vector(a, b):
    both = np.array([a, b])
    np.testing.assert_allclose(so3.skews(both) @ b, np.cross(both, b), atol=1e-12)
    np.testing.assert_allclose(so3.cross_matrix(so3.vector(a)) @ b, np.cross(a, b), atol=1e-12)


@given(vectors)
def test_rotations_and_quaternions_agree_with_scipy_and_the_logarithm_inverts_them(phi):
    R = so3.exp_so3(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), atol=1e-12)
    np.testing.assert_allclose(so3.exp_so3(so3.log_so3(R)), R, atol=1e-7)
    assert np.linalg.norm(so3.log_so3(R)) <= np.pi + 1e-9
    quaternion = so3.quaternion_from_rotation(R)
    assert quaternion[3] >= 0
    np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), R, atol=1e-12)
    np.testing.assert_allclose(so3.rotation_from_quaternion(3.0 * quaternion), R, atol=1e-12)


def test_every_case_of_the_quaternion_is_scipys():
    """Half turns about each axis, nearly: w, x, y, z the largest in turn."""
    for axis in (np.array([1.0, 0.2, -0.3]), np.array([0.2, -1.0, 0.3]), np.array([-0.3, 0.2, 1.0])):
        for size in (0.5, 2.5, 3.1, -3.1):
            rotation = Rotation.from_rotvec(size * axis / np.linalg.norm(axis))
            expected = rotation.as_quat(canonical=True)
            np.testing.assert_allclose(
                so3.quaternion_from_rotation(rotation.as_matrix()), expected, atol=1e-12
            )
            np.testing.assert_allclose(so3.log_so3(rotation.as_matrix()), rotation.as_rotvec(), atol=1e-9)


@pytest.mark.parametrize("size", [1e-13, 9.9e-5, 1.01e-4, 1e-3, 1e-2])
def test_small_rotations_are_exact_to_the_last_digits(size):
    """On either side of where a series takes over, in both directions."""
    phi = size * np.array([0.6, -0.48, 0.64])
    R = so3.exp_so3(phi)
    np.testing.assert_allclose(R, Rotation.from_rotvec(phi).as_matrix(), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(so3.rotation(so3.vector(phi)), R, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(so3.log_so3(R), phi, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("size", [0.0, 3e-6, 3e-5, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_left_jacobian_is_the_central_difference_of_the_exponential(size, seed):
    axis, h = np.random.default_rng(seed).normal(size=3), 1e-5
    phi = size * axis / np.linalg.norm(axis)
    J = np.empty((3, 3))
    for i, e in enumerate(h * np.eye(3)):
        J[:, i] = Rotation.from_matrix(so3.exp_so3(phi + e) @ so3.exp_so3(phi - e).T).as_rotvec() / (2 * h)
    np.testing.assert_allclose(so3.left_jacobian_so3(phi), J, atol=1e-9)


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))
def test_roll_pitch_and_yaw_are_scipys(roll, pitch, yaw):
    R = so3.rotation_from_roll_pitch_yaw(roll, pitch, yaw)
    np.testing.assert_allclose(R, Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix(), atol=1e-12)
    np.testing.assert_allclose((*so3.roll_pitch_of(R), so3.yaw_of(R)), (roll, pitch, yaw), atol=1e-9)


def test_a_pitch_beyond_the_pole_by_round_off_is_the_pole():
    R = so3.rotation_from_roll_pitch_yaw(0.0, 0.5 * np.pi, 0.0)
    for sign in (-1.0, 1.0):
        over = R.copy()
        over[2, 0] = -sign * (1.0 + 1e-12)
        assert so3.roll_pitch_of(over)[1] == sign * 0.5 * np.pi


@given(st.integers(0, 10**6))
def test_a_rotation_with_another_vertical_is_the_one_nearest_in_yaw(seed):
    rng = np.random.default_rng(seed)
    R, x2 = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    x2 /= np.linalg.norm(x2)
    aligned = np.array(so3.with_vertical(so3.vector(R[0]), so3.vector(R[2]), so3.vector(x2)))
    np.testing.assert_allclose(aligned[2], x2, atol=1e-12)
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)
    M = aligned @ R.T  # the trace of M turned by psi about the vertical is largest at psi = 0
    np.testing.assert_allclose(M[0, 1] - M[1, 0], 0.0, atol=1e-9)
    assert M[0, 0] + M[1, 1] > -1e-12


def test_a_rotation_with_the_opposite_vertical_is_a_rotation_all_the_same():
    R = Rotation.from_rotvec([0.3, -0.2, 1.0]).as_matrix()
    aligned = np.array(so3.with_vertical(so3.vector(R[0]), so3.vector(R[2]), so3.vector(-R[2])))
    np.testing.assert_allclose(aligned @ aligned.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(aligned), 1.0)
    np.testing.assert_allclose(aligned[0], R[0], atol=1e-12)


TINY_TO_LARGE = st.sampled_from([0.0, 1e-12, 1e-6, 1e-4, 1e-3, 1.0, 3.1])


@given(st.integers(0, 10**6), TINY_TO_LARGE)
def test_rotations_products_and_sums_are_those_of_scipy_and_numpy(seed, size):
    rng = np.random.default_rng(seed)
    (phi, a, b), k = rng.normal(size=(3, 3)), float(rng.normal())
    R, x, y = Rotation.from_rotvec(size * phi).as_matrix(), so3.vector(a), so3.vector(b)
    np.testing.assert_allclose(so3.rotation(so3.vector(size * phi)), R, atol=1e-12)
    np.testing.assert_allclose(
        so3.rotation_vector(so3.matrix(R)), Rotation.from_matrix(R).as_rotvec(), atol=1e-7
    )
    pairs = [(so3.times(so3.matrix(R), x), R @ a), (so3.cross(x, y), np.cross(a, b)), (so3.dot(x, y), a @ b)]
    pairs += [(so3.norm(x), np.linalg.norm(a)), (so3.normalised(x), a / np.linalg.norm(a))]
    pairs += [(so3.add(x, y), a + b), (so3.combine(x, k, y), a + k * b)]
    A, B = rng.normal(size=(2, 3, 3))
    pairs += [
        (so3.product(so3.matrix(A), so3.matrix(B)), A @ B),
        (so3.transposed(so3.matrix(A)), A.T),
        (so3.rows_of(A), A),
    ]
    so3.store(B[1], 0, x)
    pairs += [(B[1], a), (so3.vector_of(np.append(k, b), 1), b)]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14)


SHAPES = [(4, 4), (7, 3), (3, 7), (5, 6, 3), (2, 3, 3, 4)]


def refuse(*_args, **_options):
    raise LinAlgError("SVD did not converge")


def matrix(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_svd_is_numpys_and_another_where_that_gives_up(shape, full_matrices, monkeypatch):
    A = matrix(shape)
    wanted = np.linalg.svd(A, full_matrices=full_matrices)
    for ours, numpys in zip(linear_algebra.svd(A, full_matrices=full_matrices), wanted, strict=True):
        np.testing.assert_array_equal(ours, numpys)
    monkeypatch.setattr(np.linalg, "svd", refuse)
    U, s, Vt = linear_algebra.svd(A, full_matrices=full_matrices)
    assert [x.shape for x in (U, s, Vt)] == [x.shape for x in wanted]
    np.testing.assert_allclose(s, wanted[1], rtol=1e-12)
    k = s.shape[-1]
    np.testing.assert_allclose((U[..., :k] * s[..., None, :]) @ Vt[..., :k, :], A, atol=1e-12)
    for basis in (U, np.swapaxes(Vt, -1, -2)):
        eye = np.broadcast_to(np.eye(basis.shape[-1]), (*shape[:-2], *2 * basis.shape[-1:]))
        np.testing.assert_allclose(np.swapaxes(basis, -1, -2) @ basis, eye, atol=1e-12)


def deficient():
    return matrix((9, 3)) @ matrix((3, 6), seed=1)


@pytest.mark.parametrize("right", [None, (9,), (9, 2)])
def test_pseudo_inverse_and_least_squares_where_numpys_give_up(right, monkeypatch):
    A, name = deficient(), "lstsq" if right else "pinv"
    ours = getattr(linear_algebra, name)
    given = (matrix(right, seed=2),) if right else ()
    wanted = np.linalg.lstsq(A, *given, rcond=None)[0] if right else np.linalg.pinv(A)
    np.testing.assert_allclose(ours(A, *given), wanted, atol=1e-14)
    monkeypatch.setattr(np.linalg, "svd", refuse)
    np.testing.assert_allclose(ours(A, *given), wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["svd", "pinv", "null_space", "lstsq"])
def test_nan_is_counted_in_the_error(name):
    A = matrix((5, 3))
    A[1, 2], A[4, 0] = np.nan, np.inf
    others = (np.ones(5),) if name == "lstsq" else ()
    with pytest.raises(NumericalError, match=r"shape \(5, 3\) failed .* 2 of its 15 entries are not finite"):
        getattr(linear_algebra, name)(A, *others)


def test_singular_and_indefinite_matrices_end_in_the_error_of_the_package() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(NumericalError, match=r"inverse of a matrix of shape \(2, 2\) failed \(Singular"):
        linear_algebra.inv(singular)
    with pytest.raises(NumericalError, match="solution of linear equations"):
        linear_algebra.solve(singular, np.ones(2))
    with pytest.raises(NumericalError, match=r"Cholesky factor .* not positive definite"):
        linear_algebra.cholesky(np.diag([1.0, -1.0]))


@pytest.mark.parametrize("shape", [(7, 3), (3, 3), (2, 3)])
def test_triangular_factor_keeps_the_squares(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    factor = linear_algebra.square_factor(linear_algebra.triangular_factor(A))
    assert factor.shape == (3, 3)
    np.testing.assert_array_equal(factor, np.triu(factor))
    np.testing.assert_allclose(factor.T @ factor, A.T @ A, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize(("shape", "rank"), [((9, 6), 3), ((3, 6), 2), ((6, 6), 6), ((4, 7), 0)])
def test_a_null_space_has_the_dimension_the_rank_leaves_whatever_the_unit(shape, rank, scale):
    A = scale * matrix((shape[0], rank)) @ matrix((rank, shape[1]), seed=1)
    N = linear_algebra.null_space(A)
    assert N.shape == (shape[1], shape[1] - rank)
    np.testing.assert_allclose(A @ N, 0.0, atol=1e-13 * scale)
    np.testing.assert_allclose(N.T @ N, np.eye(N.shape[1]), atol=1e-12)
