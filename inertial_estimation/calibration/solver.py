"""Robust, regularised least squares with local unknowns eliminated sample by sample.

Minimises

    sum_k rho(|W r_k(x, l_k)|^2) + sum_j ((x_j - c_j) / s_j)^2

over common unknowns x (joint offsets and nuisances) and local ones l_k (the base orientation of a sample),
W the inverse noise level of each row, rho Huber's function of a whole sample. Each Gauss-Newton step projects
a sample's rows onto the complement of its local columns (variable projection: an orthogonal factor of m x l)
and reduces all samples to one triangular factor; it is damped if the cost would rise. The noise levels are
estimated from the residuals (restricted maximum likelihood: sum r^2 / sum (1 - leverage) of each channel).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from inertial_estimation.calibration.problem import CalibrationProblem, Linearisation, Numbers, Unknowns
from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array, Identifiability
from inertial_estimation.spatial import linear_algebra

MAX_ITERATIONS = 100
NOISE_ROUNDS = 12
NOISE_TOLERANCE = 0.02  # relative change of the noise levels below which they have converged
STEP_TOLERANCE, COST_TOLERANCE = 1e-10, 1e-9  # of convergence: absolute step, relative change of the cost
LEAST_DAMPING, MOST_DAMPING = 1e-6, 1e9  # relative to the diagonal of the normal matrix
INLIER_QUANTILE = 0.99  # quantile of chi-square beyond which a sample loses weight


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of the iteration."""

    x: Array  # common unknowns, shape (n,)
    local: Array  # local unknowns, shape (K, ...)
    sigma: Array  # noise level of each channel
    residual: Array  # residuals, not weighted, shape (K, m)
    weights: Array  # robust weight of each sample in (0, 1], shape (K,)
    factor: Array  # triangular factor of the noise-weighted Jacobian without local unknowns, shape (n, n)
    covariance: Array  # of the common unknowns, prior included, shape (n, n)
    converged: bool  # whether the last steps were negligible


class _Step(NamedTuple):
    """One linearisation, whitened, robustly weighted, and projected onto the complement of local columns."""

    rows: Array  # projected Jacobian by the common unknowns, shape (K, m, n)
    residual: Array  # projected residual, shape (K, m)
    basis: Array  # orthonormal basis of the local columns, shape (K, m, l)
    to_local: Array  # local step is minus to_local @ (common step, 1), shape (K, l, n + 1)
    weights: Array  # robust weight of each sample, shape (K,)


def solve(
    problem: CalibrationProblem,
    *,
    x: Array | None = None,
    sigma: Array | None = None,
    held: NDArray[np.bool_] | None = None,
    robust: bool = True,
) -> Solution:
    """Solve a calibration.

    Args:
        problem: The problem.
        x: Initial common unknowns, shape (n,); None: the means of their priors.
        sigma: Noise level of each channel, shape (channels,); None: estimated from the residuals.
        held: Whether each common unknown is held constant, shape (n,); None: all are fitted.
        robust: Whether the cost is Huber's function of each sample instead of the sum of squares.

    Raises:
        MeasurementError: If a residual is not finite.
    """
    fit = _Fit(problem, x, held, robust=robust)
    levels = np.array([channel.sigma for channel in problem.channels]) if sigma is None else np.array(sigma)
    for _ in range(NOISE_ROUNDS if sigma is None else 0):
        fit.run(levels)
        floor = [channel.floor for channel in problem.channels]
        before, levels = levels, np.maximum(levels * _noise(problem, fit.step(levels)), floor)
        if float(np.abs(np.log(levels / before)).max()) < NOISE_TOLERANCE:
            break
    fit.run(levels)
    step = fit.step(levels)
    factor = linear_algebra.triangular_factor(step.rows.reshape(-1, problem.unknowns.count))
    return Solution(
        x=fit.x,
        local=fit.local,
        sigma=levels,
        residual=fit.linear.residual,
        weights=step.weights,
        factor=linear_algebra.square_factor(factor),
        covariance=_covariance(factor, problem.unknowns.prior_sigma),
        converged=fit.converged,
    )


def fit_local(problem: CalibrationProblem, x: Array, sigma: Array) -> tuple[Array, Array]:
    """Fit only the local unknowns of samples; the common ones are held.

    Returns:
        Residuals (K, m) and local unknowns.
    """
    fit = _Fit(problem, x, np.ones(len(x), dtype=bool), robust=False)
    fit.run(sigma)
    return fit.linear.residual, fit.local


def next_step(problem: CalibrationProblem, solution: Solution) -> Array:
    """Return the step from a solution to that of another, slightly different problem, shape (n,)."""
    fit = _Fit(problem, solution.x, None, robust=True)
    fit.local, fit.linear = solution.local, problem.linearise(solution.x, solution.local)
    return fit.common_step(fit.step(solution.sigma), 0.0)


def fits_without(
    problem: CalibrationProblem,
    solution: Solution,
    groups: Iterable[Numbers],
    held: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[CalibrationProblem, CalibrationProblem, Solution]]:
    """Leave each group of samples out in turn and solve the rest, starting from the solution on all samples.

    The noise levels of the solution, which weight the rows against one another and the priors, are kept.

    Yields:
        The problem on the rest, the problem on the samples left out, and the solution of the rest.
    """
    rows = np.arange(problem.n_samples)
    for group in groups:
        rest = problem.subset(np.setdiff1d(rows, group))
        yield rest, problem.subset(group), solve(rest, sigma=solution.sigma, x=solution.x, held=held)


class _Fit:
    """State of the iteration."""

    def __init__(
        self, problem: CalibrationProblem, x: Array | None, held: NDArray[np.bool_] | None, *, robust: bool
    ) -> None:
        self.problem = problem
        self.x = np.array(problem.unknowns.centre if x is None else x, dtype=float)
        self.local = problem.start_local()
        self.linear = problem.linearise(self.x, self.local)
        self.converged = False
        self._free = np.flatnonzero(np.ones(len(self.x)) if held is None else ~held)
        self._limit = float(chi2.ppf(INLIER_QUANTILE, len(problem.channel_of_row))) if robust else np.inf

    def run(self, sigma: Array) -> None:
        """Iterate to convergence at given noise levels."""
        problem, damping, self.converged = self.problem, 0.0, False
        cost = self._cost(self.linear, sigma, self.x)
        for _ in range(MAX_ITERATIONS):
            step = self.step(sigma)
            dx = self.common_step(step, damping)
            dl = -(step.to_local @ np.concatenate((dx, [1.0])))
            x, local = self.x + dx, problem.moved(self.local, dl)
            trial = problem.linearise(x, local)
            new_cost = self._cost(trial, sigma, x)
            if new_cost > cost * (1.0 + 1e-12) + 1e-18:
                damping = max(10.0 * damping, LEAST_DAMPING)
                if damping > MOST_DAMPING:
                    break
                continue
            small = max(np.abs(dx).max(initial=0.0), np.abs(dl).max(initial=0.0)) < STEP_TOLERANCE
            settled = damping == 0.0 and cost - new_cost <= COST_TOLERANCE * cost
            self.x, self.local, self.linear, cost = x, local, trial, new_cost
            damping = damping / 10.0 if damping > LEAST_DAMPING else 0.0
            if small or settled:
                self.converged = True
                break

    def step(self, sigma: Array) -> _Step:
        """Return the linearisation at the current unknowns, weighted and projected."""
        level = sigma[self.problem.channel_of_row]
        squares = ((self.linear.residual / level) ** 2).sum(axis=1)
        weights = np.sqrt(np.minimum(1.0, self._limit / np.maximum(squares, 1e-300)))
        scale = np.sqrt(weights)[:, None, None] / level[:, None]
        columns = (self.linear.by_unknowns, self.linear.residual[:, :, None])
        both = np.concatenate(columns, axis=2) * scale
        basis, triangle = np.linalg.qr(self.linear.by_local * scale)
        along = np.swapaxes(basis, 1, 2) @ both
        left = both - basis @ along
        to_local = linear_algebra.solve(triangle, along) if triangle.shape[-1] else along
        return _Step(left[:, :, :-1], left[:, :, -1], basis, to_local, weights)

    def _cost(self, linear: Linearisation, sigma: Array, x: Array) -> float:
        if not np.isfinite(linear.residual).all():
            raise MeasurementError("a residual is not finite: the measurements hold NaN or infinity")
        squares = ((linear.residual / sigma[self.problem.channel_of_row]) ** 2).sum(axis=1)
        limit = min(self._limit, float(squares.max(initial=0.0)))  # Huber's function of the norm
        rho = np.where(squares > limit, 2.0 * np.sqrt(squares * limit) - limit, squares)
        u = self.problem.unknowns
        return float(rho.sum() + (((x - u.centre) / u.prior_sigma) ** 2).sum())

    def common_step(self, step: _Step, damping: float) -> Array:
        """Return the step of the common unknowns, shape (n,)."""
        u, dx = self.problem.unknowns, np.zeros(len(self.x))
        if len(self._free):
            rows = step.rows[:, :, self._free].reshape(-1, len(self._free))
            folded = linear_algebra.triangular_factor(np.column_stack((rows, step.residual.ravel())))
            R, sigma = folded[:, :-1], u.prior_sigma[self._free]
            A = (R, np.diag(1.0 / sigma), np.sqrt(damping) * np.diag(np.linalg.norm(R, axis=0)))
            pull = (self.x - u.centre)[self._free] / sigma
            b = np.concatenate((folded[:, -1], pull, np.zeros(len(self._free))))
            dx[self._free] = linear_algebra.lstsq(np.vstack(A), -b)
        return dx


def _noise(problem: CalibrationProblem, step: _Step) -> Array:
    """Return the estimated noise level of each channel over the assumed one, shape (channels,)."""
    factor = linear_algebra.triangular_factor(step.rows.reshape(-1, problem.unknowns.count))
    covariance = _covariance(factor, problem.unknowns.prior_sigma)
    leverage = np.einsum("kmi,ij,kmj->km", step.rows, covariance, step.rows) + (step.basis**2).sum(axis=2)
    found: Array = np.empty(len(problem.channels))
    for c in range(len(found)):
        rows = problem.channel_of_row == c
        free = float((step.weights[:, None] * (1.0 - leverage[:, rows])).sum())
        squares = float((step.residual[:, rows] ** 2).sum())
        known = free > 1e-6 * rows.sum() * len(leverage)  # else the unknowns fit this channel exactly
        found[c] = np.sqrt(max(squares, 1e-300) / free) if known else 1.0
    return found


def _covariance(factor: Array, prior_sigma: Array) -> Array:
    """Return the inverse of factor' factor + diag(1 / prior^2), computed in units of the prior."""
    scaled = np.vstack([factor * prior_sigma, np.eye(len(prior_sigma))])
    inverse = linear_algebra.inv(linear_algebra.triangular_factor(scaled))
    covariance: Array = (inverse @ inverse.T) * np.outer(prior_sigma, prior_sigma)
    return covariance


LEAST_INFORMATION = 1e-9  # least singular value over the largest one, above its round-off


@dataclass(frozen=True, eq=False)
class OffsetKnowledge:
    """Identifiability of all offsets from the samples."""

    kinds: tuple[Identifiability, ...]  # one for each joint
    rank: int  # number of combinations of offsets known better than the limit


def offset_knowledge(
    unknowns: Unknowns, solution: Solution, limit: float | Array, systematic: Array | float = 0.0
) -> OffsetKnowledge:
    """Determine the identifiability of offsets from the samples alone, without the prior of the offsets.

    With A the noise-weighted Jacobian by the offsets, projected off the local unknowns and the nuisances
    (which keep their priors), an offset is identifiable if with all others unknown its standard deviation is
    within the limit; not identifiable if it is beyond the limit even with all others and the nuisances known;
    in combination (with offsets or nuisances) otherwise.

    Args:
        unknowns: Unknowns of the problem.
        solution: Its solution.
        limit: Standard deviation up to which an offset counts as known [rad or m], for all or for each.
        systematic: Standard deviation of each by errors that are the same in every sample [rad or m].
    """
    n = unknowns.n_offsets
    stacked = np.vstack([solution.factor, np.diag(1.0 / unknowns.prior_sigma)[n:]])
    order = [*range(n, unknowns.count), *range(n)]
    folded = linear_algebra.triangular_factor(stacked[:, order])
    scaled = folded[unknowns.count - n :, unknowns.count - n :] * limit  # columns in units of the limit
    _, values, Vt = linear_algebra.svd(scaled)
    values = np.concatenate([values, np.zeros(n - len(values))])
    floor = LEAST_INFORMATION * values[0] + np.finfo(float).tiny
    random = np.linalg.norm(Vt / np.maximum(values, floor)[:, None], axis=0)
    sigma = np.hypot(random, systematic / limit)  # in units of the limit
    alone = np.linalg.norm(solution.factor[:, :n], axis=0) * limit
    kinds = tuple(
        Identifiability.NOT
        if alone[j] < 1.0
        else Identifiability.IDENTIFIABLE
        if sigma[j] <= 1.0
        else Identifiability.COMBINATION
        for j in range(n)
    )
    return OffsetKnowledge(kinds, int((values >= 1.0).sum()))
