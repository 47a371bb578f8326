"""What rows take more than their model where they contain no body that is estimated.

Such rows, of other limbs, cannot correct the state of the filter, and the filter says nothing of their
errors. The error e of each is a scalar process of its own, x' = -x/T + w, seen in the innovation y of its
row:

    P <- d^2 P + (1 - d^2) P_0,  d = exp(-dt/T);    k = P / (P + r);    e <- e + k (y - e);    P <- (1 - k) P
"""

import math

import numpy as np

from inertial_estimation.models.sensor_errors import UninformingRows
from inertial_estimation.signals import Array


class RowErrors:
    """Estimates the errors of rows, each from its own innovations.

    Attributes:
        values: The errors [Nm], shape (k,).
        variances: Their variances [Nm^2], shape (k,).
    """

    def __init__(
        self, rows: UninformingRows, drift_time: float, overlap: float, *, considered: bool = False
    ) -> None:
        """Begin at zero.

        Args:
            rows: The rows.
            drift_time: Time constant with which the errors vary [s].
            overlap: Innovations per independent one, >= 1.
            considered: Whether they keep their prior.
        """
        self._rows, self._prior = rows.rows, rows.sigmas**2
        self._drift_time, self._overlap, self._considered = drift_time, overlap, considered
        self.reset()

    def reset(self) -> None:
        """Return to the prior."""
        self.values: Array = np.zeros(len(self._prior))
        self.variances: Array = self._prior.copy()

    def update(self, innovation: Array, noise: Array, dt: float) -> None:
        """Correct the errors by the innovations of one measurement.

        Args:
            innovation: Measured minus predicted, without these errors, of all rows, shape (m,).
            noise: Covariance of their noise, contiguous, positive definite, shape (m, m).
            dt: Time since the last one [s].
        """
        if self._considered or not len(self.values):
            return
        decay = math.exp(-dt / self._drift_time)
        kept = decay * decay
        P = kept * self.variances + (1.0 - kept) * self._prior
        gain = P / (P + self._overlap * noise.take(self._rows * (len(noise) + 1)))  # of the diagonal
        values = decay * self.values
        self.values = values + gain * (innovation.take(self._rows) - values)
        self.variances = P - gain * P
