"""Tournois et al., V-A: the trunk of HyQ, standing (Table II, Fig. 6) and on ramps (Table III).

Approaches: HyQ carries no load, 50 N or 100 N at a point outside its trunk and assumes the trunk's centre of
mass to be several centimetres from where the description has it.

Slopes: (c) sees a vertical line on which the centre of mass lies, not where on it. On a trunk tilted by s
what is assumed of that shows along the trunk's x axis: with (19) what the start is wrong by along gravity, e,
as e sin(s); with the package's rule what it is wrong by in the trunk's z, as e tan(s). On a level trunk it
does not show.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.result import ExperimentResult, TableRow, row
from inertial_estimation.experiments.standing_trunk import (
    FORCES,
    LOADS_N,
    ORIENTATION,
    POSES,
    ROBOT,
    STANDING_S,
    IdentificationTrial,
    Scene,
    errors_cm,
    horizontal_rows,
    identification,
    perturbed,
    refusal_facts,
    standing_loop,
    unfinished_row,
    worst_mass_row,
)
from inertial_estimation.experiments.trials import Trials
from inertial_estimation.figures import Level, Panel, Series, thinned

APPROACHES = {POSES: "(a) static poses", ORIENTATION: "(b) orientation error", FORCES: "(c) contact forces"}
TABLE_TWO_CM = {  # by load
    POSES: (0.010, 0.357, 0.513),
    ORIENTATION: (0.020, 0.049, 0.452),
    FORCES: (0.006, 0.125, 0.586),
}
PAPER_Z_CM = {POSES: 2.0, ORIENTATION: 1.0}
NEAR_M = 2e-3  # Fig. 6: within this in under 2 s
LARGEST_N = LOADS_N[-1]
ON_CHANGE = ""  # in place of an approach: the load starts the identification
ByCase = Mapping[tuple[str, float], Sequence[IdentificationTrial]]


def approaches(trials: Trials) -> ExperimentResult:
    """Identify by every approach with every load, for every seed of the sensor noise."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    unlike = perturbed(robot)
    cases = [(approach, load) for approach in APPROACHES for load in LOADS_N]
    runs = {case: partial(_approach, unlike, *case, quick) for case in cases}
    runs[ON_CHANGE, LARGEST_N] = partial(_approach, robot, ON_CHANGE, LARGEST_N, quick)
    if quick:
        runs = {(FORCES, LARGEST_N): runs[FORCES, LARGEST_N]}
    found = trials.by_case(runs)
    loaded = found.pop((ON_CHANGE, LARGEST_N), [])
    every = [one for some in found.values() for one in some] + loaded
    rows = []
    for (approach, load), some in found.items():
        name, paper = f"by {APPROACHES[approach]}, {load:g} N", TABLE_TWO_CM[approach][LOADS_N.index(load)]
        rows += horizontal_rows(f"|delta| in x and y {name}", some, paper, 0.586)
    for approach, paper in PAPER_Z_CM.items():
        errors = [1e2 * one.error_z for case, some in found.items() if case[0] == approach for one in some]
        if errors:
            name, bound = f"z by {APPROACHES[approach]}, all loads", f"<= {paper}, aim <= 0.5"
            rows.append(row(f"{name}, median", "cm", errors, "median", paper=paper))
            rows.append(row(f"{name}, worst", "cm", errors, "max", paper=paper, bound=bound))
    rows += _time_rows(found[FORCES, LARGEST_N], loaded)
    mass = [1e2 * one.mass_error for one in every]
    rows.append(row("mass of the trunk, error, median of all", "%", mass, "median"))
    rows += [worst_mass_row(every), unfinished_row(every, "== 0")]
    return ExperimentResult(
        trials.seeds,
        rows,
        (_lasted(found), *refusal_facts(every)),
        panels=_approach_panels(found, loaded, trials.seeds[0]),
        columns=2,
    )


def _approach(robot: RobotLoop, approach: str, load_N: float, quick: bool, seed: int) -> IdentificationTrial:
    scene = Scene(load_N, load_s=0.0 if approach else STANDING_S)
    return identification(standing_loop(robot, scene, seed, quick=quick), approach)


def _time_rows(asked: Sequence[IdentificationTrial], loaded: Sequence[IdentificationTrial]) -> list[TableRow]:
    """Return how soon (c) is near and stays there, Fig. 6."""
    name, begin = f"(c), {LARGEST_N:g} N, within 2 mm to stay", "from the recursion's begin, worst seed"
    rows = []
    if loaded:
        end, start = np.array([(one.settled(NEAR_M), one.begins) for one in loaded]).T
        known = f"{name}, load on a robot with known trunk, {begin}"
        rows = [
            row(known, "s", end - start, "max", paper=2.0, bound="< 2"),
            row(f"{name}, from the application of the load, worst seed", "s", end, "max"),
        ]
    end, start = np.array([(one.settled(NEAR_M), one.begins) for one in asked]).T
    return [
        *rows,
        row(f"{name}, wrong start in z, too, {begin}", "s", end - start, "max"),
        row(f"{name}, wrong start in z, too, from the request, worst seed", "s", end, "max"),
    ]


def _lasted(found: ByCase) -> str:
    times: dict[str, list[float]] = {}
    for (approach, _), some in found.items():
        times.setdefault(APPROACHES[approach], []).extend(float(one.columns["time"][-1]) for one in some)
    lasted = ", ".join(f"{name} {np.median(values):.1f} s" for name, values in times.items())
    return f"An identification lasts, median: {lasted}."


def _approach_panels(found: ByCase, loaded: Sequence[IdentificationTrial], seed: int) -> list[Panel]:
    """Return the centre of mass over time, first seed, largest load (T Fig. 6)."""
    shown = loaded[0] if loaded else found[FORCES, LARGEST_N][0]
    c, since = shown.columns, "the load came" if loaded else "the request"
    panels, label = [], f"time since {since} [s]"
    for axis in "xy":
        curves = (
            thinned("true", c["time"], c[axis], "reference"),
            thinned("identified", c["time"], c[f"{axis}_hat"], colour=0),
        )
        title = f"(c), {LARGEST_N:g} N, {axis}, seed {seed}"
        panels.append(Panel(title, label, "centre of mass [m]", curves))
    first = {APPROACHES[approach]: some[0] for (approach, load), some in found.items() if load == LARGEST_N}
    far, heights = [], []
    for name, one in first.items():
        time, error_cm = one.columns["time"], 1e2 * one.error_L
        far.append(thinned(name, time, np.hypot(*error_cm[:, :2].T)))
        heights.append(thinned(name, time, error_cm[:, 2]))
    asked, near = "time since the request [s]", (Level(1e2 * NEAR_M, "2 mm"),)
    return [
        *panels,
        Panel(f"{LARGEST_N:g} N, x and y", asked, "|delta| [cm]", far, levels=near, log=True),
        Panel(f"{LARGEST_N:g} N, z", asked, "error [cm]", heights),
    ]


SLOPES_DEG = (0.0, 10.0, 15.0)
TABLE_THREE_CM = ((0.082, 0.104, 0.864), (0.294, 0.621, 0.904), (0.429, 0.528, 0.773))  # by slope, by load
PARALLEL, LEVEL = "trunk parallel", "trunk level"
DESCRIPTION, PERTURBED = "starts from the URDF", "starts with an error of 6 cm"
KINDS = tuple((trunk, start) for trunk in (PARALLEL, LEVEL) for start in (DESCRIPTION, PERTURBED))


class _Case(NamedTuple):
    """One entry of the table."""

    slope_deg: float
    load_N: float
    trunk: str
    start: str

    def __str__(self) -> str:
        return f"{self.slope_deg:g} deg, {self.load_N:g} N, {self.trunk}, {self.start}"


Identifications = Mapping[_Case, Sequence[IdentificationTrial]]


def slopes(trials: Trials) -> ExperimentResult:
    """Identify on every slope with every load, trunk parallel and level, from both starts."""
    robot = RobotLoop(ROBOT)
    robots = {DESCRIPTION: robot, PERTURBED: perturbed(robot)}
    cases = [
        _Case(slope, load, *kind)
        for kind in KINDS
        for slope in SLOPES_DEG
        for load in LOADS_N
        if slope or kind[0] == LEVEL
    ]
    if trials.quick:
        cases = [_Case(SLOPES_DEG[-1], LOADS_N[0], PARALLEL, PERTURBED)]
    found = trials.by_case({case: partial(_slope, robots[case.start], case, trials.quick) for case in cases})
    every = [one for some in found.values() for one in some]
    rows = [one for case, some in found.items() for one in _case_rows(case, some)]
    return ExperimentResult(
        trials.seeds,
        [*rows, worst_mass_row(every), unfinished_row(every, "== 0")],
        refusal_facts(every),
        panels=() if trials.quick else (_slope_panel(found, PARALLEL), _slope_panel(found, LEVEL)),
    )


def _slope(robot: RobotLoop, case: _Case, quick: bool, seed: int) -> IdentificationTrial:
    scene = Scene(case.load_N, math.radians(case.slope_deg), parallel=case.trunk == PARALLEL)
    return identification(standing_loop(robot, scene, seed, quick=quick), FORCES)


def _case_rows(case: _Case, trials: Sequence[IdentificationTrial]) -> list[TableRow]:
    """Return median and worst seed of one entry; what is hidden from (c), where it shows."""
    paper = TABLE_THREE_CM[SLOPES_DEG.index(case.slope_deg)][LOADS_N.index(case.load_N)]
    rows = horizontal_rows(f"|delta|, {case}", trials, paper, 0.904)
    if case.trunk == PARALLEL:
        hidden = 1e2 * float(np.median([_hidden(trial) for trial in trials]))
        rows.append(row(f"hidden from it, e tan(s), {case}", "cm", hidden))
    return rows


def _hidden(trial: IdentificationTrial) -> float:
    """Return the initial error along the unobservable direction, as its final effect on x and y [m]."""
    roll, pitch = trial.columns["roll"][-1], trial.columns["pitch"][-1]
    up_L = np.array([-math.sin(pitch), math.sin(roll) * math.cos(pitch), math.cos(roll) * math.cos(pitch)])
    return float(abs(trial.error_L[0][2] / up_L[2]) * np.hypot(*up_L[:2]))


def _slope_panel(found: Identifications, trunk: str) -> Panel:
    curves = []
    for k, load in enumerate(LOADS_N):
        for start, style in ((DESCRIPTION, "line"), (PERTURBED, "dashed")):
            medians = {
                case.slope_deg: float(np.median(errors_cm(some)))
                for case, some in found.items()
                if (case.load_N, case.start) == (load, start)
                and (case.trunk == trunk or case.slope_deg == 0.0)
            }
            if medians:
                x, y = np.array(sorted(medians.items())).T
                curves.append(Series(f"{load:g} N, {start}", x, y, style, colour=k))
        paper = np.array(TABLE_THREE_CM)[:, k]
        curves.append(Series(f"{load:g} N, paper", np.array(SLOPES_DEG), paper, "points", colour=k))
    return Panel(trunk, "slope [deg]", "|delta| [cm]", curves)
