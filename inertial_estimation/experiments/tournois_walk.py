"""HyQ crawls under a weight put on its trunk: it stops, identifies, walks on, or falls (Tournois V-C).

The load is put on at a random time of the gait, drawn for every seed. With identification the mass is
monitored; at a change the robot stands still, identifies mass and centre of mass by the contact forces
(approach (c)), hands them to controller and gait, and walks on. Without, the controller keeps the nominal
trunk. For the paper's Table V it is identified again after the walk, by static poses (approach (a)).

Without stopping (VI, future work): the inertial filter estimates the trunk. Its equation includes velocities
and accelerations, so nothing has to be at rest. Walk, loads and seeds are the same; the load is unannounced.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import (
    CrawlRun,
    CrawlSchedule,
    crawl_run,
    load_on_trunk,
    outcomes,
    perturbed_robot,
    trunk_panels,
    walk_outcome,
)
from inertial_estimation.experiments.result import (
    ExperimentResult,
    TableRow,
    Trials,
    metric_rows,
    over_time,
    row,
)
from inertial_estimation.experiments.tournois_standing import POINT_B, ROBOT, TRUNK
from inertial_estimation.figures import Level, Panel, Span, spans_of
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.spatial.linear_algebra import rms

STRIDE_M, WALKED_S = 0.3, 60.0  # length of a step; duration of the walk under the load
TABLE_V = {0.0: 0.45, 50.0: 0.20, 100.0: 0.32}  # (c) against (a) [cm], by load [N]
SETTINGS: Overrides = {INERTIAL_NODE: {"hand_over_rate": 30.0}}  # of the walk without stopping
ESTIMATED: Overrides = {INERTIAL_NODE: {"sensor_errors.treatment": "estimated"}}


class _Case(NamedTuple):
    """A walk under a load."""

    force: float = 100.0  # weight of the load [N]
    point: tuple[float, float, float] = POINT_B  # position of the load in the base frame [m]
    identifies: bool = True  # whether the trunk is identified
    model_errors: bool = False  # whether the robot differs from its description
    stride: float = STRIDE_M
    filters: bool = False  # whether the inertial filter estimates the trunk
    overrides: Overrides = {}  # noqa: RUF012  # parameters that differ, by node
    walked: float = WALKED_S  # duration of the walk under the load [s]

    def built(self, robot: RobotLoop, seed: int, load_s: float) -> ClosedLoop:
        """Build the loop of a seed, with the load at a time from the release [s]."""
        body, overrides, true_urdf = robot.inertial().robot, self.overrides, ""
        if self.model_errors:
            true_urdf, more = perturbed_robot(robot, seed)
            overrides = {**more, **overrides}
        loads = [load_on_trunk(body, TRUNK, self.force, self.point, load_s)] if self.force else []
        return robot.build(
            overrides=overrides,
            disturbances=loads,
            seed=seed,
            payload=self.identifies and not self.filters,
            inertial=self.filters,
            true_urdf=true_urdf,
        )


def _walk(robot: RobotLoop, case: _Case, quick: bool, seed: int) -> CrawlRun:
    """Crawl with a load from a random time between 8 and 14 s on, which the seed determines."""
    begin, earliest, spread, walked = (0.3, 1.0, 0.0, 2.5) if quick else (1.0, 8.0, 6.0, case.walked)
    load_s = round(earliest + spread * float(default_rng(seed).random()), 3)
    plan = CrawlSchedule(TRUNK, case.stride, begin, load_s, load_s + walked)
    loop, hoist_s = case.built(robot, seed, load_s), hoist_time(quick=quick)
    sources = (_estimate, _published) if case.filters else ()
    return crawl_run(loop, plan, *sources, hoist_s=hoist_s)


def _estimate(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].estimate


def _published(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].published


WITHOUT, WITH = "without identification", "with identification"
CASES = {WITHOUT: _Case(identifies=False), WITH: _Case()}
FASTER = {"crawl.swing_duration": 0.3, "crawl.acceleration": 2.0, "crawl.dwell": 0.3}
OTHERS = {
    "faster": _Case(stride=0.4, overrides={CONTROLLER_NODE: FASTER}),  # nearer to the paper's 0.1 m/s
    "with model errors": _Case(model_errors=True),
    **{
        f"{load}{'' if identifies else ', without'}": case._replace(identifies=identifies)
        for load, case in {
            "50 N": _Case(50.0),
            # position of the weight on the real robot in Table V; docs/experiments.md
            "100 N at the hind end": _Case(point=(-0.36, 0.07, 0.1)),
        }.items()
        for identifies in (True, False)
    },
}


def walk(trials: Trials) -> ExperimentResult:
    """Walk under load for every seed, with and without identification; other cases with the first seed."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    others, poses = ({}, {}) if quick else (OTHERS, TABLE_V)
    cases: dict[object, Callable[[int], Any]] = {
        name: partial(_walk, robot, case, quick) for name, case in {**CASES, **others}.items()
    }
    cases |= {force: partial(_against_poses, robot, force) for force in poses}
    runs = trials.by_case(cases, first_seed_only=[*others, *poses])
    rows = _judged_rows(outcomes(runs[WITHOUT]), outcomes(runs[WITH]), len(trials.seeds))
    for name, case in others.items():
        one = walk_outcome(runs[name][0])
        rows.append(row(f"{name}: falls", "", np.isfinite(one.fell)))
        rows.append(row(f"{name}: walked after the load came", "s", one.walked))
        if case.identifies:
            rows.append(row(f"{name}: error in x and y", "mm", one.error))
            rows.append(row(f"{name}: speed", "m/s", one.speed, paper=0.1 if name == "faster" else None))
    for force in poses:
        rows += _table_five_rows(force, *runs.pop(force)[0])
    panels = _walk_panels(runs[WITH][0].columns, runs[WITHOUT][0].columns, trials.seeds[0])
    return ExperimentResult(trials.seeds, rows, _refusals(runs), panels=panels)


def _against_poses(robot: RobotLoop, force: float, seed: int) -> tuple[Array, Array, Array]:
    """Return the trunk's centre of mass by (c) while walking, by (a) afterwards, and the true one [m]."""
    plan = CrawlSchedule(TRUNK, STRIDE_M, begin_s=1.0, load_s=8.0, duration_s=23.0)
    loop = _Case(force).built(robot, seed, plan.load_s)
    assert loop.payload is not None
    crawl_run(loop, plan)
    loop.controller.push_walk_command(WalkCommand(0))
    loop.run(5.0)
    found = []
    for method in ("contact_forces", "static_poses"):
        loop.payload.identify(method)
        latest_s = loop.time_s + 40.0
        loop.run(1.0)
        while loop.identified is not None and loop.identified.hold and loop.time_s < latest_s:
            loop.run(0.5)
        assert loop.identified is not None
        found.append(loop.identified.estimate.com_L if loop.identified.converged else np.full(3, np.nan))
    return found[0], found[1], loop.simulation.truth([TRUNK]).inertias[TRUNK].com_L


def _table_five_rows(force: float, by_forces: Array, by_poses: Array, true: Array) -> list[TableRow]:
    apart, forces_off, poses_off = (
        100.0 * float(np.hypot(*(a - b)[:2]))
        for a, b in ((by_forces, by_poses), (by_forces, true), (by_poses, true))
    )
    name = f"Table V, {force:g} N:"
    return [
        row(f"{name} (c) from (a)", "cm", apart, paper=TABLE_V[force]),
        row(f"{name} (c) from the truth", "cm", forces_off),
        row(f"{name} (a) from the truth", "cm", poses_off),
    ]


def _judged_rows(without: Mapping[str, Array], with_: Mapping[str, Array], seeds: int) -> list[TableRow]:
    fell, fell_with = np.isfinite(without["fell"]), np.isfinite(with_["fell"])
    return [
        row(f"falls without identification, of {seeds}", "", fell, "sum", paper=seeds, bound=f"== {seeds}"),
        row("feet set down before the fall, most", "", without["swings"], "max", paper=0.0),
        row("the fall after the load", "s", without["fell"]),
        row(f"falls with identification, of {seeds}", "", fell_with, "sum", paper=0.0, bound="== 0"),
        row("walked after the load came, shortest", "s", with_["walked"], "min", bound=f">= {WALKED_S}"),
        row(f"load change found, of {seeds}", "", np.isfinite(with_["detected"]), "sum"),
        row("found after, longest", "s", with_["detected"], "max"),
        row("error in x and y, worst", "mm", with_["error"], "max"),
        row("error of the trunk's mass, worst", "%", with_["mass_error"], "max"),
        row("distance to the edge of the support, least", "mm", with_["margin"], "min"),
        row("stands to identify, longest", "s", with_["stood"], "max"),
        row("speed", "m/s", with_["speed"], paper=0.1),
    ]


def _refusals(runs: Mapping[Any, Sequence[CrawlRun]]) -> list[str]:
    refusals = {(name, what) for name, of_case in runs.items() for run in of_case for what in run.refusals}
    return sorted(f"{name}: given up: {what}" for name, what in refusals)


def _walk_panels(c: Mapping[str, Array], nominal: Mapping[str, Array], seed: int) -> list[Panel]:
    """Return trunk, distance and pitch over time."""
    t, t_nominal, spans = c["time"], nominal["time"], spans_of(c["time"], c["hold"] > 0.5, "stands")
    distance = (WITH, t, c["ahead"], "line", 2), ("without", t_nominal, nominal["ahead"], "line", 3)
    pitches = (np.degrees(columns["pitch"]) for columns in (c, nominal))
    tilt = (("", at, pitch, "thin", k) for k, at, pitch in zip((2, 3), (t, t_nominal), pitches, strict=True))
    return [
        *trunk_panels(c, {"published": ("hat", "line")}, spans, seed),
        over_time("Distance walked", "[m]", *distance, spans=spans),
        over_time("Pitch", "[deg]", *tilt, spans=spans, y_limits=(-30.0, 30.0)),
    ]


EXACT = "exact model"
EKF_CASES = {
    EXACT: _Case(filters=True, walked=20.0),
    "with model errors": _Case(filters=True, walked=20.0, model_errors=True),
    "with model errors, sensor errors estimated": _Case(
        filters=True, walked=20.0, model_errors=True, overrides=ESTIMATED
    ),
}
JUDGED_AFTER_S = 5.0  # time after the load from which on errors count
BOUND_MM, AIM_MM = 10.0, 5.0
GAIT_CYCLE_S = 6.0  # time over which the speed is averaged


def without_stopping(trials: Trials) -> ExperimentResult:
    """Walk under load for every seed and case."""
    robot = RobotLoop(ROBOT, SETTINGS)
    cases = {EXACT: EKF_CASES[EXACT]} if trials.quick else EKF_CASES
    runs = trials.by_case({name: partial(_walk, robot, case, trials.quick) for name, case in cases.items()})
    rows = []
    for name in cases:
        judged, worst = name == EXACT, {"summary": "max"}
        goal = f"<= {BOUND_MM}, aim <= {AIM_MM}" if judged else ""
        rules: dict[str, list[dict[str, Any]]] = {
            "falls": [{"summary": "sum", "bound": "== 0" if judged else ""}],
            SECOND: [{**worst, "bound": goal}, {}],
            f"{SECOND}, in the controller": [worst],
            "largest error from then on": [worst],
            f"below {BOUND_MM:g} mm for good after": [worst],
            "error of the trunk's mass": [worst],
            SPEED: [{"summary": "min", "bound": "> 0.01" if judged else ""}],
        }
        rows += metric_rows(name, [_walk_on_metrics(run) for run in runs[name]], rules)
    return ExperimentResult(trials.seeds, rows, panels=_walk_on_panels(runs[EXACT], trials.seeds))


SECOND = f"error in x and y in the second after {JUDGED_AFTER_S:g} s"
SPEED = f"speed over {GAIT_CYCLE_S:g} s after the load"


def _walk_on_metrics(run: CrawlRun) -> dict[tuple[str, str], float]:
    """Return the metrics of one run by quantity and unit; times count from the load."""
    c, t = run.columns, run.columns["time"] - run.load_s
    error, mass = 1e3 * run.error_xy(), 100.0 * np.abs(c["mass_hat"] / c["mass"] - 1.0)
    later = t >= JUDGED_AFTER_S
    second = later & (t < JUDGED_AFTER_S + 1.0)
    above = t[(t >= 0.0) & (error > BOUND_MM)]
    cycles = np.arange(0.0, t[-1] - GAIT_CYCLE_S, 0.5)
    ahead, before = (np.interp(at, t, c["ahead"]) for at in (cycles + GAIT_CYCLE_S, cycles))
    return {
        ("falls", ""): float(run.fallen),
        (SECOND, "mm"): _largest(error[second]),
        (f"{SECOND}, in the controller", "mm"): 1e3 * _largest(run.error_xy("used")[second]),
        ("rms error from then on", "mm"): rms(error[later]),
        ("largest error from then on", "mm"): _largest(error[later]),
        (f"below {BOUND_MM:g} mm for good after", "s"): above.max(initial=0.0),
        ("error of the trunk's mass", "%"): _largest(mass[second]),
        (SPEED, "m/s"): -_largest((before - ahead) / GAIT_CYCLE_S),
    }


def _largest(values: Array) -> float:
    return float(values.max()) if len(values) else float("nan")


def _walk_on_panels(runs: Sequence[CrawlRun], seeds: Sequence[int]) -> list[Panel]:
    """Return trunk and distance of the first seed over time, errors of all seeds."""
    first, c = runs[0], runs[0].columns
    spans = (Span(first.load_s, float(c["time"][-1]), "load"),)
    errors = (
        (f"seed {seed}", run.columns["time"] - run.load_s, 1e3 * run.error_xy(), "thin", k)
        for k, (seed, run) in enumerate(zip(seeds, runs, strict=True))
    )
    levels, label = (Level(BOUND_MM, "bound"), Level(AIM_MM, "aim")), "time from the load [s]"
    return [
        *trunk_panels(c, {"filter": ("hat", "thin"), "controller": ("used", "dashed")}, spans, seeds[0]),
        over_time("Error in x and y", "[mm]", *errors, levels=levels, log=True, x_label=label),
        over_time("Distance walked", "[m]", ("", c["time"], c["ahead"], "line", 2), spans=spans),
    ]
