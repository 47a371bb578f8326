"""A payload: a steel ball at a point of a link, permanently or for a limited time."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import LinkInertia
from inertial_estimation.simulation.disturbances import FOREVER, Attachment, Vector

TWELVE_POUNDS = 5.44  # [kg]
STEEL_DENSITY = 7850.0  # [kg/m^3]


def ball(link: str, mass: float, com_L: Sequence[float] | Vector) -> LinkInertia:
    """Return a solid steel ball of a mass, its centre at a point of a link.

    Args:
        link: Link it is attached to.
        mass: Mass [kg].
        com_L: Its centre in the link frame [m].

    Raises:
        ConfigurationError: If the mass is not positive.
    """
    if not (mass > 0.0 and math.isfinite(mass)):
        raise ConfigurationError(f"the payload's mass is {mass} kg, expected a positive one")
    radius = (3.0 * mass / (4.0 * np.pi * STEEL_DENSITY)) ** (1.0 / 3.0)
    return LinkInertia(link, mass, np.array(com_L, dtype=float), 0.4 * mass * radius**2 * np.eye(3))


def attached_ball(
    link: str, mass: float, point_L: Vector = (0.0, 0.0, 0.0), start: float = 0.0, stop: float = FOREVER
) -> Attachment:
    """Return a solid steel ball that is attached to a link for a limited time.

    Args:
        link: Link it is attached to.
        mass: Mass [kg].
        point_L: Its centre in the link frame [m].
        start: When it is attached, from the release [s].
        stop: When it is removed, from the release [s].

    Raises:
        ConfigurationError: If the mass is not positive, or it is removed before it is attached.
    """
    return Attachment(ball(link, mass, np.asarray(point_L, dtype=float)), start, stop)
