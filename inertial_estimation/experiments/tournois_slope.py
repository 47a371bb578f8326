"""Tournois et al., V-A, Table III: the trunk's centre of mass from contact forces, standing on ramps.

(c) sees a vertical line on which the centre of mass lies, not where on it. On a trunk tilted by s what is
assumed of that shows along the trunk's x axis: with (19) what the start is wrong by along gravity, e, as
e sin(s); with the package's rule what it is wrong by in the trunk's z, as e tan(s). On a level trunk it does
not show.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import PAYLOAD_NODE
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series
from inertial_estimation.experiments.payload_rows import (
    errors_cm,
    refusal_facts,
    unfinished_row,
    worst_mass_row,
)
from inertial_estimation.experiments.payload_stand import (
    COM_ERROR_L,
    LOADS_N,
    POINT_B,
    QUICK,
    ROBOT,
    IdentificationTrial,
    Scene,
    identification,
    perturbed,
    standing_loop,
)

METHOD = "contact_forces"
SLOPES_DEG = (0.0, 10.0, 15.0)
PAPER_CM = ((0.082, 0.104, 0.864), (0.294, 0.621, 0.904), (0.429, 0.528, 0.773))  # by slope, by load
PAPER_WORST_CM = 0.904
LIMIT_S = 15.0
PARALLEL, LEVEL = "trunk parallel", "trunk level"
DESCRIPTION, PERTURBED = "starts from the description", "starts 6 cm off"
HEIGHT, GRAVITY = "height", "gravity"  # what of the start is kept
KEPT = {HEIGHT: "", GRAVITY: ", kept along gravity (19)"}


@dataclass(frozen=True, slots=True)
class _Case:
    """One entry of the table.

    Attributes:
        slope_deg: Of the ground [deg].
        load_N: Weight of the load [N].
        trunk: How the trunk is.
        start: Estimates at the start.
        kept: Component of the initial estimate that is kept along the unobservable direction.
    """

    slope_deg: float
    load_N: float
    trunk: str
    start: str
    kept: str = HEIGHT

    def __str__(self) -> str:
        return f"{self.slope_deg:g} deg, {self.load_N:g} N, {self.trunk}, {self.start}{KEPT[self.kept]}"

    @property
    def scene(self) -> Scene:
        """The ground of the robot."""
        return Scene(self.load_N, math.radians(self.slope_deg), parallel=self.trunk == PARALLEL)

    @property
    def paper_cm(self) -> float:
        """What the paper reports [cm]."""
        return PAPER_CM[SLOPES_DEG.index(self.slope_deg)][LOADS_N.index(self.load_N)]


Identifications = dict[_Case, list[IdentificationTrial]]


class TournoisSlope(Experiment[Identifications]):
    """Identification on every slope with every load, trunk parallel and level, from both starts."""

    def simulate(self, trials: Trials) -> Identifications:
        """Identify on every slope with every load, trunk parallel and level, from both starts."""
        robot, seeds, hoist_s = RobotLoop(ROBOT), self.seeds, hoist_time(quick=self.quick)
        robots = {DESCRIPTION: robot, PERTURBED: perturbed(robot)}
        cases = _cases(self.quick)
        shortened = QUICK if self.quick else {}
        return trials.by_case(
            {
                case: [partial(_trial, robots[case.start], case, seed, hoist_s, shortened) for seed in seeds]
                for case in cases
            }
        )

    def table(self, data: Identifications) -> list[TableRow]:
        """Return Table III, what the method cannot see, and mass."""
        every = _every(data)
        return [
            *(row for case, trials in data.items() for row in _case_rows(case, trials)),
            worst_mass_row(every),
            unfinished_row(every, bound=Bound("==", 0.0)),
        ]

    def panels(self, data: Identifications) -> tuple[Panel, ...]:
        """Return errors by slope; empty for a quick run, which has one slope."""
        return () if self.quick else (_panel(data, PARALLEL), _panel(data, LEVEL))

    def per_seed(self, data: Identifications) -> dict[str, tuple[float, ...]]:
        """Return the horizontal error by case."""
        return {f"|delta| [cm], {case}": tuple(errors_cm(trials)) for case, trials in data.items()}

    def settings(self, data: Identifications) -> Mapping[str, float | str]:
        """Return the position of the load and the estimates at the start."""
        return {
            "load at, base frame [m]": str(POINT_B),
            f"centre of mass believed off by [m], '{PERTURBED}'": str(COM_ERROR_L),
        }

    def facts(self, data: Identifications) -> tuple[str, ...]:
        """Return what the method sees, what the paper leaves open, and refusals."""
        return (
            "Errors are in the trunk's x and y. (c) finds the vertical line as well on a slope as on the "
            "flat; where on it the centre of mass lies is taken from the start, and shows in x of a "
            "tilted trunk.",
            "The paper does not say whether the trunk was level or parallel to the slope, nor where (c) "
            "started.",
            "Kept along gravity: (19) as written. It has no bound here, the package does otherwise: it "
            "keeps z.",
            *refusal_facts(_every(data)),
        )


def _trial(
    robot: RobotLoop, case: _Case, seed: int, hoist_s: float, shortened: Mapping[str, Any]
) -> IdentificationTrial:
    rule = {PAYLOAD_NODE: {f"{METHOD}.kept": case.kept, **shortened}}
    loop = standing_loop(robot, case.scene, seed, hoist_s=hoist_s, overrides=rule)
    return identification(loop, METHOD, LIMIT_S)


def _every(trials: Identifications) -> list[IdentificationTrial]:
    return [trial for some in trials.values() for trial in some]


def _cases(quick: bool) -> tuple[_Case, ...]:
    if quick:
        return (_Case(SLOPES_DEG[-1], LOADS_N[0], PARALLEL, PERTURBED),)
    kinds = [
        (PARALLEL, DESCRIPTION, HEIGHT),
        (PARALLEL, DESCRIPTION, GRAVITY),
        (PARALLEL, PERTURBED, HEIGHT),
        (LEVEL, DESCRIPTION, HEIGHT),
        (LEVEL, PERTURBED, HEIGHT),
    ]
    cases = [
        _Case(slope, load, trunk, start, kept)
        for trunk, start, kept in kinds
        for slope in SLOPES_DEG
        for load in LOADS_N
    ]
    return tuple(case for case in cases if case.slope_deg or case.trunk == LEVEL)


def _case_rows(case: _Case, trials: Sequence[IdentificationTrial]) -> list[TableRow]:
    """Return median and worst seed of one entry; what is hidden from (c), where it shows."""
    errors = errors_cm(trials)
    bound = Bound("<=", PAPER_WORST_CM) if case.kept == HEIGHT else None
    aim = Bound("<=", 0.5 * PAPER_WORST_CM) if case.kept == HEIGHT else None
    name, paper = f"|delta|, {case}", case.paper_cm
    rows = [
        TableRow(f"{name}, median", "cm", float(np.median(errors)), float(errors.std()), paper),
        TableRow(f"{name}, worst seed", "cm", float(errors.max()), None, paper, bound, aim),
    ]
    if case.trunk == PARALLEL:
        hidden = 1e2 * float(np.median([_hidden(trial, case.kept) for trial in trials]))
        what = "e tan(s)" if case.kept == HEIGHT else "e sin(s)"
        rows.append(TableRow(f"hidden from it, {what}, {case}", "cm", hidden))
    return rows


def _hidden(trial: IdentificationTrial, kept: str) -> float:
    """Return the initial error along the unobservable direction, as its final effect on x and y [m]."""
    roll, pitch = trial.columns["roll"][-1], trial.columns["pitch"][-1]
    up_L = np.array([-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)])
    start_L = trial.error_L[0]
    along = start_L @ up_L if kept == GRAVITY else start_L[2] / up_L[2]
    return float(abs(along) * np.hypot(*up_L[:2]))


def _panel(trials: Identifications, trunk: str) -> Panel:
    curves = []
    kinds = ((DESCRIPTION, HEIGHT, "line"), (PERTURBED, HEIGHT, "dashed"), (DESCRIPTION, GRAVITY, "dotted"))
    for k, load in enumerate(LOADS_N):
        for start, kept, style in kinds:
            cases = [c for c in trials if (c.load_N, c.start, c.kept) == (load, start, kept)]
            cases = [c for c in cases if c.trunk == trunk or (c.slope_deg == 0.0 and kept == HEIGHT)]
            if not cases:
                continue
            x = np.array([case.slope_deg for case in cases])
            y = np.array([np.median(errors_cm(trials[case])) for case in cases])
            order = np.argsort(x)
            curves.append(Series(f"{load:g} N, {start}{KEPT[kept]}", x[order], y[order], style, colour=k))
    paper = [
        Series(f"{load:g} N, paper", np.array(SLOPES_DEG), np.array(PAPER_CM)[:, k], "points", colour=k)
        for k, load in enumerate(LOADS_N)
    ]
    return Panel(trunk, "slope [deg]", "|delta| [cm]", (*curves, *paper))
