"""A robot description with estimated inertias and what is known of them: the content of `posterior.json`.

What is known is a distribution, from which robots are drawn; every draw is physically consistent. A filter's
posterior is normal in log-Cholesky coordinates, which reach consistent bodies alone. The posterior of a
linear identification is normal in the parameters themselves, and holds where every pseudo-inertia is positive
definite: it is truncated to there.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError, InertialEstimationError, MeasurementError, listing
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import urdf_with_bodies, urdf_with_load
from inertial_estimation.signals import Array, frozen_array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia
from inertial_estimation.spatial.log_cholesky import CONVENTIONS, parameters_from_log_cholesky

POSTERIOR_FILE = "posterior.json"
STEPS_PER_UNKNOWN = 10  # of the walk between two draws: a step moves along one direction of all
NEWTON_TOLERANCE = 1e-3  # decrement: standard deviations left to the centre, where a walk begins [1]
INSIDE = 1.0 - 1e-9  # share of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class InertiaPosterior(ABC):
    """A distribution of the inertial parameters of several bodies."""

    kind: ClassVar[str]

    @abstractmethod
    def draw(self, count: int, rng: Generator) -> Array:
        """Draw robots: parameters about the link frames, Pinocchio's order, shape (count, n_bodies, 10)."""

    def values(self) -> dict[str, Any]:
        """Return the distribution as plain values, for `posterior_from_values`."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        plain = {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in own.items()}
        return {"kind": self.kind, **plain}

    def _check(self, **shapes: tuple[int, ...]) -> None:
        """Make arrays read-only, and raise unless they are finite and of the shapes that belong together."""
        for name, shape in shapes.items():
            array = frozen_array(name, getattr(self, name), shape)
            if not np.isfinite(array).all():
                raise ConfigurationError(f"'{name}' of the posterior has numbers that are not finite")
            object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False)
class LogCholeskyPosterior(InertiaPosterior):
    """Normally distributed log-Cholesky coordinates, as a filter has them."""

    coordinates: Array  # means, shape (n, 10)
    covariance: Array  # of all coordinates together, shape (10 n, 10 n)
    to_link: Array  # X with pi_L = X pi_C, from the frame of the coordinates to the link's, shape (n, 10, 10)
    convention: str  # of the coordinates, "rucker" or "foster"
    kind: ClassVar[str] = "log-cholesky"

    def __post_init__(self) -> None:
        n = len(self.coordinates)
        self._check(coordinates=(n, 10), covariance=(10 * n, 10 * n), to_link=(n, 10, 10))
        if self.convention not in CONVENTIONS:
            raise ConfigurationError(f"no convention '{self.convention}', expected {listing(CONVENTIONS)}")

    def draw(self, count: int, rng: Generator) -> Array:
        """Draw coordinates; as in the base class."""
        n, factor = len(self.coordinates), square_root(self.covariance)
        drawn = self.coordinates.ravel() + rng.standard_normal((count, 10 * n)) @ factor.T
        pi_C = parameters_from_log_cholesky(drawn.reshape(-1, 10), self.convention).reshape(count, n, 10)
        pi_L: Array = np.einsum("nij,knj->kni", self.to_link, pi_C)
        return pi_L


@dataclass(frozen=True, eq=False)
class TruncatedPosterior(InertiaPosterior):
    """pi = mean + factor xi with standard normal xi, where every body is consistent.

    Drawn by hit-and-run (Smith 1984): from a consistent point, in a random direction, the consistent points
    lie between two generalised eigenvalues of the pseudo-inertias; the next point is drawn among them by a
    step of slice sampling (Neal 2003), which is exact on a line. The walk begins where the density times all
    det J is largest, which is away from the boundary, and the inverse of the second derivative there is the
    covariance of its directions: bodies close to plates and rods leave it little room in some of them.
    """

    mean: Array  # of the normal distribution, about the link frames; may be inconsistent, shape (n, 10)
    factor: Array  # shape (10 n, k)
    start: Array  # A xi with consistent bodies, shape (k,)
    kind: ClassVar[str] = "truncated normal"

    def __post_init__(self) -> None:
        n, k = len(self.mean), len(self.start)
        self._check(mean=(n, 10), factor=(10 * n, k), start=(k,))

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
        for i in range(count):
            for _ in range(steps):
                xi = self._next(xi, directions, rng)
            drawn[i] = self._parameters(xi)
        return drawn

    def _parameters(self, xi: Array) -> Array:
        pi: Array = self.mean + (self.factor @ xi).reshape(self.mean.shape)
        return pi

    def _centre(self) -> tuple[Array, Array]:
        """Return the minimum of |xi|^2 / 2 - sum log det J and its second derivative, by Newton's method.

        The function is self-concordant: a step of 1 / (1 + decrement) stays inside and converges.
        """
        xi = self.start.copy()
        columns = pseudo_inertia(self.factor.T.reshape(len(xi), *self.mean.shape))  # (k, n, 4, 4)
        while True:
            L_inv = linear_algebra.inv(linear_algebra.cholesky(pseudo_inertia(self._parameters(xi))))
            scaled = (L_inv @ columns @ L_inv.transpose(0, 2, 1)).reshape(len(xi), -1, 16)
            gradient = xi - scaled[:, :, ::5].sum(axis=(1, 2))
            flat = scaled.reshape(len(xi), -1)
            H = np.eye(len(xi)) + flat @ flat.T
            step = linear_algebra.solve(H, gradient)
            decrement = float(np.sqrt(max(gradient @ step, 0.0)))
            if decrement < NEWTON_TOLERANCE:
                return xi, H
            xi = xi - step / (1.0 + decrement)

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
    kinds: dict[str, type[InertiaPosterior]] = {
        one.kind: one for one in (LogCholeskyPosterior, TruncatedPosterior)
    }
    kind = kinds.get(values.get("kind", ""))
    if kind is None:
        raise ConfigurationError(
            f"a posterior of the kind '{values.get('kind')}', expected one of {listing(kinds)}"
        )
    try:
        return kind(**{one.name: values[one.name] for one in fields(kind)})
    except (KeyError, TypeError, ValueError, MeasurementError) as error:
        raise ConfigurationError(f"the posterior cannot be read: {error!r}") from error


def square_root(covariance: Array) -> Array:
    """Return F with F F' = covariance, which is symmetric and may be singular, shape (n, n)."""
    eigenvalues, vectors = linear_algebra.eigh(0.5 * (covariance + covariance.T))
    factor: Array = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return factor


@dataclass(frozen=True, slots=True)
class EstimatedLoad:
    """A load that is a link of its own; its parameters follow those of the bodies."""

    link: str  # the link that carries it
    name: str  # name of the load's link


@dataclass(frozen=True, eq=False)
class EstimatedModel:
    """A robot whose inertias were estimated."""

    urdf: str  # description before the estimation
    floating_base: bool  # whether its base moves freely
    locked_joints: tuple[str, ...]  # joints that were held at zero, names or patterns
    links: tuple[str, ...]  # the estimated bodies, each by its link
    # parameters about the link frames, Pinocchio's order; of a load after those of the links, shape (n, 10)
    estimate: Array
    posterior: InertiaPosterior | None  # distribution of these parameters; None where the method has none
    without: str = ""  # why there is no posterior
    load: EstimatedLoad | None = None  # the load, if one was identified

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the links whose inertia is estimated, the load's at last."""
        return (*self.links, self.load.name) if self.load else self.links

    def samples(self, count: int, rng: Generator) -> Array:
        """Draw robots from the posterior: parameters as in `estimate`, all consistent, (count, n, 10).

        Raises:
            ConfigurationError: If there is no posterior.
        """
        if self.posterior is None:
            raise ConfigurationError(f"there is no posterior to draw from: {self.without}")
        drawn = self.posterior.draw(count, rng)
        for robot in drawn:
            for name, pi in zip(self.names, robot, strict=True):
                if not np.isfinite(pi).all() or InertialParameters.from_vector(pi).violations():
                    raise InertialEstimationError(
                        f"a draw of '{name}' is outside the numbers of a computer: its standard deviations "
                        "are too large; estimate with narrower priors, or from a motion that excites it"
                    )
        return drawn

    def estimated_urdf(self) -> str:
        """Return the description with the estimates in place of the nominal inertias."""
        return self.urdf_with(self.estimate)

    def urdf_with(self, parameters: Array) -> str:
        """Return the description with other inertias, shape (n, 10).

        Raises:
            ModelError: If the description does not have the links.
        """
        robot = RobotModel.from_urdf(
            self.urdf, floating_base=self.floating_base, locked_joints=self.locked_joints
        )
        bodies = [BodyReference.of_link(robot, link) for link in self.links]
        text = urdf_with_bodies(self.urdf, robot, bodies, list(parameters[: len(bodies)]))
        if self.load is None:
            return text
        inertia = InertialParameters.from_vector(parameters[-1])
        return urdf_with_load(text, self.load.link, self.load.name, inertia)

    def json_text(self) -> str:
        """Return all as JSON, the content of `POSTERIOR_FILE`."""
        values = {
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "estimate": self.estimate.tolist(),
            "posterior": None if self.posterior is None else self.posterior.values(),
            "load": None if self.load is None else asdict(self.load),
        }
        return json.dumps(values, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "EstimatedModel":
        """Return the model of `json_text`.

        Raises:
            ConfigurationError: If it is none.
        """
        try:
            values = json.loads(text)
            load, posterior = values["load"], values["posterior"]
            found = cls(
                str(values["urdf"]),
                bool(values["floating_base"]),
                tuple(map(str, values["locked_joints"])),
                tuple(map(str, values["links"])),
                np.array(values["estimate"], dtype=np.float64).reshape(-1, 10),
                None if posterior is None else posterior_from_values(posterior),
                str(values["without"]),
                None if load is None else EstimatedLoad(str(load["link"]), str(load["name"])),
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"it is no estimated model: {error!r}") from error
        if len(found.estimate) != len(found.names):
            raise ConfigurationError(
                f"{len(found.estimate)} estimates for {len(found.names)} links, expected one each"
            )
        return found
