"""Check of an inertial estimate before it is published."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.signals import Array, InertialEstimate, LinkInertia
from inertial_estimation.spatial import linear_algebra

__all__ = ["estimate_defect", "inertia_defect", "numbers_of"]


def estimate_defect(estimate: InertialEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Only what controllers use must be physically consistent: the linear filter's own estimate need not be.

    Args:
        estimate: The estimate.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    if not (np.isfinite(estimate.nis) and np.isfinite(estimate.innovation).all()):
        return "the innovation is not finite"
    if not np.isfinite(estimate.information_eigenvalues).all():
        return "the information of the data is not finite"
    if not all(np.isfinite(value) for value in estimate.friction.values()):
        return "the friction is not finite"
    covariances = np.array([link.covariance for link in estimate.links])
    if not np.isfinite(covariances).all() or (np.diagonal(covariances, axis1=1, axis2=2) < 0.0).any():
        return "the covariance of a link is not finite, or has a negative variance"
    own = [link.estimate for link in estimate.links]
    if not np.isfinite(numbers_of(own)).all():
        return "an estimated inertia is not finite"
    return inertia_defect([link.published for link in estimate.links])


def numbers_of(links: Sequence[LinkInertia]) -> Array:
    """Return mass, centre of mass and inertia of links in rows, shape (n, 13)."""
    return np.array([[link.mass, *link.com_L.tolist(), *link.inertia_Lcm.ravel().tolist()] for link in links])


def inertia_defect(links: Sequence[LinkInertia]) -> str:
    """Name a published inertia that is not finite, or that no body of positive density has.

    Args:
        links: The inertias.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    if not np.isfinite(numbers_of(links)).all():
        return "a published inertia is not finite"
    inertias = np.array([link.inertia_Lcm for link in links])
    # The second moments of mass about the centre of mass, whose eigenvalues are positive for a real body.
    moments = 0.5 * np.trace(inertias, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertias
    smallest = linear_algebra.eigvalsh(moments)[:, 0]
    for link, least in zip(links, smallest.tolist(), strict=True):
        if link.mass <= 0.0 or least <= 0.0:
            return f"the published inertia of '{link.link}' belongs to no real body (mass {link.mass:.3g} kg)"
    return ""
