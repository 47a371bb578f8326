"""Result of the identification of the trunk at one instant, and its figures as telemetry."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.models.hand_over import central_row, published_defect
from inertial_estimation.payload.config import METHODS
from inertial_estimation.signals import Array, BaseReference, LinkInertia
from inertial_estimation.telemetry import Figures, mass_figures


class Phase(Enum):
    """Phase of the identification; in all phases but the first the robot is requested to stand still.

    Attributes:
        WATCHING: Nothing is identified; mass and centre of mass are checked whenever the robot is at rest,
            the mass in motion, too. A request or a load change ends the phase.
        SETTLING: The robot is not yet at rest.
        MASS: The mass is averaged; if rest is lost, SETTLING again.
        COM: The centre of mass is identified by the chosen method, at the tilts that it requests.
        RETURNING: Converged or given up; the published trunk moves to the result, the base to its posture.
    """

    WATCHING = "watching"
    SETTLING = "settling"
    MASS = "mass"
    COM = "com"
    RETURNING = "returning"

    @property
    def identifying(self) -> bool:
        """Whether an identification is under way that has no result yet."""
        return self in (Phase.SETTLING, Phase.MASS, Phase.COM)


PHASES = tuple(phase.value for phase in Phase)  # telemetry has the index of the phase


@dataclass(frozen=True, slots=True, eq=False)
class LoadChange:
    """A change of the trunk's load, found at rest or, a heavy one, in motion."""

    stamp_ns: int  # stamp at which it was detected [ns]
    kind: str  # "loaded", "unloaded" (the mass changed) or "shifted" (only the centre of mass did)
    mass_before: float  # expected mass: in force, or measured at the last reported change [kg]
    mass_measured: float  # measured mass [kg]
    shift_B: Array  # of the trunk's centre of mass across gravity [m], shape (3,); zero if found in motion


@dataclass(frozen=True, slots=True, eq=False)
class PayloadEstimate:
    """Trunk and payload after one step."""

    stamp_ns: int  # stamp of the joint state of the step [ns]
    trunk: LinkInertia  # inertia for a controller, which moves to the estimate at a bounded rate
    estimate: LinkInertia  # the identification's own value
    payload: LinkInertia  # the load: estimate less nominal (its mass may be negative)
    phase: Phase
    method: str  # one of `config.METHODS`
    at_rest: bool
    mass_sigma: float  # standard deviation of the mass [kg]; inf before it was ever measured
    com_sigma_B: Array  # of the centre of mass along the base axes [m]; inf where never measured
    residual: float  # of the last measurements, as a distance of centres of mass [m]; NaN before the first
    converged: bool  # whether the last identification has converged and its result is published
    hold: bool  # whether the robot is requested to stand still on all its feet
    reference: BaseReference | None = None  # requested pose of the base; None: none is requested
    change: LoadChange | None = None  # load change that was detected in this step
    refusal: str = ""  # why the last identification was given up
    ended: str = ""  # outcome of one that ended in this step: "identified", "refused" or "cancelled"

    @property
    def defect(self) -> str:
        """Why the estimate is not finite or physically inconsistent, as a phrase; empty if it is fit."""
        if not np.isfinite(central_row(self.estimate)).all():
            return "the estimate of the trunk is not finite"
        return published_defect([self.trunk.link], central_row(self.trunk)[None])


def payload_figures(trunk: str) -> Figures[PayloadEstimate]:
    """Return the figures of an estimate of the trunk, a link, as telemetry."""
    return Figures(
        mass_figures(
            trunk, lambda e: (e.estimate, e.trunk, e.payload, (e.mass_sigma, *e.com_sigma_B.tolist()))
        ),
        (
            ("phase", "method"),
            lambda e: map(float, (PHASES.index(e.phase.value), METHODS.index(e.method))),
        ),
        (
            ("at_rest", "hold", "converged", "refused"),
            lambda e: map(float, (e.at_rest, e.hold, e.converged, bool(e.refusal))),
        ),
        (("residual [m]",), lambda e: (e.residual,)),
    )
