"""HyQ crawls under a weight put on its trunk: it stops, identifies, walks on, or falls (Tournois V-C).

The load comes at any moment of the gait, drawn for every seed. With identification the mass is watched; at a
change the robot stands still, finds mass and centre of mass by the contact forces (approach (c)), hands them
to controller and gait, and goes on. Without, the controller keeps the nominal trunk. For the paper's Table V
the robot stops after the walk and is identified once more by static poses (approach (a)).

Stones: the paper reports successful walks on moderately rough terrain, without numbers. Here the ground is a
lattice of level stones of random heights, drawn anew for every seed; neither controller nor estimators know
it.

Without stopping (VI, future work): the inertial filter estimates the trunk. Velocities and accelerations are
in its equation, so nothing has to be at rest. Walk, loads and seeds are the same; the load comes unannounced.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import (
    CrawlRun,
    CrawlSchedule,
    crawl_run,
    identified_trunk,
    load_on_trunk,
    outcomes,
    perturbed_robot,
    trunk_panels,
    walk_outcome,
)
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.experiments.tournois_standing import POINT_B, ROBOT, TRUNK
from inertial_estimation.figures import Level, Panel, Span, thinned
from inertial_estimation.signals import Array, LinkInertia

CORNER_L = (-0.36, 0.07, 0.1)  # position of the weight on the real robot in Table V [m]; docs/experiments.md
STRIDE_M, LONG_STRIDE_M = 0.3, 0.4
FASTER: Overrides = {  # nearer to the paper's 0.1 m/s
    CONTROLLER_NODE: {"crawl.swing_duration": 0.3, "crawl.acceleration": 2.0, "crawl.dwell": 0.3}
}
BEGIN_S = 1.0  # when the walk begins
EARLIEST_LOAD_S, LOAD_SPREAD_S = 8.0, 6.0  # when the load comes, and at most later
WALKED_S = 60.0  # to walk on after the load has come
QUICK_TIMES_S = (0.3, 1.0, 0.0, 2.5)  # begin, earliest, spread, walked
LONGEST_POSES_S = 40.0  # longest time of an identification by static poses
TABLE_V = {0.0: 0.45, 50.0: 0.20, 100.0: 0.32}  # (c) against (a) [cm], by load [N]


class _Case(NamedTuple):
    """A walk under a load."""

    force: float = 100.0  # weight of the load [N]
    point: tuple[float, float, float] = POINT_B  # its place in the base frame [m]
    identifies: bool = True  # whether the trunk is identified
    model_errors: bool = False  # whether the robot differs from its description
    faster: bool = False
    stones: float = 0.0  # largest height of a stone above and below zero [m]; 0 is flat ground


WITHOUT, WITH = "without identification", "with identification"
CASES = {WITHOUT: _Case(identifies=False), WITH: _Case()}
OTHERS = {
    "faster": _Case(faster=True),
    "with model errors": _Case(model_errors=True),
    "50 N": _Case(50.0),
    "50 N, without": _Case(50.0, identifies=False),
    "100 N at the hind end": _Case(point=CORNER_L),
    "100 N at the hind end, without": _Case(point=CORNER_L, identifies=False),
}


def walk_plan(seed: int, *, quick: bool, walked: float, stride: float = STRIDE_M) -> CrawlSchedule:
    """Return what happens in the run of a seed: the load comes at a moment drawn from it.

    The robot walks on for a time after the load [s], with strides of a length [m].
    """
    begin, earliest, spread, walked = (
        QUICK_TIMES_S if quick else (BEGIN_S, EARLIEST_LOAD_S, LOAD_SPREAD_S, walked)
    )
    load_s = round(earliest + spread * float(default_rng(seed).random()), 3)
    return CrawlSchedule(TRUNK, stride, begin, load_s, load_s + walked)


def _walk(robot: RobotLoop, case: _Case, walked: float, quick: bool, seed: int) -> CrawlRun:
    plan = walk_plan(seed, quick=quick, walked=walked, stride=LONG_STRIDE_M if case.faster else STRIDE_M)
    return _crawl(_loop(robot, case, seed, plan.load_s), plan, quick=quick)


def _crawl(loop: ClosedLoop, plan: CrawlSchedule, *, quick: bool) -> CrawlRun:
    return crawl_run(loop, plan, identified_trunk, identified_trunk, hoist_s=hoist_time(quick=quick))


def _loop(robot: RobotLoop, case: _Case, seed: int, load_s: float) -> ClosedLoop:
    body, point = robot.inertial().robot, np.array(case.point)
    true_urdf, overrides = perturbed_robot(robot, seed) if case.model_errors else ("", {})
    overrides = FASTER if case.faster else overrides
    if case.stones:
        ground = {"ground.terrain": "stones", "ground.roughness": case.stones, "ground.cell": CELL_M}
        overrides = {SIMULATOR_NODE: ground}
    return robot.build(
        overrides=overrides,
        disturbances=[load_on_trunk(body, TRUNK, case.force, point, load_s)] if case.force else [],
        seed=seed,
        payload=case.identifies,
        inertial=False,
        true_urdf=true_urdf,
    )


def _against_poses(robot: RobotLoop, force: float, seed: int) -> tuple[Array, Array, Array]:
    """Return the trunk's centre of mass by (c) while walking, by (a) afterwards, and the true one [m]."""
    plan = CrawlSchedule(TRUNK, STRIDE_M, BEGIN_S, EARLIEST_LOAD_S, EARLIEST_LOAD_S + 15.0)
    loop = _loop(robot, _Case(force), seed, plan.load_s)
    assert loop.payload is not None
    _crawl(loop, plan, quick=False)
    loop.controller.push_walk_command(WalkCommand(0))
    loop.run(5.0)
    found = []
    for method in ("contact_forces", "static_poses"):
        loop.payload.identify(method)
        begin = loop.time_s
        loop.run(1.0)
        while loop.identified is not None and loop.identified.hold and loop.time_s < begin + LONGEST_POSES_S:
            loop.run(0.5)
        assert loop.identified is not None
        found.append(loop.identified.estimate.com_L if loop.identified.converged else np.full(3, np.nan))
    return found[0], found[1], loop.simulation.truth([TRUNK]).inertias[TRUNK].com_L


def walk(trials: Trials) -> ExperimentResult:
    """Walk under load for every seed, with and without; other loads and Table V with the first one."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    others, poses = ({}, {}) if quick else (OTHERS, TABLE_V)
    cases: dict[object, Callable[[int], Any]] = {
        name: partial(_walk, robot, case, WALKED_S, quick) for name, case in {**CASES, **others}.items()
    }
    cases |= {force: partial(_against_poses, robot, force) for force in poses}
    runs = trials.by_case(cases, first_seed_only=[*others, *poses])
    rows = _judged_rows(outcomes(runs[WITHOUT]), outcomes(runs[WITH]), len(trials.seeds))
    for name, case in others.items():
        rows += _other_rows(name, case, runs[name][0])
    for force in poses:
        rows += _table_five_rows(force, *runs.pop(force)[0])
    panels = _walk_panels(runs[WITH][0].columns, runs[WITHOUT][0].columns, trials.seeds[0])
    return ExperimentResult(trials.seeds, rows, _refusals(runs), panels=panels, columns=2)


def _table_five_rows(force: float, by_forces: Array, by_poses: Array, true: Array) -> list[TableRow]:
    apart, *off = (
        100.0 * float(np.hypot(*(a - b)[:2]))
        for a, b in ((by_forces, by_poses), (by_forces, true), (by_poses, true))
    )
    name = f"Table V, {force:g} N:"
    return [
        row(f"{name} (c) from (a)", "cm", apart, paper=TABLE_V[force]),
        row(f"{name} (c) from the truth", "cm", off[0]),
        row(f"{name} (a) from the truth", "cm", off[1]),
    ]


def _judged_rows(without: Mapping[str, Array], with_: Mapping[str, Array], seeds: int) -> list[TableRow]:
    fell, fell_with = np.isfinite(without["fell"]), np.isfinite(with_["fell"])
    return [
        row(f"falls without identification, of {seeds}", "", fell, "sum", paper=seeds, bound=f"== {seeds}"),
        row("feet set down before the fall, most", "", without["swings"], "max", paper=0.0),
        row("the fall after the load", "s", without["fell"]),
        row(f"falls with identification, of {seeds}", "", fell_with, "sum", paper=0.0, bound="== 0"),
        row("walked after the load came, shortest", "s", with_["walked"], "min", bound=f">= {WALKED_S}"),
        *_identified_rows("", with_, seeds),
        row("stands to identify, longest", "s", with_["stood"], "max"),
        row("speed", "m/s", with_["speed"], paper=0.1),
    ]


def _identified_rows(name: str, found: Mapping[str, Array], seeds: int, aim: str = "") -> list[TableRow]:
    """Return how the load was found and identified; the name of the case begins the quantities."""
    return [
        row(f"{name}load change found, of {seeds}", "", np.isfinite(found["detected"]), "sum"),
        row(f"{name}found after, longest", "s", found["detected"], "max"),
        row(f"{name}error in x and y, worst", "mm", found["error"], "max", bound=aim),
        row(f"{name}error of the trunk's mass, worst", "%", found["mass_error"], "max"),
        row(f"{name}distance to the edge of the support, least", "mm", found["margin"], "min"),
    ]


def _other_rows(name: str, case: _Case, run: CrawlRun) -> list[TableRow]:
    one = walk_outcome(run)
    rows = [
        row(f"{name}: falls", "", np.isfinite(one.fell)),
        row(f"{name}: walked after the load came", "s", one.walked),
    ]
    if case.identifies:
        rows.append(row(f"{name}: error in x and y", "mm", one.error))
        rows.append(row(f"{name}: speed", "m/s", one.speed, paper=0.1 if case.faster else None))
    return rows


def _refusals(runs: Mapping[Any, Sequence[CrawlRun]]) -> list[str]:
    refusals = {(name, what) for name, of_case in runs.items() for run in of_case for what in run.refusals}
    return sorted(f"{name}: given up: {what}" for name, what in refusals)


def _walk_panels(c: Mapping[str, Array], nominal: Mapping[str, Array], seed: int) -> tuple[Panel, ...]:
    """Return trunk, distance and pitch over time."""
    t, t_nominal, label, spans = c["time"], nominal["time"], "time [s]", _standing(c)
    distance = (
        thinned(WITH, t, c["ahead"], "line", 2),
        thinned("without", t_nominal, nominal["ahead"], "line", 3),
    )
    tilt = (
        thinned("", t, np.degrees(c["pitch"]), "thin", 2),
        thinned("", t_nominal, np.degrees(nominal["pitch"]), "thin", 3),
    )
    return (
        *trunk_panels(c, {"published": ("hat", "line")}, spans, seed),
        Panel("Distance walked", label, "[m]", distance, spans),
        Panel("Pitch", label, "[deg]", tilt, spans, y_limits=(-30.0, 30.0)),
    )


def _standing(c: Mapping[str, Array]) -> tuple[Span, ...]:
    """Return the time spans with a request to stand."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0.0], c["hold"], [0.0]))))
    t = np.append(c["time"], c["time"][-1])
    pairs = edges.reshape(-1, 2).tolist()
    return tuple(Span(float(t[a]), float(t[b]), "stands" if k == 0 else "") for k, (a, b) in enumerate(pairs))


HEIGHTS_M = (0.02, 0.04)  # largest height of a stone above and below zero
CELL_M = 0.3  # distance between the centres of two stones
STONES_S = 25.0  # to walk on after the load has come


def stones(trials: Trials) -> ExperimentResult:
    """Walk over stones of every height for every seed, with and without identification."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    cases = {
        f"stones +- {100.0 * height:g} cm{'' if identifies else ', ' + WITHOUT}": _Case(
            stones=height, identifies=identifies
        )
        for height in (HEIGHTS_M[:1] if quick else HEIGHTS_M)
        for identifies in (True, False)
    }
    runs = trials.by_case(
        {name: partial(_walk, robot, case, STONES_S, quick) for name, case in cases.items()}
    )
    rows = []
    for name, case in cases.items():
        found, count = outcomes(runs[name]), len(runs[name])
        fell, bound = np.isfinite(found["fell"]), f"== {0 if case.identifies else count}"
        rows.append(row(f"{name}: falls, of {count}", "", fell, "sum", bound=bound))
        if case.identifies:
            rows += _identified_rows(f"{name}: ", found, count, aim="aim <= 5")
            rows.append(row(f"{name}: speed", "m/s", found["speed"]))
    with_, without = (runs[name][0].columns for name in list(cases)[:2])
    panels = _walk_panels(with_, without, trials.seeds[0])
    return ExperimentResult(trials.seeds, rows, _refusals(runs), panels=panels, columns=2)


EKF_LOAD_N = 100.0
JUDGED_AFTER_S = 5.0  # errors count from then on
EKF_WALKED_S = 20.0  # after the load has come
BOUND_MM, AIM_MM = 10.0, 5.0
STANDSTILL_SPEED = 0.01  # speed of the base, averaged over a gait cycle, below which it has paused [m/s]
GAIT_CYCLE_S = 6.0
EXACT, PERTURBED = "exact model", "with model errors"
SENSOR_ERRORS = "with model errors, sensor errors estimated"
EKF_CASES = (EXACT, PERTURBED, SENSOR_ERRORS)
SETTINGS: Mapping[str, Mapping[str, Any]] = {INERTIAL_NODE: {"hand_over_rate": 30.0}}
ESTIMATED: Mapping[str, Mapping[str, Any]] = {INERTIAL_NODE: {"sensor_errors.treatment": "estimated"}}


def without_stopping(trials: Trials) -> ExperimentResult:
    """Walk under load for every seed and case."""
    robot = RobotLoop(ROBOT, SETTINGS)
    cases = EKF_CASES[:1] if trials.quick else EKF_CASES
    runs = trials.by_case({case: partial(_walk_on, robot, case, trials.quick) for case in cases})
    rows = [one for case in cases for one in _case_rows(case, [_walk_on_outcome(run) for run in runs[case]])]
    return ExperimentResult(trials.seeds, rows, panels=_walk_on_panels(runs[EXACT], trials.seeds), columns=2)


def _walk_on(robot: RobotLoop, case: str, quick: bool, seed: int) -> CrawlRun:
    plan = walk_plan(seed, quick=quick, walked=EKF_WALKED_S)
    load = load_on_trunk(robot.inertial().robot, TRUNK, EKF_LOAD_N, np.array(POINT_B), plan.load_s)
    true_urdf, overrides = ("", {}) if case == EXACT else perturbed_robot(robot, seed)
    if case == SENSOR_ERRORS:
        overrides = {**overrides, **ESTIMATED}
    loop = robot.build(overrides=overrides, disturbances=[load], seed=seed, true_urdf=true_urdf)
    return crawl_run(loop, plan, _estimate, _published, hoist_s=hoist_time(quick=quick))


def _estimate(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].estimate


def _published(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].published


def _walk_on_outcome(run: CrawlRun) -> dict[str, float]:
    """Return the numbers of one run, times from the load; "second": the second after `JUDGED_AFTER_S`."""
    c, t = run.columns, run.columns["time"] - run.load_s
    error, mass = 1e3 * run.error_xy(), 100.0 * np.abs(c["mass_hat"] / c["mass"] - 1.0)
    later = t >= JUDGED_AFTER_S
    second = later & (t < JUDGED_AFTER_S + 1.0)
    above = np.flatnonzero((t >= 0.0) & (error > BOUND_MM))
    cycles = np.arange(0.0, t[-1] - GAIT_CYCLE_S, 0.5)
    ahead, before = (np.interp(at, t, c["ahead"]) for at in (cycles + GAIT_CYCLE_S, cycles))
    return {
        "falls": float(np.isfinite(run.fell_s)),
        "error in the second": _largest(error[second]),
        "error in the controller": _largest(1e3 * run.error_xy("used")[second]),
        "rms later": float(np.sqrt(np.mean(error[later] ** 2))) if later.any() else np.nan,
        "largest later": _largest(error[later]),
        "within the bound": float(t[above[-1]]) if len(above) else 0.0,
        "mass error": _largest(mass[second]),
        "slowest": float(((ahead - before) / GAIT_CYCLE_S).min()) if len(cycles) else np.nan,
    }


def _largest(values: Array) -> float:
    return float(values.max()) if len(values) else float("nan")


def _case_rows(name: str, outcomes: Sequence[Mapping[str, float]]) -> list[TableRow]:
    c = {quantity: np.array([one[quantity] for one in outcomes]) for quantity in outcomes[0]}
    judged, worst = name == EXACT, "worst seed"
    error = f"{name}: error in x and y in the second after {JUDGED_AFTER_S:g} s, {worst}"
    speed, moving = f"{name}: least speed over {GAIT_CYCLE_S:g} s after the load", f"> {STANDSTILL_SPEED}"
    goal = f"<= {BOUND_MM}, aim <= {AIM_MM}" if judged else ""
    return [
        row(f"{name}: falls, of {len(outcomes)}", "", c["falls"], "sum", bound="== 0" if judged else ""),
        row(error, "mm", c["error in the second"], "max", bound=goal),
        row(f"{name}: the same, mean", "mm", c["error in the second"]),
        row(f"{name}: the same in the controller, {worst}", "mm", c["error in the controller"], "max"),
        row(f"{name}: rms from then on", "mm", c["rms later"]),
        row(f"{name}: largest from then on, {worst}", "mm", c["largest later"], "max"),
        row(f"{name}: below {BOUND_MM:g} mm for good after, {worst}", "s", c["within the bound"], "max"),
        row(f"{name}: error of the trunk's mass, {worst}", "%", c["mass error"], "max"),
        row(speed, "m/s", c["slowest"], "min", bound=moving if judged else ""),
    ]


def _walk_on_panels(runs: Sequence[CrawlRun], seeds: Sequence[int]) -> tuple[Panel, ...]:
    """Return trunk and distance of the first seed over time, errors of all seeds."""
    first, label = runs[0], "time [s]"
    c, t = first.columns, first.columns["time"]
    spans = (Span(first.load_s, float(t[-1]), "load"),)
    errors = [
        thinned(f"seed {seed}", run.columns["time"] - run.load_s, 1e3 * run.error_xy(), "thin", k)
        for k, (seed, run) in enumerate(zip(seeds, runs, strict=True))
    ]
    distance = (thinned("", t, c["ahead"], "line", 2),)
    levels = (Level(BOUND_MM, "bound"), Level(AIM_MM, "aim"))
    return (
        *trunk_panels(c, {"filter": ("hat", "thin"), "controller": ("used", "dashed")}, spans, seeds[0]),
        Panel("Error in x and y", "time from the load [s]", "[mm]", errors, levels=levels, log=True),
        Panel("Distance walked", label, "[m]", distance, spans),
    )
