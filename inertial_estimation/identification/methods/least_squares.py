"""Weighted least squares with the plain pseudo-inverse (Y 18)."""

import numpy as np

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.reduced_equation import ROUND_OFF, ReducedEquation

__all__ = ["LeastSquares"]


class LeastSquares(IdentificationMethod):
    """x = pinv(R) z: of all minimisers the smallest deviation from nominal, in SI units.

    Directions that the data hardly move are solved for as well; nothing keeps masses positive.
    """

    name = "least-squares"

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the minimum-norm solution."""
        U, s, Vt = np.linalg.svd(equation.R)
        kept = s > ROUND_OFF * s[0]
        x = Vt[kept].T @ ((U.T @ equation.z)[kept] / s[kept])
        return MethodSolution(x, (f"{int(kept.sum())} of {len(s)} singular values used",))
