"""What the data fix from the data, the rest completed to nominal (T 5)."""

import numpy as np

from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import prior_factor, typical_deviations
from inertial_estimation.identification.reduced_equation import ReducedEquation

__all__ = ["NullspacePrior"]


class NullspacePrior(IdentificationMethod):
    """phi = Y^+ f + N N^+ phi_CAD, as a deviation: of all least-squares solutions the nearest to nominal.

    Near in the metric of the prior (`prior_factor`), not in mixed units; the null space is that of the
    identifiability analysis.
    """

    name = "nullspace-prior"
    has_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the least-squares solution nearest to nominal."""
        space = IdentifiableSpace.of(equation, typical_deviations(parameters, config))
        T, N, x = prior_factor(parameters, config), space.null_space(), space.minimum(equation)
        x = x - N @ np.linalg.lstsq(T @ N, T @ x, rcond=None)[0]
        return MethodSolution(x, (f"{N.shape[1]} of {len(x)} directions completed to nominal",))
