"""A robot description with estimated inertias and what is known of them: the content of `posterior.json`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.inertia_posterior import InertiaPosterior, posterior_from_values
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import urdf_with_bodies, urdf_with_load
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import InertialParameters

POSTERIOR_FILE = "posterior.json"


@dataclass(frozen=True, slots=True)
class EstimatedLoad:
    """A load that is a link of its own; its parameters follow those of the bodies.

    Attributes:
        link: The link that carries it.
        name: Name of the load's link.
    """

    link: str
    name: str


@dataclass(frozen=True, eq=False)
class EstimatedModel:
    """A robot whose inertias were estimated.

    Attributes:
        urdf: Description before the estimation.
        floating_base: Whether its base moves freely.
        locked_joints: Joints that were held at zero, names or patterns.
        links: The estimated bodies, each by its link.
        load: The load, if one was identified.
        estimate: Parameters about the link frames, Pinocchio's order; of a load after those of the links,
            shape (n, 10).
        posterior: Distribution of these parameters; None where the method has none.
        without: Why there is no posterior.
    """

    urdf: str
    floating_base: bool
    locked_joints: tuple[str, ...]
    links: tuple[str, ...]
    estimate: Array
    posterior: InertiaPosterior | None
    without: str = ""
    load: EstimatedLoad | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the links whose inertia is estimated, the load's at last."""
        return (*self.links, self.load.name) if self.load else self.links

    def samples(self, count: int, rng: Generator) -> Array:
        """Draw robots from the posterior.

        Args:
            count: How many.
            rng: Source of the draws.

        Returns:
            Parameters as in `estimate`, all consistent, shape (count, n, 10).

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
        """Return the description with other inertias.

        Args:
            parameters: As `estimate`, shape (n, 10).

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
        return json.dumps(self.values(), allow_nan=False) + "\n"

    def values(self) -> dict[str, Any]:
        """Return all as plain values, for `from_values`."""
        load = self.load
        return {
            "robot": {
                "floating_base": self.floating_base,
                "locked_joints": list(self.locked_joints),
                "urdf": self.urdf,
            },
            "links": list(self.links),
            "load": None if load is None else {"link": load.link, "name": load.name},
            "estimate": self.estimate.tolist(),
            "posterior": None if self.posterior is None else self.posterior.values(),
            "without": self.without,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "EstimatedModel":
        """Return the model that `values` wrote.

        Raises:
            ConfigurationError: If it is none.
        """
        try:
            robot, load, posterior = values["robot"], values["load"], values["posterior"]
            found = cls(
                str(robot["urdf"]),
                bool(robot["floating_base"]),
                tuple(map(str, robot["locked_joints"])),
                tuple(map(str, values["links"])),
                np.array(values["estimate"], dtype=np.float64).reshape(-1, 10),
                None if posterior is None else posterior_from_values(posterior),
                str(values["without"]),
                None if load is None else EstimatedLoad(str(load["link"]), str(load["name"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"it is no estimated model: {error!r}") from error
        if len(found.estimate) != len(found.names):
            raise ConfigurationError(
                f"{len(found.estimate)} estimates for {len(found.names)} links, expected one each"
            )
        return found
