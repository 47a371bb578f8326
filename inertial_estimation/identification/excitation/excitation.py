"""Excitation design in one call: from a robot and design parameters to a trajectory and its precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from inertial_estimation.errors import listing
from inertial_estimation.identification.excitation.design_robot import (
    DesignRobot,
    DesignRows,
    DesignSpace,
    design_robot,
)
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
    Tick,
    TrajectoryProblem,
    design_trajectory,
    no_tick,
)
from inertial_estimation.identification.held_links import held_links
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion
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

    def at_rest(self, poses: Array) -> EvaluatedMotion:
        """Return the expected precision from poses of the moving joints, shape (k, n)."""
        rest = np.zeros_like(poses)
        return self.states((poses, rest, rest))

    def along(self, motion: SineMotion, duration: float) -> EvaluatedMotion:
        """Return the expected precision of a motion with rows at the rate of the identification."""
        rate = self.rows.design.config.smoothing.row_rate
        repeat = max(1.0, rate / JUDGING_RATE_HZ)  # rows in between are alike
        return self.states(motion.at(np.arange(0.0, duration, repeat / rate)), repeat)


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
    space = DesignSpace(design, config, urdf, mesh_folders, structure)
    made = _poses if config.kind == "poses" else _trajectory
    trajectory, chosen, compared, notes = made(space, search, others, compare, tick)
    random = (workers or Workers()).results(compared, lambda _count: tick(1))
    moving = list(design.moving)
    shares = _torque_shares(space, *(one[:, moving] for one in (trajectory.q, trajectory.v, trajectory.a)))
    notes += [
        f"{name} needs {100 * share:.0f} % of its torque limit with the nominal model: lower the acceleration"
        for name, share in shares.items()
        if share > config.torque_share
    ]
    return ExcitationDesign(
        design,
        space.rows,
        space.limits,
        trajectory,
        chosen,
        tuple(random),
        space.clearance(trajectory.q[:, moving]),
        shares,
        (*_notes(space), *notes),
    )


def _notes(space: DesignSpace) -> list[str]:
    """Return the assumptions, the pairs left out and the checks not made, one sentence each."""
    notes, collision = list(space.limits.assumed), space.collision
    held = held_links(space.design.robot, space.rows.parameters)
    if held:
        notes.append(
            f"designed for the links in 'links' alone; {listing(held, limit=MOST_NAMES)} are taken as "
            "described (--links '*' designs for all)"
        )
    notes.append(
        f"acceleration limit of every joint: {space.config.acceleration_limit:g} rad/s^2 (a URDF has none)"
    )
    notes += [collision.note] if collision.note else []
    near = "are close in nearly every posture: not checked"
    return notes + [f"'{first}' and '{second}' {near}" for first, second in collision.always_touching]


_Made = tuple[JointTrajectory, EvaluatedMotion, Sequence[Call[EvaluatedMotion]], list[str]]
"""A trajectory, its precision, what evaluates random motions to compare with, and notes."""


def _trajectory(space: DesignSpace, search: Generator, others: Generator, compare: int, tick: Tick) -> _Made:
    config, judge = space.config, _Judge(space.rows, space.config.torque_noise, static=False)
    family = MotionFamily(config, space.limits, config.acceleration_limit, search)
    problem = TrajectoryProblem(family, space)
    found = design_trajectory(problem, search, tick)
    drawn = [family.motion(problem.random(others)) for _ in range(compare)]
    motion = family.motion(found.z)
    steps = int(np.ceil(family.duration / OUTPUT_STEP_S - 1e-9))
    times = np.linspace(0.0, family.duration, steps + 1)
    q, v, a = motion.at(times)
    v[[0, -1]], a[[0, -1]] = 0.0, 0.0  # removes the round-off of the sums, about 1e-16
    reduced = f"gains were reduced to {found.reduced:.2f} of the designed ones to be free of collisions"
    return (
        space.trajectory(times, q, v, a),
        judge.along(motion, family.duration),
        [partial(judge.along, one, family.duration) for one in drawn],
        [reduced] if found.reduced < 1.0 else [],
    )


def _poses(space: DesignSpace, search: Generator, others: Generator, compare: int, tick: Tick) -> _Made:
    config, judge = space.config, _Judge(space.rows, space.config.torque_noise, static=True)
    candidates = random_poses(space, config.candidates, search)
    chosen = candidates[list(chosen_poses(space, candidates, tick))]
    path = path_through(space, chosen, candidates)
    chosen = chosen[sorted(path.visited)]  # the most informative first
    drawn = [random_poses(space, len(chosen), others) for _ in range(compare)]
    lost = f"{len(path.left_out)} of {config.poses} poses were left out: no path is free of collisions"
    return (
        space.trajectory(*path.sampled(space, OUTPUT_STEP_S)),
        judge.at_rest(chosen),
        [partial(judge.at_rest, poses) for poses in drawn],
        [lost] if path.left_out else [],
    )


def _torque_shares(space: DesignSpace, q: Array, v: Array, a: Array) -> dict[str, float]:
    """Return the largest share of each torque limit with nominal parameters."""
    largest = np.abs(space.rows.torque_shares(q, v, a)).max(0).tolist()
    limited = zip(space.rows.row_names, space.rows.torque_limits, largest, strict=True)
    return {name: share for name, limit, share in limited if np.isfinite(limit)}
