"""Robust, bounded, regularised least squares with local unknowns eliminated sample by sample.

Minimises

    sum_k rho(|W r_k(x, l_k)|^2) + sum_j ((x_j - c_j) / s_j)^2,    |x_j| <= b_j,

over common unknowns x (joint offsets and nuisances) and local ones l_k (the base orientation of a sample),
W the inverse noise level of each row, rho Huber's function of a whole sample. Each Gauss-Newton step projects
a sample's rows off its local unknowns (variable projection: an orthogonal factor of m x l), folds all samples
into one triangular factor and solves n unknowns within bounds, damped where the cost would rise. The noise
levels come from the residuals (restricted maximum likelihood: sum r^2 / sum (1 - leverage) of each channel).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear
from scipy.stats import chi2

from inertial_estimation.calibration.problem import CalibrationProblem, Linearisation
from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

MAX_ITERATIONS = 100
NOISE_ROUNDS = 12
NOISE_TOLERANCE = 0.02
STEP_TOLERANCE = 1e-10
INLIER_QUANTILE = 0.99  # of the chi-square of a good sample, beyond which it loses weight


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Where the iteration ended.

    Attributes:
        x: Common unknowns, shape (n,).
        local: Local unknowns, shape (K, ...).
        sigma: Noise level of each channel.
        residual: Residuals at the end, shape (K, m).
        weights: Robust weight of each sample in (0, 1], shape (K,).
        factor: Triangular factor of the noise-weighted Jacobian, local unknowns eliminated, shape (n, n).
        covariance: Of the common unknowns, prior included, shape (n, n).
        cost: Half the minimised sum.
        iterations: Gauss-Newton steps in all.
        converged: Whether the last steps were negligible.
        at_bound: Which unknowns ended at a bound, shape (n,).
    """

    x: Array
    local: Array
    sigma: Array
    residual: Array
    weights: Array
    factor: Array
    covariance: Array
    cost: float
    iterations: int
    converged: bool
    at_bound: "np.ndarray[tuple[int], np.dtype[np.bool_]]"


class _Step(NamedTuple):
    """One linearisation with noise levels: whitened, weighted and projected off the local unknowns."""

    rows: Array  # (K, m, n), projected
    residual: Array  # (K, m), projected
    basis: Array  # (K, m, l): orthonormal, spans the local columns
    to_local: Array  # (K, l, n + 1): local unknowns that the whitened rows and residual are worth
    weights: Array  # robust, of each sample, shape (K,)

    def local(self, dx: Array) -> Array:
        """Return the step of the local unknowns that goes with one of the common ones, shape (K, l)."""
        step: Array = -(self.to_local @ np.concatenate((dx, [1.0])))
        return step


def solve(
    problem: CalibrationProblem,
    *,
    sigma: Array | None = None,
    estimate_noise: bool = True,
    robust: bool = True,
    x: Array | None = None,
) -> Solution:
    """Solve a calibration.

    Args:
        problem: The problem.
        sigma: Noise level of each channel; None starts from the problem's own.
        estimate_noise: Whether the noise levels follow the residuals; else `sigma` is kept.
        robust: Huber's function of each sample; else squares.
        x: Unknowns to start from; None: the problem's start.

    Returns:
        The solution.

    Raises:
        MeasurementError: If a residual is not finite.
    """
    iteration = _Iteration(problem, robust=robust, x=x)
    levels = np.array([channel.sigma for channel in problem.channels]) if sigma is None else np.array(sigma)
    for _ in range(NOISE_ROUNDS if estimate_noise else 0):
        iteration.run(levels)
        found = _noise(problem, iteration.step(levels))
        before, levels = levels, np.maximum(levels * found, [channel.floor for channel in problem.channels])
        change = float(np.abs(np.log(levels / before)).max())
        if change < NOISE_TOLERANCE:
            break
    iteration.run(levels)
    return iteration.solution(levels)


def fit_local(problem: CalibrationProblem, x: Array, sigma: Array) -> tuple[Array, Array]:
    """Fit only the local unknowns, for samples that were held out of the calibration.

    Args:
        problem: Problem on these samples.
        x: Common unknowns, held.
        sigma: Noise level of each channel.

    Returns:
        Residuals (K, m) and local unknowns.
    """
    iteration = _Iteration(problem, robust=False, x=x)
    linear = problem.linearise(iteration.x, iteration.local)
    if not linear.by_local.shape[2]:
        return linear.residual, iteration.local
    iteration.run(sigma, hold=True)
    return problem.linearise(iteration.x, iteration.local).residual, iteration.local


def fits_without(
    problem: CalibrationProblem,
    solution: Solution,
    groups: Iterable["np.ndarray[tuple[int], np.dtype[np.int_]]"],
    *,
    robust: bool,
) -> Iterator[tuple[CalibrationProblem, CalibrationProblem, Solution]]:
    """Leave each group of samples out in turn and solve the rest.

    The noise levels, which weight the rows relative to one another and to the priors, are kept.

    Args:
        problem: The problem on all samples.
        solution: Its solution, to start from.
        groups: Numbers of the samples to leave out, one array for each solution.
        robust: As in `solve`.

    Yields:
        The problem on the rest, the problem on the samples left out, and the solution of the rest.
    """
    rows = np.arange(problem.n_samples)
    for group in groups:
        rest = problem.subset(np.setdiff1d(rows, group))
        found = solve(rest, sigma=solution.sigma, estimate_noise=False, robust=robust, x=solution.x)
        yield rest, problem.subset(group), found


class _Iteration:
    """State of the iteration: unknowns, local unknowns, steps taken."""

    def __init__(self, problem: CalibrationProblem, *, robust: bool, x: Array | None) -> None:
        self.problem = problem
        unknowns = problem.unknowns
        self.x = np.array(unknowns.centre if x is None else x, dtype=float)
        self.local = problem.start_local()
        self.iterations = 0
        self.converged = False
        n_rows = len(problem.channel_of_row)
        self._limit = float(chi2.ppf(INLIER_QUANTILE, n_rows)) if robust else np.inf

    def run(self, sigma: Array, *, hold: bool = False) -> None:
        """Iterate to convergence at given noise levels."""
        damping = 0.0
        linear = self.problem.linearise(self.x, self.local)
        cost = self._cost(linear, sigma, self.x)
        self.converged = False
        for _ in range(MAX_ITERATIONS):
            step = self._prepare(linear, sigma)
            dx = np.zeros(len(self.x)) if hold else self._common_step(step, damping)
            dl = step.local(dx)
            x, local = self.x + dx, self.problem.moved(self.local, dl)
            trial = self.problem.linearise(x, local)
            new_cost = self._cost(trial, sigma, x)
            self.iterations += 1
            if new_cost > cost * (1.0 + 1e-12) + 1e-18:
                damping = max(10.0 * damping, 1e-6)
                if damping > 1e9:
                    break
                continue
            small = max(np.abs(dx).max(initial=0.0), np.abs(dl).max(initial=0.0)) < STEP_TOLERANCE
            settled = cost - new_cost <= 1e-9 * cost
            self.x, self.local, linear, cost = x, local, trial, new_cost
            damping = damping / 10.0 if damping > 1e-8 else 0.0
            if small or (settled and damping == 0.0):
                self.converged = True
                break

    def step(self, sigma: Array) -> _Step:
        """Return the prepared linearisation where the iteration stands."""
        return self._prepare(self.problem.linearise(self.x, self.local), sigma)

    def solution(self, sigma: Array) -> Solution:
        """Return what was found."""
        problem, unknowns = self.problem, self.problem.unknowns
        linear = problem.linearise(self.x, self.local)
        step = self._prepare(linear, sigma)
        factor = linear_algebra.triangular_factor(step.rows.reshape(-1, unknowns.count))
        return Solution(
            x=self.x,
            local=self.local,
            sigma=sigma,
            residual=linear.residual,
            weights=step.weights,
            factor=linear_algebra.square_factor(factor),
            covariance=_covariance(factor, unknowns.prior_sigma),
            cost=0.5 * self._cost(linear, sigma, self.x),
            iterations=self.iterations,
            converged=self.converged,
            at_bound=np.abs(self.x) >= 0.999 * unknowns.bound,
        )

    def _cost(self, linear: Linearisation, sigma: Array, x: Array) -> float:
        if not np.isfinite(linear.residual).all():
            raise MeasurementError("a residual is not finite: the measurements hold NaN or infinity")
        squares = ((linear.residual / sigma[self.problem.channel_of_row]) ** 2).sum(axis=1)
        limit, rho = self._limit, squares
        if np.isfinite(limit):  # Huber's function of the norm
            rho = np.where(squares > limit, 2.0 * np.sqrt(squares * limit) - limit, squares)
        u = self.problem.unknowns
        return float(rho.sum() + (((x - u.centre) / u.prior_sigma) ** 2).sum())

    def _prepare(self, linear: Linearisation, sigma: Array) -> _Step:
        level = sigma[self.problem.channel_of_row][:, None]
        squares = ((linear.residual / level[:, 0]) ** 2).sum(axis=1)
        weights = np.sqrt(np.minimum(1.0, self._limit / np.maximum(squares, 1e-300)))
        scale = np.sqrt(weights)[:, None, None] / level
        both = np.concatenate((linear.by_unknowns, linear.residual[:, :, None]), axis=2) * scale
        basis, triangle = np.linalg.qr(linear.by_local * scale)
        along = np.swapaxes(basis, 1, 2) @ both
        left = both - basis @ along
        to_local = linear_algebra.solve(triangle, along) if triangle.shape[-1] else along
        return _Step(left[:, :, :-1], left[:, :, -1], basis, to_local, weights)

    def _common_step(self, step: _Step, damping: float) -> Array:
        u = self.problem.unknowns
        n = u.count
        stacked = np.column_stack([step.rows.reshape(-1, n), step.residual.reshape(-1)])
        folded = linear_algebra.triangular_factor(stacked)
        prior = np.diag(1.0 / u.prior_sigma)
        A = np.vstack(
            [folded[:, :n], prior, np.sqrt(damping) * np.diag(np.linalg.norm(folded[:, :n], axis=0))]
        )
        b = np.concatenate([folded[:, n], (self.x - u.centre) / u.prior_sigma, np.zeros(n)])
        dx: Array = linear_algebra.lstsq(A, -b)
        low, high = -u.bound - self.x, u.bound - self.x
        if ((dx < low) | (dx > high)).any():
            low, high = np.minimum(low, -1e-15), np.maximum(high, 1e-15)
            scale = 1.0 / np.linalg.norm(A, axis=0)
            with linear_algebra.naming_failures("a step between the bounds of the offsets"):
                dx = scale * lsq_linear(A * scale, -b, bounds=(low / scale, high / scale), method="bvls").x
        return dx


def _noise(problem: CalibrationProblem, step: _Step) -> Array:
    """Return for each channel the true noise level in units of the assumed one."""
    n = problem.unknowns.count
    factor = linear_algebra.triangular_factor(step.rows.reshape(-1, n))
    covariance = _covariance(factor, problem.unknowns.prior_sigma)
    leverage = np.einsum("kmi,ij,kmj->km", step.rows, covariance, step.rows) + (step.basis**2).sum(axis=2)
    found: Array = np.empty(len(problem.channels))
    for c in range(len(found)):
        mine = problem.channel_of_row == c
        free = float((step.weights[:, None] * (1.0 - leverage[:, mine])).sum())
        squares = float((step.residual[:, mine] ** 2).sum())
        known = free > 1e-6 * mine.sum() * len(leverage)  # else the unknowns fit this channel exactly
        found[c] = np.sqrt(max(squares, 1e-300) / free) if known else 1.0
    return found


def _covariance(factor: Array, prior_sigma: Array) -> Array:
    """Inverse of factor' factor + diag(1 / prior^2), computed in units of the prior."""
    scaled = np.vstack([factor * prior_sigma, np.eye(len(prior_sigma))])
    inverse = linear_algebra.inv(linear_algebra.triangular_factor(scaled))
    covariance: Array = (inverse @ inverse.T) * np.outer(prior_sigma, prior_sigma)
    return covariance
