"""Least squares with a normal prior about nominal (S)."""

import numpy as np

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import prior_factor
from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.spatial import linear_algebra


class Ridge(IdentificationMethod):
    """[R; T] x = [z; 0]: the maximum a posteriori parameters under a prior with unit covariance of T x."""

    name = "ridge"
    has_prior = True
    normal_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the minimiser of ||R x - z||^2 + ||T x||^2."""
        T = prior_factor(parameters, config)
        rows = np.vstack((equation.R, T))
        Q, triangle = np.linalg.qr(rows)
        x = linear_algebra.solve(triangle, Q[: len(equation.z)].T @ equation.z)
        return MethodSolution(x, (f"prior deviations {_deviations(config)}",))


def _deviations(config: MethodConfig) -> str:
    return (
        f"{100 * config.mass_deviation:g} % of masses, {config.com_deviation:g} m of centres of mass, "
        f"{100 * config.radii_deviation:g} % of second moments"
    )
