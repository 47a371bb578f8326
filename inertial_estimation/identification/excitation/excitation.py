"""Excitation design in one call: from a robot and design parameters to a trajectory and its precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.identification.base_parameters import BaseParameters
from inertial_estimation.identification.excitation.design_report import (
    Curve,
    Precision,
    States,
    precision,
    sample_curve,
    speed_curve,
)
from inertial_estimation.identification.excitation.design_robot import DesignRobot, design_robot
from inertial_estimation.identification.excitation.design_rows import DesignRows
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.information import objective
from inertial_estimation.identification.excitation.motion_family import MotionFamily
from inertial_estimation.identification.excitation.trajectory_design import Tick, design_trajectory, no_tick
from inertial_estimation.identification.excitation.trajectory_problem import (
    EXTRA_CLEARANCE,
    TrajectoryProblem,
)
from inertial_estimation.identification.held_links import held_links
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion
from inertial_estimation.models.self_collision import SelfCollision
from inertial_estimation.parallel import Call, Workers
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives

CHECK_SPACING = 0.05  # between the postures of a path that are checked for collisions [rad]
# Largest speed and acceleration of the quintic from 0 to 1.
QUINTIC_PEAK_SPEED, QUINTIC_PEAK_ACCELERATION = 1.875, 10.0 / np.sqrt(3.0)


@dataclass(frozen=True, eq=False)
class PosePath:
    """Poses in the order in which they are visited.

    Attributes:
        stops: Postures of the moving joints, shape (k, n).
        held: Whether each stop is a measured pose and not only a waypoint, length k.
        visited: Index of the pose at each measured stop.
        left_out: Indices of poses to which no path without collision was found.
    """

    stops: Array
    held: tuple[bool, ...]
    visited: tuple[int, ...]
    left_out: tuple[int, ...]

    def sampled(
        self, limits: JointLimits, acceleration: float, dwell: float, step: float
    ) -> tuple[Array, Array, Array, Array]:
        """Return times, positions, velocities and accelerations.

        Args:
            limits: Speeds of the moving joints.
            acceleration: Largest acceleration [rad/s^2].
            dwell: Duration for which a measured pose is held [s].
            step: Time between samples [s].

        Returns:
            Times, shape (k,), and three arrays of shape (k, n).
        """
        pieces: list[tuple[Array, Array, Array]] = []
        for i, (stop, held) in enumerate(zip(self.stops, self.held, strict=True)):
            if held:
                rest = np.zeros((max(1, round(dwell / step)), len(stop)))
                pieces.append((rest + stop, rest, rest))
            if i + 1 < len(self.stops):
                pieces.append(_quintic(stop, self.stops[i + 1], limits, acceleration, step))
        end = np.zeros((1, self.stops.shape[1]))
        pieces.append((end + self.stops[-1], end, end))
        q, v, a = (np.concatenate([piece[i] for piece in pieces]) for i in range(3))
        times: Array = step * np.arange(len(q), dtype=np.float64)
        return times, q, v, a


def path_through(
    poses: Array, rows: DesignRows, collision: SelfCollision, clearance: float, ways: Array
) -> PosePath:
    """Order poses so that consecutive ones are near, and avoid collisions by one waypoint in between.

    Args:
        poses: Poses of the moving joints, shape (p, n).
        rows: The moving joints, and the posture of the others.
        collision: Distances between links.
        clearance: Smallest allowed distance [m].
        ways: Postures that may serve as waypoints, shape (w, n).

    Raises:
        ConfigurationError: If there is no pose.
    """
    if not len(poses):
        raise ConfigurationError("there are no poses to visit")
    left = list(range(1, len(poses)))
    stops, held, visited = [poses[0]], [True], [0]
    while left:
        here = stops[-1]
        near = sorted(left, key=lambda i: float(np.abs(poses[i] - here).max()))
        straight = (i for i in near if _free(here, poses[i], rows, collision, clearance))
        target = next(straight, None)
        if target is None:
            around = (
                (i, w)
                for i in near
                for w in ways[:20]
                if _both_free(here, w, poses[i], rows, collision, clearance)
            )
            found = next(around, None)
            if found is None:
                break
            target, way = found
            stops.append(way)
            held.append(False)
        stops.append(poses[target])
        held.append(True)
        visited.append(target)
        left.remove(target)
    return PosePath(np.array(stops), tuple(held), tuple(visited), tuple(left))


def _both_free(
    start: Array, way: Array, end: Array, rows: DesignRows, collision: SelfCollision, clearance: float
) -> bool:
    return _free(start, way, rows, collision, clearance) and _free(way, end, rows, collision, clearance)


def _free(start: Array, end: Array, rows: DesignRows, collision: SelfCollision, clearance: float) -> bool:
    if not collision.checks:
        return True
    count = 2 + int(np.abs(end - start).max() / CHECK_SPACING)
    shares = np.linspace(0.0, 1.0, count)[:, None]
    postures = rows.full(start + shares * (end - start), rows.design.home)
    return not any(collision.closer_than(posture, clearance) for posture in postures)


def _quintic(
    start: Array, end: Array, limits: JointLimits, acceleration: float, step: float
) -> tuple[Array, Array, Array]:
    """Return the samples from the start up to the end, the end excluded."""
    way = end - start
    shortest = max(
        float((QUINTIC_PEAK_SPEED * np.abs(way) / limits.velocity).max()),
        float(np.sqrt(QUINTIC_PEAK_ACCELERATION * np.abs(way) / acceleration).max()),
    )
    count = max(1, int(np.ceil(shortest / step)))
    duration = count * step
    u = np.arange(count)[:, None] / count
    s, s1, s2 = minimum_jerk_derivatives(u)
    return start + s * way, s1 / duration * way, s2 / duration**2 * way


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


OUTPUT_STEP_S = 0.01
JUDGING_RATE_HZ = 20.0  # of the states at which rows are computed; motions are slow compared with it
SPEED_SHARES = tuple(np.linspace(0.1, 1.0, 10).tolist())
CURVE_POINTS = 10
MOST_NAMES = 8  # largest number of names listed in one sentence


@dataclass(frozen=True, eq=False)
class EvaluatedMotion:
    """A motion and its expected precision.

    Attributes:
        states: States at which rows are taken: along a trajectory, or one for each pose.
        precision: Expected precision from these rows.
        by_samples: Precision as a function of the number of samples.
        by_speed: Precision as a function of the share of the speed; None for poses.
    """

    states: States
    precision: Precision
    by_samples: Curve
    by_speed: Curve | None


@dataclass(frozen=True, eq=False)
class ExcitationDesign:
    """Result of a design.

    Attributes:
        design: The robot and its moving joints.
        rows: The rows from which the precision is computed.
        limits: Limits of the moving joints, reduced by the margins.
        trajectory: The trajectory for the robot to follow.
        chosen: The designed motion.
        random: Random motions of the same kind, length and limits, for comparison; may be empty.
        clearance: Smallest distance of two links [m]; infinite where none was checked.
        torque_share: Largest share of the torque limit by row name, where the URDF has one.
        notes: Assumptions and restrictions of the design, one sentence each.
    """

    design: DesignRobot
    rows: DesignRows
    limits: JointLimits
    trajectory: JointTrajectory
    chosen: EvaluatedMotion
    random: tuple[EvaluatedMotion, ...]
    clearance: float
    torque_share: Mapping[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Judge:
    """Computes the expected precision of motions.

    Attributes:
        rows: Rows at the states of a motion.
        torque_noise: Noise of the torques [Nm].
        static: Whether motions are poses.
    """

    rows: DesignRows
    torque_noise: float
    static: bool

    def states(self, states: States, repeat: float = 1.0) -> EvaluatedMotion:
        """Return the expected precision from states, each of which counts as `repeat` samples."""
        rows, noise, count = self.rows, self.torque_noise, round(repeat * len(states[0]))
        if self.static:
            counts = list(range(1, count + 1))
        else:
            fewest = -(-3 * rows.base.rank // len(rows.row_names))
            counts = sorted({int(n) for n in np.geomspace(min(fewest, count), count, CURVE_POINTS).round()})
        return EvaluatedMotion(
            states,
            precision(rows, states, noise, repeat),
            sample_curve(rows, states, noise, counts, spread=not self.static),
            None if self.static else speed_curve(rows, states, noise, SPEED_SHARES, repeat),
        )

    def along(self, motion: SineMotion, duration: float) -> EvaluatedMotion:
        """Return the expected precision of a motion with rows at the rate of the identification."""
        rate = self.rows.design.config.smoothing.row_rate
        repeat = max(1.0, rate / JUDGING_RATE_HZ)  # rows in between are alike
        return self.states(motion.at(np.arange(0.0, duration, repeat / rate)), repeat)


class _Workshop:
    """Robot, limits, rows and collisions, which every design needs."""

    def __init__(
        self,
        design: DesignRobot,
        config: ExcitationConfig,
        urdf: str,
        mesh_folders: Sequence[str | Path],
        rng: Generator,
    ) -> None:
        self.design, self.config = design, config
        self.limits = design.limits.of(design.moving).within(
            design.moving_names,
            position_margin=config.position_margin,
            velocity_share=config.velocity_share,
        )
        self.static = config.kind == "poses"
        self.rows = DesignRows(design, rng, static=self.static, acceleration=config.acceleration_limit)
        self.judge = _Judge(self.rows, config.torque_noise, self.static)
        self.collision = SelfCollision.from_urdf(
            design.robot, urdf, mesh_folders, rng, config.clearance + EXTRA_CLEARANCE
        )

    def notes(self) -> list[str]:
        """Return the assumptions, the pairs left out and the checks not made, one sentence each."""
        notes = list(self.limits.assumed)
        held = held_links(self.design.robot, self.rows.parameters)
        if held:
            notes.append(
                f"designed for the links in 'links' alone; {listing(held, limit=MOST_NAMES)} are taken as "
                "described (--links '*' designs for all)"
            )
        notes.append(
            f"acceleration limit of every joint: {self.config.acceleration_limit:g} rad/s^2 (a URDF has none)"
        )
        if self.collision.note:
            notes.append(self.collision.note)
        for first, second in self.collision.always_touching:
            notes.append(f"'{first}' and '{second}' are close in nearly every posture: not checked")
        return notes


def design_excitation(
    identification: IdentificationConfig,
    config: ExcitationConfig,
    urdf: str,
    *,
    mesh_folders: Sequence[str | Path] = (),
    joints: Sequence[str] = (),
    leg: str = "",
    seed: int = 0,
    compare: int = 0,
    tick: Tick = no_tick,
    workers: Workers | None = None,
) -> ExcitationDesign:
    """Design an exciting motion.

    Args:
        identification: Config of the identification for which the motion is designed.
        config: Kind, objective, limits and effort of the design.
        urdf: Text of the URDF.
        mesh_folders: Folders in which meshes are searched.
        joints: Joints that move, by name or pattern; empty: all of a fixed arm.
        leg: Leg of a robot that hangs by its trunk, by the prefix of its joints.
        seed: Seed of all random numbers; equal seeds give equal motions.
        compare: Number of random motions to compare with.
        tick: Called with the number of steps that are done.
        workers: What evaluates the random motions; None is this process. Results do not depend on it.

    Returns:
        The motion, its expected precision, and notes on the design.

    Raises:
        ConfigurationError: If names, limits or settings do not fit.
        ~inertial_estimation.errors.ModelError: If the URDF cannot be used.
    """
    structure, search, others = (default_rng(s) for s in SeedSequence(seed).spawn(3))
    design = design_robot(identification, urdf, joints=joints, leg=leg)
    shop = _Workshop(design, config, urdf, mesh_folders, structure)
    made = _poses if shop.static else _trajectory
    trajectory, chosen, compared, notes = made(shop, search, others, compare, tick)
    random = (workers or Workers()).results(compared, lambda _count: tick(1))
    clearance = (
        float(shop.collision.clearances(trajectory.q).min()) if shop.collision.checks else float("inf")
    )
    shares = _torque_share(shop, trajectory)
    notes += [
        f"{name} needs {100 * share:.0f} % of its torque limit with the nominal model: lower the acceleration"
        for name, share in shares.items()
        if share > config.torque_share
    ]
    return ExcitationDesign(
        design,
        shop.rows,
        shop.limits,
        trajectory,
        chosen,
        tuple(random),
        clearance,
        shares,
        (*shop.notes(), *notes),
    )


def _trajectory(
    shop: _Workshop, search: Generator, others: Generator, compare: int, tick: Tick
) -> tuple[JointTrajectory, EvaluatedMotion, Sequence[Call[EvaluatedMotion]], list[str]]:
    config = shop.config
    family = MotionFamily(config, shop.limits, config.acceleration_limit, search)
    problem = TrajectoryProblem(config, family, shop.rows, shop.collision)
    found = design_trajectory(problem, config, search, tick)
    drawn = [family.motion(problem.random(others)) for _ in range(compare)]
    random = [partial(shop.judge.along, motion, family.duration) for motion in drawn]
    motion = family.motion(found.z)
    steps = int(np.ceil(family.duration / OUTPUT_STEP_S - 1e-9))
    times = np.linspace(0.0, family.duration, steps + 1)
    q, v, a = motion.at(times)
    v[[0, -1]], a[[0, -1]] = 0.0, 0.0  # removes the round-off of the sums, about 1e-16
    trajectory = _of_all_joints(shop, times, q, v, a)
    notes = []
    if found.reduced < 1.0:
        notes.append(
            f"gains were reduced to {found.reduced:.2f} of the designed ones to be free of collisions"
        )
    return trajectory, shop.judge.along(motion, family.duration), random, notes


def _poses(
    shop: _Workshop, search: Generator, others: Generator, compare: int, tick: Tick
) -> tuple[JointTrajectory, EvaluatedMotion, Sequence[Call[EvaluatedMotion]], list[str]]:
    config, rows = shop.config, shop.rows
    place = (rows, shop.limits, shop.collision, config.clearance, config.torque_share)
    candidates = random_poses(config.candidates, *place, search)
    rest = np.zeros_like(candidates)
    chosen = candidates[list(chosen_poses(config, rows.base, rows.rows(candidates, rest, rest), tick))]
    path = path_through(chosen, rows, shop.collision, config.clearance, candidates)
    notes = []
    if path.left_out:
        notes.append(
            f"{len(path.left_out)} of {config.poses} poses were left out: no path is free of collisions"
        )
    chosen = chosen[sorted(path.visited)]  # the most informative first
    sampled = path.sampled(shop.limits, config.acceleration_limit, config.dwell, OUTPUT_STEP_S)
    drawn = [random_poses(len(chosen), *place, others) for _ in range(compare)]
    random = [partial(shop.judge.states, (q, np.zeros_like(q), np.zeros_like(q))) for q in drawn]
    rest = np.zeros_like(chosen)
    return _of_all_joints(shop, *sampled), shop.judge.states((chosen, rest, rest)), random, notes


def _torque_share(shop: _Workshop, trajectory: JointTrajectory) -> dict[str, float]:
    """Return the largest share of each torque limit with nominal parameters."""
    moving = list(shop.design.moving)
    states = (trajectory.q[:, moving], trajectory.v[:, moving], trajectory.a[:, moving])
    largest = np.abs(shop.rows.torque_shares(*states)).max(0).tolist()
    limited = zip(shop.rows.row_names, shop.rows.torque_limits, largest, strict=True)
    return {name: share for name, limit, share in limited if np.isfinite(limit)}


def _of_all_joints(shop: _Workshop, times: Array, q: Array, v: Array, a: Array) -> JointTrajectory:
    rows, home = shop.rows, shop.design.home
    names = shop.design.robot.joint_names
    return JointTrajectory(names, times, rows.full(q, home), rows.full(v), rows.full(a))
