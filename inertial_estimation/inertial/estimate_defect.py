"""Check of an inertial estimate before it is published."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import Column, Table, compiled
from inertial_estimation.inertial.link_estimates import LinkEstimates
from inertial_estimation.inertial.link_soundness import are_clearly_real
from inertial_estimation.signals import Array, InertialEstimate, LinkInertia
from inertial_estimation.spatial import linear_algebra


def estimate_defect(estimate: InertialEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Only what controllers use must be physically consistent: the linear filter's own estimate need not be.

    Args:
        estimate: The estimate.

    Returns:
        The defect as a phrase; empty if there is none.
    """
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
    if isinstance(links, LinkEstimates) and links.are_sound:
        return ""
    for link in links:
        if not _has_variances(np.ascontiguousarray(link.covariance)):
            return "the covariance of a link is not finite, or has a negative variance"
        if not have_finite_numbers([link.estimate]):
            return "an estimated inertia is not finite"
    return inertia_defect([link.published for link in links])


def have_finite_numbers(links: Sequence[LinkInertia]) -> bool:
    """Return whether masses, centres of mass and inertias of links are finite."""
    return all(_are_numbers(*_numbers(link)) for link in links)


def inertia_defect(links: Sequence[LinkInertia]) -> str:
    """Name a published inertia that is not finite, or that no body of positive density has.

    Args:
        links: The inertias.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    for link in links:
        numbers = _numbers(link)
        if are_clearly_real(*numbers):
            continue
        if not _are_numbers(*numbers):
            return "a published inertia is not finite"
        if link.mass <= 0.0 or not _is_real(link.inertia_Lcm):
            return f"the published inertia of '{link.link}' belongs to no real body (mass {link.mass:.3g} kg)"
    return ""


def _numbers(link: LinkInertia) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia as compiled functions take them."""
    return link.mass, np.ascontiguousarray(link.com_L), np.ascontiguousarray(link.inertia_Lcm)


@compiled
def _has_variances(covariance: Table) -> bool:
    """Return whether a covariance is finite and has no negative variance."""
    return bool(np.isfinite(covariance).all()) and bool((np.diag(covariance) >= 0.0).all())


@compiled
def _are_numbers(mass: float, com: Column, inertia: Table) -> bool:
    """Return whether all numbers of an inertia are finite."""
    return math.isfinite(mass) and math.isfinite(com.sum()) and math.isfinite(inertia.sum())


def _is_real(inertia: Array) -> bool:
    """Whether the eigenvalues of the second moments of mass about the centre of mass are positive."""
    moments = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return bool(linear_algebra.eigvalsh(moments)[0] > 0.0)
