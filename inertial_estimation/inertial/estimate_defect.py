"""Check of an inertial estimate before it is published."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.inertial.link_estimates import LinkEstimates, published_defect
from inertial_estimation.signals import Array, InertialEstimate, LinkInertia


def estimate_defect(estimate: InertialEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Only what controllers use must be physically consistent: the linear filter's own estimate need not be.
    Between two measurements nothing can go wrong: what is published is a mean of two consistent bodies.

    Args:
        estimate: The estimate.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    if not estimate.measured:
        return ""
    innovation, eigenvalues = estimate.innovation, estimate.information_eigenvalues
    if not math.isfinite(estimate.nis + innovation.dot(innovation)):  # a product takes less than `isfinite`
        return "the innovation is not finite"
    if not math.isfinite(eigenvalues.dot(eigenvalues)):
        return "the information of the data is not finite"
    if estimate.friction and not all(map(math.isfinite, estimate.friction.values())):
        return "the friction is not finite"
    errors = estimate.sensor_errors
    if errors and not all(map(math.isfinite, itertools.chain.from_iterable(errors.values()))):
        return "an error of a sensor is not finite"
    links = estimate.links
    assert isinstance(links, LinkEstimates)
    return links.defect


def have_finite_numbers(links: Sequence[LinkInertia]) -> bool:
    """Return whether masses, centres of mass and inertias of links are finite."""
    return bool(np.isfinite(_rows(links)).all())


def inertia_defect(links: Sequence[LinkInertia]) -> str:
    """Name a published inertia that is not finite, or that no body of positive density has.

    Args:
        links: The inertias.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    return published_defect([link.link for link in links], _rows(links))


def _rows(links: Sequence[LinkInertia]) -> Array:
    """Return mass, centre of mass and inertia about it, shape (n, 13)."""
    rows = [np.concatenate(([link.mass], link.com_L, link.inertia_Lcm.ravel())) for link in links]
    return np.array(rows).reshape(-1, 13)
