"""From mass and centre of mass of a loaded trunk to a whole, consistent inertia."""

import numpy as np

from inertial_estimation.errors import InconsistentInertiaError
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial.inertial_parameters import InertialParameters

NEGLIGIBLE_LOAD_KG = 1e-6  # [kg]: a load that weighs less has no place


def trunk_inertia(
    nominal: InertialParameters, mass: float, com: Array, reach: float = 1.0
) -> InertialParameters:
    """Return the trunk that nominal trunk and load make together.

    Statics do not determine second moments. The load, m_p = m - m_nom, is taken as a point mass where the
    shift of the centre of mass puts it, s = (m / m_p)(c - c_nom) from the nominal one, and adds to the second
    moments about the centre of mass

        Sigma = Sigma_nom + (m_nom m_p / m) s s'.

    s is cut at `reach`, so that it stays finite and continuous as m_p goes to zero. A trunk lighter than
    nominal keeps its radii, Sigma = (m / m_nom) Sigma_nom. Both agree at m_p = 0, both are consistent.

    Args:
        nominal: Nominal trunk, in a frame F.
        mass: Mass of the loaded trunk [kg].
        com: Its centre of mass in F [m], shape (3,).
        reach: Farthest a load can be from the nominal centre of mass [m].

    Returns:
        The loaded trunk in F, physically consistent.

    Raises:
        InconsistentInertiaError: If the mass is not positive, or mass or centre of mass are not finite.
    """
    if not (mass > 0.0 and np.isfinite(mass) and np.isfinite(com).all()):
        raise InconsistentInertiaError(
            f"loaded trunk has mass {mass:.6g} kg at {com} m, expected a positive mass and finite numbers"
        )
    nominal = nominal.made_consistent("trunk")
    inertia = nominal.inertia_Fcm
    load = mass - nominal.mass
    if load <= 0.0:
        return InertialParameters(mass, com, inertia * (mass / nominal.mass))
    shift = mass * (com - nominal.com_F)  # m_p s
    distance = float(np.linalg.norm(shift))
    s = shift * (reach / distance if distance > reach * load else 1.0 / load)
    reduced = nominal.mass * load / mass
    point = reduced * (float(s @ s) * np.eye(3) - np.outer(s, s))
    return InertialParameters(mass, com, inertia + point)


def payload_inertia(link: str, nominal: InertialParameters, loaded: InertialParameters) -> LinkInertia:
    """Return what the load adds: loaded less nominal trunk, about its own centre of mass.

    Args:
        link: Name of the link whose frame both are in.
        nominal: Nominal trunk.
        loaded: The trunk with its load.

    Returns:
        A difference: its mass may be negative. A load of no mass is at the origin.
    """
    difference = loaded.vector - nominal.vector
    if abs(difference[0]) < NEGLIGIBLE_LOAD_KG:
        difference[:4] = 0.0
    load = InertialParameters.from_vector(difference)
    return LinkInertia(link, load.mass, load.com_F, load.inertia_Fcm)
