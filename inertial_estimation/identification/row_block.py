"""Rows of the measurement equation in the unknowns of an identification, at several times."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.signals import Array


@dataclass(frozen=True, eq=False)
class RowBlock:
    """value = regressor @ x + noise, x the deviation of the unknowns from nominal.

    Attributes:
        stamps_ns: Time of each row [ns], shape (k,).
        regressor: Shape (k, m, n).
        value: Measured minus the prediction of the nominal parameters [Nm, N], shape (k, m).
        measured: S' tau + sum J' lambda, smoothed [Nm, N], shape (k, m).
        used: False where a row is left out because its joint stands still, shape (k, m).
        independent: Number of rows of white noise with the information of these k rows, whose noise is
            correlated by the smoothing.
        friction: Smoothed sign of the velocity of each row's joint, and that velocity [rad/s], smoothed as
            the rows; zero for rows of no joint, shape (k, m, 2).
    """

    stamps_ns: NDArray[np.int64]
    regressor: Array
    value: Array
    measured: Array
    used: NDArray[np.bool_]
    independent: float
    friction: Array

    @property
    def size(self) -> int:
        """Number of times."""
        return len(self.stamps_ns)

    def predicted(self, x: Array) -> Array:
        """Return the prediction of `measured` by parameters, shape (k, m); x = 0 gives the nominal one."""
        prediction: Array = self.measured - self.value + self.regressor @ x
        return prediction

    @classmethod
    def joined(cls, blocks: "list[RowBlock]") -> "RowBlock":
        """Return blocks as one, in their order; at least one is needed."""
        return cls(
            stamps_ns=np.concatenate([block.stamps_ns for block in blocks]),
            regressor=np.concatenate([block.regressor for block in blocks]),
            value=np.concatenate([block.value for block in blocks]),
            measured=np.concatenate([block.measured for block in blocks]),
            used=np.concatenate([block.used for block in blocks]),
            independent=sum(block.independent for block in blocks),
            friction=np.concatenate([block.friction for block in blocks]),
        )
