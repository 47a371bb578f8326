"""Time and a re-opened gate against oracles: the Ornstein-Uhlenbeck process, the information form."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.inertial_scenes import ArmScene

from inertial_estimation.estimators.inertial.gate import GateConfig, InnovationGate
from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Decision

MEMORY = 2.0
ROWS, BODY, FRICTION = 7, 10, 3
DT = 0.05
PRIOR = PriorSigma(
    mass=1.0,
    com=0.1,
    radii=0.5,
    friction=np.array([0.5, 1.0, 2.0]),
    nominal_friction=np.array([1.0, -1.0, 0.3]),
)


@cache
def body():
    return ArmScene(links=("panda_link7",)).bodies[0]


class Rows:
    """A linear filter of one body with friction, and random equations that inform all of it together."""

    def __init__(self, memory=MEMORY, overlap=1.0):
        self.rng = np.random.default_rng(7)
        self.body = body()
        gate = InnovationGate(GateConfig(), ROWS)
        self.filter = LinearKalman((self.body,), PRIOR, gate, memory, overlap)

    def equation(self, x, sigma=0.05):
        """Rows that see body and friction at once, so that their errors become correlated."""
        A = self.rng.normal(size=(ROWS, BODY + FRICTION))
        value = A @ np.concatenate((self.body.to_joint @ x[:BODY], x[BODY:]))
        value = value + sigma * self.rng.normal(size=ROWS)
        return LinearEquation(A, value, sigma**2 * np.eye(ROWS), value)

    def jacobian(self, equation):
        A = equation.regressor
        return np.hstack((A[:, :BODY] @ self.body.to_joint, A[:, BODY:]))


def informed(reopen_after=0.1, **options):
    rows = Rows(**options)
    truth = rows.filter.x + np.linalg.cholesky(rows.filter.P) @ rows.rng.normal(size=BODY + FRICTION)
    rows.filter.gate.config = GateConfig(enabled=False)
    for _ in range(3):
        rows.filter.update(rows.equation(truth), 0.0)
    rows.filter.gate.config = GateConfig(reopen_after=reopen_after)
    return rows, truth


@pytest.mark.parametrize("elapsed", [0.1, 1.0, 5.0])
def test_time_without_data_follows_the_process_whose_stationary_covariance_is_the_prior(elapsed):
    """x' = -(x - x_nom)/T + w, with the intensity 2 P_prior/T of w that keeps the prior stationary."""
    rows, _truth = informed()
    filter_, n = rows.filter, BODY + FRICTION
    prior, nominal = Rows().filter.P, Rows().filter.x
    P, intensity = filter_.P.copy(), 2.0 * prior / MEMORY

    def slope(_t, y):
        moment = y[n:].reshape(n, n)
        return np.concatenate((-(y[:n] - nominal) / MEMORY, (intensity - 2.0 * moment / MEMORY).ravel()))

    start = np.concatenate((filter_.x, P.ravel()))
    end = solve_ivp(slope, (0.0, elapsed), start, rtol=1e-10, atol=1e-14).y[:, -1]
    filter_.propagate(elapsed)
    np.testing.assert_allclose(filter_.x, end[:n], atol=1e-9)
    np.testing.assert_allclose(filter_.P, end[n:].reshape(n, n), atol=1e-9 * np.abs(prior).max())
    assert np.abs(filter_.P - P).max() > 1e-3 * np.abs(prior).max()


def test_how_time_is_divided_does_not_matter():
    (one, _), (many, _) = informed(), informed()
    one.filter.propagate(1.5)
    for _ in range(30):
        many.filter.propagate(0.05)
    np.testing.assert_allclose(many.filter.x, one.filter.x, atol=1e-12)
    np.testing.assert_allclose(many.filter.P, one.filter.P, atol=1e-12)


@pytest.mark.parametrize("overlap", [1.0, 4.0])
def test_a_reopened_gate_forgets_the_bodies_alone_and_takes_the_measurement_by_the_new_covariance(overlap):
    """The information form of: bodies at the prior about the estimate, friction as known, uncorrelated."""
    rows, truth = informed(memory=1e12, overlap=overlap, reopen_after=2.5 * DT)
    filter_, prior = rows.filter, Rows().filter.P
    changed = truth.copy()
    changed[0] += 20.0
    for _ in range(2):
        assert filter_.update(rows.equation(changed), DT).decision is Decision.REJECTED
    x, P = filter_.x.copy(), filter_.P.copy()
    assert np.abs(P[:BODY, BODY:]).max() > 1e-3  # known together
    equation = rows.equation(changed)
    assert filter_.update(equation, DT).decision is Decision.REOPENED
    opened = np.zeros_like(P)
    opened[:BODY, :BODY], opened[BODY:, BODY:] = prior[:BODY, :BODY], P[BODY:, BODY:]
    H, R = rows.jacobian(equation), overlap * equation.noise
    information = np.linalg.inv(opened) + H.T @ np.linalg.solve(R, H)
    mean = np.linalg.solve(information, np.linalg.solve(opened, x) + H.T @ np.linalg.solve(R, equation.value))
    np.testing.assert_allclose(filter_.P, np.linalg.inv(information), atol=1e-7)
    np.testing.assert_allclose(filter_.x, mean, atol=1e-6)


def test_a_rejected_measurement_leaves_the_state_to_time_alone():
    (struck, truth), (idle, _) = informed(), informed()
    struck_at = truth.copy()
    struck_at[0] += 50.0
    assert struck.filter.update(struck.equation(struck_at), 0.01).decision is Decision.REJECTED
    idle.filter.propagate(0.01)
    np.testing.assert_array_equal(struck.filter.x, idle.filter.x)
    np.testing.assert_array_equal(struck.filter.P, idle.filter.P)
    assert struck.filter.update(struck.equation(truth), 0.01).decision is Decision.ACCEPTED


def test_an_update_says_whether_the_state_was_corrected_and_reset_begins_a_new_count():
    rows, truth = informed(memory=1e12, reopen_after=3.5 * DT)
    struck = truth.copy()
    struck[0] += 50.0
    for _ in range(2):  # the second time after a reset: the time rejected starts from zero
        outcomes = [rows.filter.update(rows.equation(struck), DT) for _ in range(3)]
        assert [(o.decision, o.accepted) for o in outcomes] == 3 * [(Decision.REJECTED, False)]
        rows.filter.reset()
        for _ in range(3):
            rows.filter.update(rows.equation(truth, sigma=0.01), 0.0)
        rows.filter.gate.config = GateConfig(reopen_after=3.5 * DT)
    fits = rows.filter.update(rows.equation(truth), DT)
    assert (fits.decision, fits.accepted) == (Decision.ACCEPTED, True)
    outcomes = [rows.filter.update(rows.equation(struck), DT) for _ in range(4)]
    assert (outcomes[-1].decision, outcomes[-1].accepted) == (Decision.REOPENED, True)
