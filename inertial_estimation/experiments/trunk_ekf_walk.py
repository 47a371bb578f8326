"""HyQ crawls without stopping under a weight on its trunk, which the inertial filter estimates.

What Tournois et al. leave as future work: velocities and accelerations are in the measurement equation, so
nothing has to be at rest. The same walk, loads and seeds as `tournois_walk`; the filter's trunk goes to the
controller all the time. The load comes unannounced, at any moment of the gait.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.experiments.crawl_run import (
    CrawlRun,
    crawl_run,
    load_on_trunk,
    perturbed_robot,
    trunk_panels,
)
from inertial_estimation.experiments.result import ExperimentResult, TableRow, row
from inertial_estimation.experiments.tournois_standing import POINT_B, ROBOT, TRUNK
from inertial_estimation.experiments.tournois_walk import walk_plan
from inertial_estimation.experiments.trials import Trials
from inertial_estimation.figures import Level, Panel, Span, thinned
from inertial_estimation.signals import Array, LinkInertia

LOAD_N = 100.0
JUDGED_AFTER_S = 5.0  # errors count from then on
WALKED_S = 20.0  # after the load has come
BOUND_MM, AIM_MM = 10.0, 5.0
STANDSTILL_SPEED = 0.01  # speed of the base, averaged over a gait cycle, below which it has paused [m/s]
GAIT_CYCLE_S = 6.0
EXACT, PERTURBED = "exact model", "with model errors"
SENSOR_ERRORS = "with model errors, sensor errors estimated"
CASES = (EXACT, PERTURBED, SENSOR_ERRORS)
SETTINGS: Mapping[str, Mapping[str, Any]] = {INERTIAL_NODE: {"hand_over_rate": 30.0}}
ESTIMATED: Mapping[str, Mapping[str, Any]] = {INERTIAL_NODE: {"sensor_errors.treatment": "estimated"}}


def run(trials: Trials) -> ExperimentResult:
    """Walk under load for every seed and case."""
    robot = RobotLoop(ROBOT, SETTINGS)
    cases = CASES[:1] if trials.quick else CASES
    runs = trials.by_case({case: partial(_walk, robot, case, trials.quick) for case in cases})
    rows = [one for case in cases for one in _case_rows(case, [_outcome(run) for run in runs[case]])]
    return ExperimentResult(trials.seeds, rows, panels=_panels(runs[EXACT], trials.seeds), columns=2)


def _walk(robot: RobotLoop, case: str, quick: bool, seed: int) -> CrawlRun:
    plan = walk_plan(seed, quick=quick, walked=WALKED_S)
    load = load_on_trunk(robot.inertial().robot, TRUNK, LOAD_N, np.array(POINT_B), plan.load_s)
    true_urdf, overrides = ("", {}) if case == EXACT else perturbed_robot(robot, seed)
    if case == SENSOR_ERRORS:
        overrides = {**overrides, **ESTIMATED}
    loop = robot.build(overrides=overrides, disturbances=[load], seed=seed, true_urdf=true_urdf)
    return crawl_run(loop, plan, _estimate, _published, hoist_s=hoist_time(quick=quick))


def _estimate(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].estimate


def _published(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.inertias is None else loop.inertias.links[0].published


def _outcome(run: CrawlRun) -> dict[str, float]:
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


def _panels(runs: Sequence[CrawlRun], seeds: Sequence[int]) -> tuple[Panel, ...]:
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
