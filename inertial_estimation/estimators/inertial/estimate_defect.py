"""Check of an inertial estimate before it is published."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from inertial_estimation.compilation import Column, Table, compiled
from inertial_estimation.signals import Array, InertialEstimate, LinkInertia
from inertial_estimation.spatial import linear_algebra

__all__ = ["estimate_defect", "have_finite_numbers", "inertia_defect"]

BEYOND_ROUND_OFF = 1e-9  # principal minors of the second moments, over powers of their trace


def estimate_defect(estimate: InertialEstimate) -> str:
    """Name what is not finite or physically inconsistent in an estimate.

    Only what controllers use must be physically consistent: the linear filter's own estimate need not be.

    Args:
        estimate: The estimate.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    if not (math.isfinite(estimate.nis) and _is_finite(estimate.innovation)):
        return "the innovation is not finite"
    if not _is_finite(estimate.information_eigenvalues):
        return "the information of the data is not finite"
    if not all(map(math.isfinite, estimate.friction.values())):
        return "the friction is not finite"
    if not all(map(math.isfinite, itertools.chain.from_iterable(estimate.sensor_errors.values()))):
        return "an error of a sensor is not finite"
    covariances = np.array([link.covariance for link in estimate.links])
    if not _is_finite(covariances) or np.einsum("nii->ni", covariances).min(initial=0.0) < 0.0:
        return "the covariance of a link is not finite, or has a negative variance"
    if not have_finite_numbers([link.estimate for link in estimate.links]):
        return "an estimated inertia is not finite"
    return inertia_defect([link.published for link in estimate.links])


def have_finite_numbers(links: Sequence[LinkInertia]) -> bool:
    """Return whether masses, centres of mass and inertias of links are finite."""
    masses = [link.mass for link in links]
    return all(
        _is_finite(np.array(values))
        for values in (masses, [link.com_L for link in links], [link.inertia_Lcm for link in links])
    )


def inertia_defect(links: Sequence[LinkInertia]) -> str:
    """Name a published inertia that is not finite, or that no body of positive density has.

    Args:
        links: The inertias.

    Returns:
        The defect as a phrase; empty if there is none.
    """
    if not have_finite_numbers(links):
        return "a published inertia is not finite"
    masses = np.array([link.mass for link in links])
    inertias = np.array([link.inertia_Lcm for link in links]).reshape(-1, 9)
    for link in links[_clearly_real(masses, inertias) :]:
        if link.mass <= 0.0 or not _is_real(link.inertia_Lcm):
            return f"the published inertia of '{link.link}' belongs to no real body (mass {link.mass:.3g} kg)"
    return ""


def _is_finite(values: Array) -> bool:
    return b"\0" not in np.isfinite(values).tobytes()  # takes a fraction of the time of `all`


@compiled
def _clearly_real(masses: Column, inertias: Table) -> int:
    """Return how many bodies from the first on are real beyond round-off.

    Their masses, and the second moments of mass, which are half the trace less the inertia, are positive
    (definite: Sylvester's criterion).

    Args:
        masses: Shape (n,).
        inertias: About the centres of mass, row by row, shape (n, 9).
    """
    for i in range(len(masses)):
        xx, xy, xz = inertias[i, 0], inertias[i, 1], inertias[i, 2]
        yy, yz, zz = inertias[i, 4], inertias[i, 5], inertias[i, 8]
        half = 0.5 * (xx + yy + zz)  # the trace of the second moments
        a, b, c = half - xx, half - yy, half - zz
        second = a * b - xy * xy
        third = c * second - a * yz * yz - b * xz * xz - 2.0 * xy * xz * yz
        least = BEYOND_ROUND_OFF * half
        definite = a > least and second > least * half and third > least * half * half
        if not (masses[i] > 0.0 and definite):
            return i
    return len(masses)


def _is_real(inertia: Array) -> bool:
    """Whether the eigenvalues of the second moments of mass about the centre of mass are positive."""
    moments = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return bool(linear_algebra.eigvalsh(moments)[0] > 0.0)
