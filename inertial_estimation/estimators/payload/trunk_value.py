"""Mass and centre of mass of a trunk, with their uncertainty."""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.signals import Array, frozen_array


@dataclass(frozen=True, slots=True, eq=False)
class TrunkValue:
    """A trunk as identified.

    Attributes:
        mass: [kg].
        com_B: Centre of mass, base frame [m], shape (3,).
        mass_sigma: Standard deviation of the mass [kg]; inf before it was measured.
        com_sigma_B: Of the centre of mass along the base axes [m], shape (3,); inf where not measured.
        residual: How far measurements were from it, as a centre of mass [m]; NaN before.
    """

    mass: float
    com_B: Array
    mass_sigma: float
    com_sigma_B: Array
    residual: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "com_B", frozen_array("com_B", self.com_B, (3,)))
        object.__setattr__(self, "com_sigma_B", frozen_array("com_sigma_B", self.com_sigma_B, (3,)))


def unmeasured_trunk(mass: float, com_B: Array) -> TrunkValue:
    """Return a trunk that has not been measured yet: nominal mass [kg] and centre of mass [m]."""
    return TrunkValue(mass, com_B, math.inf, np.full(3, math.inf), math.nan)
