"""Log-Cholesky coordinates: ten unconstrained numbers for every consistent rigid body.

theta = [alpha, d1, d2, d3, s12, s13, s23, t1, t2, t3] fills the upper triangular

    U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

and the pseudo-inertia is computed from U by one of two conventions:

    rucker: J = U U'   m = e^(2 alpha), t = centre of mass (Rucker and Wensing 2022; Pinocchio)
    foster: J = U' U   m = e^(2 alpha) (1 + t't)           (Foster et al. 2024, eq. 17)

Both reach every J > 0 exactly once. Pinocchio orders the shears s12, s23, s13.
"""

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import InconsistentInertiaError, NumericalError
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import PSEUDO_INERTIA_BASIS, pseudo_inertia

CONVENTIONS = ("rucker", "foster")
# Entry of U that each coordinate fills; alpha the last one, and it scales all the others.
_ROWS = np.array([3, 0, 1, 2, 0, 0, 1, 0, 1, 2])
_COLUMNS = np.array([3, 0, 1, 2, 1, 2, 2, 3, 3, 3])


def parameters_from_log_cholesky(theta: Array, convention: str = "rucker") -> Array:
    """Return g(theta), the parameter vectors of coordinates.

    Args:
        theta: Coordinates, shape (10,) or (n, 10).
        convention: "rucker" or "foster".

    Returns:
        Parameters in Pinocchio's order, of theta's shape.
    """
    u, _slope = _entries(theta.reshape(-1, 10))
    pi: Array = _by_entries(u, convention) @ u[:, :, None]
    return pi.reshape(theta.shape)


def parameters_and_jacobian(theta: Array, convention: str = "rucker") -> tuple[Array, Array]:
    """Return g(theta) and G = dg/dtheta, both in closed form.

    The parameters are linear in J and J is quadratic in the ten entries u of U: pi_a = u' Q_a u, Q_a
    symmetric and constant, so dpi_a = 2 u' Q_a du. Every entry depends on one coordinate in addition to
    alpha, which scales them all: dU/dalpha = U, hence dpi/dalpha = 2 pi.

    Args:
        theta: Coordinates of n bodies, shape (n, 10).
        convention: "rucker" or "foster".

    Returns:
        Parameters in Pinocchio's order, shape (n, 10), and Jacobians, shape (n, 10, 10).
    """
    u, slope = _entries(theta)
    uQ = _by_entries(u, convention)
    pi: Array = (uQ @ u[:, :, None])[:, :, 0]
    G: Array = 2.0 * uQ * slope[:, None, :]
    G[:, :, 0] = 2.0 * pi
    return pi, G


def log_cholesky_from_parameters(pi: Array, convention: str = "rucker") -> Array:
    """Return the coordinates of a consistent body, the inverse of `parameters_from_log_cholesky`.

    Args:
        pi: Parameters in Pinocchio's order, shape (10,).
        convention: "rucker" or "foster".

    Returns:
        Coordinates, shape (10,).

    Raises:
        InconsistentInertiaError: If the pseudo-inertia is not positive definite.
    """
    J = pseudo_inertia(pi)
    try:
        if convention == "foster":
            U = linear_algebra.cholesky(J).T
        else:  # the upper factor of J is the lower one of J with rows and columns reversed
            U = linear_algebra.cholesky(J[::-1, ::-1])[::-1, ::-1]
    except NumericalError as error:
        raise InconsistentInertiaError(f"the pseudo-inertia is not positive definite: {error}") from error
    theta: Array = U[_ROWS, _COLUMNS]
    theta[1:] /= theta[0]
    theta[:4] = np.log(theta[:4])
    return theta


def _entries(theta: Array) -> tuple[Array, Array]:
    """Return the entries u of U and the slope of each by its own coordinate, shape (n, 10) each."""
    exponentials = np.exp(theta[:, :4])
    slope = np.empty_like(theta)
    slope[:] = exponentials[:, :1]
    slope[:, 1:4] *= exponentials[:, 1:]
    u = slope.copy()
    u[:, 4:] *= theta[:, 4:]
    return u, slope


def _by_entries(u: Array, convention: str) -> Array:
    """Return u' Q_a of n bodies for each parameter a, shape (n, 10, 10)."""
    return (u @ _QUADRATIC_FORMS[convention]).reshape(-1, 10, 10)


def _quadratic_form(across: NDArray[np.int64], along: NDArray[np.int64]) -> Array:
    """Return Q, shape (10, 100), whose row e holds Q_a[e, f] for all a and f.

    Entries e and f of U meet in J = U U' where they share a column; J then has their product at their
    rows. For J = U'U rows and columns change places.

    Args:
        across: Index of each entry in J, shape (10,).
        along: Index that two entries must share, shape (10,).
    """
    meet = along[:, None] == along
    Q = PSEUDO_INERTIA_BASIS[:, across[:, None], across] * meet  # (a, e, f)
    return np.ascontiguousarray(Q.transpose(1, 0, 2)).reshape(10, 100)


_QUADRATIC_FORMS = {"rucker": _quadratic_form(_ROWS, _COLUMNS), "foster": _quadratic_form(_COLUMNS, _ROWS)}
