"""Conversion of filter states to link estimates about the centre of mass, with covariances."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from inertial_estimation.compilation import Column, MutableTable, Table, compiled, warm_up
from inertial_estimation.inertial.central_parameters import (
    CENTRAL,
    INERTIA_ENTRIES,
    UPPER_ENTRIES,
    central_values,
)
from inertial_estimation.inertial.hand_over import HandOver, moved_towards
from inertial_estimation.inertial.link_soundness import are_sound
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array, LinkEstimate, LinkInertia

_COM_ENTRIES = np.array([1, 2, 3])  # rows and columns of the centre of mass in the Jacobian


def _steiner() -> Array:
    """Second derivatives of c'c 1 - c c' by c, in Pinocchio's order of moments, shape (6, 3, 3)."""
    second = np.zeros((6, 3, 3))
    for i, j in zip(*UPPER_ENTRIES, strict=True):
        row = INERTIA_ENTRIES[i, j] - 4
        second[row, i, j] -= 1.0
        second[row, j, i] -= 1.0
        if i == j:
            second[row] += 2.0 * np.eye(3)
    return second


def _central_to_origin() -> Array:
    """Entries of the derivative of [m, h, I] by [m, c, I_cm] that do not depend on the body."""
    D = np.zeros((10, 10))
    D[0, 0] = 1.0
    D[INERTIA_ENTRIES[UPPER_ENTRIES], np.arange(4, 10)] = 1.0
    return D


_CENTRAL_TO_ORIGIN = _central_to_origin()
_STEINER = _steiner()


def parameter_covariance(estimate: LinkEstimate) -> Array:
    """Return the covariance of a body's ten parameters, linear in the mass, about the link frame.

    The inverse of the transformation by `central_jacobian`: with h = m c and I = I_cm + m (c'c 1 - c c'),
    the covariance is transformed by the derivative of [m, h, I] with respect to [m, c, I_cm]. The result
    is consistent with the filter's P, from which the covariance of the estimate was computed.

    Args:
        estimate: Estimate of a link, with the covariance of mass, centre of mass and inertia about it.

    Returns:
        Covariance of the filter's own mean [m, h, I] in Pinocchio's order (`PARAMETER_NAMES`): mass [kg],
        first moment [kg m] and inertia [kg m^2] about the origin of the link frame, in its axes; shape
        (10, 10).
    """
    m, c = estimate.estimate.mass, estimate.estimate.com_L
    by_com = _STEINER @ c  # of c'c 1 - c c', which is quadratic: half of it times c is the value
    D = _CENTRAL_TO_ORIGIN.copy()
    D[1:4, 0] = c
    D[_COM_ENTRIES, _COM_ENTRIES] = m
    D[4:, 0] = 0.5 * (by_com @ c)
    D[4:, 1:4] = m * by_com
    covariance: Array = D @ estimate.covariance @ D.T
    return covariance


class LinkEstimates(Sequence[LinkEstimate]):
    """The estimates of all links, each built from its numbers when it is asked for.

    Attributes:
        values: The numbers of the inertias, as `central_values` writes them, shape (3 n, 13).
        covariance: The covariances of n bodies one below the other, shape (10 n, 10).
        are_sound: Whether they are finite, and what is published is clearly that of real bodies.
    """

    __slots__ = ("_links", "are_sound", "covariance", "values")

    def __init__(self, links: tuple[str, ...], values: Array, covariance: Array, *, are_sound: bool) -> None:
        """Take numbers as `central_values` writes them.

        Args:
            links: Names of n links.
            values: Shape (3 n, 13).
            covariance: Shape (10 n, 10).
            are_sound: Whether they are, as `link_soundness.are_sound` finds.
        """
        self._links, self.values, self.covariance, self.are_sound = links, values, covariance, are_sound

    def __len__(self) -> int:
        return len(self._links)

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
        n = len(self._links)
        inertias = (self._inertia(i), self._inertia(n + i), self._inertia(2 * n + i))
        return LinkEstimate(*inertias, self.covariance[10 * i : 10 * i + 10])

    def _inertia(self, i: int) -> LinkInertia:
        row = self.values[i]
        return LinkInertia(self._links[i % len(self._links)], float(row[0]), row[1:4], row[4:].reshape(3, 3))


class LinkReport:
    """Builds the estimate of each link."""

    def __init__(self, bodies: tuple[BodyReference, ...]) -> None:
        warm_up()
        self._links = tuple(body.link for body in bodies)
        self._to_link = np.array([body.to_link for body in bodies]).reshape(-1, 10)
        self._nominal_C = np.array([body.nominal_C for body in bodies]).reshape(-1, 10)

    def estimates(self, pi_C: Array, covariance_C: Array, published_C: Array) -> LinkEstimates:
        """Return one estimate per body, in link axes.

        Args:
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            published_C: Parameters handed over, in C, shape (n, 10).
        """
        return self.handed_over(HandOver(published_C, 0.0), pi_C, covariance_C, 0.0)

    def handed_over(
        self,
        hand_over: HandOver,
        pi_C: Array,
        covariance_C: Array,
        dt: float,
        followed: Sequence[int] = (),
    ) -> LinkEstimates:
        """Move published parameters towards the estimates, and return one estimate per body, in link axes.

        Args:
            hand_over: Moves them.
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            dt: Time since the last call [s].
            followed: Numbers of the bodies whose loads are followed.
        """
        n = len(self._links)
        moved, values, covariance = np.empty((n, 10)), np.empty((3 * n, CENTRAL)), np.empty((10 * n, 10))
        are_sound = _hand_over_and_report(
            (hand_over.published, hand_over.reached(followed)),
            hand_over.rate * dt,
            (self._to_link, pi_C, self._nominal_C, covariance_C.reshape(-1, 10)),
            *(moved, values, covariance),
        )
        hand_over.take(moved, pi_C)
        return LinkEstimates(self._links, values, covariance, are_sound=are_sound)


@compiled
def _hand_over_and_report(
    hand_over: tuple[Table, Column],
    limit: float,
    bodies: tuple[Table, Table, Table, Table],
    moved: MutableTable,
    values: MutableTable,
    covariance: MutableTable,
) -> bool:
    """Move published parameters, and write what is reported; return whether that is sound (`are_sound`).

    Args:
        hand_over: Published parameters, and which bodies go with the estimates, as `moved_towards`.
        limit: Distance by which they are moved [kg].
        bodies: Maps to the link frames, estimated and nominal parameters, and covariances, as
            `central_values`.
        moved: Published parameters after it; written, shape (n, 10).
        values: As `central_values`.
        covariance: As `central_values`.
    """
    to_link, pi_C, nominal_C, covariance_C = bodies
    moved_towards(hand_over[0], pi_C, limit, hand_over[1], moved)
    central_values(to_link, pi_C, nominal_C, moved, covariance_C, values, covariance)
    return are_sound(values, covariance)


class PublishedLinks:
    """Hand-over of every published body, and the estimates of the links."""

    def __init__(
        self,
        bodies: Sequence[BodyReference],
        estimated: Sequence[BodyReference],
        idle_covariance_C: Array,
        rate: float,
    ) -> None:
        """Start at nominal.

        Args:
            bodies: The published bodies.
            estimated: Those that are estimated, in the order of the filter's state.
            idle_covariance_C: Covariance of each published body while it is not estimated, in C, (n, 10, 10).
            rate: Largest rate of change of a published mass [kg/s].
        """
        nominal_C = np.array([body.nominal_C for body in bodies])
        self._hand_over = HandOver(nominal_C, rate)
        self._report = LinkReport(tuple(bodies))
        self._links = [body.link for body in bodies]
        self._idle = (nominal_C, idle_covariance_C)
        self.set_estimated(estimated)

    def set_estimated(self, bodies: Sequence[BodyReference]) -> None:
        """Set which bodies are estimated, in the order of the filter's state."""
        places = [self._links.index(body.link) for body in bodies]
        self._places: list[int] | None = None if places == list(range(len(self._links))) else places

    def reset(self) -> None:
        """Return to nominal at once."""
        self._hand_over.reset()

    def advance(
        self,
        pi_C: Array,
        covariance_C: Array,
        dt: float,
        rate: float,
        followed: Sequence[int] = (),
    ) -> LinkEstimates:
        """Move the published parameters towards the estimates and return both.

        Args:
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            dt: Time since the last call [s].
            rate: Largest rate of change of a published mass [kg/s].
            followed: Numbers of the estimated bodies whose loads are followed.

        Returns:
            One estimate for each published body, in link axes.
        """
        self._hand_over.rate, places = rate, self._places
        if places is not None:
            nominal_C, idle_C = self._idle
            pi_C, covariance_C = _among(nominal_C, places, pi_C), _among(idle_C, places, covariance_C)
            followed = [places[body] for body in followed]
        return self._report.handed_over(self._hand_over, pi_C, covariance_C, dt, followed)


def _among(idle: Array, places: list[int], estimated: Array) -> Array:
    """Return the values of all published bodies from those of the estimated ones."""
    values: Array = idle.copy()
    values[places] = estimated
    return values
