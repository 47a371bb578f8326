"""Weighted least squares with the plain pseudo-inverse (Y 18)."""

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.reduced_equation import ROUND_OFF, ReducedEquation


class LeastSquares(IdentificationMethod):
    """x = pinv(R) z: the minimiser with the smallest deviation from nominal, in SI units.

    Weakly excited directions are solved for as well, and masses may become negative.
    """

    name = "least-squares"

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the minimum-norm solution."""
        x, kept = equation.pseudo_inverse_solution(1.0 / ROUND_OFF)
        return MethodSolution(x, (f"{kept} of {len(x)} singular values used",))
