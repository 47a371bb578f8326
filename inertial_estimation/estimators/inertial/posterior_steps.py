"""Arithmetic of a linearisation over a posterior (`posterior_linearisation`), for all bodies in one call."""

import math

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled, inlined
from inertial_estimation.estimators.inertial.coordinate_limits import limited
from inertial_estimation.estimators.inertial.filter_steps import largest_step
from inertial_estimation.spatial.log_cholesky import fill_parameters
from inertial_estimation.spatial.positive_definite import (
    factor,
    lower_factor,
    regular_solution,
    solution,
    transposed_solution,
)

LARGEST_STEP = 0.35  # of a coordinate; exp(2 * 0.35) = twice the mass
CLOSE = 1e-4  # step from which on the mean has converged


@compiled
def body_points(
    mean: Column, P: Table, points: Table, foster: bool, L: MutableTable, pi: MutableTable
) -> bool:
    """Write a factor of the covariance of each body, and its parameters at points; return whether it has one.

    Args:
        mean: Mean m of the coordinates, bodies first, shape (n,).
        P: Their covariance, shape (n, n).
        points: Points of a standard normal distribution, shape (p, 10).
        foster: Whether the convention of the coordinates is Foster's, else it is Rucker's.
        L: The lower factors one below the other, shape (10 k, 10); written.
        pi: Parameters in C at the coordinates m + L point, body by body, shape (k p, 10); written.
    """
    p, theta = len(points), np.empty(pi.shape)
    for body in range(len(L) // 10):
        rows = slice(10 * body, 10 * body + 10)
        lower, positive = lower_factor(np.ascontiguousarray(P[rows, rows]))
        if not positive:
            return False
        L[rows] = lower
        theta[p * body : p * body + p] = mean[rows] + points @ lower.T
    fill_parameters(theta, foster, pi)
    return True


@compiled
def inverted(G: Table, inverses: MutableTable) -> bool:
    """Write the inverses of Jacobians, shape (10 k, 10) one below the other; return whether all are regular.

    Args:
        G: The Jacobians, shape (10 k, 10).
        inverses: Of the same shape; written.
    """
    for begin in range(0, len(G), 10):
        rows = slice(begin, begin + 10)
        inverse, regular = regular_solution(G[rows], np.eye(10))
        if not regular:
            return False
        inverses[rows] = inverse
    return True


@inlined
def _regression(
    mean: Column,
    at: tuple[Table, Table, Column],
    over: tuple[Table, Table],
    cubature: tuple[Table, Column],
    fit: tuple[MutableColumn, MutableTable, MutableTable],
) -> None:
    """Write the regression of parameters on coordinates over a distribution of x.

    phi = offset + slope (x - m) + e, e ~ N(0, error), is regressed on the points, phi in the coordinates of
    the linearisation of the data, from its point.

    Args:
        mean: Mean m of the distribution, bodies first, shape (n,).
        at: Linearisation of the data: the inverses of its Jacobians one below the other, shape (10 k, 10),
            the parameters there, shape (k, 10), and its point, shape (n,).
        over: Factors of the covariances of the bodies, shape (10 k, 10), and the parameters at their points,
            shape (k p, 10).
        cubature: Points, shape (p, 10), and their weights, shape (p,).
        fit: Offset, shape (n,), slope and error, shape (n, n); written.
    """
    inverses, pi_at, x_at = at
    L, pi = over
    points, weights = cubature
    offset, slope, error = fit
    n, p = len(mean), len(points)
    offset[:], slope[:], error[:] = mean - x_at, np.eye(n), np.zeros((n, n))
    for body in range(len(pi_at)):
        rows = slice(10 * body, 10 * body + 10)
        phi = np.dot(inverses[rows], (pi[p * body : p * body + p] - pi_at[body]).T)
        centre = np.dot(phi, weights)
        phi = phi - centre.reshape(-1, 1)
        weighted = phi * weights
        half = np.dot(weighted, points)  # B L
        offset[rows] = centre
        slope[rows, rows] = transposed_solution(L[rows], np.ascontiguousarray(half.T)).T
        error[rows, rows] = np.dot(weighted, phi.T) - np.dot(half, half.T)


@inlined
def _posterior_by(
    mean: Column,
    fit: tuple[Column, Table, Table],
    x_at: Column,
    data: tuple[Table, Column, Column],
    prior: tuple[Table, Column],
    mean_new: MutableColumn,
    P_new: MutableTable,
) -> bool:
    """Write mean and covariance of the posterior with the parameters by a regression.

    Args:
        mean: Mean m of the distribution it was made over, shape (n,).
        fit: As of `_regression`.
        x_at: Point of the linearisation of the data, shape (n,).
        data: Information of the data, shape (n, n), their pull, shape (n,), and the mean of the posterior of
            which they are part, shape (n,).
        prior: Its information, shape (n, n), and its centre, shape (n,).
        mean_new: Shape (n,); written.
        P_new: Shape (n, n); written.

    Returns:
        Whether floating point can solve the equations; else what is written has no meaning.
    """
    offset, slope, error = fit
    information, pull, x = data
    n = len(mean)
    widened = np.eye(n) + information @ error
    solved = np.empty((n, n + 1))
    solved[:, :n] = information
    solved[:, n] = information @ (offset - (x - x_at)) - pull
    solved, regular = regular_solution(widened, solved)
    if not regular:
        return False
    halved = np.ascontiguousarray(solved[:, :n])
    turned = np.ascontiguousarray(slope.T)
    F, positive = factor(prior[0] + turned @ (0.5 * (halved + halved.T)) @ slope)
    if not positive:
        return False
    P = solution(F, np.eye(n))
    P_new[:] = 0.5 * (P + P.T)
    mean_new[:] = mean + P_new @ (prior[0] @ (prior[1] - mean) - turned @ np.ascontiguousarray(solved[:, n]))
    return bool(np.isfinite(mean_new).all())


@inlined
def _free_energy(
    mean: Column,
    P: Table,
    fit: tuple[Column, Table, Table],
    x_at: Column,
    data: tuple[Table, Column, Column],
    prior: tuple[Table, Column],
) -> float:
    """Return the variational free energy of a normal distribution of x, up to a constant.

    F = E[cost(x)] - 1/2 log det P, the expectation over the points: lower by as much as the distribution is
    nearer to the posterior (Kullback-Leibler divergence from it to the posterior).

    Args:
        mean: Its mean, shape (n,).
        P: Its covariance, shape (n, n).
        fit: As of `_regression`, over this distribution.
        x_at: As for `_posterior_by`.
        data: As for `_posterior_by`.
        prior: As for `_posterior_by`.

    Returns:
        F; infinite where the covariance is not positive definite.
    """
    offset, slope, error = fit
    information, pull, x = data
    L, positive = lower_factor(P)
    if not positive:
        return math.inf
    off, from_centre = offset - (x - x_at), mean - prior[1]
    spread = slope @ P @ np.ascontiguousarray(slope.T) + error
    of_data = off @ (0.5 * (information @ off) - pull) + 0.5 * np.sum(information * spread)
    of_prior = 0.5 * (from_centre @ (prior[0] @ from_centre) + np.sum(prior[0] * P))
    return float(of_data + of_prior - np.sum(np.log(np.diag(L))))


@inlined
def _second_moments(pi: Table, about: Table, weights: Column, moments: MutableTable) -> None:
    """Write the second moments of parameters about given ones, body by body.

    Args:
        pi: Parameters at the points of each body, shape (k p, 10).
        about: Parameters of each body, shape (k, 10).
        weights: Of the points, shape (p,).
        moments: One below the other, shape (10 k, 10); written.
    """
    p = len(weights)
    for body in range(len(about)):
        deviation = pi[p * body : p * body + p] - about[body]
        turned = np.ascontiguousarray(deviation.T)
        moments[10 * body : 10 * body + 10] = (turned * weights) @ deviation


@compiled
def free_energy(
    mean: Column,
    P: Table,
    at: tuple[Table, Table, Column],
    cubature: tuple[Table, Column],
    data: tuple[Table, Column, Column],
    prior: tuple[Table, Column],
    estimate: tuple[bool, Column],
    over: tuple[MutableTable, MutableTable],
    fit: tuple[MutableColumn, MutableTable, MutableTable],
    moments: MutableTable,
) -> float:
    """Return the variational free energy of a normal distribution of x, and write what it follows from.

    Args:
        mean: Its mean, bodies first, shape (n,).
        P: Its covariance, shape (n, n).
        at: As for `_regression`.
        cubature: As for `_regression`.
        data: As for `_posterior_by`.
        prior: As for `_posterior_by`.
        estimate: Whether the convention of the coordinates is Foster's, else it is Rucker's, and the
            coordinates about whose parameters the second moments are, shape (n,).
        over: As for `_regression`; written.
        fit: As for `_regression`; written.
        moments: Second moments of the parameters in C, one body below the other, shape (10 k, 10); written.

    Returns:
        F (see `_free_energy`); infinite where floating point does not suffice, and then what is written has
        no meaning.
    """
    foster, x = estimate
    k = len(at[1])
    if not body_points(mean, P, cubature[0], foster, over[0], over[1]):
        return math.inf
    _regression(mean, at, over, cubature, fit)
    parameters = np.empty((k, 10))
    fill_parameters(x[: 10 * k].reshape(k, 10), foster, parameters)
    _second_moments(over[1], parameters, cubature[1], moments)
    return _free_energy(mean, P, fit, at[2], data, prior)


@compiled
def posterior_step(
    normal: tuple[Column, Table],
    fit: tuple[Column, Table, Table],
    at: tuple[Table, Table, Column],
    cubature: tuple[Table, Column],
    data: tuple[Table, Column, Column],
    prior: tuple[Table, Column],
    estimate: tuple[bool, Column],
    limits: tuple[Column, Column, Column],
    share: float,
    over: tuple[MutableTable, MutableTable],
    after: tuple[MutableColumn, MutableTable],
    fit_after: tuple[MutableColumn, MutableTable, MutableTable],
    moments: MutableTable,
) -> tuple[float, float]:
    """Make one step of the linearisation over a distribution of x, limited, or a share of it.

    Args:
        normal: Its mean, bodies first, shape (n,), and its covariance, shape (n, n).
        fit: As of `_regression`, over this distribution.
        at: As for `_regression`.
        cubature: As for `_regression`.
        data: As for `_posterior_by`.
        prior: As for `_posterior_by`.
        estimate: As for `free_energy`.
        limits: Limits of the coordinates as `CoordinateLimits`.
        share: Share of the step that is made, in (0, 1]; the point at which it is zero is the same.
        over: As for `_regression`; written.
        after: Mean and covariance after the step; written.
        fit_after: As of `_regression`, over the distribution after the step; written.
        moments: As for `free_energy`, of the distribution after the step; written.

    Returns:
        The largest change of a coordinate that the whole step would make, NaN where floating point does not
        suffice, and then what is written has no meaning; and the energy after the step, as `free_energy`.
    """
    mean, P = normal
    mean_new, P_new = after
    if not _posterior_by(mean, fit, at[2], data, prior, mean_new, P_new):
        return math.nan, math.inf
    largest = largest_step(mean_new, mean, len(limits[0]))
    shorter = share * min(1.0, LARGEST_STEP / max(largest, CLOSE))
    mean_new[:] = mean + shorter * (mean_new - mean)
    P_new[:] = P + share * (P_new - P)
    limited(limits, mean_new)
    energy = free_energy(mean_new, P_new, at, cubature, data, prior, estimate, over, fit_after, moments)
    return largest, energy
