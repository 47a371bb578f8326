"""Objectives against singular values and inverses of the rows themselves; gradients against differences."""

import numpy as np
import pytest

from inertial_estimation.identification.excitation.precision import covariance, objective, scaled_condition
from inertial_estimation.identification.identifiability import BaseParameters, base_parameters

UNITS = np.array([1.0, 30.0, 0.01, 5.0, 1.0])


def rows(seed: int = 0, count: int = 40) -> np.ndarray:
    """Five columns: the fourth is made of the first two, the fifth does nothing."""
    A = np.random.default_rng(seed).normal(size=(count, 5)) * UNITS
    A[:, 3] = 2.0 * A[:, 0] - 0.1 * A[:, 1]
    A[:, 4] = 0.0
    return A


@pytest.fixture
def base() -> BaseParameters:
    return base_parameters(rows(7, 100))


def test_base_parameters_say_what_belongs_together(base: BaseParameters) -> None:
    assert base.rank == 3
    assert base.acting.tolist() == [0, 1, 2, 3]
    assert [base.grouped(i) for i in range(3)] == [[3], [3], []]


def test_base_columns_carry_all_rows(base: BaseParameters) -> None:
    A, x = rows(1), np.random.default_rng(2).normal(size=5)
    np.testing.assert_allclose(A[:, base.columns] @ (base.coupling @ x), A @ x, rtol=1e-10)


def test_condition_is_that_of_the_singular_values(base: BaseParameters) -> None:
    A = rows(3)
    scaled = np.linalg.svd(A[:, :4] / np.linalg.norm(A[:, :4], axis=0), compute_uv=False)
    assert scaled_condition(A.T @ A, base) == pytest.approx(scaled[0] / scaled[2], rel=1e-9)
    assert objective("condition", A.T @ A, base)[0] == pytest.approx(np.log(scaled[0] / scaled[2]), rel=1e-9)


def test_log_det_is_the_determinant(base: BaseParameters) -> None:
    B = rows(6)[:, base.columns]
    A = rows(6)
    assert objective("log-det", A.T @ A, base)[0] == pytest.approx(-np.linalg.slogdet(B.T @ B)[1], rel=1e-9)


@pytest.mark.parametrize("name", ["condition", "max-variance", "log-det"])
@pytest.mark.parametrize("sharpness", [8.0, np.inf])
def test_gradient_against_differences(base: BaseParameters, name: str, sharpness: float) -> None:
    A, rng = rows(8), np.random.default_rng(9)
    G = objective(name, A.T @ A, base, sharpness)[1]
    for _ in range(5):
        D = A @ np.diag(1e-6 * rng.normal(size=5))  # keeps the dependencies' zero column, not their size
        D[:, 3] = 2.0 * D[:, 0] - 0.1 * D[:, 1]
        up, down = (objective(name, (A + s * D).T @ (A + s * D), base, sharpness)[0] for s in (1.0, -1.0))
        change = 2.0 * np.sum(G * (A.T @ D + D.T @ A))
        assert up - down == pytest.approx(change, rel=1e-4, abs=1e-11)


@pytest.mark.parametrize("name", ["condition", "max-variance"])
def test_smooth_objective_is_above_and_tends_to_the_exact_one(base: BaseParameters, name: str) -> None:
    M = rows(10).T @ rows(10)
    exact = objective(name, M, base)[0]
    smooth = [objective(name, M, base, p)[0] for p in (4.0, 16.0, 400.0)]
    assert smooth[0] >= smooth[1] >= smooth[2] >= exact
    assert smooth[2] == pytest.approx(exact, abs=0.01)


def test_too_few_rows_are_infinite_not_wrong(base: BaseParameters) -> None:
    A = rows(11, 2)
    M = A.T @ A
    assert scaled_condition(M, base) == np.inf
    assert np.all(np.isinf(covariance(M, base, 1.0)))
    assert all(np.isfinite(objective(name, M, base)[0]) for name in ("condition", "max-variance", "log-det"))
