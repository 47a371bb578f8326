"""Least squares under physical consistency of every body: a convex problem with matrix inequalities.

    minimise ||R x - z||^2 + ||T x||^2   subject to   J(pi_b) > 0 of every body b and of the load,
                                                      friction >= 0

J is the pseudo-inertia, linear in the parameters (THEORY 3; Wensing, Kim and Slotine 2018). The prior T keeps
directions without information near nominal; it is negligible in directions with information.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from inertial_estimation.errors import InertialEstimationError, MissingDependencyError, listing
from inertial_estimation.identification.identification_config import MethodConfig
from inertial_estimation.identification.methods.bounded_gradient import POSITIVE_TERMS
from inertial_estimation.identification.methods.method import IdentificationMethod, MethodSolution
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.identification.priors import prior_factor
from inertial_estimation.identification.reduced_equation import ReducedEquation
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia

EIGENVALUE_MARGIN = (
    1e-4  # smallest eigenvalue of J about the centre of mass, in units of nominal mass and radius
)
UPPER_ENTRIES = tuple(
    (i, j) for j in range(4) for i in range(j + 1)
)  # columns of the upper triangle, Clarabel's order
# Weights of the constraints, tried in turn: precise data with an inconsistent optimum need the larger ones.
CONSTRAINT_UNITS = (
    1.0,
    1e2,
    1e4,
    1e6,
)
LOAD_MARGIN = 1e-6  # smallest eigenvalue of a load's J about its link's frame, in units of its prior
SMALL_LOAD = 1e-3  # mass, in units of its prior, of the load towards which solutions are moved
RETREAT_SHARE = 0.02  # step towards nominal, repeated until all bodies are consistent despite round-off


class Consistent(IdentificationMethod):
    """Solves for all bodies at once by an interior-point method (Clarabel)."""

    name = "consistent"
    has_prior = True
    normal_prior = True

    def solve(
        self, equation: ReducedEquation, parameters: ParameterSet, config: MethodConfig
    ) -> MethodSolution:
        """Return the optimum.

        Raises:
            MissingDependencyError: If Clarabel is not installed.
            InertialEstimationError: If the solver fails.
        """
        T = prior_factor(parameters, config)
        rows = np.vstack((equation.R, T))
        target = np.concatenate((equation.z, np.zeros(len(T))))
        U, s, Vt = linear_algebra.svd(rows, full_matrices=False)
        back = Vt.T / s  # x = back @ y makes the cost ||y - U' target||^2: round for the solver
        A, b, cones = _constraints(parameters, back)
        y, status, iterations = _solve(U.T @ target, A, b, cones)
        x, retreats = _made_strict(parameters, back @ y)
        unfinished = [] if status == "Solved" else [f"the solver reports {status}"]
        if retreats:
            share = 100 * (1 - (1 - RETREAT_SHARE) ** retreats)
            unfinished.append(f"moved {share:.2g} % towards nominal because of round-off")
        return MethodSolution(x, (f"{status} after {iterations} iterations",), "; ".join(unfinished))


def _constraints(parameters: ParameterSet, back: Array) -> tuple[Array, Array, list[tuple[str, int]]]:
    """Return A, b and cones with b - A y in the cones: friction first, then a triangle for each body."""
    names = parameters.names
    positive = [i for i in parameters.friction_rows if names[i].rpartition("/")[2] in POSITIVE_TERMS]
    A, b = [-(parameters.E[positive] @ back)], [parameters.nominal[positive]]
    cones = [("nonnegative", len(positive))] if positive else []
    for i, body in enumerate(parameters.bodies):
        own = slice(10 * i, 10 * i + 10)
        to_C = linear_algebra.inv(body.to_link) / body.nominal_J.mass
        nominal = pseudo_inertia(to_C @ parameters.nominal[own])
        margin = min(EIGENVALUE_MARGIN, 0.5 * float(linear_algebra.eigvalsh(nominal)[0]))
        _add_triangle(A, b, to_C @ parameters.E[own] @ back, nominal - margin * np.eye(4))
        cones.append(("triangle", 4))
    if parameters.payload:
        scaled = parameters.E[-10:] @ back / parameters.payload.unit[:, None]
        _add_triangle(A, b, scaled, -LOAD_MARGIN * np.eye(4))
        cones.append(("triangle", 4))
    return np.vstack(A), np.concatenate(b), cones


def _add_triangle(A: list[Array], b: list[Array], slopes: Array, nominal: Array) -> None:
    """Add the rows of J(y) = nominal + J(slopes y) >= 0, slopes of shape (10, n)."""
    columns = pseudo_inertia(slopes.T)
    weights = np.array([1.0 if i == j else math.sqrt(2.0) for i, j in UPPER_ENTRIES])
    at = tuple(np.array(UPPER_ENTRIES).T)
    A.append(-(weights * columns[:, at[0], at[1]]).T)
    b.append(weights * nominal[at])


def _solve(target: Array, A: Array, b: Array, cones: list[tuple[str, int]]) -> tuple[Array, str, int]:
    """Minimise ||y - target||^2 subject to b - A y in the cones."""
    almost: list[Any] = []
    seen: list[str] = []
    for unit in CONSTRAINT_UNITS:
        solution = _attempt(unit * A, b - A @ target, cones)
        seen.append(str(solution.status))
        if seen[-1] == "AlmostSolved":
            almost.append((float(solution.r_prim), unit, solution))
        if seen[-1] == "Solved":
            break
    else:
        if not almost:
            raise InertialEstimationError(
                f"the solver of 'consistent' stopped with {listing(seen)}, expected Solved: the data may "
                "hold values of very different magnitude; check units, or use the method 'ridge'"
            )
        _r, unit, solution = min(almost, key=lambda one: one[0])
    return target + unit * np.array(solution.x), str(solution.status), int(solution.iterations)


def _attempt(A: Array, b: Array, cones: list[tuple[str, int]]) -> Any:
    """Minimise ||u||^2, u = (y - target) / unit, so that the accuracy is relative to `unit`."""
    clarabel = _clarabel()
    kinds = {"nonnegative": clarabel.NonnegativeConeT, "triangle": clarabel.PSDTriangleConeT}
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    n = A.shape[1]
    solver = clarabel.DefaultSolver(
        sparse.identity(n, format="csc"),
        np.zeros(n),
        sparse.csc_matrix(A),
        b,
        [kinds[kind](size) for kind, size in cones],
        settings,
    )
    return solver.solve()


def _made_strict(parameters: ParameterSet, x: Array) -> tuple[Array, int]:
    """Move towards nominal and a small load, which are consistent; return the number of steps."""
    retreats = 0
    inner = np.zeros(len(x))
    if parameters.payload:
        ball = np.array([1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0])
        inner[-10:] = SMALL_LOAD * ball * parameters.payload.unit
    while retreats < 400 and not _possible(parameters, x):
        x = (1.0 - RETREAT_SHARE) * x + RETREAT_SHARE * inner
        retreats += 1
    return x, retreats


def _possible(parameters: ParameterSet, x: Array) -> bool:
    phi = parameters.standard(x)
    bodies = [parameters.body(phi, i) for i in range(len(parameters.bodies))]
    if parameters.payload:
        bodies.append(phi[-10:])
    return not any(InertialParameters.from_vector(pi).violations() for pi in bodies)


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise MissingDependencyError(
            "the method 'consistent' needs the package clarabel: pip install clarabel"
        ) from error
    return clarabel
