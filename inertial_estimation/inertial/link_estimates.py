"""Conversion of filter states to link estimates about the centre of mass, with covariances."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np

from inertial_estimation.inertial.posterior import INFORMED, Posterior
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.hand_over import HandOver, published_defect
from inertial_estimation.signals import Array, InertialEstimate, LinkEstimate, LinkInertia
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

PARTS = ("mass", "com x", "com y", "com z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
SMALLEST_MASS = 1e-9  # [kg] below which a difference of bodies has no centre of mass
INERTIA_ENTRIES = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])  # entries of pi that fill the inertia matrix
UPPER = np.triu_indices(3)  # xx, xy, xz, yy, yz, zz


def central_parameters(pi: Array) -> Array:
    """Return mass, centre of mass and inertia about it by rows, I_cm = I + (h h' - h'h 1) / m.

    Args:
        pi: Parameters of n bodies in Pinocchio's order, shape (n, 10).

    Returns:
        Shape (n, 13); a mass near zero has its centre at the origin.
    """
    m, h = pi[:, :1], pi[:, 1:4]
    c = np.divide(h, m, out=np.zeros_like(h), where=np.abs(m) > SMALLEST_MASS)
    moved = c[:, :, None] * h[:, None, :] - (c * h).sum(axis=1)[:, None, None] * np.eye(3)
    return np.concatenate((m, c, (pi[:, INERTIA_ENTRIES] + moved).reshape(-1, 9)), axis=1)


def central_jacobian(pi: Array) -> Array:
    """Return the derivative of [m, com, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the com] by pi.

    Args:
        pi: Parameters of n bodies of positive mass, shape (n, 10).

    Returns:
        Shape (n, 10, 10).
    """
    E, D = np.eye(3), np.zeros((len(pi), 10, 10))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / pi[:, :1]
        c = inverse * pi[:, 1:4]
    outer = E[:, :, None] * c[:, None, None, :]
    by_h = (outer + outer.swapaxes(2, 3) - 2.0 * c[:, :, None, None] * E)[:, :, UPPER[0], UPPER[1]].swapaxes(
        1, 2
    )
    D[:, 0, 0] = 1.0
    D[:, 1:4, 0] = -inverse * c
    D[:, 1:4, 1:4] = inverse[:, :, None] * E
    D[:, np.arange(4, 10), INERTIA_ENTRIES[UPPER]] = 1.0
    D[:, 4:, 1:4] = by_h
    D[:, 4:, 0] = -0.5 * (by_h @ c[:, :, None])[:, :, 0]  # I_cm is quadratic in h, by 1/m
    return D


def parameter_covariance(estimate: LinkEstimate) -> Array:
    """Return the covariance of a body's ten parameters, linear in the mass, about the link frame.

    The inverse of the transformation by `central_jacobian`, consistent with the filter's P.

    Args:
        estimate: Estimate of a link, with the covariance of mass, centre of mass and inertia about it.

    Returns:
        Covariance of the filter's own mean [m, h, I] in Pinocchio's order (`PARAMETER_NAMES`): mass [kg],
        first moment [kg m] and inertia [kg m^2] about the origin of the link frame, in its axes; shape
        (10, 10).
    """
    body = estimate.estimate
    pi = InertialParameters(body.mass, body.com_L, body.inertia_Lcm).vector
    D = linear_algebra.inv(central_jacobian(pi[None])[0])
    covariance: Array = D @ estimate.covariance @ D.T
    return covariance


@dataclass(frozen=True, eq=False)
class BodyEstimates:
    """Estimates of n bodies, which are converted to the frames of their links on demand.

    Attributes:
        names: Names of the links.
        to_link: Matrices from parameters in C to those about the link frame, shape (n, 10, 10).
        nominal_C: Nominal parameters in C, shape (n, 10).
        estimate_C: Estimated parameters in C, shape (n, 10).
        covariance_C: Covariances of the estimates if all other bodies are nominal, shape (n, 10, 10).
        considered_C: Additional covariances by errors of the other bodies, shape (n, 10, 10).
    """

    names: tuple[str, ...]
    to_link: Array
    nominal_C: Array
    estimate_C: Array
    covariance_C: Array
    considered_C: Array

    def central(self, pi_C: Array) -> Array:
        """Return parameters in C as `central_parameters` about the link frames, shape (n, 13)."""
        return central_parameters((self.to_link @ pi_C[:, :, None])[:, :, 0])

    @cached_property
    def estimated(self) -> Array:
        """The estimates in the form of `central_parameters`, shape (n, 13)."""
        return self.central(self.estimate_C)

    @cached_property
    def payload(self) -> Array:
        """The difference of the estimates from nominal, in the same form."""
        return self.central(self.estimate_C - self.nominal_C)

    @cached_property
    def covariance(self) -> Array:
        """Covariances of mass, centre of mass and inertia of the estimates, shape (n, 10, 10)."""
        return self._of_links(self.covariance_C + self.considered_C)

    @cached_property
    def covariance_alone(self) -> Array:
        """The same covariances if all other bodies are nominal."""
        return self._of_links(self.covariance_C)

    def _of_links(self, covariance_C: Array) -> Array:
        by_C = central_jacobian((self.to_link @ self.estimate_C[:, :, None])[:, :, 0]) @ self.to_link
        covariance: Array = by_C @ covariance_C @ by_C.transpose(0, 2, 1)
        return covariance


class LinkEstimates(Sequence[LinkEstimate]):
    """The estimates of n links, each created on demand.

    Attributes:
        bodies: The estimates of the bodies.
    """

    def __init__(self, bodies: BodyEstimates, published_C: Array) -> None:
        """Take the estimates and the published parameters in C, shape (n, 10)."""
        self.bodies, self._published_C = bodies, published_C

    @cached_property
    def published(self) -> Array:
        """The published parameters in the form of `central_parameters`, shape (n, 13)."""
        return self.bodies.central(self._published_C)

    @property
    def defect(self) -> str:
        """Sentence about an estimate that is not finite, or a published body that is impossible; or empty."""
        if not np.isfinite(self.bodies.estimate_C).all():
            return "an estimated inertia is not finite"
        return published_defect(self.bodies.names, self.published)

    def __len__(self) -> int:
        return len(self.bodies.names)

    @overload
    def __getitem__(self, index: int) -> LinkEstimate: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[LinkEstimate, ...]: ...

    def __getitem__(self, index: int | slice) -> LinkEstimate | tuple[LinkEstimate, ...]:
        if isinstance(index, slice):
            return tuple(self._estimate(i) for i in range(len(self))[index])
        return self._estimate(range(len(self))[index])

    def __iter__(self) -> Iterator[LinkEstimate]:
        return map(self._estimate, range(len(self)))

    def _estimate(self, i: int) -> LinkEstimate:
        bodies = self.bodies
        published, estimated, payload = (
            LinkInertia(bodies.names[i], float(row[0]), row[1:4], row[4:].reshape(3, 3))
            for row in (self.published[i], bodies.estimated[i], bodies.payload[i])
        )
        return LinkEstimate(published, estimated, payload, bodies.covariance[i])


def estimate_defect(estimate: InertialEstimate) -> str:
    """Return what is not finite or physically inconsistent in an estimate.

    Only published parameters must be physically consistent; the linear filter's own estimate need not be.
    Between two measurements there is no defect: what is published is a mean of two consistent bodies.

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


class PublishedLinks:
    """Hand-over of every published body, and the estimates of the links in their axes."""

    def __init__(self, bodies: Sequence[BodyReference], idle_covariance_C: Array) -> None:
        """Start at nominal; no body is estimated.

        Args:
            bodies: The published bodies.
            idle_covariance_C: Covariance of each published body while it is not estimated, in C, (n, 10, 10).
        """
        nominal_C = np.array([body.nominal_C for body in bodies]).reshape(-1, 10)
        to_link = np.array([body.to_link for body in bodies]).reshape(-1, 10, 10)
        names = tuple(body.link for body in bodies)
        known = idle_covariance_C, np.zeros_like(idle_covariance_C)
        self._idle = self._bodies = BodyEstimates(names, to_link, nominal_C, nominal_C, *known)
        self._hand_over, self._target_C = HandOver(nominal_C), nominal_C
        self._last: LinkEstimates | None = None
        self.set_estimated(())

    def set_estimated(self, bodies: Sequence[BodyReference]) -> None:
        """Set which bodies are estimated, in the order of the filter's state."""
        self._places = [self._idle.names.index(body.link) for body in bodies]
        self._taken: Posterior | None = None

    def reset(self) -> None:
        """Return to nominal at once."""
        self._hand_over.reset()
        self._bodies, self._target_C = self._idle, self._idle.nominal_C
        self._taken = self._last = None

    def informed_parts(self) -> dict[str, list[str]]:
        """Return the parts of each estimated link whose sigma is at most half of that of the prior.

        The other bodies are assumed to be nominal.
        """
        both = self._bodies, self._idle
        variances, idle = (one.covariance_alone.diagonal(0, 1, 2) for one in both)
        known = (1.0 + INFORMED) * variances < idle
        return {self._idle.names[i]: [PARTS[j] for j in np.flatnonzero(known[i])] for i in self._places}

    def furthest(self) -> tuple[str, float, float]:
        """Return the link whose published mass differs most from its target, and both masses [kg]."""
        published, target = self._hand_over.published[:, 0], self._target_C[:, 0]
        i = int((np.abs(target - published) / published).argmax())
        return self._idle.names[i], float(published[i]), float(target[i])

    def take(self, posterior: Posterior, informed_C: Array | None = None) -> None:
        """Take new estimates of the estimated bodies.

        Args:
            posterior: Their distribution; if it is the one of the last call, nothing changes.
            informed_C: Parameters to publish in place of the estimates, shape (n, 10); None: the estimates.
        """
        if posterior is self._taken:
            return
        self._taken, idle = posterior, self._idle
        parts = idle.nominal_C.copy(), idle.covariance_C.copy(), idle.considered_C.copy()
        taken = posterior.at.pi_C, posterior.body_covariances, posterior.considered_covariances
        for part, new in zip(parts, taken, strict=True):
            part[self._places] = new
        estimate, covariance, considered = parts
        self._bodies = replace(idle, estimate_C=estimate, covariance_C=covariance, considered_C=considered)
        self._target_C = estimate.copy()
        if informed_C is not None:
            self._target_C[self._places] = informed_C
        self._last = None

    def advance(self, limit: float = 0.0, followed: Sequence[int] = ()) -> LinkEstimates:
        """Move the published parameters towards the estimates and return both, for each published body.

        Args:
            limit: Largest change of a mass [kg].
            followed: Numbers of the estimated bodies whose loads are followed.
        """
        if self._last is None or not self._hand_over.has_arrived:
            places = [self._places[body] for body in followed]
            published_C = self._hand_over.advance(self._target_C, limit, places)
            self._last = LinkEstimates(self._bodies, published_C)
        return self._last
