"""The solver against other solvers of the sum it states: Huber's function, prior, local unknowns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from inertial_estimation.calibration.problem import CalibrationProblem, Channel, Linearisation, Unknowns
from inertial_estimation.calibration.solver import (
    fit_local,
    fits_without,
    offset_knowledge,
    solve,
)
from inertial_estimation.signals import Identifiability

SIGMA = np.array([0.5, 0.2])
ROWS = 4
QUANTILE = 0.99  # of the chi-square of a good sample: beyond it Huber's function is a line


class LinearProblem(CalibrationProblem):
    """r_k = y_k - J_k x - L_k l_k with random matrices: everything else is the solver's."""

    channels = (Channel("first", "m", 0.5, 1e-6), Channel("second", "rad", 0.2, 1e-6))
    channel_of_row = np.array([0, 0, 1, 1])

    def __init__(self, J, L, y, *, prior=1e3, centre=0.0):
        n = J.shape[2]
        self.J, self.L, self.y, self.q = J, L, y, y
        self.unknowns = Unknowns(tuple(f"x{i}" for i in range(n)), n, np.full(n, prior), np.full(n, centre))

    def start_local(self):
        return np.zeros((self.n_samples, self.L.shape[2]))

    def moved(self, local, step):
        return local + step

    def subset(self, rows):
        return LinearProblem(self.J[rows], self.L[rows], self.y[rows])

    def linearise(self, x, local):
        residual = self.y - self.J @ x - (self.L @ local[:, :, None])[:, :, 0]
        return Linearisation(residual, -self.J, -self.L)


def made(rng, *, samples=30, n=3, n_local=0, outliers=0, noise=1.0, **options):
    x = rng.normal(size=n)
    J, L = rng.normal(size=(samples, ROWS, n)), rng.normal(size=(samples, ROWS, n_local))
    sigma = SIGMA[LinearProblem.channel_of_row]
    y = (
        J @ x
        + (L @ rng.normal(size=(samples, n_local, 1)))[:, :, 0]
        + noise * sigma * rng.normal(size=(samples, ROWS))
    )
    y[:outliers] += 10.0 * rng.normal(size=(outliers, ROWS))
    return LinearProblem(J, L, y, **options), x


def stated_cost(problem, x, local, *, robust):
    """The sum the module states."""
    residual = problem.linearise(x, local).residual / SIGMA[problem.channel_of_row]
    rho = (residual**2).sum(axis=1)
    if robust:
        limit = chi2.ppf(QUANTILE, ROWS)
        rho = np.where(rho <= limit, rho, 2.0 * np.sqrt(limit * rho) - limit)
    u = problem.unknowns
    return float(rho.sum() + (((x - u.centre) / u.prior_sigma) ** 2).sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("outliers", [0, 8])
def test_the_robust_solution_minimises_hubers_function_of_whole_samples(seed, outliers):
    problem, truth = made(np.random.default_rng(seed), outliers=outliers, prior=2.0, centre=0.3)
    solution = solve(problem, sigma=SIGMA)
    none = problem.start_local()
    oracle = minimize(lambda x: stated_cost(problem, x, none, robust=True), truth, options={"gtol": 1e-9})
    np.testing.assert_allclose(solution.x, oracle.x, atol=1e-5)
    assert stated_cost(problem, solution.x, none, robust=True) == pytest.approx(oracle.fun, rel=1e-9)
    assert solution.converged


def test_a_weight_is_the_share_of_its_pull_that_a_sample_keeps():
    """Huber's function grows sqrt(limit / square) times as fast as the square beyond the limit."""
    problem, _truth = made(np.random.default_rng(3), outliers=6)  # whose pull sums up to hundreds
    solution = solve(problem, sigma=SIGMA)
    residual = solution.residual / SIGMA[problem.channel_of_row]
    length = np.sqrt((residual**2).sum(axis=1))
    limit = np.sqrt(chi2.ppf(QUANTILE, ROWS))
    np.testing.assert_allclose(solution.weights, np.minimum(1.0, limit / length), rtol=1e-9)
    assert (solution.weights[:6] < 0.5).all()
    pull = solution.weights[:, None] * residual / SIGMA[problem.channel_of_row]
    np.testing.assert_allclose(np.einsum("kmn,km->n", problem.J, pull), 0.0, atol=1e-2)


@pytest.mark.parametrize("n_local", [0, 2])
def test_squares_with_a_prior_are_the_normal_equations_of_all_unknowns_together(n_local):
    """Eliminating the local unknowns sample by sample changes nothing; the prior pulls to its centre."""
    problem, _truth = made(np.random.default_rng(4), samples=5, n_local=n_local, prior=0.1, centre=-0.4)
    solution = solve(problem, sigma=SIGMA, robust=False)
    samples, n = problem.n_samples, 3
    A = np.zeros((samples, ROWS, n + samples * n_local))
    A[:, :, :n] = problem.J
    for k in range(samples):
        A[k, :, n + k * n_local : n + (k + 1) * n_local] = problem.L[k]
    weight = np.tile(1.0 / SIGMA[problem.channel_of_row] ** 2, samples)
    A = A.reshape(-1, A.shape[2])
    information = A.T @ (weight[:, None] * A)
    information[:n, :n] += np.eye(n) / 0.1**2
    pull = A.T @ (weight * problem.y.ravel())
    pull[:n] += -0.4 / 0.1**2
    expected = np.linalg.solve(information, pull)
    np.testing.assert_allclose(solution.x, expected[:n], atol=1e-8)
    np.testing.assert_allclose(solution.local.ravel(), expected[n:], atol=1e-8)
    np.testing.assert_allclose(solution.covariance, np.linalg.inv(information)[:n, :n], rtol=1e-6, atol=1e-12)


class Bent(LinearProblem):
    """All residuals are atan(x), whose root steps without damping leave from beyond 1.39."""

    def linearise(self, x, local):
        return Linearisation(np.arctan(x) + 0.0 * self.y, 0.0 * self.J + 1.0 / (1.0 + x**2), -self.L)


def test_a_step_that_would_worsen_the_fit_is_damped():
    problem, _truth = made(np.random.default_rng(7), n=1)
    solution = solve(Bent(problem.J, problem.L, problem.y), x=np.array([1.45]), sigma=SIGMA, robust=False)
    assert solution.x == pytest.approx([0.0], abs=1e-6)
    assert solution.converged


@pytest.mark.parametrize("n_local", [0, 2])
def test_noise_levels_are_found_without_bias_from_few_samples(n_local):
    """Every unknown takes a degree of freedom from the residuals, whose mean square is thus too low."""
    ratios = []
    for seed in range(60):
        problem, _truth = made(np.random.default_rng(seed), samples=8, n_local=n_local)
        ratios.append((solve(problem, robust=False).sigma / SIGMA) ** 2)
    # Of the 16 rows of a channel the local unknowns take half, the common ones up to 3 more.
    freedom = 60 * (8 * (ROWS - n_local) / 2 - 3)
    np.testing.assert_allclose(np.mean(ratios, axis=0), 1.0, atol=4.0 * np.sqrt(2.0 / freedom))


def test_local_unknowns_alone_are_fitted_where_the_common_ones_are_held():
    problem, truth = made(np.random.default_rng(6), n_local=2, noise=0.0)
    residual, _local = fit_local(problem, truth, SIGMA)
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)
    off, local = fit_local(problem, truth + 0.1, SIGMA)
    weight = 1.0 / SIGMA[problem.channel_of_row]
    for k in range(problem.n_samples):
        best = np.linalg.lstsq(
            weight[:, None] * problem.L[k], weight * (problem.y[k] - problem.J[k] @ (truth + 0.1))
        )
        np.testing.assert_allclose(local[k], best[0], atol=1e-9)
    assert np.abs(off).max() > 1e-3


def test_a_share_in_a_direction_just_beyond_the_limit_leaves_an_offset_known():
    """Its standard deviation decides, whatever the direction's own."""
    unknowns = Unknowns(("a", "b"), 2, np.ones(2), np.zeros(2))
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    problem, _truth = made(np.random.default_rng(0))
    solution = replace(solve(problem), factor=np.diag([1.0 / 0.002, 1.0 / 0.011]) @ turn)
    sigma = np.sqrt(np.diag(np.linalg.inv(solution.factor.T @ solution.factor)))
    known = offset_knowledge(unknowns, solution, 0.01)
    assert (sigma < 0.01).all()
    assert known.kinds == (Identifiability.IDENTIFIABLE, Identifiability.IDENTIFIABLE)
    assert known.rank == 1
    doubted = offset_knowledge(unknowns, solution, 0.01, np.array([0.0, 0.02])).kinds
    assert doubted == (Identifiability.IDENTIFIABLE, Identifiability.COMBINATION)


def test_held_unknowns_keep_their_values_and_the_others_fit_what_is_left():
    problem, _x = made(np.random.default_rng(5), prior=2.0, centre=0.3)
    start, held = np.array([1.0, -2.0, 0.5]), np.array([True, False, False])
    solution = solve(problem, x=start, sigma=SIGMA, held=held, robust=False)
    weights = 1.0 / SIGMA[problem.channel_of_row]
    A = (problem.J[:, :, 1:] * weights[:, None]).reshape(-1, 2)
    b = ((problem.y - problem.J[:, :, 0] * start[0]) * weights).ravel()
    stacked = np.vstack((A, np.eye(2) / 2.0)), np.append(b, 2 * [0.3 / 2.0])
    np.testing.assert_allclose(solution.x, [1.0, *np.linalg.lstsq(*stacked)[0]], atol=1e-8)
    np.testing.assert_allclose(solution.residual, problem.y - problem.J @ solution.x, atol=1e-12)
    assert solution.converged


def test_each_group_is_left_out_of_the_fit_that_predicts_it():
    problem, _x = made(np.random.default_rng(6), samples=12)
    groups = [np.arange(4), np.arange(4, 12)]
    found = list(fits_without(problem, solve(problem), groups))
    for group, (rest, left_out, solution) in zip(groups, found, strict=True):
        kept = np.setdiff1d(np.arange(12), group)
        assert np.array_equal(rest.y, problem.y[kept])
        assert np.array_equal(left_out.y, problem.y[group])
        np.testing.assert_allclose(solution.x, solve(rest, sigma=solution.sigma).x, atol=1e-8)
