"""Arithmetic of a linearisation over a posterior (`posterior_linearisation`), for all bodies in one call."""

import numpy as np

from inertial_estimation.compilation import Column, MutableColumn, MutableTable, Table, compiled
from inertial_estimation.spatial.positive_definite import factor, lower_factor, regular_solution, solution

__all__ = ["body_points", "posterior_over", "second_moments"]


@compiled
def body_points(mean: Column, P: Table, points: Table, L: MutableTable, theta: MutableTable) -> bool:
    """Write the points of each body, and a factor of its covariance; return whether it has one.

    Args:
        mean: Mean of the coordinates, bodies first, shape (n,).
        P: Their covariance, shape (n, n).
        points: Points of a standard normal distribution, shape (p, 10).
        L: The lower factors one below the other, shape (10 k, 10); written.
        theta: Coordinates m + L point, body by body, shape (k p, 10); written.
    """
    p = len(points)
    for body in range(len(L) // 10):
        rows = slice(10 * body, 10 * body + 10)
        lower, positive = lower_factor(np.ascontiguousarray(P[rows, rows]))
        if not positive:
            return False
        L[rows] = lower
        theta[p * body : p * body + p] = mean[rows] + points @ lower.T
    return True


@compiled
def posterior_over(
    mean: Column,
    at: tuple[Table, Table, Column],
    over: tuple[Table, Table],
    cubature: tuple[Table, Column],
    data: tuple[Table, Column, Column],
    prior: tuple[Table, Column],
    mean_new: MutableColumn,
    P_new: MutableTable,
) -> bool:
    """Write mean and covariance of the posterior with a linearisation over a distribution of x.

    phi = offset + slope (x - m) + e is regressed on the points, phi in the coordinates of the linearisation
    of the data, from its point.

    Args:
        mean: Mean m of the distribution, bodies first, shape (n,).
        at: Linearisation of the data: its Jacobians one below the other, shape (10 k, 10), the parameters
            there, shape (k, 10), and its point, shape (n,).
        over: Factors of the covariances of the bodies, shape (10 k, 10), and the parameters at their points,
            shape (k p, 10).
        cubature: Points, shape (p, 10), and their weights, shape (p,).
        data: Information of the data, shape (n, n), their pull, shape (n,), and the mean of the posterior of
            which they are part, shape (n,).
        prior: Its information, shape (n, n), and its centre, shape (n,).
        mean_new: Shape (n,); written.
        P_new: Shape (n, n); written.

    Returns:
        Whether floating point can solve the equations; else what is written has no meaning.
    """
    G, pi_at, x_at = at
    L, pi = over
    points, weights = cubature
    information, pull, x = data
    n, p = len(mean), len(points)
    offset, slope, error = mean - x_at, np.eye(n), np.zeros((n, n))
    for body in range(len(pi_at)):
        rows = slice(10 * body, 10 * body + 10)
        deviation = np.ascontiguousarray((pi[p * body : p * body + p] - pi_at[body]).T)
        phi, regular = regular_solution(np.ascontiguousarray(G[rows]), deviation)
        if not regular:
            return False
        centre = phi @ weights
        phi = phi - centre.reshape(-1, 1)
        weighted = phi * weights
        half = weighted @ points  # B L
        lower = np.ascontiguousarray(L[rows].T)
        turned, regular = regular_solution(lower, np.ascontiguousarray(half.T))
        if not regular:
            return False
        offset[rows] = centre
        slope[rows, rows] = turned.T
        error[rows, rows] = weighted @ phi.T - half @ half.T
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


@compiled
def second_moments(pi: Table, about: Table, weights: Column, moments: MutableTable) -> None:
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
