"""A payload: a ball of steel at a point of a link."""

import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import LinkInertia

__all__ = ["TWELVE_POUNDS", "ball"]

TWELVE_POUNDS = 5.44  # [kg]
STEEL = 7850.0  # [kg/m^3]


def ball(link: str, mass: float, com_L: Sequence[float]) -> LinkInertia:
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
    radius = (3.0 * mass / (4.0 * np.pi * STEEL)) ** (1.0 / 3.0)
    return LinkInertia(link, mass, np.array(com_L, dtype=float), 0.4 * mass * radius**2 * np.eye(3))
