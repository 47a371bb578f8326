"""Linearisation of a filter, and the transformation of its posterior to another linearisation.

Data are quadratic in the parameters phi, the prior is quadratic in the coordinates x. A posterior (x, P)
about a linearisation phi(x) = phi_a + G_a (x - x_a) with prior (c, P_0) therefore holds, exactly,

    information of the data  I = P^-1 - P_0^-1,   negative gradient of their cost at x  g = P_0^-1 (x - c)

in the coordinates of that linearisation. At another point y, with T = G_a^-1 G_y and
d = G_a^-1 (phi(y) - phi_a) - (x - x_a), the same data give

    P_y^-1 = P_0^-1 + T' I T,   x_y = y - P_y (P_0^-1 (y - c) + T' (I d - g))

One such step is Gauss-Newton on the posterior of all past data without storing them: information
accumulated with the Jacobians of an earlier estimate is relinearised with those of a better one. A filter
that keeps its old Jacobians becomes overconfident in directions about which the data hold no information.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    inlined,
)
from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.positive_definite import factor, regular_solution, solution


@dataclass(frozen=True, slots=True, eq=False)
class BodyLinearisation:
    """Parameters and Jacobians of the bodies at one point.

    Attributes:
        x: The point, bodies and then friction, shape (n,).
        pi_C: Parameters of the bodies in C, shape (n_bodies, 10).
        G: Their Jacobians, shape (n_bodies, 10, 10).
        phi: All parameters about the joint frames, friction last, shape (n,).
        dphi: Jacobian dphi/dx, block diagonal, shape (n, n).
    """

    x: Array
    pi_C: Array
    G: Array
    phi: Array
    dphi: Array

    @property
    def numbers(self) -> tuple[Array, Array, Array]:
        """As `transformed` takes it: Jacobians one below the other, parameters in C, and the point."""
        return self.G.reshape(-1, 10), self.pi_C, self.x


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """Gaussian prior: centre, shape (n,), and inverse covariance, shape (n, n)."""

    centre: Array
    information: Array


made_prior = made_of_checked(Prior)
linearised_at = made_of_checked(BodyLinearisation)


class DataInformation:
    """Information of the data: a posterior without its prior.

    Attributes:
        at: Linearisation of the posterior.
        x: Mean of the posterior, shape (n,).
        prior: The prior it contains.
        information: I, shape (n, n).
        pull: g, shape (n,).
    """

    def __init__(self, at: BodyLinearisation, x: Array, P: Array, prior: Prior) -> None:
        """Extract it from a posterior.

        Args:
            at: Linearisation of the posterior.
            x: Its mean, shape (n,).
            P: Its covariance, shape (n, n).
            prior: The prior it contains.

        Raises:
            MeasurementError: If the covariance is not positive definite.
        """
        self.at, self.x, self.prior = at, x, prior
        self.information: Array = np.empty(P.shape)
        self.pull: Array = np.empty(len(x))
        if not _extract(x, P, (prior.information, prior.centre), self.information, self.pull):
            raise MeasurementError("the covariance of a state is not positive definite")

    def posterior_at(self, to: BodyLinearisation) -> "Posterior":
        """Return the posterior with another linearisation.

        Raises:
            MeasurementError: If its covariance is not positive definite, or a Jacobian is singular.
        """
        n, prior = len(self.x), self.prior
        x, gradient, P, hessian = np.empty(n), np.empty(n), np.empty((n, n)), np.empty((n, n))
        slope_pi = np.empty(to.pi_C.shape)
        if not transformed(
            (self.information, self.pull, self.x),
            self.at.numbers,
            to.numbers,
            (prior.information, prior.centre),
            (x, P, gradient, hessian),
            slope_pi,
        ):
            raise MeasurementError("the posterior about another linearisation is not positive definite")
        return _posterior(to, x, P, gradient, hessian, slope_pi)


@inlined
def _inverse_by(F: Table) -> Array:
    """Return the inverse of a positive definite matrix by its factor, exactly symmetric, shape (n, n)."""
    X = solution(F, np.eye(len(F)))
    symmetric: Array = 0.5 * (X + X.T)
    return symmetric


@compiled
def _extract(
    x: Column, P: Table, prior: tuple[Table, Column], information: MutableTable, pull: MutableColumn
) -> bool:
    """Write the information of the data and their pull; return whether the covariance is positive definite.

    Args:
        x: Mean of the posterior, shape (n,).
        P: Its covariance, shape (n, n).
        prior: Information of the prior, shape (n, n), and its centre, shape (n,).
        information: Shape (n, n); written.
        pull: Shape (n,); written.
    """
    F, positive = factor(P)
    if not positive:
        return False
    information[:] = _inverse_by(F) - prior[0]
    pull[:] = prior[0] @ (x - prior[1])
    return True


@compiled
def transformed(
    data: tuple[Table, Column, Column],
    at: tuple[Table, Table, Column],
    to: tuple[Table, Table, Column],
    prior: tuple[Table, Column],
    posterior: tuple[MutableColumn, MutableTable, MutableColumn, MutableTable],
    slope_pi: MutableTable,
) -> bool:
    """Write the posterior of data and prior about another linearisation (see the module).

    Args:
        data: Information of the data, shape (n, n), their pull and the mean they were extracted at, shape
            (n,) each.
        at: Linearisation of the data: Jacobians of k bodies one below the other, shape (10 k, 10), their
            parameters in C, shape (k, 10), and the point, shape (n,).
        to: The other linearisation, in the same way.
        prior: Information of the prior, shape (n, n), and its centre, shape (n,).
        posterior: Mean, covariance, gradient and Hessian as of `Posterior`; written.
        slope_pi: As of `Posterior`, shape (k, 10); written.

    Returns:
        Whether floating point can solve the equations; else what is written has no meaning.
    """
    information, pull, x_data = data
    G_at, pi_at, x_at = at
    G_to, pi_to, x_to = to
    x, P, gradient, hessian = posterior
    n = len(x_to)
    T, d, rhs = np.eye(n), x_to - x_at, np.empty((10, 11))
    for i in range(len(pi_at)):
        rows = slice(10 * i, 10 * i + 10)
        rhs[:, :10] = G_to[rows]
        rhs[:, 10] = pi_to[i] - pi_at[i]
        solved, regular = regular_solution(G_at[rows], rhs)
        if not regular:
            return False
        T[rows, rows] = solved[:, :10]
        d[rows] = solved[:, 10]
    slope = information @ (d - (x_data - x_at)) - pull
    for i in range(len(pi_at)):
        rows = slice(10 * i, 10 * i + 10)
        turned = np.ascontiguousarray(G_at[rows].T)
        solved, regular = regular_solution(turned, slope[rows].copy().reshape(10, 1))
        if not regular:
            return False
        slope_pi[i] = solved[:, 0]
    turned = np.ascontiguousarray(T.T)
    gradient[:] = prior[0] @ (x_to - prior[1]) + turned @ slope
    hessian[:] = prior[0] + turned @ information @ T
    F, positive = factor(hessian)
    if not positive:
        return False
    P[:] = _inverse_by(F)
    x[:] = x_to - P @ gradient
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Posterior of all past data and the prior about one linearisation.

    Attributes:
        at: The linearisation.
        x: Mean, shape (n,).
        P: Covariance, shape (n, n).
        gradient: Gradient of the negative log posterior at the point of the linearisation, shape (n,).
        hessian: P^-1, shape (n, n).
        slope_pi: Gradient of the data's part by the parameters in C, shape (n_bodies, 10).
    """

    at: BodyLinearisation
    x: Array
    P: Array
    gradient: Array
    hessian: Array
    slope_pi: Array

    def newton_point(self, curvature: Array) -> Array:
        """Return the next iterate of Newton's method.

        Where the data determine only a curved surface of coordinates, Gauss-Newton oscillates across it.
        Where the true second derivative is not positive definite, its eigenvalues are replaced by their
        magnitudes, so that the step is a descent direction.

        Args:
            curvature: Second derivatives of slope_pi' pi by the coordinates, shape (n_bodies, 10, 10).
        """
        try:
            return self._step(curvature)
        except MeasurementError:
            values, V = linear_algebra.eigh(curvature)
            return self._step((V * np.abs(values)[:, None, :]) @ V.transpose(0, 2, 1))

    def _step(self, curvature: Array) -> Array:
        hessian = self.hessian.copy()
        for i, block in enumerate(curvature):
            hessian[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] += block
        point: Array = self.at.x - solve(cholesky(hessian), self.gradient)
        return point


_posterior = made_of_checked(Posterior)


def block_diagonal(blocks: Array, size: int) -> Array:
    """Return a matrix with blocks of one size on its diagonal, followed by ones, shape (size, size).

    Args:
        blocks: Shape (k, d, d).
        size: At least k d.
    """
    matrix, d = np.eye(size), blocks.shape[1]
    for i, block in enumerate(blocks):
        matrix[d * i : d * i + d, d * i : d * i + d] = block
    return matrix


def cholesky(S: Array) -> Array:
    """Return the lower Cholesky factor of S; S may be overwritten, and the upper triangle is undefined.

    Raises:
        MeasurementError: If S is not positive definite.
    """
    factor, info = dpotrf(S, lower=1, overwrite_a=1, clean=0)
    if info != 0:
        raise MeasurementError("the innovation covariance is not positive definite")
    lower: Array = factor
    return lower


def solve(S_factor: Array, rhs: Array) -> Array:
    """Return S^-1 rhs from the factor of S."""
    solution, _info = dpotrs(S_factor, rhs, lower=1)
    x: Array = solution
    return x


def inverse(S: Array) -> Array:
    """Return the inverse of a positive definite matrix, exactly symmetric.

    Raises:
        MeasurementError: If S is not positive definite.
    """
    half, _info = dpotri(cholesky(S.copy()), lower=1)
    full: Array = np.where(_lower_triangle(len(S)), half, half.T)
    full += 0.0  # no negative zeros
    return full


@lru_cache(maxsize=16)
def _lower_triangle(n: int) -> NDArray[np.bool_]:
    """Return which entries of a matrix lie on or below the diagonal, shape (n, n)."""
    return np.tri(n, dtype=bool)
