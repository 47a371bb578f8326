"""Cholesky factors of positive definite matrices, and linear systems, in compiled functions as well.

Where nothing is compiled, LAPACK computes them. In compiled functions loops over rows do, which for the sizes
of the filters take as long as a call into LAPACK. A factor is for the functions of this module only: which
triangle holds it, and in which order of memory, differs between the two.
"""

import math

import numpy as np
from scipy.linalg.lapack import dgesv, dpotrf, dpotrs, dtrtrs

from inertial_estimation.compilation import in_place_of, inlined
from inertial_estimation.signals import Array


def factor(S: Array) -> tuple[Array, bool]:
    """Return a Cholesky factor of S, and whether S is positive definite: else the factor has no meaning.

    Args:
        S: Symmetric, shape (n, n).
    """
    F, info = dpotrf(S, lower=1, clean=0)
    return F, info == 0 and bool(F[-1, -1] > 0.0)  # some implementations overlook NaN, which reaches the last


def solution(F: Array, B: Array) -> Array:
    """Return S^-1 B from the factor of S.

    Args:
        F: Factor of S, shape (n, n).
        B: Shape (n, k).
    """
    X: Array = dpotrs(F, B, lower=1)[0]
    return X


def normalised_square(F: Array, y: Array) -> float:
    """Return y' S^-1 y from the factor of S, as the square of a whitened vector.

    Args:
        F: Factor of S, shape (n, n).
        y: Shape (n,).
    """
    white = dtrtrs(F, y, lower=1)[0]
    return float(white @ white)


def whitened(F: Array, B: Array) -> Array:
    """Return L^-1 B from the factor of S = L L', with which B' S^-1 B is the square of the result.

    Args:
        F: Factor of S, shape (n, n).
        B: Shape (n, k).
    """
    X: Array = dtrtrs(F, B, lower=1)[0]
    return X


def lower_factor(S: Array) -> tuple[Array, bool]:
    """Return the lower L with S = L L', zero above its diagonal, and whether S is positive definite.

    Args:
        S: Symmetric, shape (n, n).
    """
    F, positive = factor(S)
    return np.tril(F), positive


def transposed_solution(L: Array, B: Array) -> Array:
    """Return L'^-1 B of a lower triangular matrix.

    Args:
        L: Shape (n, n), with no zero on its diagonal.
        B: Shape (n, k).
    """
    X: Array = dtrtrs(L, B, lower=1, trans=1)[0]
    return X


@inlined
def regular_solution(A: Array, B: Array) -> tuple[Array, bool]:
    """Return A^-1 B of a matrix that need not be symmetric, and whether it is regular.

    Args:
        A: Shape (n, n).
        B: Shape (n, k).
    """
    X, _determinant, regular = solution_and_determinant(A, B)
    return X, regular


def solution_and_determinant(A: Array, B: Array) -> tuple[Array, float, bool]:
    """Return A^-1 B of a matrix that need not be symmetric, its determinant, and whether it is regular.

    Args:
        A: Shape (n, n).
        B: Shape (n, k).
    """
    lu, pivots, X, info = dgesv(A, B)
    swaps = int((pivots != np.arange(len(A))).sum())
    return X, float(np.diag(lu).prod() * (-1.0) ** swaps), info == 0


# Four rows at a time are subtracted from a row, which is then read and written a quarter as often. The loops
# are written out in each function: the compiler makes slower code of them where they are one of their own.


@inlined
def _substitute_forward(U: Array, X: Array) -> None:
    """Replace X by U'^-1 X, U upper triangular, by whole rows."""
    n, columns = X.shape
    for k in range(n):
        row, i = X[k], 0
        while i + 4 <= k:
            a, b, c, d = U[i, k], U[i + 1, k], U[i + 2, k], U[i + 3, k]
            first, second, third, fourth = X[i], X[i + 1], X[i + 2], X[i + 3]
            for j in range(columns):
                row[j] = row[j] - a * first[j] - b * second[j] - c * third[j] - d * fourth[j]
            i += 4
        while i < k:
            share, other = U[i, k], X[i]
            for j in range(columns):
                row[j] -= share * other[j]
            i += 1
        scale = 1.0 / U[k, k]
        for j in range(columns):
            row[j] *= scale


@inlined
def _substitute_back(U: Array, X: Array) -> None:
    """Replace X by U^-1 X, U upper triangular, by whole rows."""
    n, columns = X.shape
    for k in range(n - 1, -1, -1):
        row, i = X[k], k + 1
        while i + 4 <= n:
            a, b, c, d = U[k, i], U[k, i + 1], U[k, i + 2], U[k, i + 3]
            first, second, third, fourth = X[i], X[i + 1], X[i + 2], X[i + 3]
            for j in range(columns):
                row[j] = row[j] - a * first[j] - b * second[j] - c * third[j] - d * fourth[j]
            i += 4
        while i < n:
            share, other = U[k, i], X[i]
            for j in range(columns):
                row[j] -= share * other[j]
            i += 1
        scale = 1.0 / U[k, k]
        for j in range(columns):
            row[j] *= scale


@in_place_of(factor)
def _factor_by_rows(S: Array) -> tuple[Array, bool]:
    """Return U with S = U'U in the upper triangle, row by row."""
    U, n = S.copy(), len(S)
    for k in range(n):
        row, i = U[k], 0
        while i + 4 <= k:
            a, b, c, d = U[i, k], U[i + 1, k], U[i + 2, k], U[i + 3, k]
            first, second, third, fourth = U[i], U[i + 1], U[i + 2], U[i + 3]
            for j in range(k, n):
                row[j] = row[j] - a * first[j] - b * second[j] - c * third[j] - d * fourth[j]
            i += 4
        while i < k:
            share, other = U[i, k], U[i]
            for j in range(k, n):
                row[j] -= share * other[j]
            i += 1
        pivot = row[k]
        if not pivot > 0.0:
            return U, False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(k, n):
            row[j] *= scale
    return U, True


@in_place_of(solution)
def _solution_by_rows(U: Array, B: Array) -> Array:
    """Return (U'U)^-1 B by forward and back substitution of whole rows."""
    X: Array = B.copy()
    _substitute_forward(U, X)
    _substitute_back(U, X)
    return X


@in_place_of(whitened)
def _whitened_by_rows(U: Array, B: Array) -> Array:
    """Return U'^-1 B."""
    X: Array = B.copy()
    _substitute_forward(U, X)
    return X


@in_place_of(transposed_solution)
def _transposed_solution_by_rows(L: Array, B: Array) -> Array:
    X: Array = B.copy()
    _substitute_back(L.T, X)
    return X


@in_place_of(normalised_square)
def _normalised_square_by_rows(U: Array, y: Array) -> float:
    """Return |U'^-1 y|^2."""
    white, n, square = y.copy(), len(y), 0.0
    for k in range(n):
        value = white[k] / U[k, k]
        for i in range(k + 1, n):
            white[i] -= value * U[k, i]
        square += value * value
    return square


@in_place_of(lower_factor)
def _lower_factor_by_rows(S: Array) -> tuple[Array, bool]:
    U, positive = factor(S)
    L = np.zeros_like(U)
    for i in range(len(U)):
        for j in range(i + 1):
            L[i, j] = U[j, i]
    return L, positive


@in_place_of(solution_and_determinant)
def _solution_and_determinant_by_rows(A: Array, B: Array) -> tuple[Array, float, bool]:
    """Return A^-1 B by elimination with the largest pivot of each column, and the product of the pivots."""
    U, X = A.copy(), B.copy()
    (n, columns), determinant = B.shape, 1.0
    for k in range(n):
        largest = k
        for i in range(k + 1, n):
            if abs(U[i, k]) > abs(U[largest, k]):
                largest = i
        pivot = U[largest, k]
        if not abs(pivot) > 0.0:
            return X, 0.0, False
        determinant *= pivot
        if largest != k:
            determinant = -determinant
            for j in range(k, n):
                U[k, j], U[largest, j] = U[largest, j], U[k, j]
            for j in range(columns):
                X[k, j], X[largest, j] = X[largest, j], X[k, j]
        for i in range(k + 1, n):
            share = U[i, k] / pivot
            for j in range(k + 1, n):
                U[i, j] -= share * U[k, j]
            for j in range(columns):
                X[i, j] -= share * X[k, j]
    _substitute_back(U, X)
    return X, determinant, True
