"""The covariance of ten inertial parameters as 55 named numbers, and back.

A symmetric 10 x 10 matrix is its upper triangle, row by row: (m, m), (m, mcx), ... (m, Izz), (mcx, mcx),
... (Izz, Izz), the parameters in Pinocchio's order. In this form it is sent in a message of named numbers.
"""

import numpy as np
from numpy.typing import ArrayLike

from inertial_estimation.errors import MeasurementError
from inertial_estimation.signals import Array
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES

_ROWS, _COLUMNS = np.triu_indices(len(PARAMETER_NAMES))
_METRES = (0, 1, 1, 1, 2, 2, 2, 2, 2, 2)  # a parameter's unit is kg m to this power
_UNITS = ("kg^2", "kg^2 m", "kg^2 m^2", "kg^2 m^3", "kg^2 m^4")

COVARIANCE_NAMES = tuple(
    f"{PARAMETER_NAMES[i]}/{PARAMETER_NAMES[j]} [{_UNITS[_METRES[i] + _METRES[j]]}]"
    for i, j in zip(_ROWS, _COLUMNS, strict=True)
)


def upper_triangle(covariance: Array) -> Array:
    """Return the upper triangle row by row, in the order of `COVARIANCE_NAMES`.

    Args:
        covariance: Symmetric, of parameters in Pinocchio's order, shape (10, 10).

    Returns:
        Shape (55,).
    """
    upper: Array = covariance[_ROWS, _COLUMNS]
    return upper


def covariance_from_upper(values: ArrayLike) -> Array:
    """Return the matrix of its upper triangle, the inverse of `upper_triangle`.

    Args:
        values: The 55 numbers in the order of `COVARIANCE_NAMES`, as `position` of a message on
            ``link_covariances/<link>`` holds them.

    Returns:
        Symmetric matrix, shape (10, 10).

    Raises:
        MeasurementError: If there are not 55.
    """
    upper = np.asarray(values, dtype=float)
    if upper.shape != (len(COVARIANCE_NAMES),):
        raise MeasurementError(
            f"upper triangle has shape {upper.shape}, expected ({len(COVARIANCE_NAMES)},): the covariance "
            f"of {len(PARAMETER_NAMES)} parameters"
        )
    covariance = np.empty((len(PARAMETER_NAMES),) * 2)
    covariance[_ROWS, _COLUMNS] = covariance[_COLUMNS, _ROWS] = upper
    return covariance
