"""Static poses selected from random candidates (SYDE 652): greedily, then by exchange."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.base_parameters import BaseParameters
from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.information import objective
from inertial_estimation.identification.excitation.trajectory_design import Tick, no_tick
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.self_collision import SelfCollision
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

WEAK_INFORMATION = 1e-6  # share of the candidates' mean information with which the greedy choice starts
SMALLEST_IMPROVEMENT = 1e-9  # smallest decrease of an objective for which poses are exchanged
RANK_TOLERANCE = 1e-10  # smallest nonzero eigenvalue of the information scaled to a unit diagonal
MOST_DRAWS_PER_POSE = 200  # largest number of random draws per requested pose


def random_poses(
    count: int,
    rows: DesignRows,
    limits: JointLimits,
    collision: SelfCollision,
    clearance: float,
    torque_share: float,
    rng: Generator,
) -> Array:
    """Draw poses of the moving joints, uniform within the limits, free of collisions.

    Args:
        count: Number of poses.
        rows: The moving joints, and the posture of the others.
        limits: Limits of the moving joints, reduced by the margins.
        collision: Distances between links.
        clearance: Smallest allowed distance [m].
        torque_share: Largest allowed share of the torque limits.
        rng: Source of the poses.

    Returns:
        Shape (count, n).

    Raises:
        ConfigurationError: If too few random poses satisfy clearance and torque limits.
    """
    found: list[Array] = []
    for _ in range(MOST_DRAWS_PER_POSE * count):
        if len(found) == count:
            break
        q = rng.uniform(limits.lower, limits.upper)
        pose = q[None]
        if np.abs(rows.torque_shares(pose, 0.0 * pose, 0.0 * pose)).max() > torque_share:
            continue
        if not collision.closer_than(rows.full(pose, rows.design.home)[0], clearance):
            found.append(q)
    if len(found) < count:
        raise ConfigurationError(
            f"only {len(found)} of {MOST_DRAWS_PER_POSE * count} random poses have a clearance of "
            f"{clearance:g} m and need no more than {torque_share:g} of the torque limits, "
            f"expected {count}"
        )
    return np.array(found)


def chosen_poses(
    config: ExcitationConfig, base: BaseParameters, A: Array, tick: Tick = no_tick
) -> tuple[int, ...]:
    """Select the poses that minimise the objective from candidates.

    Args:
        config: Objective, number of poses, and largest number of exchange sweeps (`iterations`).
        base: Base parameters that static poses determine.
        A: Rows of every candidate, shape (candidates, m, n).
        tick: Called after every pose that is chosen and every sweep.

    Returns:
        Indices of the poses, the most informative first.

    Raises:
        ConfigurationError: If there are fewer candidates than poses, or the poses cannot determine all base
            parameters.
    """
    if config.poses > len(A):
        raise ConfigurationError(f"{config.poses} poses out of {len(A)} candidates, expected no more")
    infos = np.einsum("cmi,cmj->cij", A, A)
    chosen = _greedy(infos, range(len(A)), config.poses, base, tick)
    M = infos[chosen].sum(0)
    rank = int((np.abs(linear_algebra.eigvalsh(_scaled(M, base))) > RANK_TOLERANCE).sum())
    if rank < base.rank:
        raise ConfigurationError(
            f"{config.poses} poses with {A.shape[1]} rows each cannot determine {base.rank} parameters; "
            "take more poses"
        )
    for _ in range(config.iterations):
        improved = _swept(config.objective, infos, chosen, base)
        tick(1)
        if not improved:
            break
    return tuple(_greedy(infos, chosen, len(chosen), base))


def _greedy(
    infos: Array, candidates: Sequence[int], count: int, base: BaseParameters, tick: Tick = no_tick
) -> list[int]:
    """Add the candidate that increases the determinant most, one after the other."""
    M = WEAK_INFORMATION * infos.mean(0)
    chosen: list[int] = []
    for _ in range(count):
        left = [c for c in candidates if c not in chosen]
        best = _best("log-det", M, infos, left, base)[0]
        M = M + infos[best]
        chosen.append(best)
        tick(1)
    return chosen


def _swept(name: str, infos: Array, chosen: list[int], base: BaseParameters) -> bool:
    """Replace every chosen pose by a better candidate where there is one; return whether any was replaced."""
    improved = False
    for place in range(len(chosen) if len(chosen) < len(infos) else 0):
        M = infos[chosen].sum(0)
        value = objective(name, M, base)[0]
        left = [c for c in range(len(infos)) if c not in chosen]
        best, found = _best(name, M - infos[chosen[place]], infos, left, base)
        if found < value - SMALLEST_IMPROVEMENT:
            chosen[place] = best
            improved = True
    return improved


def _best(
    name: str, M: Array, infos: Array, candidates: Sequence[int], base: BaseParameters
) -> tuple[int, float]:
    values = [objective(name, M + infos[c], base)[0] for c in candidates]
    best = int(np.argmin(values))
    return candidates[best], values[best]


def _scaled(M: Array, base: BaseParameters) -> Array:
    B = M[np.ix_(base.columns, base.columns)]
    d = 1.0 / np.sqrt(np.diag(B) + np.finfo(float).tiny)
    scaled: Array = d[:, None] * B * d
    return scaled
