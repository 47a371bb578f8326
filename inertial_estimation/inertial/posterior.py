"""The unknowns of the inertial filter in one state vector, and their most probable values.

The filter minimises over coordinates x; data are quadratic in the parameters phi(x), about the joint frames.
Of a body they are log-Cholesky coordinates, where every x is a physically consistent body; friction and
errors of sensors are their own coordinates. The minimum is found by Gauss-Newton steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dsyevd

from inertial_estimation.inertial.config import PriorConfig
from inertial_estimation.models.bodies import REACH, BodyReference
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.log_cholesky import log_cholesky_from_parameters, parameters_and_jacobian

# Largest deviations from nominal: mass by a factor e^6 = 400, radii of gyration by 12, shears by 5 radii, the
# centre of mass by 10 radii. Beyond, floating point cannot distinguish consistent from inconsistent bodies.
LARGEST_DEVIATION = np.array([3.0] + 3 * [2.5] + 3 * [5.0] + 3 * [10.0])


@dataclass(frozen=True, eq=False)
class LinearPrior:
    """Independent normal prior of unknowns that enter the equations linearly.

    Attributes:
        names: Name of each unknown.
        nominal: Mean, shape (k,).
        sigma: Standard deviation, shape (k,).
    """

    names: tuple[str, ...]
    nominal: Array
    sigma: Array

    @classmethod
    def none(cls) -> "LinearPrior":
        """Return the prior of no unknowns."""
        return cls((), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Linearisation:
    """phi(x) about one point.

    Attributes:
        x: The point, shape (n,).
        phi: Parameters about the joint frames, friction, errors of sensors, shape (n,).
        pi_C: Parameters of the bodies in C, shape (n_bodies, 10).
        G: Their Jacobians dpi_C/dx, shape (n_bodies, 10, 10).
        blocks: dphi/dx of the bodies, shape (n_bodies, 10, 10).
    """

    x: Array
    phi: Array
    pi_C: Array
    G: Array
    blocks: Array

    @cached_property
    def D(self) -> Array:
        """dphi/dx, block diagonal, shape (n, n)."""
        return with_blocks(np.eye(len(self.x)), self.blocks)

    def about_x(self, Lambda: Array) -> Array:
        """Return D' Lambda D, block by block.

        Args:
            Lambda: Information about phi, symmetric, shape (n, n).
        """
        of_bodies, n = 10 * len(self.blocks), len(Lambda)
        transposed = self.blocks.transpose(0, 2, 1)
        for _side in range(2):
            rows = np.matmul(transposed, Lambda[:of_bodies].reshape(-1, 10, n)).reshape(of_bodies, n)
            Lambda = np.concatenate((rows, Lambda[of_bodies:])).T
        return Lambda


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
        loads: Mass of the load that each body may carry [kg]; empty: none.
        friction: Parameters of friction, after them.
        errors: Slowly varying errors of sensors, last.
        convention: Of the log-Cholesky coordinates, "rucker" or "foster".
    """

    bodies: tuple[BodyReference, ...]
    body_prior: PriorConfig
    friction: LinearPrior = field(default_factory=LinearPrior.none)
    errors: LinearPrior = field(default_factory=LinearPrior.none)
    convention: str = "rucker"
    loads: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.loads:
            object.__setattr__(self, "loads", len(self.bodies) * (0.0,))

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
        """Covariance of the prior, stated in Rucker's coordinates about nominal, shape (n, n).

        A load L at a distance d from the centre of mass of a body of mass m and radius of gyration r adds L
        to the mass and ln(1 + L / m) to its logarithm, both of which have a prior (`known_masses`). With w =
        L / (m + L) it moves the centre of mass by w d and adds at most ln(1 + w d^2 / r^2) / 2 to the
        logarithm of the radius.
        """
        prior, n, blocks = self.body_prior, self.n_inertial, list[Array]()
        for body, load, G in zip(self.bodies, self.loads, self.at(self.nominal).G, strict=True):
            ratio, away = load / body.nominal_J.mass, np.hypot(1.0, REACH / body.length)
            share = ratio / (1.0 + ratio)
            in_logarithm, in_kg = np.hypot(prior.mass, (np.log1p(ratio), ratio))
            mass = np.sqrt(2.0) * in_logarithm * in_kg / np.hypot(in_logarithm, in_kg)
            com = np.hypot(prior.com / body.length, share * away)
            radii = np.hypot(prior.radii, 0.5 * np.log1p(share * away**2))
            sigma = np.array([0.5 * mass] + 6 * [radii] + 3 * [com])
            theta = log_cholesky_from_parameters(body.nominal_C)[None]
            L = linear_algebra.solve(G, parameters_and_jacobian(theta)[1][0] * sigma)
            blocks.append(L @ L.T)
        P = with_blocks(np.zeros((self.size, self.size)), blocks)
        P[n:, n:] = np.diag(np.concatenate((self.friction.sigma, self.errors.sigma)) ** 2)
        return P

    @cached_property
    def known_masses(self) -> Array:
        """Prior information about the masses in kg of bodies that may carry loads, shape (n,).

        A prior of the logarithm alone would allow tens of kilograms in a light hand, one of the mass alone
        would allow masses near zero; each of them counts half.
        """
        information = np.zeros(self.size)
        for i, (body, load) in enumerate(zip(self.bodies, self.loads, strict=True)):
            if load > 0.0:
                information[10 * i] = 0.5 / np.hypot(self.body_prior.mass * body.nominal_J.mass, load) ** 2
        return information

    @cached_property
    def prior_information(self) -> Array:
        """Inverse of the prior covariance without `known_masses`, shape (n, n)."""
        known = self.at(self.nominal).about_x(np.diag(self.known_masses))
        information: Array = linear_algebra.inv(self.prior_covariance) - known
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
        return Linearisation(x, phi, pi_C, G, np.matmul(self._to_joint, G))

    def bounded(self, x: Array) -> Array:
        """Limit the coordinates of the bodies to `LARGEST_DEVIATION` from nominal.

        Args:
            x: State, shape (n,).
        """
        least, largest = self._bounds
        bounded: Array = np.minimum(np.maximum(x, least), largest)
        return bounded

    def carries(self, body: int) -> bool:
        """Whether a body is expected to carry a load."""
        return self.loads[body] > 0.0

    def carrying(self, body: int, load: float) -> "Unknowns":
        """Return the same unknowns with a load on a body, unless it may carry as much already.

        Args:
            body: Index of the body.
            load: Expected mass of the load [kg].
        """
        if self.loads[body] >= load:
            return self
        return replace(self, loads=(*self.loads[:body], load, *self.loads[body + 1 :]))

    def of_body(self, body: int) -> slice:
        """Return the coordinates of a body."""
        return slice(10 * body, 10 * body + 10)


LARGEST_STEP = 0.35  # change of a coordinate of a body in one iteration: relative, of mass or radius
SMALLEST_DECREASE = 0.02  # predicted decrease of the cost below which the iteration stops: 0.2 sigma
MOST_STEPS = 4  # iterations of one update; the next update continues from there
INFORMED = 3.0  # information over that of the prior from which a direction counts as informed: half its sigma
HALVINGS = 8  # of a step that does not lower the cost


@dataclass(frozen=True, eq=False)
class Posterior:
    """Most probable state and its covariance.

    Attributes:
        at: Linearisation at the state.
        P: Covariance of the state, shape (n, n).
        considered: K, change of the state by each considered amplitude, shape (n, k).
        steps: Number of Gauss-Newton steps.
    """

    at: Linearisation
    P: Array
    steps: int = 0
    considered: Array | None = None

    @cached_property
    def by_considered(self) -> Array:
        """K K', shape (n, n)."""
        K = self.considered
        return np.zeros_like(self.P) if K is None else K @ K.T

    @property
    def covariance(self) -> Array:
        """P + K K', with what is considered, shape (n, n)."""
        return self.P + self.by_considered

    @property
    def x(self) -> Array:
        """The state, shape (n,)."""
        return self.at.x

    @cached_property
    def body_covariances(self) -> Array:
        """Covariance of the parameters of each body in C, shape (n, 10, 10)."""
        return self._of_bodies(self.P)

    @cached_property
    def considered_covariances(self) -> Array:
        """What K K' adds to them."""
        return self._of_bodies(self.by_considered)

    def _of_bodies(self, covariance: Array) -> Array:
        G, n = self.at.G, len(self.at.G)
        own = covariance[: 10 * n, : 10 * n].reshape(n, 10, n, 10)[np.arange(n), :, np.arange(n)]
        covariances: Array = G @ own @ G.transpose(0, 2, 1)
        return covariances


def most_probable(
    unknowns: Unknowns,
    data: tuple[Array, Array],
    start: Linearisation,
    *,
    centre: Linearisation | None = None,
    cautious: Array | None = None,
) -> Posterior:
    """Minimise 1/2 (x - x0)' P0^-1 (x - x0) + 1/2 phi' Lambda phi - eta' phi, with the prior of masses.

    Args:
        unknowns: Prior and map.
        data: Lambda, shape (n, n), and eta, shape (n,), of the data about phi.
        start: Where to begin.
        centre: At x0, the mean of the prior; None: the nominal state.
        cautious: Lambda for the covariance, with less weight of correlated residuals, shape (n, n).
    """
    prior, bodies = unknowns.prior_information, unknowns.n_inertial
    centre = unknowns.at(unknowns.nominal) if centre is None else centre
    known, of_masses = unknowns.known_masses, np.diag(unknowns.known_masses)
    Lambda, eta = data[0] + of_masses, data[1] + known * centre.phi
    at, steps = start, 0
    value = _cost(Lambda, eta, prior, centre.x, at)
    while True:
        slope = Lambda @ at.phi - eta
        gradient = prior @ (at.x - centre.x) + at.D.T @ slope
        gauss = prior + at.about_x(Lambda)
        steps += 1
        step = -dpotrs(cholesky(gauss), gradient, lower=1)[0]
        decrease = -0.5 * float(gradient @ step)
        step *= min(1.0, LARGEST_STEP / max(np.abs(step[:bodies]).max(initial=0.0), 1e-12))
        for halving in range(HALVINGS):
            new = unknowns.at(unknowns.bounded(at.x + 0.5**halving * step))
            new_value = _cost(Lambda, eta, prior, centre.x, new)
            if new_value <= value:
                break
        else:
            break
        at, value = new, new_value
        if decrease < SMALLEST_DECREASE or steps == MOST_STEPS:
            break
    gauss = prior + at.about_x(Lambda if cautious is None else cautious + of_masses)
    return Posterior(at, _inverse(gauss), steps)


class InformedPart(NamedTuple):
    """The part of a state that is determined by data rather than by the prior."""

    x: Array  # state, at the mean of the prior along directions that the data do not inform, shape (n,)
    information: Array  # of the data over that of the prior, per direction, ascending, shape (k,)

    @property
    def directions(self) -> int:
        """Number of directions that the data inform."""
        return int(np.count_nonzero(self.information > INFORMED))


def informed_part(unknowns: Unknowns, posterior: Posterior, centre: Array) -> InformedPart:
    """Return the state with uninformed directions at the mean of the prior.

    Information 0: no data about a direction; 1: as much as the prior; 100: sigma a tenth of the prior's.

    Args:
        unknowns: Prior and map.
        posterior: State and covariance.
        centre: Mean of the prior, shape (n,).
    """
    k, (root, whitening) = unknowns.n_inferred, unknowns.prior_root
    share = whitening @ posterior.P[:k, :k] @ whitening.T
    mu, V, failed = dsyevd(share, lower=1)
    if failed:
        mu, V = linear_algebra.eigh(share)  # says why
    information = 1.0 / np.maximum(mu, linear_algebra.EPSILON) - 1.0
    V = V[:, information > INFORMED]
    x = centre.copy()
    x[:k] += root @ (V @ (V.T @ (whitening @ (posterior.x - centre)[:k])))
    return InformedPart(x, frozen_array("information", information[::-1]))


def _cost(Lambda: Array, eta: Array, prior: Array, centre: Array, at: Linearisation) -> float:
    d = at.x - centre
    return 0.5 * float(d @ prior @ d) + float(at.phi @ (0.5 * (Lambda @ at.phi) - eta))


def cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor, shape (n, n), of a small matrix in a fifth of numpy's time.

    Raises:
        NumericalError: If the matrix is not positive definite.
    """
    factor, failed = dpotrf(matrix, lower=1)
    return linear_algebra.cholesky(matrix) if failed else np.asarray(factor)  # the former says why


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix; as `cholesky`."""
    lower = np.asarray(dpotri(cholesky(matrix), lower=1)[0])  # zero above the diagonal
    whole: Array = lower + lower.T
    np.fill_diagonal(whole, lower.diagonal())
    return whole
