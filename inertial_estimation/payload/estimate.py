"""Result of the identification of the trunk at one instant, and its figures as telemetry."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.models.hand_over import central_row, published_defect
from inertial_estimation.payload.config import METHODS
from inertial_estimation.signals import Array, BaseReference, LinkInertia
from inertial_estimation.telemetry import AGE, mass_names, mass_values


class Phase(Enum):
    """What the identification is doing; in all phases but the first the robot is requested to stand still.

    Attributes:
        WATCHING: Nothing is identified; mass and centre of mass are checked whenever the robot is at rest,
            the mass in motion too. A request or a load change ends it.
        SETTLING: The robot is not yet at rest.
        MASS: The mass is averaged; if rest is lost, SETTLING again.
        COM: The centre of mass is identified by the chosen method, at the tilts that it requests.
        RETURNING: Done, or given up; what was published moves to the result, the base back to its posture.
    """

    WATCHING = "watching"
    SETTLING = "settling"
    MASS = "mass"
    COM = "com"
    RETURNING = "returning"

    @property
    def identifying(self) -> bool:
        """Whether a result is still to come."""
        return self in (Phase.SETTLING, Phase.MASS, Phase.COM)


PHASES = tuple(phase.value for phase in Phase)  # the number of a phase or a method is its place


@dataclass(frozen=True, slots=True, eq=False)
class LoadChange:
    """A change of the trunk's load, found at rest or, a heavy one, in motion."""

    stamp_ns: int  # when it was found [ns]
    kind: str  # "loaded", "unloaded" (the mass changed) or "shifted" (only its place did)
    mass_before: float  # expected: in force, or last reported where that was not identified [kg]
    mass_measured: float  # [kg]
    shift_B: Array  # of the trunk's centre of mass across gravity [m], shape (3,); zero if found in motion


@dataclass(frozen=True, slots=True, eq=False)
class PayloadEstimate:
    """Trunk and payload after one step."""

    stamp_ns: int  # stamp of the joint state it is made of [ns]
    trunk: LinkInertia  # what a controller should use; moves to the estimate at a capped rate
    estimate: LinkInertia  # the identification's own value
    payload: LinkInertia  # the load: estimate less nominal (its mass may be negative)
    phase: Phase
    method: str  # one of `config.METHODS`
    at_rest: bool
    mass_sigma: float  # standard deviation of the mass [kg]; inf before it was ever measured
    com_sigma_B: Array  # of the centre of mass along the base axes [m]; inf where never measured
    residual: float  # of the last measurements, as a centre of mass [m]; NaN before
    converged: bool  # whether the last identification came to its end, its result published
    hold: bool  # whether the robot is requested to stand still on all its feet
    reference: BaseReference | None = None  # where the base is asked to be, until another is given
    change: LoadChange | None = None  # in the step in which it was found
    refusal: str = ""  # why the last identification was given up
    ended: str = ""  # how one has ended since the last estimate: "identified", "refused" or "cancelled"

    @property
    def defect(self) -> str:
        """What is not finite or physically inconsistent, as a phrase; empty if nothing is."""
        if not np.isfinite(central_row(self.estimate)).all():
            return "the estimate of the trunk is not finite"
        return published_defect([self.trunk.link], central_row(self.trunk)[None])


class PayloadTelemetry:
    """The figures of an estimate of the trunk.

    Attributes:
        names: Of the figures.
    """

    def __init__(self, trunk: str) -> None:
        """Name them, with the link of the trunk."""
        flags = ("at_rest", "hold", "converged", "refused")
        self.names = (*mass_names(trunk), "phase", "method", *flags, "residual [m]", AGE)

    def values(self, estimate: PayloadEstimate, age_s: float) -> list[float]:
        """Return the figures of an estimate of an age [s], in the order of their names."""
        sigmas = (estimate.mass_sigma, *estimate.com_sigma_B.tolist())
        flags = (estimate.at_rest, estimate.hold, estimate.converged, bool(estimate.refusal))
        numbers = (PHASES.index(estimate.phase.value), METHODS.index(estimate.method), *flags)
        masses = mass_values(estimate.estimate, estimate.trunk, estimate.payload, sigmas)
        return [*masses, *map(float, numbers), estimate.residual, age_s]
