"""Identification methods: from weighted, reduced equations to the deviation of the unknowns from nominal.

In the prior of the deviations a body is compared with its nominal one by the log-determinant divergence of
their pseudo-inertias (Lee, Wensing and Park, "Geometric robot dynamic identification", T-RO 2020),

    w (tr S - log det S),    S = C^-1 J(x) C^-T,    C C' = J_nominal,

convex, the same in every frame and unit, infinite at the boundary of consistent bodies, with a standard
deviation of 1 / (2 sqrt(w)) of the mass near nominal. Its second-order part, ||T x||^2 / 2, is normal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.identification.equations import ROUND_OFF, ReducedEquation
from inertial_estimation.identification.identifiability import IdentifiableSpace
from inertial_estimation.identification.parameter_set import ParameterSet
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import pseudo_inertia

THINNEST_SHARE = 0.1  # least thickness of a body over its size; a thinner body is a placeholder


def body_weight(mass_deviation: float) -> float:
    """Return w, the weight of the divergence, from the relative standard deviation of the masses."""
    return 1.0 / (2.0 * mass_deviation) ** 2


def body_slopes(parameters: ParameterSet) -> tuple[Array, Array]:
    """Return S at nominal and its derivative by the unknowns, of every body, and of a load in its own units.

    S is the identity except for placeholders, bodies much thinner than they are large, whose C C' is thicker.

    Returns:
        S(0) of shape (b, 4, 4) and dS/dx of shape (b, n, 4, 4); a load, the last one, has S(0) = 0.
    """
    starts, slopes = [], []
    for i, body in enumerate(parameters.bodies):
        own = slice(10 * i, 10 * i + 10)
        to_C = linear_algebra.inv(body.to_link)
        J = pseudo_inertia(to_C @ parameters.nominal[own])
        m = J[3, 3]
        radii, axes = linear_algebra.eigh(J[:3, :3] / m)
        size = np.hypot(1.0, np.linalg.norm(body.nominal_J.com_F) / body.length)
        thick = J.copy()
        thick[:3, :3] = m * (axes * np.maximum(radii, (THINNEST_SHARE * size) ** 2)) @ axes.T
        C_inv = linear_algebra.inv(linear_algebra.cholesky(thick))
        starts.append(C_inv @ J @ C_inv.T)
        slopes.append(C_inv @ pseudo_inertia((to_C @ parameters.E[own]).T) @ C_inv.T)
    if parameters.payload:
        starts.append(np.zeros((4, 4)))
        slopes.append(pseudo_inertia((parameters.E[-10:] / parameters.payload.unit[:, None]).T))
    return np.array(starts), np.array(slopes)


def linear_rows(parameters: ParameterSet) -> Array:
    """Return prior rows, of unit variance, of friction and a load, whose priors are normal, shape (k, n)."""
    first = 10 * len(parameters.bodies)
    rows: Array = parameters.E[first:].copy()
    count = len(parameters.friction_rows)
    rows[:count] /= parameters.friction_sigma[:, None]
    if parameters.payload:
        rows[count:] /= parameters.payload.unit[:, None]
    return rows


def prior_factor(parameters: ParameterSet, mass_deviation: float) -> Array:
    """Return upper triangular T such that T x has unit covariance; ||T x||^2 is twice the cost of the prior.

    `mass_deviation` is the relative standard deviation of the masses; T is regular, shape (n, n).
    """
    slopes = body_slopes(parameters)[1][: len(parameters.bodies)]
    bodies = np.sqrt(body_weight(mass_deviation)) * slopes.transpose(0, 2, 3, 1).reshape(-1, slopes.shape[1])
    return linear_algebra.triangular_factor(np.vstack((bodies, linear_rows(parameters))))


def typical_deviations(parameters: ParameterSet, mass_deviation: float) -> Array:
    """Return the prior standard deviation of each unknown in its unit, shape (n,)."""
    deviations: Array = np.linalg.norm(linear_algebra.inv(prior_factor(parameters, mass_deviation)), axis=1)
    return deviations


POSITIVE_TERMS = ("coulomb", "viscous", "armature")
SMALLEST_MASS = 0.01  # lower bound of masses of "bounded-gradient" [kg]
MOST_ITERATIONS = 20_000  # most iterations of the method "bounded-gradient"
SMALLEST_GAIN = 1e-12  # relative decrease of the cost in one iteration below which that method stops
MOST_NEWTON_STEPS = 300  # most Newton steps for each weight of the barriers
NEWTON_DECREMENT = 1e-5  # squared decrement at convergence, in units of the cost: 0.005 sigma from minimum
BARRIERS = np.logspace(0, -8, 5)  # weights of -log of friction and of -log det of a load, one after the other
UNFINISHED_DECREMENT = 0.01  # squared decrement above which a warning is given: 0.1 sigma from the minimum
SMALL_START = 0.1  # initial friction and load, in units of their prior
SMALLEST_EIGENVALUE = 1e-10  # least eigenvalue of S at which its factors keep some digits
SUFFICIENT_DECREASE, SMALLEST_STEP = 0.1, 1e-12  # of the line search (Armijo)


@dataclass(frozen=True, eq=False)
class MethodSolution:
    """Solution of a method."""

    x: Array  # deviation of the unknowns from nominal, shape (n,)
    notes: tuple[str, ...] = ()  # remarks on the solution, one sentence each
    unfinished: str = ""  # reason why the solution is not the exact optimum of the method; empty if it is
    covariance: Array | None = None  # covariance of x, shape (n, n); None for a method without prior


Solver = Callable[[ReducedEquation, ParameterSet, float], MethodSolution]
"""Solves the equations of all data for the unknowns, with a relative prior deviation of the masses."""


def least_squares(equation: ReducedEquation, _parameters: ParameterSet, _deviation: float) -> MethodSolution:
    """X = pinv(R) z: the minimiser with the smallest deviation from nominal, in SI units (Y 18).

    Weakly excited directions are also solved for, and masses may become negative.
    """
    U, s, Vt = linear_algebra.svd(equation.R)
    kept = s > s[0] * ROUND_OFF
    x = Vt[kept].T @ ((U.T @ equation.z)[kept] / s[kept])
    return MethodSolution(x, (f"{kept.sum()} of {len(x)} singular values used",))


def bounded_gradient(
    equation: ReducedEquation, parameters: ParameterSet, mass_deviation: float
) -> MethodSolution:
    """Minimise ||R x - z||^2 from x = 0 along gradients, with lower bounds of masses and friction (Y III-C).

    Directions without information have no gradient and stay nominal, so no singular value needs to be
    left out. Unknowns are scaled by their typical deviations, so that steps do not depend on the units.
    """
    unit, lower = typical_deviations(parameters, mass_deviation), _lower_bounds(parameters)
    scaled = equation.R * unit
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
    notes = [f"{found.nit} iterations", *([f"bounds reached by {', '.join(reached)}"] if reached else [])]
    unfinished = "" if found.success else f"the iteration stopped before convergence: {found.message}"
    return MethodSolution(x, tuple(notes), unfinished)


def _lower_bounds(parameters: ParameterSet) -> Array:
    """Return the lower bound of each unknown, minus infinity for none, shape (n,).

    Every mass and every friction parameter is an unknown, or equals that of its mirror image. The mass of a
    load may be zero.
    """
    least = {"m": SMALLEST_MASS, **dict.fromkeys(POSITIVE_TERMS, 0.0)}
    nominal = dict(zip(parameters.names, parameters.nominal.tolist(), strict=True))
    bounds = np.array(
        [least.get(name.rpartition("/")[2], -np.inf) - nominal[name] for name in parameters.unknowns]
    )
    if parameters.payload:
        bounds[-10] = 0.0
    return bounds


def nullspace_prior(
    equation: ReducedEquation, parameters: ParameterSet, mass_deviation: float
) -> MethodSolution:
    """Phi = Y^+ f + N N^+ phi_CAD, as a deviation: the least-squares solution nearest to nominal (T 5).

    Distances are measured in units of each parameter's typical deviation instead of mixed SI units.
    Parameters without effect on the data stay nominal. The null space is that of the rank analysis.
    """
    typical = typical_deviations(parameters, mass_deviation)
    space = IdentifiableSpace.of(equation, typical)
    N, x = space.null_space(), space.minimum(equation)
    x = x - N @ linear_algebra.lstsq(N / typical[:, None], x / typical)
    return MethodSolution(x, (f"{N.shape[1]} of {len(x)} directions completed to nominal",))


def consistent(equation: ReducedEquation, parameters: ParameterSet, mass_deviation: float) -> MethodSolution:
    """Least squares with the divergence prior, which excludes inconsistent bodies, and friction >= 0.

        minimise ||R x - z||^2 / 2 + w sum_b (tr S_b - log det S_b) + friction and load about zero,

    S_b the pseudo-inertia of a body relative to its nominal one (`body_slopes`). The function is convex
    and self-concordant: Newton's method with a line search finds its minimum, and the second derivative there
    is the inverse of the covariance. Friction and a load are kept positive by logarithmic barriers, whose
    weight falls to `BARRIERS[-1]`.
    """
    problem = _ConsistentProblem(equation, parameters, body_weight(mass_deviation))
    x, n, count, left = problem.start(), len(parameters.unknowns), 0, 0.0
    for barrier in BARRIERS:
        problem.set_barrier(barrier)
        value = problem.value(x)
        for _ in range(MOST_NEWTON_STEPS):
            folded = linear_algebra.triangular_factor(problem.rows(x))
            step, size = -linear_algebra.solve(folded[:n, :n], folded[:n, n]), 1.0
            left = float(folded[:n, n] @ folded[:n, n])
            if left < NEWTON_DECREMENT + ROUND_OFF * abs(value):
                break
            while not (new := problem.value(x + size * step)) <= value - SUFFICIENT_DECREASE * size * left:
                size *= 0.5
                if size < SMALLEST_STEP:
                    break
            if size < SMALLEST_STEP:
                break
            x, value, count = x + size * step, new, count + 1
    problem.set_barrier(barrier, of_load=0.0)  # at a bound, its second derivative would count as information
    half = linear_algebra.inv(linear_algebra.triangular_factor(problem.rows(x))[:n, :n])
    done = left < UNFINISHED_DECREMENT
    unfinished = "" if done else f"the solver stopped at a cost about {0.5 * left:.2g} above the least"
    return MethodSolution(x, (f"solved in {count} steps",), unfinished, half @ half.T)


class _ConsistentProblem:
    """Cost of the method "consistent", and the rows of its Newton steps."""

    def __init__(self, equation: ReducedEquation, parameters: ParameterSet, weight: float) -> None:
        linear = linear_rows(parameters)
        zeros = np.zeros(len(linear))
        self._A, self._b = np.vstack((equation.R, linear)), np.concatenate((equation.z, zeros))
        self._S, self._slopes = body_slopes(parameters)
        is_body = np.arange(len(self._S)) < len(parameters.bodies)
        self._is_body, self._weight = is_body, weight
        self._trace = np.where(is_body, weight, 0.0)
        terms = [parameters.names[i].rpartition("/")[2] for i in parameters.friction_rows]
        positive = [i for i, term in enumerate(terms) if term in POSITIVE_TERMS]
        at, sigma = 10 * len(parameters.bodies) + np.array(positive, int), parameters.friction_sigma[positive]
        self._F, self._f = parameters.E[at] / sigma[:, None], parameters.nominal[at] / sigma
        self._load = parameters.payload
        self.set_barrier(BARRIERS[0])

    def set_barrier(self, barrier: float, of_load: float | None = None) -> None:
        """Set the weight of the barriers of friction and of the load, by default the same."""
        of_load = barrier if of_load is None else of_load
        self._barrier, self._det = barrier, np.where(self._is_body, self._weight, of_load)

    def start(self) -> Array:
        """Return initial unknowns with consistent bodies, a consistent load and positive friction."""
        x = linear_algebra.lstsq(self._F, np.maximum(SMALL_START - self._f, 0.0))
        if self._load:  # a sphere about the origin of its link
            x[-10:] = SMALL_START * np.array([1.0, 0, 0, 0, 2.0, 0, 2.0, 0, 0, 2.0]) * self._load.unit
        return x

    def value(self, x: Array) -> float:
        """Return the cost, infinite if a body or the load is inconsistent or friction is negative."""
        friction, S = self._f + self._F @ x, self._S + np.tensordot(self._slopes, x, (1, 0))
        eigenvalues = linear_algebra.eigvalsh(S)
        if not (friction > 0.0).all() or not (eigenvalues > SMALLEST_EIGENVALUE).all():
            return float("inf")
        error = self._A @ x - self._b
        divergence = self._trace @ eigenvalues.sum(axis=1) - self._det @ np.log(eigenvalues).sum(axis=1)
        return float(0.5 * error @ error + divergence - self._barrier * np.log(friction).sum())

    def rows(self, x: Array) -> Array:
        """Return [A, r] of a Newton step, with gradient A'r and second derivative A'A, shape (k, n + 1).

        With S = L L' the derivatives of -log det S are those of rows L^-1 dS L^-T with r = -I, and tr S adds
        L'L to r.
        """
        friction, S = self._f + self._F @ x, self._S + np.tensordot(self._slopes, x, (1, 0))
        L = linear_algebra.cholesky(S)
        L_inv = linear_algebra.inv(L)[:, None]
        root = np.sqrt(self._det)[:, None, None]
        relative = root[:, None] * (L_inv @ self._slopes @ L_inv.swapaxes(2, 3))
        r = root * (self._is_body[:, None, None] * (L.swapaxes(1, 2) @ L) - np.eye(4))
        return np.vstack(
            (
                np.column_stack((self._A, self._A @ x - self._b)),
                np.column_stack((relative.transpose(0, 2, 3, 1).reshape(-1, len(x)), r.ravel())),
                np.sqrt(self._barrier)
                * np.column_stack((self._F / friction[:, None], -np.ones(len(friction)))),
            )
        )


METHODS: dict[str, Solver] = {
    "least-squares": least_squares,
    "bounded-gradient": bounded_gradient,
    "nullspace-prior": nullspace_prior,
    "consistent": consistent,
}
WITHOUT_PRIOR = ("least-squares", "bounded-gradient")  # they need at least as many equations as unknowns


def method_named(name: str) -> Solver:
    """Return a method.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in METHODS:
        raise ConfigurationError(f"no method '{name}'{did_you_mean(name, METHODS, 'there are')}")
    return METHODS[name]
