"""How far the unknowns may be expected to lie from nominal."""

import numpy as np

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.signals import Array

__all__ = ["typical_deviations"]

FRICTION = {"coulomb": 1.0, "viscous": 1.0, "offset": 1.0, "armature": 0.1}  # of an arm's joint, SI units


def typical_deviations(parameters: ParameterSet, config: MethodConfig) -> Array:
    """Return the prior standard deviation of each unknown.

    Args:
        parameters: The unknowns.
        config: Deviations of mass, centre of mass and radii of gyration.

    Returns:
        In the unknowns' units, shape (n,).
    """
    by_name: dict[str, float] = {}
    for i, body in enumerate(parameters.bodies):
        m = body.nominal_J.mass
        deviations = [
            config.mass_deviation * m,
            *3 * [config.com_deviation * m],
            *6 * [config.radii_deviation * m * body.length**2],
        ]
        by_name.update(zip(parameters.names[10 * i : 10 * i + 10], deviations, strict=True))
    for name in parameters.names[10 * len(parameters.bodies) :]:
        by_name[name] = FRICTION[name.rpartition("/")[2]]
    return np.array([by_name[name] for name in parameters.unknowns])
