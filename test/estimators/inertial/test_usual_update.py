"""A usual update in one call against its parts, and against all rows at once; compiled as interpreted."""

import numpy as np
import pytest

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inertial import filter_steps, usual_update
from inertial_estimation.estimators.inertial.usual_update import CORRECTED, MOVED, UNUSUAL
from inertial_estimation.spatial.log_cholesky import parameters_from_log_cholesky

EVERY_ROW = np.zeros(0, dtype=np.int64)
IDLE = [[], [0, 3, 4], [8, 9, 10, 11]]  # rows without a body, at the begin, among the others, at the end
DT, OVERLAP = 0.2, 3.0


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


class Case:
    """A random state of two bodies and three more parameters, and a measurement of twelve rows."""

    def __init__(self, idle=(), informing=EVERY_ROW, seed=0, m=12, n=23):
        rng = np.random.default_rng(seed)
        self.x, self.x_at, self.phi, self.centre = rng.normal(size=(4, n))
        L = rng.normal(size=(n, n))
        self.P, self.G = L @ L.T + 0.1 * np.eye(n), np.eye(n)
        for first in (0, 10):
            self.G[first : first + 10, first : first + 10] = rng.normal(size=(10, 10))
        self.A, self.z = rng.normal(size=(m, n)), rng.normal(size=m)
        self.A[list(idle)] = 0.0
        L = rng.normal(size=(m, m))
        self.R = L @ L.T + np.eye(m)
        self.gained, self.informing = np.r_[np.ones(n - 1), 0.0], informing
        self.largest = self.farthest = np.inf
        self.nominal = self.phi, self.P + np.eye(n), np.linspace(0.5, 9.0, n)

    def updated(self, update=None):
        m, n = self.A.shape
        predicted, after = (np.empty(n), np.empty(n), np.empty((n, n))), (np.empty(n), np.empty((n, n)))
        innovation, self.parameters = (np.empty(m), np.empty(m)), (np.empty(n), np.empty((2, 10)))
        figures = (update or usual_update.usual_update)(
            (self.x, self.centre, self.P),
            self.nominal,
            (self.G, self.phi, self.x_at),
            (self.A, self.z, self.R),
            (self.gained, self.informing),
            (DT, self.largest, OVERLAP, self.farthest),
            (20, False),
            *(predicted, innovation, after, self.parameters),
        )
        return figures, predicted, innovation, after

    def decayed(self):
        n = len(self.x)
        after = np.empty(n), np.empty(n), np.empty((n, n))
        filter_steps.decayed((self.x, self.centre, self.P), self.nominal, DT, after)
        return after

    def in_turn(self):
        """NIS, log det, innovation, its variance, state and covariance by the parts, all rows together."""
        (m, n), (x, _centre, P) = self.A.shape, self.decayed()
        comparison = np.empty((m, n)), np.empty((m, n)), np.empty(m), np.empty((m, m))
        at, measurement = (self.G, self.phi, self.x_at), (self.A, self.z, self.R)
        nis, log_det = filter_steps.compared(at, 20, (x, P), measurement, comparison)
        H, HP, y, S = comparison
        rows = self.informing if len(self.informing) else np.arange(m)
        chosen = H[rows], HP[rows], y[rows], S[np.ix_(rows, rows)]
        R, after = np.ascontiguousarray(self.R[np.ix_(rows, rows)]), (np.empty(n), np.empty((n, n)))
        assert filter_steps.corrected((x, P), chosen, R, OVERLAP, self.gained, after)
        return nis, log_det, y, np.diag(S), *after


@pytest.mark.parametrize("considered", [False, True])
@pytest.mark.parametrize("idle", IDLE)
def test_an_update_is_that_of_its_parts_with_all_rows(idle, considered):
    case = Case(idle)
    case.gained[-1] = float(not considered)
    (outcome, nis, log_det, distance), predicted, (y, variance), (x, P) = case.updated()
    assert outcome == CORRECTED
    for one, other in zip(predicted, case.decayed(), strict=True):
        assert np.array_equal(one, other)
    for one, other in zip((nis, log_det, y, variance, x, P), case.in_turn(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    assert np.array_equal(P, P.T)
    assert distance == np.abs(x - case.x_at)[:20].max()
    phi, pi = case.parameters
    np.testing.assert_allclose(phi, case.phi + case.G @ (x - case.x_at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pi, parameters_from_log_cholesky(x[:20].reshape(2, 10)), rtol=1e-12)


@pytest.mark.parametrize(
    "informing", [[1, 2, 5, 6, 7, 8, 9, 10, 11], [11, 10, 9, 8, 7, 6, 5, 3, 2, 1], [0, 2, 6, 7, 9], [5]]
)
def test_rows_that_do_not_inform_count_in_the_nis_and_nowhere_else(informing):
    case = Case([0, 3, 4], np.array(informing))
    figures, _predicted, (y, variance), (x, P) = case.updated()
    assert figures[0] == CORRECTED
    for one, other in zip((*figures[1:3], y, variance, x, P), case.in_turn(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_a_limit_is_met_by_the_nis_itself_and_by_the_distance_not():
    case = Case([0, 3])
    (_outcome, nis, *_figures), predicted, *_rest = case.updated()
    away = np.abs(predicted[0] - case.x_at)[:20].max()
    for largest, farthest, expected in (
        (nis, 1.01 * away, CORRECTED),
        (0.999 * nis, np.inf, UNUSUAL),
        (np.inf, away, MOVED),
        (np.inf, 1.01 * away, CORRECTED),
    ):
        case.largest, case.farthest = largest, farthest
        found, before, *_rest = case.updated()
        assert found[0] == expected
        for one, other in zip(before, predicted, strict=True):
            assert np.array_equal(one, other)


def spoilt(name):
    """A case of which something is not usual."""
    case = Case([0, 3])
    if name == "NaN in the mean":
        case.x[0], case.farthest = np.nan, 1e9
    elif name == "NaN in the value":
        case.z[5] = np.nan
    elif name == "NaN in an idle value":
        case.z[0] = np.nan
    elif name == "noise of an idle row":
        case.R[0, 0] = -1e3
    elif name == "noise of an active row":
        case.R[1, 1] = -1e3
    elif name == "infinite gain":
        case.gained[:] = np.inf
    elif name == "no active row informs":
        case.informing = np.array([0, 3])
    elif name == "no row has content":
        case.A[:] = 0.0
    return case


@pytest.mark.parametrize(
    "name",
    [
        "NaN in the value",
        "NaN in an idle value",
        "noise of an idle row",
        "noise of an active row",
        "infinite gain",
        "no active row informs",
        "no row has content",
    ],
)
def test_what_is_not_usual_is_left_to_others(name):
    with np.errstate(invalid="ignore"):
        assert spoilt(name).updated()[0][0] == UNUSUAL
        assert spoilt("NaN in the mean").updated()[0][0] == MOVED


def flat(result):
    """The numbers and arrays of nested tuples."""
    return [part for item in result for part in flat(item)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(
    "informing", [EVERY_ROW, np.array([1, 2, 5, 6, 7, 8, 9, 10, 11]), np.array([0, 2, 6, 7, 9])]
)
@pytest.mark.parametrize("idle", IDLE)
def test_compiled_functions_give_the_numbers_of_their_source(idle, informing):
    if not hasattr(usual_update.usual_update, "py_func"):
        pytest.skip("nothing is compiled here")
    case = Case(idle, informing)
    found, expected = case.updated(), case.updated(usual_update.usual_update.py_func)
    assert found[0][0] == expected[0][0]
    if found[0][0] == CORRECTED:
        for one, other in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
