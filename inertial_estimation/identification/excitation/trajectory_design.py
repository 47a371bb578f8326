"""The exciting trajectory: many random starts, the best of them refined by L-BFGS."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.trajectory_problem import TrajectoryProblem
from inertial_estimation.signals import Array

Tick = Callable[[int], None]
"""Called with the number of steps done since the last call."""

FINE_RATE_HZ = 100.0  # sampling rate at which the result is checked for collisions
REFINEMENT_ROUNDS = 4  # rounds with an increasing penalty until the result is free of collisions
PENALTY_GROWTH = 10.0
GAIN_SHRINK, SMALLEST_GAIN = 0.9, 0.3  # of the gains, where the penalty does not help
LEAST_IMPROVEMENT = 1e-3  # decrease of the (logarithmic) objective below which L-BFGS is not restarted


def no_tick(_steps: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, eq=False)
class TrajectoryDesign:
    """A designed trajectory.

    Attributes:
        z: Vector of the trajectory in its family.
        value: Its objective.
        clearance: Smallest distance of links along it [m]; infinite where none is checked.
        reduced: Factor by which the gains were reduced to avoid collisions; 1 where that was not needed.
    """

    z: Array
    value: float
    clearance: float
    reduced: float


def design_trajectory(
    problem: TrajectoryProblem, config: ExcitationConfig, rng: Generator, tick: Tick = no_tick
) -> TrajectoryDesign:
    """Search the trajectory of the smallest objective.

    Args:
        problem: Objective and limits.
        config: Starts and iterations.
        rng: Source of the starts.
        tick: Called with the number of completed starts and iterations, at most `steps` in total.

    Returns:
        The best one found that is free of collisions.

    Raises:
        ConfigurationError: If none is.
    """
    starts = []
    for _ in range(config.starts):
        starts.append(problem.random(rng))
        tick(1)
    values = [problem.value(z) for z in starts]
    order = np.argsort(values, kind="stable")[: config.refined]
    designs = [_refined(problem, config, starts[i], tick) for i in order.tolist()]
    free = [design for design in designs if design.clearance >= config.clearance]
    if not free:
        raise ConfigurationError(
            f"no trajectory with a clearance of {config.clearance:g} m was found, the best has "
            f"{max(design.clearance for design in designs):.3f} m; "
            "try other joints, more starts, or less clearance"
        )
    return min(free, key=lambda design: design.value)


def _refined(problem: TrajectoryProblem, config: ExcitationConfig, z: Array, tick: Tick) -> TrajectoryDesign:
    """Refine one start; the penalty grows until the limits also hold between the samples."""
    weight = 1.0
    for round_number in range(REFINEMENT_ROUNDS):
        iterations = config.iterations if round_number == 0 else -(-config.iterations // 4)
        z = _descended(problem, z, weight, iterations, tick)
        clearance, torque = _checked(problem, z)
        if (clearance >= config.clearance and torque <= config.torque_share) or not iterations:
            break
        weight *= PENALTY_GROWTH
    share = 1.0
    while clearance < config.clearance and share > SMALLEST_GAIN:
        share *= GAIN_SHRINK
        z = problem.family.smaller(z, GAIN_SHRINK)
        clearance, _torque = _checked(problem, z)
    return TrajectoryDesign(z, problem.value(z), clearance, share)


def _descended(problem: TrajectoryProblem, z: Array, weight: float, iterations: int, tick: Tick) -> Array:
    """Run L-BFGS, restarted where it stops at a point at which the limits are not differentiable."""
    left, value = iterations, np.inf
    while left > 0:
        found = minimize(
            problem.value_and_gradient,
            z,
            args=(weight,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": left, "maxfun": 2 * left + 10, "maxcor": 20},
            callback=lambda _z: tick(1),
        )
        left -= max(int(found.nit), 1)
        stuck = found.nit == 0 or value - float(found.fun) < LEAST_IMPROVEMENT
        z, value = found.x, float(found.fun)
        if stuck:
            break
    return z


def _checked(problem: TrajectoryProblem, z: Array) -> tuple[float, float]:
    """Return the smallest clearance and the largest share of a torque limit, at many times."""
    times = np.arange(0.0, problem.family.duration, 1.0 / FINE_RATE_HZ)
    states = problem.family.motion(z).at(times)
    return problem.clearance(states[0]), problem.torque_share(states)
