"""Gradient method from nominal with lower bounds of masses and friction (Y III-C)."""

import numpy as np
from scipy.optimize import minimize

from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import typical_deviations
from inertial_estimation.identification.reduced_equation import ReducedEquation, truncated_factor
from inertial_estimation.signals import Array

POSITIVE_TERMS = ("coulomb", "viscous", "armature")
MOST_ITERATIONS = 20_000
SMALLEST_GAIN = 1e-12  # relative decrease of the cost in one iteration below which the iteration stops


class BoundedGradient(IdentificationMethod):
    """Minimises ||R x - z||^2 from x = 0 along gradients, within bounds.

    Directions without information have no gradient and stay nominal, so no singular value needs to be
    left out. With `truncated_gradient` R is replaced by its truncation (Y 22). Unknowns are scaled by their
    typical deviations; otherwise the steps would depend on the units.
    """

    name = "bounded-gradient"

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the solution of the bounded minimisation."""
        unit = typical_deviations(parameters, config)
        lower = lower_bounds(parameters, config)
        R = truncated_factor(equation.R, config.condition_limit) if config.truncated_gradient else equation.R
        scaled = R * unit
        size = max(float(np.linalg.norm(equation.z)), np.finfo(float).tiny ** 0.25)

        def cost(y: Array) -> tuple[float, Array]:
            error = (scaled @ y - equation.z) / size
            return 0.5 * float(error @ error), scaled.T @ error / size

        found = minimize(
            cost,
            np.maximum(0.0, lower / unit),
            jac=True,
            method="L-BFGS-B",
            bounds=[(low, None) for low in lower / unit],
            options={
                "maxiter": MOST_ITERATIONS,
                "maxfun": 2 * MOST_ITERATIONS,
                "ftol": SMALLEST_GAIN,
                "gtol": 0.0,
            },
        )
        x = np.maximum(found.x * unit, lower)
        reached = [name for name, v, low in zip(parameters.unknowns, x, lower, strict=True) if v <= low]
        notes = [f"{found.nit} iterations"]
        if reached:
            notes.append(f"bounds reached by {', '.join(reached)}")
        unfinished = "" if found.success else f"the iteration stopped before convergence: {found.message}"
        return MethodSolution(x, tuple(notes), unfinished)


def lower_bounds(parameters: ParameterSet, config: MethodConfig) -> Array:
    """Return the lower bound of each unknown, minus infinity for none, shape (n,).

    Every mass and every friction parameter is one unknown, or is tied to that of its mirror image. The mass
    of a load may be zero.
    """
    bounds = np.full(len(parameters.unknowns), -np.inf)
    start = dict(zip(parameters.names, parameters.nominal.tolist(), strict=True))
    for i, name in enumerate(parameters.unknowns):
        kind = name.rpartition("/")[2]
        if kind == "m":
            bounds[i] = config.smallest_mass - start[name]
        elif kind in POSITIVE_TERMS:
            bounds[i] = -start[name]
    if parameters.payload:
        bounds[-10] = 0.0
    return bounds
