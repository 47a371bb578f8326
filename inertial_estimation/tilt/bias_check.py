"""What the contacts alone say of the gyroscope's bias, over the last second, against what the filter believes.

Points at p_k that stand show nu_k = dv + p_k x db + noise: their differences show an error db of the bias whatever the
velocity, soles show it each alone. The information of all looks, J and g with J db = g, is summed with a memory; where
g' J^-1 g is larger than noise makes it, the filter, whose own certainty would keep it from following, is told so.
"""

import math

import numpy as np

from inertial_estimation.signals import Array
from inertial_estimation.spatial.rotations import skews

MEMORY = 0.5  # [s]
LEAST_INFORMATION = 1.0  # of each axis, that of a bias of 1 rad/s: so that J has an inverse [s^2/rad^2]


class BiasCheck:
    """Information of the contacts about an error of the bias."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all looks."""
        self._J, self._g = np.zeros((3, 3)), np.zeros(3)

    def points(self, interval: float, residuals: Array, arms: Array, weights: Array, velocity: Array) -> None:
        """Take the residual velocities of contacts at one look.

        Args:
            interval: Time since the last look [s].
            residuals: nu_k, of each contact [m/s], shape (n, 3).
            arms: p_k [m], shape (n, 3).
            weights: Inverse variances of the residuals [s^2/m^2], shape (n,).
            velocity: Covariance of dv [m^2/s^2], shape (3, 3).
        """
        forgotten = math.exp(-interval / MEMORY)
        self._J, self._g = forgotten * self._J, forgotten * self._g
        S = skews(arms)
        weighted = weights[:, None, None] * S
        common = np.linalg.inv(weights.sum() * np.eye(3) + np.linalg.inv(velocity)) @ weighted.sum(axis=0)
        right = weights[:, None] * residuals
        self._J += np.einsum("nji,njk->ik", S, weighted) - weighted.sum(axis=0).T @ common
        self._g += np.einsum("nji,nj->i", S, right) - common.T @ right.sum(axis=0)

    def sole(self, residual: Array, variance: float) -> None:
        """Take the rate that a sole shows beyond the gyroscope's [rad/s], shape (3,), and its variance of one axis."""
        self._J += np.eye(3) / variance
        self._g += residual / variance

    def found(self) -> tuple[float, Array]:
        """Return g' J^-1 g over three, and the error of the bias that the contacts show [rad/s], shape (3,)."""
        db = np.linalg.solve(self._J + LEAST_INFORMATION * np.eye(3), self._g)
        return float(self._g @ db) / 3.0, db
