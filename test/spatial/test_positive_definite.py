"""Factors and solutions of positive definite systems: LAPACK's, and those of the loops in compiled code."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from inertial_estimation.spatial import positive_definite
from inertial_estimation.spatial.positive_definite import factor, normalised_square, solution

LAPACK = (factor, solution, normalised_square)
LOOPS = (
    positive_definite._factor_by_rows,
    positive_definite._solution_by_rows,
    positive_definite._normalised_square_by_rows,
)


@pytest.mark.parametrize("functions", [LAPACK, LOOPS], ids=["LAPACK", "loops"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_systems_are_solved(functions, n):
    factorise, solve, square = functions
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 2))
    S, B, y = A @ A.T + 0.1 * np.eye(n), rng.normal(size=(n, 4)), rng.normal(size=n)
    untouched = S.copy()
    F, positive = factorise(S)
    assert positive
    assert np.allclose(S @ solve(F, B), B, rtol=0.0, atol=1e-11)
    assert square(F, y) == pytest.approx(y @ np.linalg.inv(S) @ y, rel=1e-11)
    assert 2.0 * np.log(np.diag(F)).sum() == pytest.approx(np.linalg.slogdet(S)[1], abs=1e-11)
    assert np.array_equal(S, untouched)


@pytest.mark.parametrize("functions", [LAPACK, LOOPS], ids=["LAPACK", "loops"])
@pytest.mark.parametrize("worst", [-1e-3, 0.0, np.nan])
def test_what_is_not_positive_definite_is_told(functions, worst):
    S = np.diag([2.0, 1.0, worst])
    assert not functions[0](S)[1]


SOLVERS = (positive_definite.solution_and_determinant, positive_definite._solution_and_determinant_by_rows)


@pytest.mark.parametrize("solve", SOLVERS, ids=["LAPACK", "loops"])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_regular_systems_are_solved_and_their_determinants_found(solve, n):
    rng = np.random.default_rng(n)
    for _ in range(4):  # rows change places, an even and an odd number of times
        A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
        X, determinant, regular = solve(A, B)
        assert regular
        np.testing.assert_allclose(A @ X, B, rtol=0.0, atol=1e-10)
        assert determinant == pytest.approx(np.linalg.det(A), rel=1e-10)


@pytest.mark.parametrize("solve", SOLVERS, ids=["LAPACK", "loops"])
def test_a_singular_system_is_told(solve):
    assert not solve(np.array([[1.0, 2.0], [2.0, 4.0]]), np.eye(2))[2]


@pytest.mark.parametrize(
    "solve",
    [positive_definite.transposed_solution, positive_definite._transposed_solution_by_rows],
    ids=["LAPACK", "loops"],
)
def test_transposed_triangular_systems_are_solved(solve):
    rng = np.random.default_rng(3)
    L, B = np.tril(rng.normal(size=(7, 7))) + 3.0 * np.eye(7), rng.normal(size=(7, 2))
    np.testing.assert_allclose(solve(L, B), solve_triangular(L.T, B), rtol=0.0, atol=1e-12)
