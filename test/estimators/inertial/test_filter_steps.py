"""Arithmetic of an update: information form and batch solution as oracles, compiled as interpreted."""

import numpy as np
import pytest

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inertial import filter_steps

SIZES = [
    (12, 5),
    (3, 14),
    (9, 23),
]  # more rows than states, and fewer; coordinates of two bodies and three more
DT = 0.2


class Case:
    """A random state and measurement."""

    def __init__(self, m, n, condition=1.0):
        rng = np.random.default_rng(m)
        scale = condition ** -np.linspace(0.0, 0.5, n)
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        self.P = (Q * scale**2) @ Q.T
        self.P = 0.5 * (self.P + self.P.T)
        self.x, self.x_at, self.phi, self.centre = rng.normal(size=(4, n))
        self.curved = 10 * (n // 10)
        self.G = np.eye(n)
        for first in range(0, self.curved, 10):
            self.G[first : first + 10, first : first + 10] = rng.normal(size=(10, 10))
        self.A, self.z = rng.normal(size=(m, n)), rng.normal(size=m)
        L = rng.normal(size=(m, m))
        self.R = L @ L.T + np.eye(m)

    @property
    def at(self):
        return self.G, self.phi, self.x_at

    @property
    def nominal(self):
        n = len(self.x)
        return self.phi, self.P + np.eye(n), np.linspace(0.5, 9.0, n)

    def compared(self, compared=filter_steps.compared):
        m, n = self.A.shape
        comparison = np.empty((m, n)), np.empty((m, n)), np.empty(m), np.empty((m, m))
        measurement = self.A, self.z, self.R
        return comparison, compared(self.at, self.curved, (self.x, self.P), measurement, comparison)

    def corrected(self, comparison, overlap, corrected=filter_steps.corrected):
        n = len(self.x)
        after = np.empty(n), np.empty((n, n))
        return corrected((self.x, self.P), comparison, self.R, overlap, np.ones(n), after), after

    def decayed(self, decayed=filter_steps.decayed):
        n = len(self.x)
        after = np.empty(n), np.empty(n), np.empty((n, n))
        decayed((self.x, self.centre, self.P), self.nominal, DT, after)
        return after


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("overlap", [1.0, 7.0])
def test_a_correction_adds_the_information_of_the_measurement(m, n, overlap):
    case = Case(m, n)
    comparison, (nis, log_det) = case.compared()
    H, _HP, y, S = comparison
    assert np.allclose(H, case.A @ case.G)
    assert np.allclose(y, case.z - case.A @ (case.phi + case.G @ (case.x - case.x_at)))
    assert nis == pytest.approx(y @ np.linalg.inv(H @ case.P @ H.T + case.R) @ y, rel=1e-10)
    assert log_det == pytest.approx(np.linalg.slogdet(S)[1], abs=1e-10)
    resolved, (x, P) = case.corrected(comparison, overlap)
    assert resolved
    R = overlap * case.R
    expected = np.linalg.inv(np.linalg.inv(case.P) + H.T @ np.linalg.inv(R) @ H)
    assert np.allclose(P, expected, rtol=1e-9, atol=1e-12)
    assert np.allclose(x, case.x + expected @ H.T @ np.linalg.inv(R) @ y, rtol=1e-9)
    assert np.array_equal(P, P.T)


def test_a_covariance_stays_positive_definite_where_a_measurement_is_nearly_exact():
    case = Case(5, 5, condition=1e8)
    case.R = 1e-14 * np.eye(5)
    _resolved, (_x, P) = case.corrected(case.compared()[0], 1.0)
    assert np.linalg.eigvalsh(P).min() > 0.0


def test_a_covariance_that_is_not_positive_definite_is_told():
    case = Case(4, 6)
    case.P = -case.P
    comparison, (nis, log_det) = case.compared()
    assert np.isinf(nis)
    assert np.isnan(log_det)
    assert not case.corrected(comparison, 1.0)[0]


def test_a_state_decays_to_nominal_with_the_time_constant_of_each_coordinate():
    case = Case(3, 14)
    x_nominal, P_prior, memories = case.nominal
    kept = np.exp(-DT / memories)
    x, centre, P = case.decayed()
    assert np.allclose(x - x_nominal, kept * (case.x - x_nominal))
    assert np.allclose(centre - x_nominal, kept * (case.centre - x_nominal))
    assert np.allclose(P - P_prior, np.outer(kept, kept) * (case.P - P_prior))


def flat(result):
    """The numbers and arrays of nested tuples."""
    return [part for item in result for part in flat(item)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(("m", "n"), SIZES)
def test_compiled_functions_give_the_numbers_of_their_source(m, n, monkeypatch):
    case = Case(m, n)
    if not hasattr(filter_steps.largest_step, "py_func"):
        pytest.skip("nothing is compiled here")

    def results():
        phi, comparison = np.empty(n), case.compared(filter_steps.compared)
        filter_steps.parameters_near(case.at, case.x, phi)
        corrected = case.corrected(comparison[0], 3.0, filter_steps.corrected)
        return phi, comparison, corrected, case.decayed(filter_steps.decayed)

    found = results()
    for name in ("largest_step", "parameters_near", "decayed", "compared", "corrected"):
        monkeypatch.setattr(filter_steps, name, getattr(filter_steps, name).py_func)
    for one, other in zip(*map(flat, (found, results())), strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
