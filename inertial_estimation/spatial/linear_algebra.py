"""Factorisations that raise an error of this package for any matrix on which they fail.

The results are those of `numpy.linalg`, except that a failure raises a `NumericalError` that describes the
matrix. LAPACK's divide and conquer (`gesdd` in numpy's svd) fails on some finite, well scaled matrices,
depending on processor and number of threads; QR iteration (`gesvd`) solves these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from inertial_estimation.errors import NumericalError

Array = NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)


def _numpy_function(name: str, what: str) -> Callable[..., Any]:
    """Return a function of `numpy.linalg` that raises `NumericalError` where it fails."""

    def call(A: Array, *others: Array) -> Any:
        try:
            return getattr(np.linalg, name)(A, *others)
        except LinAlgError as error:
            raise _failure(what, A, error) from error

    return call


eigh: Callable[[Array], tuple[Array, Array]] = _numpy_function("eigh", "the eigenvalues")
eigvalsh: Callable[[Array], Array] = _numpy_function("eigvalsh", "the eigenvalues")
cholesky: Callable[[Array], Array] = _numpy_function("cholesky", "the Cholesky factor")
inv: Callable[[Array], Array] = _numpy_function("inv", "the inverse")
solve: Callable[[Array, Array], Array] = _numpy_function("solve", "the solution of linear equations")


def rms(values: Array) -> float:
    """Return the root of the mean square; NaN for no values."""
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else float("nan")


def triangular_factor(A: Array) -> Array:
    """Return the triangular factor R of A = Q R, with R'R = A'A.

    Args:
        A: Matrix, shape (m, n).

    Returns:
        Upper triangular matrix, shape (min(m, n), n).
    """
    return np.asarray(np.linalg.qr(A, mode="r"), dtype=np.float64)


def square_factor(factor: Array) -> Array:
    """Return a triangular factor of n columns and at most n rows, padded with zero rows to shape (n, n)."""
    return np.pad(factor, ((0, factor.shape[1] - len(factor)), (0, 0)))


def svd(A: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition A = U diag(s) V'.

    Args:
        A: Shape (..., m, n).
        full_matrices: Whether U and V are square; otherwise they have min(m, n) columns.

    Returns:
        U, s (largest first) and V'.

    Raises:
        NumericalError: If the decomposition fails.
    """
    try:
        U, s, Vt = np.linalg.svd(A, full_matrices=full_matrices)
    except LinAlgError as error:
        if not np.isfinite(A).all():
            raise _failure("the singular value decomposition", A, error) from error
        return _by_qr_iteration(A, full_matrices)
    return U, s, Vt


def lstsq(A: Array, b: Array) -> Array:
    """Return the x of least norm among those of least ||A x - b||.

    Args:
        A: Shape (m, n). Singular values below eps max(m, n) times the largest count as zero.
        b: Shape (m,) or (m, k).

    Returns:
        Shape (n,) or (n, k).

    Raises:
        NumericalError: If the decomposition of A fails.
    """
    U, s, Vt = _range(A, EPSILON * max(A.shape))
    x: Array = Vt.T @ ((U.T @ b).T / s).T
    return x


def pinv(A: Array, rcond: float = 1e-15) -> Array:
    """Return the pseudo-inverse, shape (n, m).

    Args:
        A: Shape (m, n).
        rcond: Singular values of at most this share of the largest one count as zero.

    Raises:
        NumericalError: If the decomposition of A fails.
    """
    U, s, Vt = _range(A, rcond)
    inverse: Array = (Vt.T / s) @ U.T
    return inverse


def null_space(A: Array) -> Array:
    """Return an orthonormal basis of the x of A x = 0, shape (n, n - rank).

    Args:
        A: Shape (m, n). Singular values below eps max(m, n) times the largest count as zero.

    Raises:
        NumericalError: If the decomposition of A fails.
    """
    _U, s, Vt = svd(A)
    rank = int((s > EPSILON * max(A.shape) * s.max(initial=0.0)).sum())
    basis: Array = Vt[rank:].T
    return basis


def _range(A: Array, rcond: float) -> tuple[Array, Array, Array]:
    """Return the singular triples of A whose singular values exceed a share `rcond` of the largest."""
    U, s, Vt = svd(A, full_matrices=False)
    kept = s > rcond * s.max(initial=0.0)
    return U[:, kept], s[kept], Vt[kept]


def _by_qr_iteration(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """Decompose the matrices of a stack one by one by `gesvd`."""
    import scipy.linalg  # imported on first use: it lengthens the start of a node by a third

    try:
        parts = [
            scipy.linalg.svd(one, full_matrices=full_matrices, lapack_driver="gesvd")
            for one in A.reshape(-1, *A.shape[-2:])
        ]
    except LinAlgError as error:
        raise _failure("the singular value decomposition", A, error) from error
    U, s, Vt = (np.array(part).reshape(*A.shape[:-2], *part[0].shape) for part in zip(*parts, strict=True))
    return U, s, Vt


def _failure(what: str, A: Array, error: LinAlgError) -> NumericalError:
    size = np.abs(np.asarray(A, dtype=np.float64))
    finite = np.isfinite(size)
    if finite.all():
        why = f"its entries are finite, the largest has size {size.max(initial=0.0):.3g}"
    else:
        why = f"{int((~finite).sum())} of its {size.size} entries are not finite"
    return NumericalError(f"{what} of a matrix of shape {size.shape} failed ({error}): {why}")
