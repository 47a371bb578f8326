"""Tournois et al., V-B, Table IV: torque offsets and misplaced feet against approaches (b) and (c).

The paper adds constant Gaussian errors to "the joint torque measurements and feet positions" and does not say
where else they act. That decides the result. At the end of (b) what the controller commands balances about
the centre of mass; (c) asks the same of the torques measured. Where those are the commanded ones, through the
same kinematics, both end at the same place. So both readings of each error are run.

The moment balance of a robot at rest, c x F = sum p_i x f_i, f_i = J_i^-T (g_i - tau_i), is evaluated with
what is believed instead of what is true. No recursion, no noise: where any of them must end.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import PAYLOAD_NODE, SIMULATOR_NODE
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series
from inertial_estimation.experiments.payload_rows import errors_cm, unfinished_row
from inertial_estimation.experiments.payload_stand import (
    COM_ERROR_L,
    QUICK,
    ROBOT,
    TRUNK,
    IdentificationTrial,
    Scene,
    identification,
    perturbed,
    standing_loop,
)
from inertial_estimation.experiments.perturbed_models import urdf_with_moved_links
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.payload.statics import TrunkStatics, trunk_com_across_gravity, trunk_mass
from inertial_estimation.signals import Array
from inertial_estimation.simulation.ground_truth import GroundTruth
from inertial_estimation.simulation.simulation_config import SimulationConfig
from inertial_estimation.spatial.rotations import rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class RestingPose:
    """A robot at rest.

    Attributes:
        config: The robot.
        urdf: Its true description.
        trunk: Link of the trunk.
        truth: Its state; torques on the links balance it.
    """

    config: RobotConfig
    urdf: str
    trunk: str
    truth: GroundTruth

    def error_of_torques(self, offsets: Array) -> Array:
        """Return the error of the trunk's centre of mass caused by offsets of the torques.

        Args:
            offsets: Assumed minus true torque of each joint [Nm], shape (n_joints,).

        Returns:
            Across gravity, base frame [m], shape (3,).
        """
        return self._com(self.urdf, offsets) - self._com(self.urdf, np.zeros_like(offsets))

    def error_of_feet(self, moves_P: Mapping[str, Array]) -> Array:
        """Return the error of the trunk's centre of mass caused by wrong positions of the feet.

        Args:
            moves_P: Assumed minus true position by link, in the axes of the link that carries it [m].

        Returns:
            Across gravity, base frame [m], shape (3,).
        """
        none = np.zeros(len(self.truth.q))
        return self._com(urdf_with_moved_links(self.urdf, moves_P), none) - self._com(self.urdf, none)

    def _com(self, urdf: str, offsets: Array) -> Array:
        setup = robot_from_config(self.config, urdf)
        robot, contacts = setup.robot, setup.contacts
        statics = TrunkStatics(robot, contacts, self.trunk)
        R_WB = rotation_from_quaternion(self.truth.base.quaternion_xyzw)
        measurement = statics.measure(R_WB, self.truth.q, self.truth.tau_link + offsets)
        return trunk_com_across_gravity(measurement, trunk_mass(measurement))


B, C = "orientation_error", "contact_forces"
LETTERS = {B: "(b)", C: "(c)"}
TORQUE_MEANS = (0.0, 10.0, 20.0)  # [Nm]
TORQUE_SIGMA = 1.0
FOOT_SIGMAS_CM = (1.0, 2.0, 3.0)
LIMIT_S = {B: 60.0, C: 15.0}
DRAWS = 200  # of the computed expectation
UNSEEN, SEEN = "torques off, sensors do not see it", "torques off, sensors see it"
ALL_BELIEVE, ONE_BELIEVES = "feet misplaced for all", "feet misplaced for the identification"
PAPER_CM: dict[tuple[bool, str], tuple[float, ...]] = {  # by whether it is the torques, and approach
    (True, B): (0.410, 1.114, 2.098),
    (True, C): (0.073, 0.190, 0.255),
    (False, B): (0.001, 0.060, 0.202),
}
LIKE_THE_PAPER = (SEEN, ONE_BELIEVES)  # the readings that give its pattern


@dataclass(frozen=True, slots=True)
class _Case:
    """One kind of error at one level.

    Attributes:
        kind: Which error, and who is subject to it.
        level: Mean torque [Nm], or standard deviation of the feet [cm].
    """

    kind: str
    level: float

    @property
    def torque(self) -> bool:
        """Whether it is an error of the torques."""
        return self.kind in (UNSEEN, SEEN)

    @property
    def place(self) -> int:
        """Column of the paper's table."""
        return (TORQUE_MEANS if self.torque else FOOT_SIGMAS_CM).index(self.level)

    def __str__(self) -> str:
        noise = f"mu {self.level:g}, sigma 1 Nm" if self.torque else f"sigma {self.level:g} cm"
        return f"{self.kind}, {noise}"


Identifications = dict[tuple[_Case, str], list[IdentificationTrial]]


@dataclass(frozen=True, eq=False)
class _Data:
    """Identifications by case and approach, one for each seed, and the pose the computed rows are for."""

    trials: Identifications
    pose: RestingPose


class TournoisSensitivity(Experiment[_Data]):
    """Identification with every error, for every seed of errors and sensor noise."""

    figure_columns = 2

    @property
    def draws(self) -> int:
        """Number of draws of a computed expectation."""
        return 2 if self.quick else DRAWS

    def simulate(self, trials: Trials) -> _Data:
        """Identify with every error, for every seed of errors and sensor noise."""
        robot, seeds, hoist_s = RobotLoop(ROBOT), self.seeds, hoist_time(quick=self.quick)
        cases = _cases(self.quick)
        approaches = (C,) if self.quick else (B, C)
        shortened = QUICK if self.quick else {}
        found = trials.by_case(
            {
                case: [
                    partial(_identified, robot, case, seed, hoist_s, shortened, approaches) for seed in seeds
                ]
                for case in cases
            }
        )
        by_approach = {
            (case, approach): list(one)
            for case, every in found.items()
            for approach, one in zip(approaches, zip(*every, strict=True), strict=True)
        }
        return _Data(by_approach, _pose(robot, hoist_s))

    def table(self, data: _Data) -> list[TableRow]:
        """Return Table IV, the result of the moment balance, and the differences between the approaches."""
        trials, pose = data.trials, data.pose
        cases = dict.fromkeys(case for case, _ in trials)
        return [
            *(row for case in cases for row in _case_rows(case, trials, pose, self.draws)),
            *_apart(trials),
            _as_described(pose, self.draws),
            unfinished_row([trial for some in trials.values() for trial in some]),
        ]

    def panels(self, data: _Data) -> list[Panel]:
        """Return errors by level; empty for a quick run, which has one level."""
        return [] if self.quick else _panels(data.trials)

    def per_seed(self, data: _Data) -> dict[str, tuple[float, ...]]:
        """Return the horizontal error by approach and case."""
        return {
            f"|delta| [cm], {LETTERS[approach]}, {case}": tuple(errors_cm(some))
            for (case, approach), some in data.trials.items()
        }

    def settings(self, data: _Data) -> Mapping[str, float | str]:
        """Return the load and the estimates at the start."""
        return {"load [N]": 0.0, "centre of mass believed off by [m]": str(COM_ERROR_L)}

    def facts(self, data: _Data) -> tuple[str, ...]:
        """Return what the errors act on, how they are drawn, and refusals."""
        trials = data.trials
        refusals = sorted(
            {
                f"{LETTERS[approach]}, {case}: {trial.refusal}"
                for (case, approach), some in trials.items()
                for trial in some
                if trial.refusal
            }
        )
        return (
            "Torques off: the link gets the commanded torque less the offset. Unseen: the sensor says "
            "what was commanded (an offset of the sensor that the torque loop follows). Seen: it says "
            "what the link gets.",
            "Offsets of hind hips and knees count mirrored, as these legs are: equal ones then cancel in "
            "x and y but for the mass they feign.",
            "Each seed draws one error for each joint, or three for each foot (its axes on the shank). No "
            "load.",
            "(b) first, from a start that is several centimetres off; then (c) in the same loop. (b) "
            "without z.",
            *(f"Given up: {refusal}" for refusal in refusals),
        )

    def caveat(self, data: _Data) -> str:
        """Return that a row of the paper is not known."""
        return "our copy of the paper lacks the row of (c) for misplaced feet"


def _cases(quick: bool) -> tuple[_Case, ...]:
    if quick:
        return (_Case(UNSEEN, TORQUE_MEANS[1]),)
    torques = [_Case(kind, mean) for kind in (UNSEEN, SEEN) for mean in TORQUE_MEANS]
    feet = [_Case(kind, sigma) for kind in (ALL_BELIEVE, ONE_BELIEVES) for sigma in FOOT_SIGMAS_CM]
    return (*torques, *feet)


def _identified(
    robot: RobotLoop,
    case: _Case,
    seed: int,
    hoist_s: float,
    shortened: Mapping[str, Any],
    approaches: Sequence[str],
) -> list[IdentificationTrial]:
    """Identify by one approach after the other in the same loop."""
    loop = _loop(robot, case, seed, hoist_s, shortened)
    return [identification(loop, approach, LIMIT_S[approach]) for approach in approaches]


def _loop(
    robot: RobotLoop, case: _Case, seed: int, hoist_s: float, shortened: Mapping[str, Any]
) -> ClosedLoop:
    rng = default_rng([seed, case.place, int(case.torque)])
    believed = perturbed(robot)
    overrides: dict[str, dict[str, Any]] = {PAYLOAD_NODE: {f"{B}.find_z": False, **shortened}}
    if case.torque:
        joints, offsets = _joint_offsets(robot, case.level, rng)
        overrides[SIMULATOR_NODE] = {
            "nominal_friction.joints": joints,
            "nominal_friction.offset": offsets.tolist(),
            "sensors.effort_at": "motor" if case.kind == UNSEEN else "link",
        }
        return standing_loop(believed, Scene(), seed, hoist_s=hoist_s, overrides=overrides)
    moved = believed.believing(urdf_with_moved_links(believed.urdf, _foot_moves(robot, case.level, rng)))
    if case.kind == ALL_BELIEVE:
        return standing_loop(moved, Scene(), seed, hoist_s=hoist_s, overrides=overrides)

    def alone(loop: ClosedLoop) -> None:
        loop.payload = moved.payload({PAYLOAD_NODE: {"start": "on_request", **overrides[PAYLOAD_NODE]}})

    return standing_loop(believed, Scene(), seed, hoist_s=hoist_s, overrides=overrides, prepare=alone)


def _joint_offsets(robot: RobotLoop, mean: float, rng: Generator) -> tuple[list[str], Array]:
    """Return offsets N(mean, 1) of all joints [Nm]; knees and hips of the hind legs count mirrored.

    The hind legs mirror the front ones: equal offsets of mirrored sign bend all legs equally.
    """
    names = list(RobotModel.from_urdf(robot.urdf).joint_names)
    offsets = rng.normal(mean, TORQUE_SIGMA, len(names))
    return names, offsets * _mirrored(names)


def _mirrored(names: Sequence[str]) -> Array:
    return np.array([-1.0 if name[1] == "h" and "haa" not in name else 1.0 for name in names])


def _foot_moves(robot: RobotLoop, sigma_cm: float, rng: Generator) -> dict[str, Array]:
    feet = robot.config(SIMULATOR_NODE, SimulationConfig).robot.contacts
    return {foot: 1e-2 * rng.normal(0.0, sigma_cm, 3) for foot in feet}


def _pose(robot: RobotLoop, hoist_s: float) -> RestingPose:
    config = robot.config(SIMULATOR_NODE, SimulationConfig).robot
    loop = standing_loop(robot, Scene(), 0, hoist_s=hoist_s)
    return RestingPose(config, robot.urdf, TRUNK, loop.simulation.truth())


def _case_rows(
    case: _Case,
    trials: Identifications,
    pose: RestingPose,
    draws: int,
) -> list[TableRow]:
    rows = []
    for approach in (approach for one, approach in trials if one == case):
        errors = errors_cm(trials[case, approach])
        paper = PAPER_CM.get((case.torque, approach))
        entry = None if paper is None else paper[case.place]
        judged = entry is not None and case.kind in LIKE_THE_PAPER
        bound = Bound("<=", 2.0 * entry) if judged and entry is not None else None
        name = f"{LETTERS[approach]}, {case}, median"
        rows.append(TableRow(name, "cm", float(np.median(errors)), float(errors.std()), entry, bound))
    if case.kind in (UNSEEN, ALL_BELIEVE):
        name = f"computed, {case}, median of {draws} draws"
        rows.append(TableRow(name, "cm", _computed(case, pose, draws)))
    if case.kind == UNSEEN and case.level:
        name = f"computed, mu {-case.level:g}: links that get more than is commanded"
        rows.append(TableRow(name, "cm", _computed(_Case(UNSEEN, -case.level), pose, draws)))
    return rows


def _computed(case: _Case, pose: RestingPose, draws: int, *, mirrored: bool = True) -> float:
    """Return the error predicted by the moment balance, median over draws [cm]."""
    rng, errors = default_rng(0), []
    names = list(RobotModel.from_urdf(pose.urdf).joint_names)
    for _ in range(draws):
        if case.torque:
            offsets = rng.normal(case.level, TORQUE_SIGMA, len(names))
            error = pose.error_of_torques(offsets * (_mirrored(names) if mirrored else 1.0))
        else:
            moves = {foot: 1e-2 * rng.normal(0.0, case.level, 3) for foot in pose.config.contacts}
            error = pose.error_of_feet(moves)
        errors.append(math.hypot(*error[:2]))
    return 1e2 * float(np.median(errors))


def _as_described(pose: RestingPose, draws: int) -> TableRow:
    case = _Case(UNSEEN, TORQUE_MEANS[1])
    value = _computed(case, pose, draws, mirrored=False)
    return TableRow("computed, 10 Nm about the description's axes, not mirrored", "cm", value)


def _apart(trials: Identifications) -> list[TableRow]:
    """Return how far (b) and (c) end from one another where they read the same torques and kinematics."""
    alike = [case for case, approach in trials if approach == B and case.kind in (UNSEEN, ALL_BELIEVE)]
    pairs = [pair for case in alike for pair in zip(trials[case, B], trials[case, C], strict=True)]
    if not pairs:
        return []
    apart = [1e2 * math.hypot(*(b.error_L[-1] - c.error_L[-1])[:2]) for b, c in pairs]
    name = "(b) and (c) apart, where torques and kinematics are the same for both, worst"
    return [TableRow(name, "cm", max(apart))]


def _panels(trials: Identifications) -> list[Panel]:
    panels = []
    for title, kinds, label in (
        ("Torque offsets", (UNSEEN, SEEN), "mean [Nm]"),
        ("Misplaced feet", (ALL_BELIEVE, ONE_BELIEVES), "standard deviation [cm]"),
    ):
        curves = []
        for kind, style in zip(kinds, ("line", "dashed"), strict=True):
            for approach in (B, C):
                cases = [case for case, a in trials if a == approach and case.kind == kind]
                x = np.array([case.level for case in cases])
                y = np.array([np.median(errors_cm(trials[case, approach])) for case in cases])
                name = f"{LETTERS[approach]}, {kind}"
                curves.append(Series(name, x, y, style, colour=0 if approach == B else 1))
                paper = PAPER_CM.get((kind == SEEN, approach))
                if paper is not None and kind in LIKE_THE_PAPER:
                    colour = 0 if approach == B else 1
                    curves.append(
                        Series(f"paper {LETTERS[approach]}", x, np.array(paper), "points", colour=colour)
                    )
        panels.append(Panel(title, label, "|delta| [cm]", tuple(curves)))
    return panels
