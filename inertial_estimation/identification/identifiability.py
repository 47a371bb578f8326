"""Identifiability of each unknown, from the triangular factor of the weighted rows.

Columns are divided by their norms first, so that units do not matter: with R D = U S V' the directions of V
whose singular value is at least `RANK_TOLERANCE` of the largest are identifiable. Dependencies between the
columns of rigid-body dynamics hold for any posture, velocity and acceleration, smoothed or not, so noise does
not fill the null space. It contains only the rounding of the description (joint axes turned by 1.5708 instead
of pi/2 are off by 4e-6).
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.identification.equations import ReducedEquation
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

RANK_TOLERANCE = 1e-5  # of the largest singular value of the scaled factor
PART_TOLERANCE = 1e-3  # share of a parameter's direction in the other space that is neglected
UNSEEN_EFFECT = 3e-7  # relative effect of a typical deviation below which a column is zero


class Identifiability(Enum):
    """Identifiability of one parameter from the data.

    IDENTIFIABLE: by itself. COMBINATION: only in combination with others. NOT: not at all; the parameter
    stays nominal, or changes together with others where a method has a prior.
    """

    IDENTIFIABLE = "identifiable"
    COMBINATION = "in combination"
    NOT = "not identifiable"


@dataclass(frozen=True, eq=False)
class IdentifiableSpace:
    """The identifiable directions of the unknowns and their complement."""

    scale: Array  # diagonal of D, one over the norm of each column of R, zero for one without, shape (n,)
    singular_values: Array  # of R D, largest first, shape (n,)
    V: Array  # right singular vectors, shape (n, n); the first `rank` span the identifiable space
    rank: int

    @classmethod
    def of(cls, equation: ReducedEquation, typical: Array) -> "IdentifiableSpace":
        """Compute the identifiable space of the weighted equations.

        By the typical deviation of each unknown, shape (n,), columns that are zero up to round-off are found.
        """
        norms = np.linalg.norm(equation.R, axis=0)
        effect = norms * typical
        seen = effect > UNSEEN_EFFECT * (effect.max(initial=0.0) + np.finfo(float).tiny)
        scale = np.where(seen, 1.0 / np.where(seen, norms, 1.0), 0.0)
        _U, s, Vt = linear_algebra.svd(equation.R * scale)
        rank = int((s > RANK_TOLERANCE * s[0]).sum()) if s[0] > 0.0 else 0
        return cls(scale, s, Vt.T, rank)

    @property
    def condition(self) -> float:
        """Condition number of the identifiable part; infinite without one."""
        s = self.singular_values
        return float(s[0] / s[self.rank - 1]) if self.rank else float("inf")

    def covariance_factor(self) -> Array:
        """Return L with L L' the covariance of the unknowns within the identifiable part, shape (n, rank)."""
        factor: Array = self.scale[:, None] * self.V[:, : self.rank] / self.singular_values[: self.rank]
        return factor

    def minimum(self, equation: ReducedEquation) -> Array:
        """Return the least-squares solution within the identifiable space, zero outside of it."""
        U_z = linear_algebra.svd(equation.R * self.scale)[0].T @ equation.z
        x: Array = self.covariance_factor() @ U_z[: self.rank]
        return x

    def null_space(self) -> Array:
        """Return a basis of the deviations without effect on the data, shape (n, n - rank)."""
        basis: Array = np.where(self.scale > 0.0, self.scale, 1.0)[:, None] * self.V[:, self.rank :]
        return basis

    def verdicts(self, E: Array) -> tuple[Identifiability, ...]:
        """Return the identifiability of each standard parameter nominal + E_i x, E of shape (p, n)."""
        directions = E * np.where(self.scale == 0.0, 1.0, self.scale) @ self.V
        size = PART_TOLERANCE * np.linalg.norm(directions, axis=1)
        inside = np.linalg.norm(directions[:, : self.rank], axis=1) > size
        outside = np.linalg.norm(directions[:, self.rank :], axis=1) > size
        kinds = (Identifiability.NOT, Identifiability.IDENTIFIABLE, Identifiability.COMBINATION)
        return tuple(kinds[int(i) * (1 + int(o))] for i, o in zip(inside, outside, strict=True))

    def deviations(self, E: Array) -> Array:
        """Return the standard deviation of each standard parameter, infinite where it is not identifiable."""
        sigma = np.linalg.norm(E @ self.covariance_factor(), axis=1)
        fixed = np.array([one is Identifiability.IDENTIFIABLE for one in self.verdicts(E)])
        return np.where(fixed, sigma, np.inf)
