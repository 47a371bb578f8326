"""Excitation design in one call: from a robot and design parameters to a trajectory and its precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from inertial_estimation.errors import listing
from inertial_estimation.identification.excitation.design_robot import DesignRobot, DesignRows, design_robot
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.motion_family import MotionFamily
from inertial_estimation.identification.excitation.poses import chosen_poses, path_through, random_poses
from inertial_estimation.identification.excitation.precision import (
    Curve,
    Precision,
    States,
    precision,
    sample_curve,
    speed_curve,
)
from inertial_estimation.identification.excitation.trajectory import (
    EXTRA_CLEARANCE,
    Tick,
    TrajectoryProblem,
    design_trajectory,
    no_tick,
)
from inertial_estimation.identification.held_links import held_links
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion
from inertial_estimation.models.self_collision import SelfCollision
from inertial_estimation.parallel import Call, Workers
from inertial_estimation.signals import Array

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
