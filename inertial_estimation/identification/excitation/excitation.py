"""Excitation design in one call: from a robot and design parameters to a trajectory and its precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from inertial_estimation.errors import MOST_NAMES, listing
from inertial_estimation.identification.excitation.design_robot import (
    DesignRobot,
    DesignRows,
    DesignSpace,
    States,
    design_robot,
)
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.identification.excitation.poses import (
    CANDIDATES_PER_POSE,
    chosen_poses,
    path_through,
    random_poses,
)
from inertial_estimation.identification.excitation.precision import (
    Curve,
    Precision,
    precision,
    sample_curve,
    speed_curve,
)
from inertial_estimation.identification.excitation.trajectory import (
    OUTPUT_STEP_S,
    MotionFamily,
    Tick,
    TrajectoryProblem,
    design_trajectory,
)
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.parameter_set import held_links
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.joint_trajectory import JointTrajectory, SineMotion
from inertial_estimation.parallel import Call, Workers
from inertial_estimation.signals import Array

JUDGING_RATE_HZ = 20.0  # rate of the states at which rows are computed; motions are much slower [Hz]
CURVE_POINTS = 10  # number of points of a precision curve


@dataclass(frozen=True, eq=False)
class EvaluatedMotion:
    """A motion and its expected precision."""

    states: States  # states of the rows: along a trajectory, or one for each pose
    precision: Precision
    by_samples: Curve  # precision as a function of the number of samples
    by_speed: Curve | None  # precision as a function of the share of the speed; None for poses


@dataclass(frozen=True, eq=False)
class ExcitationDesign:
    """Result of a design."""

    design: DesignRobot
    rows: DesignRows  # rows from which the precision is computed
    limits: JointLimits  # limits of the moving joints, reduced by the margins
    trajectory: JointTrajectory  # trajectory that the robot is to follow
    chosen: EvaluatedMotion  # the designed motion
    random: tuple[EvaluatedMotion, ...]  # random motions of equal kind, length and limits for comparison
    clearance: float  # smallest distance of two links [m]; infinite if none was checked
    torque_share: Mapping[str, float]  # largest share of the torque limit of each row with a limit
    notes: tuple[str, ...]  # assumptions and restrictions of the design, one sentence each

    def compared(self) -> dict[str, float] | None:
        """Return median and best of the random motions, and the ratio of the median to the chosen one."""
        if not self.random:
            return None
        summary: dict[str, float] = {"count": len(self.random)}
        for name in ("condition", "largest"):
            values = np.array([getattr(motion.precision, name) for motion in self.random])
            summary[f"{name}_median"] = float(np.median(values))
            summary[f"{name}_best"] = float(values.min())
            own = getattr(self.chosen.precision, name)
            summary[f"{name}_median_over_chosen"] = float(np.median(values)) / own
        return summary


def design_excitation(
    identification: IdentificationConfig,
    config: ExcitationConfig,
    urdf: str,
    *,
    mesh_folders: Sequence[str | Path] = (),
    joints: Sequence[str] = (),
    seed: int = 0,
    tick: Tick = lambda _steps: None,
    workers: Workers | None = None,
) -> ExcitationDesign:
    """Design an exciting motion.

    Args:
        identification: Config of the identification for which the motion is designed.
        config: Kind, objective, limits and effort of the design, and the number of random motions.
        urdf: Text of the URDF.
        mesh_folders: Folders in which meshes are searched.
        joints: Joints that move, by name or pattern; empty: all of a fixed arm.
        seed: Seed of all random numbers; equal seeds give equal motions.
        tick: Called with the number of steps since its last call.
        workers: Processes that evaluate the random motions; None: this process. Results do not depend on it.

    Returns:
        The motion, its expected precision, and notes on the design.

    Raises:
        ConfigurationError: If names, limits or settings do not fit.
        ~inertial_estimation.errors.ModelError: If the URDF cannot be used.
    """
    structure, search, others = (default_rng(s) for s in SeedSequence(seed).spawn(3))
    design = design_robot(identification, urdf, joints=joints)
    space = DesignSpace(design, config, urdf, mesh_folders, structure)
    designed = _poses if config.kind == "poses" else _trajectory
    trajectory, chosen, compared, notes = designed(space, search, others, tick)
    random = (workers or Workers()).results(compared, lambda _count: tick(1))
    moving = list(design.moving)
    q = trajectory.q[:, moving]
    shares = np.abs(space.rows.torque_shares(q, trajectory.v[:, moving], trajectory.a[:, moving])).max(0)
    limited = zip(space.rows.row_names, space.rows.torque_limits, shares.tolist(), strict=True)
    torque_share = {name: share for name, limit, share in limited if np.isfinite(limit)}
    notes += [
        f"{name} needs {100 * share:.0f} % of its torque limit with the nominal model: lower the acceleration"
        for name, share in torque_share.items()
        if share > config.torque_share
    ]
    return ExcitationDesign(
        design,
        space.rows,
        space.limits,
        trajectory,
        chosen,
        tuple(random),
        space.clearance(q),
        torque_share,
        (*_notes(space), *notes),
    )


def _notes(space: DesignSpace) -> list[str]:
    """Return assumptions, pairs of links that are not checked, and checks not made, one sentence each."""
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


_Design = tuple[JointTrajectory, EvaluatedMotion, Sequence[Call[EvaluatedMotion]], list[str]]
"""A trajectory, its precision, the calls that evaluate random motions for comparison, and notes."""


def _trajectory(space: DesignSpace, search: Generator, others: Generator, tick: Tick) -> _Design:
    family = MotionFamily(space.config, space.limits)
    problem = TrajectoryProblem(family, space)
    z, share = design_trajectory(problem, search, tick)
    drawn = [family.motion(problem.random(others)) for _ in range(space.config.compare_random)]
    motion = family.motion(z)
    times = np.linspace(0.0, family.duration, int(np.ceil(family.duration / OUTPUT_STEP_S - 1e-9)) + 1)
    q, v, a = motion.at(times)
    v[[0, -1]], a[[0, -1]] = 0.0, 0.0  # removes the round-off of the sums, about 1e-16
    reduced = f"gains were reduced to {share:.2f} of the designed ones to be free of collisions"
    along = partial(_along, space.rows, space.config.torque_noise, family.duration)
    return (
        space.trajectory(times, q, v, a),
        along(motion),
        [partial(along, one) for one in drawn],
        [reduced] if share < 1.0 else [],
    )


def _poses(space: DesignSpace, search: Generator, others: Generator, tick: Tick) -> _Design:
    config = space.config
    candidates = random_poses(space, CANDIDATES_PER_POSE * config.poses, search)
    chosen = candidates[list(chosen_poses(space, candidates, tick))]
    path = path_through(space, chosen, candidates)
    chosen = np.delete(chosen, path.left_out, axis=0)  # the most informative first
    drawn = [random_poses(space, len(chosen), others) for _ in range(config.compare_random)]
    lost = f"{len(path.left_out)} of {config.poses} poses were left out: no path is free of collisions"
    at_rest = partial(_at_rest, space.rows, config.torque_noise)
    return (
        space.trajectory(*path.sampled(space, OUTPUT_STEP_S)),
        at_rest(chosen),
        [partial(at_rest, poses) for poses in drawn],
        [lost] if path.left_out else [],
    )


def _at_rest(rows: DesignRows, noise: float, poses: Array) -> EvaluatedMotion:
    """Return the expected precision from poses of the moving joints, shape (k, n)."""
    states, counts = States(poses, 0.0 * poses, 0.0 * poses), range(1, len(poses) + 1)
    by_samples = sample_curve(rows, states, noise, counts, spread=False)
    return EvaluatedMotion(states, precision(rows, states, noise), by_samples, None)


def _along(rows: DesignRows, noise: float, duration: float, motion: SineMotion) -> EvaluatedMotion:
    """Return the expected precision of a motion with rows at the rate of the identification."""
    rate = rows.design.config.smoothing.row_rate
    repeat = max(1.0, rate / JUDGING_RATE_HZ)  # rows in between are nearly equal
    states = States(*motion.at(np.arange(0.0, duration, repeat / rate)))
    count = round(repeat * len(states.q))
    fewest = min(-(-3 * rows.base.rank // len(rows.row_names)), count)
    counts = sorted({int(n) for n in np.geomspace(fewest, count, CURVE_POINTS).round()})
    return EvaluatedMotion(
        states,
        precision(rows, states, noise, repeat),
        sample_curve(rows, states, noise, counts),
        speed_curve(rows, states, noise, np.linspace(0.1, 1.0, CURVE_POINTS).tolist(), repeat),
    )
