"""Conversion of filter states to link estimates about the centre of mass, with covariances."""

from collections.abc import Sequence

import numpy as np

from inertial_estimation.estimators.inertial.hand_over import HandOver
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array, LinkEstimate, LinkInertia

__all__ = ["LinkReport", "PublishedLinks", "central_jacobian", "central_parameters", "parameter_covariance"]

SMALLEST_MASS = 1e-9  # [kg] below which a difference of bodies has no centre of mass
_INERTIA_ENTRIES = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])  # entries of pi that fill the inertia matrix
_COM_ENTRIES = np.array([1, 2, 3])  # rows and columns of the centre of mass in the Jacobian
_UPPER_ENTRIES = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # xx, xy, xz, yy, yz, zz


def _constant_jacobian() -> Array:
    """Entries of the Jacobian that do not depend on the body: of the mass and of I_cm by I."""
    D = np.zeros((10, 10))
    D[0, 0] = 1.0
    D[np.arange(4, 10), _INERTIA_ENTRIES[_UPPER_ENTRIES]] = 1.0
    return D


def _by_moment() -> Array:
    """Derivative of I_cm by h, linear in the centre of mass, shape (3, 18)."""
    by_moment = np.zeros((3, 6, 3))
    for row, (i, j) in enumerate(zip(*_UPPER_ENTRIES, strict=True)):
        by_moment[j, row, i] += 1.0
        by_moment[i, row, j] += 1.0
        if i == j:
            by_moment[[0, 1, 2], row, [0, 1, 2]] -= 2.0
    return by_moment.reshape(3, 18)


def _parallel_axes() -> Array:
    """Map from the entries of c h' to those of c h' - c'h 1, shape (9, 9)."""
    identity = np.eye(3).ravel()
    return np.eye(9) - np.outer(identity, identity)


def _steiner() -> Array:
    """Second derivatives of c'c 1 - c c' by c, in Pinocchio's order of moments, shape (6, 3, 3)."""
    second = np.zeros((6, 3, 3))
    for i, j in zip(*_UPPER_ENTRIES, strict=True):
        row = _INERTIA_ENTRIES[i, j] - 4
        second[row, i, j] -= 1.0
        second[row, j, i] -= 1.0
        if i == j:
            second[row] += 2.0 * np.eye(3)
    return second


_CONSTANT = _constant_jacobian()
_CENTRAL_TO_ORIGIN = _constant_jacobian().T
_STEINER = _steiner()
_BY_MOMENT = _by_moment()
_PARALLEL_AXES = _parallel_axes()


def central_parameters(pi: Array) -> tuple[Array, Array, Array]:
    """Return mass, centre of mass and inertia about it.

    I_cm = I + (h h' - h'h 1) / m.

    Args:
        pi: Parameters in Pinocchio's order, shape (n, 10).

    Returns:
        Masses (n,), centres of mass (n, 3), inertias (n, 3, 3).
    """
    m, h = pi[:, 0], pi[:, 1:4]
    inverse = np.divide(1.0, m, out=np.zeros(len(m)), where=np.abs(m) > SMALLEST_MASS)
    com = h * inverse[:, None]
    products = (com[:, :, None] * h[:, None, :]).reshape(-1, 9)
    inertia = pi.take(_INERTIA_ENTRIES, axis=1) + (products @ _PARALLEL_AXES).reshape(-1, 3, 3)
    return m, com, inertia


def central_jacobian(pi: Array) -> Array:
    """Return the derivative of [m, com, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the com] by pi.

    Args:
        pi: Parameters of bodies of positive mass, shape (n, 10).

    Returns:
        Shape (n, 10, 10).
    """
    n = len(pi)
    inverse = 1.0 / pi[:, :1]
    c = pi[:, 1:4] * inverse
    by_moment = (c @ _BY_MOMENT).reshape(n, 6, 3)
    D = np.empty((n, 10, 10))
    D[:] = _CONSTANT
    D[:, 1:4, 0] = -c * inverse
    D.reshape(n, 100)[:, 11:44:11] = inverse  # on the diagonal, of the centre of mass
    D[:, 4:, 1:4] = by_moment
    D[:, 4:, 0] = -0.5 * (by_moment @ c[:, :, None])[:, :, 0]  # I_cm is quadratic in h, by 1/m
    return D


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


class LinkReport:
    """Builds the estimate of each link."""

    def __init__(self, bodies: tuple[BodyReference, ...]) -> None:
        self._links = tuple(body.link for body in bodies)
        self._to_link = np.array([body.to_link for body in bodies])
        self._nominal_C = np.array([body.nominal_C for body in bodies])

    def estimates(self, pi_C: Array, covariance_C: Array, published_C: Array) -> tuple[LinkEstimate, ...]:
        """Return one estimate per body, in link axes.

        Args:
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            published_C: Parameters handed over, in C, shape (n, 10).
        """
        n, X = len(self._links), self._to_link
        stacked = np.array([published_C, pi_C, pi_C - self._nominal_C])  # (3, n, 10)
        pi_L = (X @ stacked[..., None])[..., 0]
        mass, com, inertia = central_parameters(pi_L.reshape(3 * n, 10))
        D = central_jacobian(pi_L[1]) @ X
        covariance = D @ covariance_C @ D.transpose(0, 2, 1)
        rows = zip(self._links * 3, mass.tolist(), com, inertia, strict=True)
        values = [LinkInertia(*row) for row in rows]
        return tuple(
            LinkEstimate(values[i], values[n + i], values[2 * n + i], covariance[i]) for i in range(n)
        )


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

    def set_rate(self, rate: float) -> None:
        """Set the largest rate of change of a published mass [kg/s]."""
        self._hand_over.rate = rate

    def advance(
        self,
        pi_C: Array,
        covariance_C: Array,
        trusted_C: Array,
        dt: float,
        followed: Sequence[int] = (),
    ) -> tuple[LinkEstimate, ...]:
        """Move the published parameters towards the trusted ones and return them with the estimates.

        Args:
            pi_C: Estimated parameters in C, shape (n, 10).
            covariance_C: Their covariances, shape (n, 10, 10).
            trusted_C: Parameters that may be published, in C, shape (n, 10).
            dt: Time since the last call [s].
            followed: Numbers of the estimated bodies whose loads are followed.

        Returns:
            One estimate for each published body, in link axes.
        """
        nominal_C, idle_C = self._idle
        pi_C, trusted_C = self._among(nominal_C, pi_C), self._among(nominal_C, trusted_C)
        places = followed if self._places is None else [self._places[body] for body in followed]
        published_C = self._hand_over.advance(trusted_C, dt, places)
        return self._report.estimates(pi_C, self._among(idle_C, covariance_C), published_C)

    def _among(self, idle: Array, estimated: Array) -> Array:
        """Return the values of all published bodies from those of the estimated ones."""
        if self._places is None:
            return estimated
        values: Array = idle.copy()
        values[self._places] = estimated
        return values
