"""From filter coordinates to what is reported of each link: about the centre of mass, with covariance."""

import numpy as np

from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.signals import Array, LinkEstimate, LinkInertia

__all__ = ["central_jacobian", "central_parameters", "link_estimates"]

SMALLEST_MASS = 1e-9  # [kg] below which a difference of bodies has no centre of mass
_MATRIX = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])  # entries of pi that fill the inertia matrix
_UPPER = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # xx, xy, xz, yy, yz, zz


def _by_moment() -> tuple[Array, Array]:
    """Derivative of I_cm by I, shape (6, 6), and by h, linear in the centre of mass, shape (3, 18)."""
    by_inertia, by_moment = np.zeros((6, 6)), np.zeros((3, 6, 3))
    for row, (i, j) in enumerate(zip(*_UPPER, strict=True)):
        by_inertia[row, _MATRIX[i, j] - 4] = 1.0
        by_moment[j, row, i] += 1.0
        by_moment[i, row, j] += 1.0
        if i == j:
            by_moment[[0, 1, 2], row, [0, 1, 2]] -= 2.0
    return by_inertia, by_moment.reshape(3, 18)


_BY_INERTIA, _BY_MOMENT = _by_moment()


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
    inertia = pi[:, _MATRIX] + com[:, :, None] * h[:, None, :]
    inertia[:, [0, 1, 2], [0, 1, 2]] -= np.sum(com * h, axis=1)[:, None]
    return m, com, inertia


def central_jacobian(pi: Array) -> Array:
    """Return the derivative of [m, com, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the com] by pi.

    Args:
        pi: Parameters of bodies of positive mass, shape (n, 10).

    Returns:
        Shape (n, 10, 10).
    """
    n = len(pi)
    m = pi[:, :1]
    c = pi[:, 1:4] / m
    D = np.zeros((n, 10, 10))
    D[:, 0, 0] = 1.0
    D[:, 1:4, 0] = -c / m
    D[:, [1, 2, 3], [1, 2, 3]] = 1.0 / m
    D[:, 4:, 4:] = _BY_INERTIA
    D[:, 4:, 1:4] = (c @ _BY_MOMENT).reshape(n, 6, 3)
    D[:, 4:, 0] = -0.5 * (D[:, 4:, 1:4] @ c[:, :, None])[:, :, 0]  # I_cm is quadratic in h, by 1/m
    return D


def link_estimates(
    bodies: tuple[BodyReference, ...], pi_C: Array, covariance_C: Array, published_C: Array
) -> tuple[LinkEstimate, ...]:
    """Build what is reported of each link.

    Args:
        bodies: The bodies.
        pi_C: Estimated parameters in C, shape (n, 10).
        covariance_C: Their covariances, shape (n, 10, 10).
        published_C: Parameters handed over, in C, shape (n, 10).

    Returns:
        One estimate per body, in link axes.
    """
    n = len(bodies)
    X = np.array([body.to_link for body in bodies])
    nominal_C = np.array([body.nominal_C for body in bodies])
    stacked = np.array([published_C, pi_C, pi_C - nominal_C])  # (3, n, 10)
    pi_L = (X @ stacked[..., None])[..., 0]
    mass, com, inertia = central_parameters(pi_L.reshape(3 * n, 10))
    D = central_jacobian(pi_L[1]) @ X
    covariance = D @ covariance_C @ D.transpose(0, 2, 1)
    values = [LinkInertia(bodies[k % n].link, float(mass[k]), com[k], inertia[k]) for k in range(3 * n)]
    return tuple(LinkEstimate(values[i], values[n + i], values[2 * n + i], covariance[i]) for i in range(n))
