"""What is known of the inertias of several bodies together, as a distribution from which robots are drawn.

Every draw is physically consistent. A filter's posterior is normal in log-Cholesky coordinates, which reach
consistent bodies alone. The posterior of a linear identification is normal in the parameters themselves, and
holds where every pseudo-inertia is positive definite: it is truncated to there.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia
from inertial_estimation.spatial.log_cholesky import CONVENTIONS, parameters_from_log_cholesky

STEPS_PER_UNKNOWN = 10  # of the walk between two draws: a step moves along one direction of all
FIRST_STEPS = 5  # draws' worth of steps before the first draw
MOST_NEWTON_STEPS, NEWTON_TOLERANCE = 200, 1e-3
INSIDE = 1.0 - 1e-9  # share of the way to the boundary that a step may go


class InertiaPosterior(ABC):
    """A distribution of the inertial parameters of several bodies."""

    kind: str

    @abstractmethod
    def draw(self, count: int, rng: Generator) -> Array:
        """Draw robots.

        Args:
            count: How many.
            rng: Source of the draws.

        Returns:
            Parameters about the link frames, Pinocchio's order, shape (count, n_bodies, 10).
        """

    @abstractmethod
    def values(self) -> dict[str, Any]:
        """Return the distribution as plain values, for `posterior_from_values`."""


@dataclass(frozen=True, eq=False)
class LogCholeskyPosterior(InertiaPosterior):
    """Normally distributed log-Cholesky coordinates, as a filter has them.

    Attributes:
        coordinates: Means, shape (n, 10).
        covariance: Of all coordinates together, shape (10 n, 10 n).
        to_link: X with pi_L = X pi_C, from the frame of the coordinates to the link's, shape (n, 10, 10).
        convention: Of the coordinates, "rucker" or "foster".
    """

    coordinates: Array
    covariance: Array
    to_link: Array
    convention: str
    kind = "log-cholesky"

    def draw(self, count: int, rng: Generator) -> Array:
        """Draw coordinates; as in the base class."""
        n, factor = len(self.coordinates), square_root(self.covariance)
        drawn = self.coordinates.ravel() + rng.standard_normal((count, 10 * n)) @ factor.T
        pi_C = parameters_from_log_cholesky(drawn.reshape(-1, 10), self.convention).reshape(count, n, 10)
        pi_L: Array = np.einsum("nij,knj->kni", self.to_link, pi_C)
        return pi_L

    def values(self) -> dict[str, Any]:
        """Return plain values."""
        arrays = {name: getattr(self, name).tolist() for name in ("coordinates", "covariance", "to_link")}
        return {"kind": self.kind, "convention": self.convention, **arrays}


@dataclass(frozen=True, eq=False)
class TruncatedPosterior(InertiaPosterior):
    """pi = mean + factor xi with standard normal xi, where every body is consistent.

    Drawn by hit-and-run (Smith 1984): from a consistent point, in a random direction, the consistent points
    lie between two generalised eigenvalues of the pseudo-inertias; the next point is drawn among them by a
    step of slice sampling (Neal 2003), which is exact on a line. The walk begins where the density times all
    det J is largest, which is away from the boundary, and the inverse of the second derivative there is the
    covariance of its directions: bodies close to plates and rods leave it little room in some of them.

    Attributes:
        mean: Of the normal distribution, about the link frames; may be inconsistent, shape (n, 10).
        factor: Shape (10 n, k).
        start: A xi with consistent bodies, shape (k,).
    """

    mean: Array
    factor: Array
    start: Array
    kind = "truncated normal"

    def draw(self, count: int, rng: Generator) -> Array:
        """Walk among the consistent bodies; as in the base class.

        Raises:
            ConfigurationError: If the bodies at the start are not consistent.
        """
        if float(linear_algebra.eigvalsh(pseudo_inertia(self._parameters(self.start))).min()) <= 0.0:
            raise ConfigurationError("the posterior starts at inconsistent bodies, expected consistent ones")
        xi, H = self._centre()
        directions = linear_algebra.inv(linear_algebra.cholesky(H)).T
        steps, drawn = STEPS_PER_UNKNOWN * len(self.start), np.empty((count, *self.mean.shape))
        for _ in range(FIRST_STEPS * steps):
            xi = self._next(xi, directions, rng)
        for i in range(count):
            for _ in range(steps):
                xi = self._next(xi, directions, rng)
            drawn[i] = self._parameters(xi)
        return drawn

    def values(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "kind": self.kind,
            **{name: getattr(self, name).tolist() for name in ("mean", "factor", "start")},
        }

    def _parameters(self, xi: Array) -> Array:
        pi: Array = self.mean + (self.factor @ xi).reshape(self.mean.shape)
        return pi

    def _centre(self) -> tuple[Array, Array]:
        """Return the minimum of |xi|^2 / 2 - sum log det J and its second derivative, by Newton's method.

        The function is self-concordant: a step of 1 / (1 + decrement) stays inside and converges.
        """
        xi = self.start.copy()
        columns = pseudo_inertia(self.factor.T.reshape(len(xi), *self.mean.shape))  # (k, n, 4, 4)
        for _ in range(MOST_NEWTON_STEPS):
            L_inv = linear_algebra.inv(linear_algebra.cholesky(pseudo_inertia(self._parameters(xi))))
            scaled = (L_inv @ columns @ L_inv.transpose(0, 2, 1)).reshape(len(xi), -1, 16)
            gradient = xi - scaled[:, :, ::5].sum(axis=(1, 2))
            flat = scaled.reshape(len(xi), -1)
            H = np.eye(len(xi)) + flat @ flat.T
            step = linear_algebra.solve(H, gradient)
            decrement = float(np.sqrt(max(gradient @ step, 0.0)))
            if decrement < NEWTON_TOLERANCE:
                break
            xi = xi - step / (1.0 + decrement)
        return xi, H

    def _next(self, xi: Array, directions: Array, rng: Generator) -> Array:
        direction = directions @ rng.standard_normal(len(xi))
        direction /= np.linalg.norm(direction)
        along = float(xi @ direction)
        half = np.sqrt(along**2 + 2.0 * rng.standard_exponential())  # of the slice about the mode at -along
        low, high = self._consistent_between(xi, direction)
        low, high = max(low, -along - half), min(high, -along + half)
        moved: Array = xi + rng.uniform(low, high) * direction
        return moved

    def _consistent_between(self, xi: Array, direction: Array) -> tuple[float, float]:
        """Return the t between which J(xi + t direction) is positive definite, for all bodies."""
        J = pseudo_inertia(self._parameters(xi))
        slope = pseudo_inertia((self.factor @ direction).reshape(self.mean.shape))
        L_inv = linear_algebra.inv(linear_algebra.cholesky(J))
        rates = linear_algebra.eigvalsh(L_inv @ slope @ L_inv.transpose(0, 2, 1))
        fastest, slowest = float(rates.max()), float(rates.min())
        low = -INSIDE / fastest if fastest > 0.0 else -np.inf
        high = -INSIDE / slowest if slowest < 0.0 else np.inf
        return low, high


def posterior_from_values(values: Mapping[str, Any]) -> InertiaPosterior:
    """Return the distribution that `InertiaPosterior.values` wrote.

    Raises:
        ConfigurationError: If it is none, or its arrays do not fit each other.
    """
    kinds = {LogCholeskyPosterior.kind: _log_cholesky, TruncatedPosterior.kind: _truncated}
    kind = values.get("kind")
    if kind not in kinds:
        raise ConfigurationError(f"a posterior of the kind '{kind}', expected one of {listing(kinds)}")
    try:
        return kinds[kind](values)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"the posterior cannot be read: {error!r}") from error


def _log_cholesky(values: Mapping[str, Any]) -> InertiaPosterior:
    coordinates = np.array(values["coordinates"], dtype=np.float64).reshape(-1, 10)
    n, convention = len(coordinates), values["convention"]
    if convention not in CONVENTIONS:
        raise ValueError(f"no convention '{convention}'")
    covariance = np.array(values["covariance"], dtype=np.float64).reshape(10 * n, 10 * n)
    to_link = np.array(values["to_link"], dtype=np.float64).reshape(n, 10, 10)
    return LogCholeskyPosterior(_finite(coordinates), _finite(covariance), _finite(to_link), convention)


def _truncated(values: Mapping[str, Any]) -> InertiaPosterior:
    mean = np.array(values["mean"], dtype=np.float64).reshape(-1, 10)
    start = np.array(values["start"], dtype=np.float64).ravel()
    factor = np.array(values["factor"], dtype=np.float64).reshape(mean.size, len(start))
    return TruncatedPosterior(_finite(mean), _finite(factor), _finite(start))


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError("numbers that are not finite")
    return values


def square_root(covariance: Array) -> Array:
    """Return F with F F' = covariance.

    Args:
        covariance: Symmetric, may be singular, shape (n, n).

    Returns:
        Shape (n, n).
    """
    eigenvalues, vectors = linear_algebra.eigh(0.5 * (covariance + covariance.T))
    factor: Array = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return factor
