"""Static poses: choice of the most informative ones of many random candidates, and a path through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.excitation.design_robot import DesignSpace
from inertial_estimation.identification.excitation.precision import objective, unit_diagonal
from inertial_estimation.identification.excitation.trajectory import Tick
from inertial_estimation.identification.identifiability import RANK_TOLERANCE, BaseParameters
from inertial_estimation.models.joint_trajectory import minimum_jerk
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

CHECK_SPACING = 0.05  # distance of the postures of a path that are checked for collisions [rad]
# Largest speed and acceleration of the minimum-jerk quintic from 0 to 1 in unit time.
QUINTIC_PEAK_SPEED, QUINTIC_PEAK_ACCELERATION = 1.875, 10.0 / np.sqrt(3.0)
WEAK_INFORMATION = 1e-6  # share of the candidates' mean information with which the greedy choice starts
SMALLEST_IMPROVEMENT = 1e-9  # smallest decrease of an objective for which poses are exchanged
CANDIDATES_PER_POSE = 20  # number of random candidates per requested pose
MOST_DRAWS_PER_POSE = 200  # largest number of random draws per requested pose


def random_poses(space: DesignSpace, count: int, rng: Generator) -> Array:
    """Draw poses of the moving joints, uniform within the limits, free of collisions, shape (count, n).

    Raises:
        ConfigurationError: If too few random poses satisfy clearance and torque limits.
    """
    clearance, torque_share = space.config.clearance, space.config.torque_share
    found: list[Array] = []
    for _ in range(MOST_DRAWS_PER_POSE * count):
        if len(found) == count:
            break
        pose = rng.uniform(space.limits.lower, space.limits.upper)[None]
        strong = space.torque_share(pose, 0.0 * pose, 0.0 * pose) <= torque_share
        if strong and space.is_free(pose, clearance):
            found.append(pose[0])
    if len(found) < count:
        raise ConfigurationError(
            f"only {len(found)} of {MOST_DRAWS_PER_POSE * count} random poses have a clearance of "
            f"{clearance:g} m and need no more than {torque_share:g} of the torque limits, "
            f"expected {count}"
        )
    return np.array(found)


def chosen_poses(space: DesignSpace, candidates: Array, tick: Tick) -> tuple[int, ...]:
    """Return the indices of the poses that minimise the objective, the most informative first.

    The candidates are poses of the moving joints, shape (candidates, n).

    Raises:
        ConfigurationError: If the poses cannot determine all base parameters.
    """
    config, base, rest = space.config, space.rows.base, np.zeros_like(candidates)
    A = space.rows.rows(candidates, rest, rest)
    infos = np.einsum("cmi,cmj->cij", A, A)
    chosen = _greedy(infos, range(len(A)), config.poses, base, tick)
    M = infos[chosen].sum(0)
    scaled, _sizes = unit_diagonal(M[np.ix_(base.columns, base.columns)])
    rank = int((linear_algebra.eigvalsh(scaled) > RANK_TOLERANCE**2).sum())  # singular values squared
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
    return tuple(_greedy(infos, chosen, len(chosen), base, lambda _steps: None))


def _greedy(
    infos: Array, candidates: Sequence[int], count: int, base: BaseParameters, tick: Tick
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
    """Replace every chosen pose by a better candidate if there is one; return whether any was replaced."""
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


@dataclass(frozen=True, eq=False)
class PosePath:
    """Poses in the order in which they are visited."""

    stops: Array  # postures of the moving joints, shape (k, n)
    held: tuple[bool, ...]  # whether each stop is a measured pose and not only a waypoint
    left_out: list[int]  # indices of poses to which no path without collision was found

    def sampled(self, space: DesignSpace, step: float) -> tuple[Array, Array, Array, Array]:
        """Return times at a step [s], shape (k,), positions, velocities and accelerations, shape (k, n)."""
        dwell = space.config.dwell
        pieces: list[tuple[Array, Array, Array]] = []
        for i, (stop, held) in enumerate(zip(self.stops, self.held, strict=True)):
            if held:
                rest = np.zeros((max(1, round(dwell / step)), len(stop)))
                pieces.append((rest + stop, rest, rest))
            if i + 1 < len(self.stops):
                pieces.append(_quintic(space, stop, self.stops[i + 1], step))
        end = np.zeros((1, self.stops.shape[1]))
        pieces.append((end + self.stops[-1], end, end))
        q, v, a = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
        times: Array = step * np.arange(len(q), dtype=np.float64)
        return times, q, v, a


def path_through(space: DesignSpace, poses: Array, ways: Array) -> PosePath:
    """Order poses so that consecutive ones are near, and avoid collisions by one waypoint in between.

    Poses and postures that may serve as waypoints are those of the moving joints, shape (k, n).
    """

    def is_free(way: list[Array]) -> bool:
        for start, end in pairwise(way):
            count = 2 + int(np.abs(end - start).max() / CHECK_SPACING)
            shares = np.linspace(0.0, 1.0, count)[:, None]
            if not space.is_free(start + shares * (end - start), space.config.clearance):
                return False
        return True

    left = list(range(1, len(poses)))
    stops, held = [poses[0]], [True]
    while left:
        here = stops[-1]
        near = sorted(left, key=lambda i: float(np.abs(poses[i] - here).max()))
        routes = [(i, []) for i in near] + [(i, [way]) for i in near for way in ways[:20]]
        free = (route for route in routes if is_free([here, *route[1], poses[route[0]]]))
        target, between = next(free, (None, []))
        if target is None:
            break
        stops += between
        held += [False] * len(between)
        stops.append(poses[target])
        held.append(True)
        left.remove(target)
    return PosePath(np.array(stops), tuple(held), left)


def _quintic(space: DesignSpace, start: Array, end: Array, step: float) -> tuple[Array, Array, Array]:
    """Return the samples of a quintic from start to end, without the end."""
    way = end - start
    shortest = max(
        float((QUINTIC_PEAK_SPEED * np.abs(way) / space.limits.velocity).max()),
        float(np.sqrt(QUINTIC_PEAK_ACCELERATION * np.abs(way) / space.config.acceleration_limit).max()),
    )
    count = max(1, int(np.ceil(shortest / step)))
    duration = count * step
    u = np.arange(count)[:, None] / count
    s, s1, s2 = minimum_jerk(u)
    return start + s * way, s1 / duration * way, s2 / duration**2 * way
