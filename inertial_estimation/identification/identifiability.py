"""Identifiability of each unknown, from the triangular factor of the weighted rows.

Columns are divided by their norms first, so that units do not matter: with R D = U S V' the directions of V
whose singular value is at least `RANK_TOLERANCE` of the largest are identifiable. Dependencies between the
columns of rigid-body dynamics hold for any posture, velocity and acceleration, smoothed or not, so noise does
not fill the null space. It contains only the rounding of the description (joint axes turned by 1.5708 instead
of pi/2 are off by 4e-6).
"""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.identification.equations import ReducedEquation
from inertial_estimation.identification.identification_result import Identifiability
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

RANK_TOLERANCE = 1e-5  # of the largest singular value of the scaled factor
PART_TOLERANCE = 1e-3  # share of a parameter's direction in the other space that is neglected
UNSEEN_SHARE = 0.03  # of the tolerance; relative effect of a typical deviation below which a column is zero


@dataclass(frozen=True, eq=False)
class IdentifiableSpace:
    """The identifiable directions of the unknowns and their complement.

    Attributes:
        scale: Diagonal of D, one over the norm of each column of R, shape (n,).
        singular_values: Of R D, largest first, shape (n,).
        V: Right singular vectors, shape (n, n); the first `rank` span the identifiable space.
        rank: Number of identifiable directions.
    """

    scale: Array
    singular_values: Array
    V: Array
    rank: int

    @classmethod
    def of(
        cls, equation: ReducedEquation, typical: Array, tolerance: float = RANK_TOLERANCE
    ) -> "IdentifiableSpace":
        """Compute the identifiable space of the weighted equations.

        Args:
            equation: The weighted equations.
            typical: Typical deviation of each unknown, by which columns that are zero up to round-off are
                detected, shape (n,).
            tolerance: Share of the largest singular value below which a direction is not identifiable.
        """
        norms = np.linalg.norm(equation.R, axis=0)
        effect = norms * typical
        seen = effect > UNSEEN_SHARE * tolerance * (effect.max(initial=0.0) + np.finfo(float).tiny)
        scale = np.where(seen, 1.0 / np.where(seen, norms, 1.0), 0.0)
        _U, s, Vt = linear_algebra.svd(equation.R * scale)
        rank = int((s > tolerance * s[0]).sum()) if s[0] > 0.0 else 0
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
        x: Array = self.scale * (
            self.V[:, : self.rank] @ (U_z[: self.rank] / self.singular_values[: self.rank])
        )
        return x

    def null_space(self) -> Array:
        """Return a basis of the deviations without effect on the data, shape (n, n - rank)."""
        basis: Array = np.where(self.scale > 0.0, self.scale, 1.0)[:, None] * self.V[:, self.rank :]
        return basis

    def restricted(self, equation: ReducedEquation) -> ReducedEquation:
        """Return the equations projected to the identifiable space."""
        V = self.V[:, : self.rank]
        back = np.where(self.scale > 0.0, 1.0 / np.where(self.scale > 0.0, self.scale, 1.0), 0.0)
        R = np.asarray(np.linalg.qr((equation.R * self.scale) @ V @ (V.T * back), mode="r"))
        solved = R @ self.minimum(equation)
        lost = float(np.sum(equation.z**2) - np.sum(solved**2))
        return ReducedEquation(R, solved, equation.rest + max(lost, 0.0), equation.rows)

    def verdicts(self, E: Array) -> tuple[Identifiability, ...]:
        """Return the identifiability of each standard parameter phi_i = nominal + E_i x.

        Args:
            E: Shape (p, n).
        """
        unseen = self.scale == 0.0
        safe = np.where(unseen, 1.0, self.scale)
        found = []
        for row in E:
            direction = row * safe
            size = float(np.linalg.norm(direction))
            inside = float(np.linalg.norm(direction @ self.V[:, : self.rank]))
            outside = float(np.linalg.norm(direction @ self.V[:, self.rank :]))
            if size == 0.0 or inside <= PART_TOLERANCE * size:
                found.append(Identifiability.NOT)
            elif outside <= PART_TOLERANCE * size:
                found.append(Identifiability.IDENTIFIABLE)
            else:
                found.append(Identifiability.COMBINATION)
        return tuple(found)

    def deviations(self, E: Array) -> Array:
        """Return the standard deviation of each standard parameter, infinite where it is not identifiable.

        Args:
            E: Shape (p, n).
        """
        sigma = np.linalg.norm(E @ self.covariance_factor(), axis=1)
        verdicts = self.verdicts(E)
        fixed = np.array([v is Identifiability.IDENTIFIABLE for v in verdicts])
        return np.where(fixed, sigma, np.inf)
