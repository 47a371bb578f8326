"""Least squares in the identifiable space, nominal parameters in the null space (T 5)."""

from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import typical_deviations
from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.spatial import linear_algebra


class NullspacePrior(IdentificationMethod):
    """phi = Y^+ f + N N^+ phi_CAD, as a deviation: the least-squares solution nearest to nominal.

    Distances are measured in units of each parameter's typical deviation instead of mixed units. Parameters
    without effect on the data stay nominal. The null space is that of the identifiability analysis.
    """

    name = "nullspace-prior"
    has_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the least-squares solution nearest to nominal."""
        typical = typical_deviations(parameters, config)
        space = IdentifiableSpace.of(equation, typical)
        N, x = space.null_space(), space.minimum(equation)
        x = x - N @ linear_algebra.lstsq(N / typical[:, None], x / typical)
        return MethodSolution(x, (f"{N.shape[1]} of {len(x)} directions completed to nominal",))
