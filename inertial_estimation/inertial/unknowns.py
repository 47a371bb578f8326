"""The unknowns of the inertial filter: bodies, friction and errors of sensors in one state vector.

The filter minimises over coordinates x; data are quadratic in the parameters phi(x), about the joint frames.
Of a body they are nonlinear (log-Cholesky, THEORY: every x is a physically consistent body), friction and
errors of sensors are their own coordinates.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.log_cholesky import (
    log_cholesky_from_parameters,
    parameters_and_jacobian,
)

# From nominal: mass within e^6 = 400 times, radii of gyration within 12 times, shears within 5 of them, the
# centre of mass within 10 of them. Beyond, floating point cannot tell consistent from inconsistent bodies.
LARGEST_DEVIATION = np.array([3.0] + 3 * [2.5] + 3 * [5.0] + 3 * [10.0])


@dataclass(frozen=True)
class BodyPrior:
    """Standard deviations of every body about its nominal values.

    Attributes:
        mass: Of the logarithm of the mass.
        com: Of the centre of mass, per axis [m].
        radii: Of the logarithm of the radii of gyration, and of the shears between them.
    """

    mass: float
    com: float
    radii: float


@dataclass(frozen=True, eq=False)
class LinearPrior:
    """Prior of unknowns that enter the equations linearly.

    Attributes:
        names: Of each.
        nominal: Shape (k,).
        sigma: Shape (k,).
    """

    names: tuple[str, ...]
    nominal: Array
    sigma: Array

    @classmethod
    def none(cls) -> "LinearPrior":
        """Return that of no unknown."""
        return cls((), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Linearisation:
    """phi(x) about one point.

    Attributes:
        x: The point, shape (n,).
        phi: Parameters about the joint frames, friction, errors of sensors, shape (n,).
        D: dphi/dx, block diagonal, shape (n, n).
        pi_C: Parameters of the bodies in C, shape (n_bodies, 10).
        G: Their Jacobians dpi_C/dx, shape (n_bodies, 10, 10).
    """

    x: Array
    phi: Array
    D: Array
    pi_C: Array
    G: Array


def with_blocks(matrix: Array, blocks: Iterable[Array]) -> Array:
    """Return a matrix after writing blocks of ten rows, one for each body, along its diagonal."""
    for i, block in enumerate(blocks):
        matrix[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
    return matrix


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Layout, prior and map of the state.

    Attributes:
        bodies: The estimated bodies, ten coordinates each, first in the state.
        body_prior: Their standard deviations.
        friction: Parameters of friction, after them.
        errors: Slowly varying errors of sensors, last.
        convention: Of the log-Cholesky coordinates, "rucker" or "foster".
    """

    bodies: tuple[BodyReference, ...]
    body_prior: BodyPrior
    friction: LinearPrior = field(default_factory=LinearPrior.none)
    errors: LinearPrior = field(default_factory=LinearPrior.none)
    convention: str = "rucker"

    @cached_property
    def n_inertial(self) -> int:
        """Number of coordinates of bodies."""
        return 10 * len(self.bodies)

    @cached_property
    def n_inferred(self) -> int:
        """Number of coordinates of bodies and friction."""
        return self.n_inertial + len(self.friction.sigma)

    @cached_property
    def size(self) -> int:
        """Number of coordinates."""
        return self.n_inferred + len(self.errors.sigma)

    @cached_property
    def nominal(self) -> Array:
        """The nominal state, centre of the prior, shape (n,)."""
        thetas = [log_cholesky_from_parameters(body.nominal_C, self.convention) for body in self.bodies]
        return np.concatenate((*thetas, self.friction.nominal, self.errors.nominal))

    @cached_property
    def prior_covariance(self) -> Array:
        """Covariance of the prior, stated in Rucker's coordinates about nominal, shape (n, n)."""
        prior, n, blocks = self.body_prior, self.n_inertial, list[Array]()
        for body, G in zip(self.bodies, self.at(self.nominal).G, strict=True):
            sigma = np.array([0.5 * prior.mass] + 6 * [prior.radii] + 3 * [prior.com / body.length])
            theta = log_cholesky_from_parameters(body.nominal_C)[None]
            L = linear_algebra.solve(G, parameters_and_jacobian(theta)[1][0] * sigma)
            blocks.append(L @ L.T)
        P = with_blocks(np.zeros((self.size, self.size)), blocks)
        P[n:, n:] = np.diag(np.concatenate((self.friction.sigma, self.errors.sigma)) ** 2)
        return P

    @cached_property
    def prior_information(self) -> Array:
        """Inverse of the prior covariance, shape (n, n)."""
        information: Array = linear_algebra.inv(self.prior_covariance)
        return information

    @cached_property
    def prior_root(self) -> tuple[Array, Array]:
        """Cholesky factor of the prior covariance of bodies and friction, and its inverse, (k, k) each."""
        root = linear_algebra.cholesky(self.prior_covariance[: self.n_inferred, : self.n_inferred])
        return root, linear_algebra.inv(root)

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        largest = np.full(self.size, np.inf)
        largest[: self.n_inertial] = np.tile(LARGEST_DEVIATION, len(self.bodies))
        return self.nominal - largest, self.nominal + largest

    @cached_property
    def _to_joint(self) -> Array:
        return np.array([body.to_joint for body in self.bodies]).reshape(-1, 10, 10)

    def at(self, x: Array) -> Linearisation:
        """Linearise the parameters.

        Args:
            x: State, shape (n,).
        """
        n = self.n_inertial
        pi_C, G = parameters_and_jacobian(x[:n].reshape(-1, 10), self.convention)
        phi = x.copy()
        phi[:n] = np.matmul(self._to_joint, pi_C[:, :, None]).ravel()
        D = with_blocks(np.eye(len(x)), np.matmul(self._to_joint, G))
        return Linearisation(x, phi, D, pi_C, G)

    def bounded(self, x: Array) -> Array:
        """Limit the bodies to what floating point can tell from inconsistent ones.

        Args:
            x: State, shape (n,).
        """
        return np.clip(x, *self._bounds)

    def of_body(self, body: int) -> slice:
        """Return the coordinates of a body."""
        return slice(10 * body, 10 * body + 10)
