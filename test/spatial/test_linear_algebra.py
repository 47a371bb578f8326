import numpy as np
import pytest
from numpy.linalg import LinAlgError

from inertial_estimation.errors import NumericalError
from inertial_estimation.spatial import linear_algebra

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
