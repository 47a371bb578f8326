"""What a regressor can tell of a robot: base parameters, led by a standard parameter each (Gautier 1991)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.signals import Array

__all__ = ["BaseParameters", "base_parameters"]

DEPENDENT = 1e-6  # share of a column that is left when it depends on others


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """beta = C phi, each the standard parameter it is named after plus what cannot be told from it.

    Attributes:
        leaders: Position in phi of the standard parameter each is named after.
        C: Shape (rank, n); the identity in the columns of the leaders.
    """

    leaders: tuple[int, ...]
    C: Array


def base_parameters(regressor: Array, preferred: Sequence[int]) -> BaseParameters:
    """Group standard parameters into base parameters.

    Columns of the regressor are taken one by one; one that depends on those taken before leads no base
    parameter but is part of theirs: A_rest = A_leaders K gives C = [1, K].

    Args:
        regressor: Many rows A, shape (m, n).
        preferred: All positions in phi, in the order in which they may lead.

    Raises:
        ConfigurationError: If the order does not name every position once.
    """
    if sorted(preferred) != list(range(regressor.shape[1])):
        raise ConfigurationError(
            f"the order has {len(preferred)} positions, expected each of {regressor.shape[1]} once"
        )
    R: Array = np.asarray(np.linalg.qr(regressor, mode="r"))
    norms = np.linalg.norm(R, axis=0)
    leaders: list[int] = []
    basis: Array = np.zeros((len(R), 0))
    for k in preferred:
        if norms[k] <= DEPENDENT * norms.max():
            continue
        column = R[:, k] / norms[k]
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)  # once more: Gram-Schmidt loses digits
        if np.linalg.norm(left) > DEPENDENT:
            leaders.append(k)
            basis = np.column_stack((basis, left / np.linalg.norm(left)))
    scale: Array = norms[np.array(leaders)]
    C: Array = np.linalg.lstsq(R[:, leaders] / scale, R, rcond=None)[0] / scale[:, None]
    return BaseParameters(tuple(leaders), C)
