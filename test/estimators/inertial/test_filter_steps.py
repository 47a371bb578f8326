"""Arithmetic of an update: information form and batch solution as oracles, compiled as interpreted."""

import numpy as np
import pytest

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inertial import filter_steps

SIZES = [(12, 5), (3, 14)]  # more rows than states, and fewer


class Case:
    """A random state and measurement."""

    def __init__(self, m, n, condition=1.0):
        rng = np.random.default_rng(m)
        scale = condition ** -np.linspace(0.0, 0.5, n)
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        self.P = (Q * scale**2) @ Q.T
        self.P = 0.5 * (self.P + self.P.T)
        self.x, self.x_at, self.phi = rng.normal(size=(3, n))
        self.G = rng.normal(size=(n, n))
        self.A, self.z = rng.normal(size=(m, n)), rng.normal(size=m)
        L = rng.normal(size=(m, m))
        self.R = L @ L.T + np.eye(m)

    def compared(self):
        return filter_steps.compared(
            self.G, len(self.x), self.phi, self.x_at, self.x, self.P, self.A, self.z, self.R
        )


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("overlap", [1.0, 7.0])
def test_a_correction_adds_the_information_of_the_measurement(m, n, overlap):
    case = Case(m, n)
    H, HP, y, S, nis, log_det = case.compared()
    assert np.allclose(y, case.z - case.A @ (case.phi + case.G @ (case.x - case.x_at)))
    assert nis == pytest.approx(y @ np.linalg.inv(H @ case.P @ H.T + case.R) @ y, rel=1e-10)
    assert log_det == pytest.approx(np.linalg.slogdet(S)[1], abs=1e-10)
    x, P, resolved = filter_steps.corrected(case.x, case.P, H, HP, y, S, case.R, overlap, np.ones(n))
    assert resolved
    R = overlap * case.R
    expected = np.linalg.inv(np.linalg.inv(case.P) + H.T @ np.linalg.inv(R) @ H)
    assert np.allclose(P, expected, rtol=1e-9, atol=1e-12)
    assert np.allclose(x, case.x + expected @ H.T @ np.linalg.inv(R) @ y, rtol=1e-9)
    assert np.array_equal(P, P.T)


def test_a_covariance_stays_positive_definite_where_a_measurement_is_nearly_exact():
    case = Case(5, 5, condition=1e8)
    case.R = 1e-14 * np.eye(5)
    H, HP, y, S, _nis, _log_det = case.compared()
    _x, P, _resolved = filter_steps.corrected(case.x, case.P, H, HP, y, S, case.R, 1.0, np.ones(5))
    assert np.linalg.eigvalsh(P).min() > 0.0


def test_a_covariance_that_is_not_positive_definite_is_told():
    case = Case(4, 6)
    case.P = -case.P
    H, HP, y, S, nis, log_det = case.compared()
    assert np.isinf(nis)
    assert np.isnan(log_det)
    x, P, resolved = filter_steps.corrected(case.x, case.P, H, HP, y, S, case.R, 1.0, np.ones(5))
    assert not resolved
    assert np.array_equal(x, case.x)
    assert np.array_equal(P, case.P)


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_a_prediction_with_its_comparison_is_both_in_turn(m, n):
    case = Case(m, n)
    before, nominal = (case.x, case.x_at, case.P), (case.phi, case.P + np.eye(n), np.full(n, 0.9))
    at, measurement = (case.G, n, case.phi, case.x_at), (case.A, case.z, case.R)
    after, distance, comparison = filter_steps.predicted(before, nominal, at, measurement)
    x, centre, P = filter_steps.decayed(*before, *nominal)
    for one, other in zip(after, (x, centre, P), strict=True):
        assert np.array_equal(one, other)
    assert distance == np.abs(x - case.x_at).max()
    expected = filter_steps.compared(*at, x, P, *measurement)
    for one, other in zip(comparison, expected, strict=True):
        assert np.array_equal(one, other)


def flat(result):
    """The numbers and arrays of nested tuples."""
    return [part for item in result for part in flat(item)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_compiled_functions_give_the_numbers_of_their_source(m, n, monkeypatch):
    case = Case(m, n)
    if not hasattr(filter_steps.largest_step, "py_func"):
        pytest.skip("nothing is compiled here")
    H, HP, y, S, *_figures = case.compared()
    calls = {
        "compared": (case.G, n, case.phi, case.x_at, case.x, case.P, case.A, case.z, case.R),
        "corrected": (case.x, case.P, H, HP, y, S, case.R, 3.0, np.ones(n)),
        "decayed": (case.x, case.x_at, case.P, case.phi, case.P, np.full(n, 0.9)),
        "largest_step": (case.x, case.x_at, n - 1),
        "predicted": (
            (case.x, case.x_at, case.P),
            (case.phi, case.P, np.full(n, 0.9)),
            (case.G, n, case.phi, case.x_at),
            (case.A, case.z, case.R),
        ),
    }
    compiled = {name: getattr(filter_steps, name)(*values) for name, values in calls.items()}
    for name in ("_compared", "_corrected", "_decayed", "_predicted", "largest_step"):
        monkeypatch.setattr(filter_steps, name, getattr(filter_steps, name).py_func)
    for name, values in calls.items():
        results = (compiled[name], getattr(filter_steps, name)(*values))
        for one, other in zip(*map(flat, results), strict=True):
            assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
