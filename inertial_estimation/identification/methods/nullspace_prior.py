"""What the data fix from the data, the rest completed to nominal (T 5)."""

import numpy as np

from inertial_estimation.identification.identifiability import RANK_TOLERANCE
from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import (
    IdentificationMethod,
    MethodSolution,
    ReducedEquation,
)
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import prior_factor

__all__ = ["NullspacePrior"]


class NullspacePrior(IdentificationMethod):
    """phi = Y^+ f + N N^+ phi_CAD, as a deviation: of all least-squares solutions the nearest to nominal.

    Near in the metric of the prior (`prior_factor`), not in mixed units, and with the null space found by
    the tolerance of the identifiability analysis.
    """

    name = "nullspace-prior"
    has_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the least-squares solution nearest to nominal."""
        T = prior_factor(parameters, config)
        U, s, Vt = np.linalg.svd(np.linalg.solve(T.T, equation.R.T).T)
        kept = s > RANK_TOLERANCE * s[0]
        x = np.linalg.solve(T, Vt[kept].T @ ((U.T @ equation.z)[kept] / s[kept]))
        free = int((~kept).sum())
        return MethodSolution(x, (f"{free} of {len(s)} directions completed to nominal",))
