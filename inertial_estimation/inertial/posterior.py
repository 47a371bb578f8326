"""Most probable consistent parameters by Gauss-Newton steps in log-Cholesky coordinates."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs

from inertial_estimation.inertial.unknowns import Linearisation, Unknowns
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial import linear_algebra

LARGEST_STEP = 0.35  # of a coordinate of a body in one iteration: a share of a mass or of a radius
SMALLEST_DECREASE = 0.02  # of the cost, expected of a step, at which the minimum counts as reached: 0.2 sigma
MOST_STEPS = 4  # of one update; the next one goes on from there
INFORMED = 3.0  # information over the prior's from which on a direction counts as known: half of its sigma
HALVINGS = 8  # of a step that does not lower the cost


@dataclass(frozen=True, eq=False)
class Posterior:
    """Most probable state and its covariance.

    Attributes:
        at: Linearisation at the state.
        P: Covariance of the state, shape (n, n).
        steps: Number of Gauss-Newton steps.
    """

    at: Linearisation
    P: Array
    steps: int = 0

    @property
    def x(self) -> Array:
        """The state, shape (n,)."""
        return self.at.x

    @cached_property
    def body_covariances(self) -> Array:
        """Covariance of the parameters of each body in C, shape (n, 10, 10)."""
        G, n = self.at.G, len(self.at.G)
        own = self.P[: 10 * n, : 10 * n].reshape(n, 10, n, 10)[np.arange(n), :, np.arange(n)]
        covariances: Array = G @ own @ G.transpose(0, 2, 1)
        return covariances


def most_probable(
    unknowns: Unknowns,
    data: tuple[Array, Array],
    start: Linearisation,
    *,
    centre: Array | None = None,
    spread: Array | None = None,
    n_free: int | None = None,
) -> Posterior:
    """Minimise 1/2 (x - x0)' P0^-1 (x - x0) + 1/2 phi' Lambda phi - eta' phi.

    Args:
        unknowns: Prior and map.
        data: Lambda, shape (n, n), and eta, shape (n,), of the data about phi.
        start: Where to begin.
        centre: x0, mean of the prior, shape (n,); None: the nominal state.
        spread: Lambda of the covariance, where it counts correlated residuals less, shape (n, n).
        n_free: Number of coordinates that are estimated, the first ones; None: all. The others keep their
            values, and the covariance contains that of their prior (they are considered).
    """
    Lambda, eta = data
    prior, bodies = unknowns.prior_information, unknowns.n_inertial
    centre = unknowns.nominal if centre is None else centre
    n = len(start.x) if n_free is None else n_free
    at, steps = start, 0
    value = _cost(Lambda, eta, prior, centre, at)
    while True:
        slope = Lambda @ at.phi - eta
        gradient = (prior @ (at.x - centre) + at.D.T @ slope)[:n]
        gauss = prior + at.D.T @ Lambda @ at.D
        steps += 1
        step = np.zeros(len(at.x))
        step[:n] = -dpotrs(linear_algebra.cholesky(gauss[:n, :n]), gradient, lower=1)[0]
        decrease = -0.5 * float(gradient @ step[:n])
        step *= min(1.0, LARGEST_STEP / max(np.abs(step[:bodies]).max(initial=0.0), 1e-12))
        for halving in range(HALVINGS):
            new = unknowns.at(unknowns.bounded(at.x + 0.5**halving * step))
            new_value = _cost(Lambda, eta, prior, centre, new)
            if new_value <= value:
                break
        else:
            break
        at, value = new, new_value
        if decrease < SMALLEST_DECREASE or steps == MOST_STEPS:
            break
    gauss = prior + at.D.T @ (Lambda if spread is None else spread) @ at.D
    return Posterior(at, _covariance(gauss, n, unknowns.prior_covariance), steps)


class InformedPart(NamedTuple):
    """What the data say of a state."""

    x: Array  # state with the directions that they do not inform as in the prior, shape (n,)
    information: Array  # of the data over that of the prior, per direction, ascending, shape (k,)

    @property
    def directions(self) -> int:
        """Number of directions that the data inform."""
        return int(np.count_nonzero(self.information > INFORMED))


def informed_part(unknowns: Unknowns, posterior: Posterior, centre: Array) -> InformedPart:
    """Return the state with what the data do not inform left at the mean of the prior.

    Information of 0: the data say nothing of a direction, 1: as much as the prior, 100: its sigma is a tenth.

    Args:
        unknowns: Prior and map.
        posterior: State and covariance.
        centre: Mean of the prior, shape (n,).
    """
    k, (root, whitening) = unknowns.n_inferred, unknowns.prior_root
    mu, V = linear_algebra.eigh(whitening @ posterior.P[:k, :k] @ whitening.T)
    information = 1.0 / np.maximum(mu, np.finfo(float).eps) - 1.0
    V = V[:, information > INFORMED]
    x = centre.copy()
    x[:k] += root @ (V @ (V.T @ (whitening @ (posterior.x - centre)[:k])))
    return InformedPart(x, frozen_array("information", information[::-1]))


def _cost(Lambda: Array, eta: Array, prior: Array, centre: Array, at: Linearisation) -> float:
    d = at.x - centre
    return 0.5 * float(d @ prior @ d) + float(at.phi @ (0.5 * (Lambda @ at.phi) - eta))


def _covariance(information: Array, n: int, prior: Array) -> Array:
    """Return the covariance of the first n coordinates, errors of the others considered."""
    inverse: Array = _inverse(information[:n, :n])
    if n == len(information):
        return inverse
    P: Array = prior.copy()
    effect = -inverse @ information[:n, n:]
    cross = effect @ prior[n:, n:]
    P[:n, :n] = inverse + cross @ effect.T
    P[:n, n:], P[n:, :n] = cross, cross.T
    return P


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix."""
    lower = np.asarray(dpotri(linear_algebra.cholesky(matrix), lower=1)[0])  # zero above the diagonal
    inverse: Array = lower + lower.T
    np.fill_diagonal(inverse, lower.diagonal())
    return inverse
