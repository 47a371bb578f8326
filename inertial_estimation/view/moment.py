"""What the viewer shows of one instant, whether it comes from a replay, a simulation or live nodes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.signals import (
    Array,
    BaseState,
    ContactLoad,
    InertialEstimate,
    LinkEstimate,
    LinkInertia,
)


@dataclass(frozen=True, slots=True, eq=False)
class ShownLink:
    """Estimate of one body and how far it is known.

    Attributes:
        estimate: The estimate.
        payload: Estimate minus nominal (its mass may be negative).
        mass_sigma: Standard deviation of the mass [kg]; infinite where it was never measured, NaN where it is
            not known.
        com_sigmas_L: Of the centre of mass along the axes of the link [m], shape (3,), likewise.
    """

    estimate: LinkInertia
    payload: LinkInertia
    mass_sigma: float
    com_sigmas_L: Array


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What is true of the robot at one instant, as far as it is known.

    Attributes:
        up_B: The vertical in the base frame, unit norm, shape (3,).
        masses: Masses of bodies by link [kg].
    """

    up_B: Array | None = None
    masses: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """State and estimates of the robot at one instant.

    Attributes:
        stamp_ns: Stamp of the newest of them [ns].
        base: Estimated base state; None for a fixed base, or before the first estimate.
        tilt_sigma: Standard deviation of the tilt [rad]; NaN where it is not known.
        loads: Contact points and ground forces in the base frame.
        links: Estimated bodies.
        nis: Largest normalised innovation squared of the inertial filter since the last moment; NaN without
            one.
        nis_bound: The gate's bound on it.
        truth: What is true, as far as it is known.
    """

    stamp_ns: int
    base: BaseState | None = None
    tilt_sigma: float = math.nan
    loads: tuple[ContactLoad, ...] = ()
    links: tuple[ShownLink, ...] = ()
    nis: float = math.nan
    nis_bound: float = math.nan
    truth: Truth = field(default_factory=Truth)


def nothing_known(_stamp_ns: int) -> Truth:
    """Return what is true of a robot of which nothing is known."""
    return Truth()


def shown_links(estimate: InertialEstimate) -> tuple[ShownLink, ...]:
    """Return the bodies of an estimate of the inertial filter."""
    return tuple(map(_shown_link, estimate.links))


def shown_trunk(estimate: PayloadEstimate) -> ShownLink:
    """Return the trunk as the identification of its payload knows it."""
    return ShownLink(estimate.estimate, estimate.payload, estimate.mass_sigma, estimate.com_sigma_B)


def _shown_link(link: LinkEstimate) -> ShownLink:
    sigmas = np.sqrt(np.maximum(np.diag(link.covariance)[:4], 0.0))
    return ShownLink(link.estimate, link.payload, float(sigmas[0]), sigmas[1:])
