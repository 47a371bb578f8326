"""Mass, centre of mass and inertia about it from the parameters of a body, with their covariance."""

import math

import numpy as np

from inertial_estimation.compilation import (
    Column,
    MutableColumn,
    MutableTable,
    Table,
    compiled,
    in_place_of,
    inlined,
)
from inertial_estimation.signals import Array

CENTRAL = 13  # numbers: mass [kg], centre of mass [m], inertia about it by rows [kg m^2]
SMALLEST_MASS = 1e-9  # [kg] below which a difference of bodies has no centre of mass
INERTIA_ENTRIES = np.array([[4, 5, 7], [5, 6, 8], [7, 8, 9]])  # entries of pi that fill the inertia matrix
UPPER_ENTRIES = (np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 2, 2]))  # xx, xy, xz, yy, yz, zz
_ENTRIES = INERTIA_ENTRIES.ravel()


def _constant_jacobian() -> Array:
    """Entries of the Jacobian that do not depend on the body: of the mass and of I_cm by I."""
    D = np.zeros((10, 10))
    D[0, 0] = 1.0
    D[np.arange(4, 10), INERTIA_ENTRIES[UPPER_ENTRIES]] = 1.0
    return D


def _by_moment() -> Array:
    """Derivative of I_cm by h, linear in the centre of mass, shape (3, 18)."""
    by_moment = np.zeros((3, 6, 3))
    for row, (i, j) in enumerate(zip(*UPPER_ENTRIES, strict=True)):
        by_moment[j, row, i] += 1.0
        by_moment[i, row, j] += 1.0
        if i == j:
            by_moment[[0, 1, 2], row, [0, 1, 2]] -= 2.0
    return by_moment.reshape(3, 18)


_CONSTANT = _constant_jacobian()
_BY_MOMENT = _by_moment()


@compiled
def central_parameters(pi: Column, out: MutableColumn) -> None:
    """Write mass, centre of mass and inertia about it, `CENTRAL` numbers.

    I_cm = I + (h h' - h'h 1) / m.

    Args:
        pi: Parameters in Pinocchio's order, shape (10,).
        out: Written, shape (13,); a mass near zero has its centre at the origin.
    """
    m, x, y, z = pi[0], pi[1], pi[2], pi[3]
    inverse = 1.0 / m if abs(m) > SMALLEST_MASS else 0.0
    cx, cy, cz = x * inverse, y * inverse, z * inverse
    out[0], out[1], out[2], out[3] = m, cx, cy, cz
    out[4] = pi[4] - (cy * y + cz * z)
    out[8] = pi[6] - (cx * x + cz * z)
    out[12] = pi[9] - (cx * x + cy * y)
    out[5] = out[7] = pi[5] + cx * y
    out[6] = out[10] = pi[7] + cx * z
    out[9] = out[11] = pi[8] + cy * z


@compiled
def central_jacobian(pi: Column, D: MutableTable) -> None:
    """Write the derivative of [m, com, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the com] by pi.

    Args:
        pi: Parameters of a body of positive mass, shape (10,).
        D: Written, shape (10, 10).
    """
    inverse = 1.0 / pi[0] if pi[0] != 0.0 else math.inf
    c = pi[1:4] * inverse
    by_moment = (c @ _BY_MOMENT).reshape(6, 3)
    D[:] = _CONSTANT
    for i in range(3):
        D[1 + i, 0] = -c[i] * inverse
        D[1 + i, 1 + i] = inverse
    D[4:, 1:4] = by_moment
    D[4:, 0] = -0.5 * (by_moment @ c)  # I_cm is quadratic in h, by 1/m


@compiled
def central_values(
    to_link: Table,
    pi_C: Table,
    nominal_C: Table,
    published_C: Table,
    covariance_C: Table,
    values: MutableTable,
    covariance: MutableTable,
) -> None:
    """Write what is reported of n bodies, in link axes.

    Args:
        to_link: Maps of the parameters from C to the link frames, one below the other, shape (10 n, 10).
        pi_C: Estimated parameters in C, shape (n, 10).
        nominal_C: Nominal ones, shape (n, 10).
        published_C: Those handed over, shape (n, 10).
        covariance_C: Covariances of the estimated ones, one below the other, shape (10 n, 10).
        values: Written: `CENTRAL` numbers of the published bodies, then of the estimated ones, then of their
            differences from nominal, shape (3 n, 13).
        covariance: Written: covariances of mass, centre of mass and inertia of the estimated bodies, one
            below the other, shape (10 n, 10).
    """
    n, pi = len(pi_C), np.empty(10)
    for i in range(n):
        rows = slice(10 * i, 10 * i + 10)
        X = to_link[rows]
        turned(X, published_C[i], pi)
        central_parameters(pi, values[i])
        turned(X, pi_C[i] - nominal_C[i], pi)
        central_parameters(pi, values[2 * n + i])
        turned(X, pi_C[i], pi)
        central_parameters(pi, values[n + i])
        central_covariance(pi, X, covariance_C[rows], covariance[rows])


def turned(X: Array, pi_C: Array, pi: Array) -> None:
    """Write the parameters of a body about the link frame, shape (10,), from those in C, X pi_C."""
    pi[:] = X @ pi_C


@in_place_of(turned)
def _turned(X: Array, pi_C: Array, pi: Array) -> None:
    for i in range(10):
        total = 0.0
        for k in range(10):
            total += X[i, k] * pi_C[k]
        pi[i] = total


def central_covariance(pi: Array, X: Array, C: Array, out: Array) -> None:
    """Write the covariance of mass, centre of mass and inertia about it of a body.

    Args:
        pi: Its parameters about the link frame, shape (10,).
        X: Map of the parameters from C to the link frame, shape (10, 10).
        C: Covariance of the parameters in C, shape (10, 10).
        out: Written, shape (10, 10).
    """
    D = np.empty((10, 10))
    central_jacobian(pi, D)
    by_C = D @ X
    out[:] = by_C @ C @ by_C.T


@in_place_of(central_covariance)
def _central_covariance(pi: Array, X: Array, C: Array, out: Array) -> None:
    by_C, half, by_Ct = np.empty((10, 10)), np.empty((10, 10)), np.empty((10, 10))
    _central_map(pi, X, by_C)
    for i in range(10):
        for j in range(10):
            by_Ct[j, i] = by_C[i, j]
    for i in range(10):
        _sum_of_rows(by_C[i], C, half[i])
        _sum_of_rows(half[i], by_Ct, out[i])


@inlined
def _sum_of_rows(shares: Array, rows: Array, out: Array) -> None:
    """Write the sum of ten rows, shape (10, 10), with their shares."""
    for j in range(10):
        out[j] = 0.0
    for k in range(10):
        share, row = shares[k], rows[k]
        for j in range(10):
            out[j] += share * row[j]


@inlined
def _central_map(pi: Array, X: Array, by_C: Array) -> None:
    """Write D X, with D of `central_jacobian`, which has few entries."""
    inverse = 1.0 / pi[0] if pi[0] != 0.0 else math.inf
    x, y, z = pi[1] * inverse, pi[2] * inverse, pi[3] * inverse
    m, hx, hy, hz = X[0], X[1], X[2], X[3]
    for j in range(10):
        by_C[0, j] = m[j]
        by_C[1, j] = inverse * (hx[j] - x * m[j])
        by_C[2, j] = inverse * (hy[j] - y * m[j])
        by_C[3, j] = inverse * (hz[j] - z * m[j])
        by_C[4, j] = X[4, j] + (y * y + z * z) * m[j] - 2.0 * (y * hy[j] + z * hz[j])
        by_C[5, j] = X[5, j] - x * y * m[j] + y * hx[j] + x * hy[j]
        by_C[6, j] = X[7, j] - x * z * m[j] + z * hx[j] + x * hz[j]
        by_C[7, j] = X[6, j] + (x * x + z * z) * m[j] - 2.0 * (x * hx[j] + z * hz[j])
        by_C[8, j] = X[8, j] - y * z * m[j] + z * hy[j] + y * hz[j]
        by_C[9, j] = X[9, j] + (x * x + y * y) * m[j] - 2.0 * (x * hx[j] + y * hy[j])
