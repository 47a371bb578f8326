"""Factors say of any solution what the rows themselves would say."""

from dataclasses import replace

import numpy as np
import pytest

from inertial_estimation.identification.equations import EquationStack, ReducedEquation
from inertial_estimation.identification.rows import RowBlock


def random_rows(rng, k, m, n):
    A, value, measured = rng.normal(size=(k, m, n)), rng.normal(size=(k, m)), rng.normal(size=(k, m))
    A[:, :, ::2] += 2.0  # columns of gravity have means, those of motion have none
    return RowBlock(np.arange(k), A, value, measured, 0.5 * k)


@pytest.fixture(scope="module")
def folded():
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 900, 3, 8)
    stack = EquationStack(("a", "b", "c"), 8)
    for first in range(0, 900, 71):
        part = slice(first, first + 71)
        names = ("stamps_ns", "regressor", "value", "measured")
        arrays = {name: getattr(rows, name)[part] for name in names}
        stack.add(replace(rows, **arrays, independent=0.5 * len(arrays["value"])))
    return rows, stack, rng


def test_reduced_system_has_the_weighted_least_squares_solution_and_cost(folded):
    rows, stack, _rng = folded
    sigma = np.array([0.5, 2.0, 1.0])
    A = (rows.regressor / sigma[:, None]).reshape(-1, 8)
    b = (rows.value / sigma).ravel()
    expected, cost = np.linalg.lstsq(A, b, rcond=None)[:2]
    reduced = stack.reduced(sigma)
    x = np.linalg.solve(reduced.R, reduced.z)
    assert x == pytest.approx(expected, abs=1e-10)
    assert reduced.rest == pytest.approx(cost[0], rel=1e-10)
    assert reduced.rows == stack.rows == rows.value.size
    assert stack.correlation == pytest.approx(2.0)


def test_truncation_leaves_what_is_above_the_limit():
    U, V = (np.linalg.qr(np.random.default_rng(k).standard_normal((4, 4)))[0] for k in (0, 1))
    equation = ReducedEquation((U * [100.0, 20.0, 0.9, 0.01]) @ V.T, np.zeros(4), 0.0, 4)
    cut = equation.truncated(1e2).R
    np.testing.assert_allclose(np.linalg.svd(cut, compute_uv=False), [100.0, 20.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(cut @ V[:, :2], equation.R @ V[:, :2], atol=1e-12)
    np.testing.assert_allclose(equation.truncated(np.inf).R, equation.R, atol=1e-12)
