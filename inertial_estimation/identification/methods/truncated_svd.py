"""Least squares without the weakly excited directions (Y 19-21)."""

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.reduced_equation import ReducedEquation


class TruncatedSvd(IdentificationMethod):
    """x = V S^ U' z with 1 / s_i only where s_1 / s_i < c_max, in SI units as in the paper."""

    name = "truncated-svd"
    has_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the solution within the directions that are kept; it is nominal outside."""
        x, kept = equation.pseudo_inverse_solution(config.condition_limit)
        limit = f"c_max {config.condition_limit:g}"
        return MethodSolution(x, (f"{kept} of {len(x)} singular values used ({limit})",))
