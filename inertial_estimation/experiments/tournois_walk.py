"""HyQ crawls under a weight put on its trunk: it stops, identifies, walks on, or falls (Tournois V-C).

The load comes at any moment of the gait, drawn for every seed. With identification the mass is watched
whenever the robot is at rest; at a change it stands still, finds mass and centre of mass by the contact
forces (approach (c)), hands them to controller and gait, and goes on. Without, the controller keeps the
nominal trunk. For the paper's Table V the robot stops after the walk and is identified once more by static
poses (approach (a)).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import CONTROLLER_NODE, Overrides, RobotLoop
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import (
    CrawlPlan,
    CrawlRun,
    columns_of,
    crawl_run,
    load_on_trunk,
    unlike_its_file,
)
from inertial_estimation.experiments.experiment import Bound, ExperimentResult, Progress, TableRow
from inertial_estimation.experiments.figure_description import Panel, Span, thinned
from inertial_estimation.experiments.payload_stand import POINT_B, ROBOT, TRUNK
from inertial_estimation.signals import Array, LinkInertia

__all__ = ["run", "walk_plan"]

CORNER = (-0.36, 0.07, 0.1)  # where Table V says the weight was on the real robot; docs/experiments.md
STRIDE = 0.3  # [m]
QUICK_WALK: Overrides = {  # nearer to the paper's 0.1 m/s
    CONTROLLER_NODE: {"crawl.swing_duration": 0.3, "crawl.acceleration": 2.0, "crawl.dwell": 0.3}
}
LONG_STRIDE = 0.4  # [m]
BEGIN, EARLIEST, SPREAD = 1.0, 8.0, 6.0  # the walk begins; the load comes up to SPREAD after EARLIEST [s]
WALKED = 60.0  # to walk on after the load has come [s]
POSES = 40.0  # longest time of an identification by static poses [s]
QUICK_TIMES = (0.3, 1.0, 0.0, 2.5)  # begin, earliest, spread, walked
TABLE_V = {0.0: 0.45, 50.0: 0.20, 100.0: 0.32}  # (c) against (a) [cm]


@dataclass(frozen=True)
class _Case:
    """One way to walk.

    Attributes:
        name: In the table.
        force: Weight of the load [N].
        point: Its place in the base frame [m].
        identifies: Whether the trunk is identified.
        unlike: Whether the robot differs from its description.
        faster: Whether it walks with `QUICK_WALK` and `LONG_STRIDE`.
    """

    name: str
    force: float = 100.0
    point: tuple[float, float, float] = POINT_B
    identifies: bool = True
    unlike: bool = False
    faster: bool = False


WITHOUT, WITH = _Case("without identification", identifies=False), _Case("with identification")
OTHERS = (
    _Case("faster", faster=True),
    _Case("unlike its file", unlike=True),
    _Case("50 N", 50.0),
    _Case("50 N, without", 50.0, identifies=False),
    _Case("100 N at the hind end", point=CORNER),
    _Case("100 N at the hind end, without", point=CORNER, identifies=False),
)


def run(seeds: Sequence[int], progress: Progress, quick: bool) -> ExperimentResult:
    """Walk under load for every seed, with and without; other loads and Table V with the first one.

    Args:
        seeds: Of the sensor noise and of the moment of the load.
        progress: Told how far it is.
        quick: One seed, a few steps, only with and without.

    Returns:
        Falls, times, errors; bounds: falls in every seed without, in none with.
    """
    robot = RobotLoop(ROBOT)
    used, others = (tuple(seeds[:1]), ()) if quick else (tuple(seeds), OTHERS)
    total = 2 * len(used) + len(others) + 3
    runs: dict[str, list[CrawlRun]] = {WITHOUT.name: [], WITH.name: []}
    for i, seed in enumerate(used):
        for k, case in enumerate((WITHOUT, WITH)):
            progress(f"seed {seed}, {case.name}", (2 * i + k) / total)
            runs[case.name].append(_walk(robot, case, seed, quick=quick))
    for i, case in enumerate(others):
        progress(case.name, (2 * len(used) + i) / total)
        runs[case.name] = [_walk(robot, case, used[0], quick=quick)]
    table_five = {}
    if not quick:
        for i, force in enumerate(TABLE_V):
            progress(f"Table V, {force:g} N", (total - 3 + i) / total)
            table_five[force] = _against_poses(robot, force, used[0])
    progress("done", 1.0)
    return ExperimentResult(
        seeds=used,
        rows=(*_judged(runs, len(used)), *_others(runs, others), *_table_five(table_five)),
        per_seed=_per_seed(runs),
        settings={
            "load at [m]": str(POINT_B),
            "stride [m]": STRIDE,
            "walk begins [s]": BEGIN,
            "load comes [s]": f"{EARLIEST:g} to {EARLIEST + SPREAD:g}, drawn from the seed",
            "to walk on after the load [s]": WALKED,
        },
        facts=_facts(runs, used),
        panels=_panels(runs[WITH.name][0], runs[WITHOUT.name][0], used[0]),
        columns=2,
    )


def walk_plan(seed: int, *, quick: bool, walked: float = WALKED) -> CrawlPlan:
    """Return what happens in the run of a seed: the load comes at a moment drawn from it.

    Args:
        seed: The seed.
        quick: A shortened run.
        walked: How long it is to walk on after the load [s].
    """
    begin, earliest, spread, walked = QUICK_TIMES if quick else (BEGIN, EARLIEST, SPREAD, walked)
    load_s = round(earliest + spread * float(default_rng(seed).random()), 3)
    return CrawlPlan(TRUNK, STRIDE, begin, load_s, load_s + walked)


def _walk(robot: RobotLoop, case: _Case, seed: int, *, quick: bool = False) -> CrawlRun:
    plan = walk_plan(seed, quick=quick)
    if case.faster:
        plan = replace(plan, stride=LONG_STRIDE)
    loop = _loop(robot, case, seed, plan)
    return crawl_run(loop, plan, _identified, _identified, hoist_s=hoist_time(quick=quick))


def _loop(robot: RobotLoop, case: _Case, seed: int, plan: CrawlPlan) -> ClosedLoop:
    body = robot.inertial().robot
    load = [load_on_trunk(body, TRUNK, case.force, np.array(case.point), plan.load_s)] if case.force else []
    true_urdf, overrides = unlike_its_file(robot, seed) if case.unlike else ("", {})
    if case.faster:
        overrides = QUICK_WALK
    return robot.build(
        overrides=overrides,
        disturbances=load,
        seed=seed,
        payload=case.identifies,
        inertial=False,
        true_urdf=true_urdf,
    )


def _identified(loop: ClosedLoop) -> LinkInertia | None:
    return None if loop.identified is None else loop.identified.trunk


def _against_poses(robot: RobotLoop, force: float, seed: int) -> tuple[Array, Array, Array]:
    """Return the trunk's centre of mass by (c) while walking, by (a) afterwards, and the true one [m]."""
    plan = CrawlPlan(TRUNK, STRIDE, BEGIN, EARLIEST, EARLIEST + 15.0)
    loop = _loop(robot, _Case("", force), seed, plan)
    assert loop.payload is not None
    crawl_run(loop, plan, _identified, _identified, hoist_s=hoist_time(quick=False))
    loop.controller.push_walk_command(WalkCommand(0))
    loop.run(5.0)
    found = []
    for method in ("contact_forces", "static_poses"):
        loop.payload.identify(method)
        begin = loop.time_s
        loop.run(1.0)
        while loop.identified is not None and loop.identified.hold and loop.time_s < begin + POSES:
            loop.run(0.5)
        assert loop.identified is not None
        found.append(loop.identified.estimate.com_L if loop.identified.converged else np.full(3, np.nan))
    return found[0], found[1], loop.simulation.truth([TRUNK]).inertias[TRUNK].com_L


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Numbers of one run, times from the coming of the load; NaN for what did not happen.

    Attributes:
        fell: When the robot fell [s].
        walked: How long the run went on [s].
        swings: Feet that landed.
        detected: When the load change was found [s].
        stood: How long it stood to identify [s].
        error: Of the published centre of mass in x and y while walking on, median [mm].
        mass_error: Of the published trunk mass likewise [%].
        margin: Least distance of the true centre of mass from the edge of the support while walking on [mm].
        speed: Mean speed while walking on [m/s].
    """

    fell: float
    walked: float
    swings: float
    detected: float
    stood: float
    error: float
    mass_error: float
    margin: float
    speed: float


def _outcome(run: CrawlRun) -> _Outcome:
    c, t, load_s = run.columns, run.columns["time"], run.load_s
    found = _first(run, "loaded", load_s)
    on = _first(run, "goes on", found)
    after = t > (on if np.isfinite(on) else np.inf)
    walks = int(after.sum()) > 1
    return _Outcome(
        fell=np.nan if run.fell_s is None else run.fell_s - load_s,
        walked=run.ended_s - load_s,
        swings=float(run.swings),
        detected=found - load_s,
        stood=on - found,
        error=1e3 * float(np.median(run.error_xy()[after])) if walks else np.nan,
        mass_error=100.0 * float(np.median(np.abs(c["mass_hat"] / c["mass"] - 1.0)[after]))
        if walks
        else np.nan,
        margin=1e3 * float(np.nanmin(c["margin"][after])) if walks else np.nan,
        speed=float(np.ptp(c["ahead"][after]) / np.ptp(t[after])) if walks else np.nan,
    )


def _first(run: CrawlRun, what: str, since: float) -> float:
    return next((e.time_s for e in run.events if e.what.startswith(what) and e.time_s >= since), np.nan)


def _columns(runs: Sequence[CrawlRun]) -> dict[str, Array]:
    return columns_of([_outcome(run) for run in runs])


def _judged(runs: Mapping[str, Sequence[CrawlRun]], seeds: int) -> tuple[TableRow, ...]:
    without, with_ = _columns(runs[WITHOUT.name]), _columns(runs[WITH.name])
    detected = with_["detected"]
    return (
        TableRow(
            f"falls without identification, of {seeds}",
            "",
            float(np.isfinite(without["fell"]).sum()),
            paper=float(seeds),
            bound=Bound("==", float(seeds)),
        ),
        TableRow("feet set down before the fall, most", "", float(without["swings"].max()), paper=0.0),
        TableRow.over_seeds("the fall after the load", "s", without["fell"]),
        TableRow(
            f"falls with identification, of {seeds}",
            "",
            float(np.isfinite(with_["fell"]).sum()),
            paper=0.0,
            bound=Bound("==", 0.0),
        ),
        TableRow(
            "walked after the load came, shortest",
            "s",
            float(with_["walked"].min()),
            bound=Bound(">=", WALKED),
        ),
        TableRow(f"load change found, of {seeds}", "", float(np.isfinite(detected).sum())),
        TableRow("found after, longest", "s", float(detected.max())),
        TableRow("stands to identify, longest", "s", float(with_["stood"].max())),
        TableRow("error in x and y, worst", "mm", float(with_["error"].max())),
        TableRow("error of the trunk's mass, worst", "%", float(with_["mass_error"].max())),
        TableRow("distance to the edge of the support, least", "mm", float(with_["margin"].min())),
        TableRow.over_seeds("speed", "m/s", with_["speed"], paper=0.1),
    )


def _others(runs: Mapping[str, Sequence[CrawlRun]], others: Sequence[_Case]) -> list[TableRow]:
    rows = []
    for case in others:
        one = _outcome(runs[case.name][0])
        rows.append(TableRow(f"{case.name}: falls", "", float(np.isfinite(one.fell))))
        rows.append(TableRow(f"{case.name}: walked after the load came", "s", one.walked))
        if case.identifies:
            rows.append(TableRow(f"{case.name}: error in x and y", "mm", one.error))
            rows.append(TableRow(f"{case.name}: speed", "m/s", one.speed, paper=0.1 if case.faster else None))
    return rows


def _table_five(found: Mapping[float, tuple[Array, Array, Array]]) -> list[TableRow]:
    rows = []
    for force, (by_forces, by_poses, true) in found.items():
        apart = 100.0 * float(np.hypot(*(by_forces - by_poses)[:2]))
        rows.append(TableRow(f"Table V, {force:g} N: (c) from (a)", "cm", apart, paper=TABLE_V[force]))
        for name, com in (("(c)", by_forces), ("(a)", by_poses)):
            error = 100.0 * float(np.hypot(*(com - true)[:2]))
            rows.append(TableRow(f"Table V, {force:g} N: {name} from the truth", "cm", error))
    return rows


def _per_seed(runs: Mapping[str, Sequence[CrawlRun]]) -> dict[str, tuple[float, ...]]:
    return {
        f"{name}: {quantity}": tuple(values.tolist())
        for name in (WITHOUT.name, WITH.name)
        for quantity, values in _columns(runs[name]).items()
    }


def _facts(runs: Mapping[str, Sequence[CrawlRun]], seeds: Sequence[int]) -> tuple[str, ...]:
    facts = [
        f"{name}, seed {seed}: fell {run.fell_s - run.load_s:.2f} s after the load"
        for name in (WITH.name,)
        for seed, run in zip(seeds, runs[name], strict=True)
        if run.fell_s is not None
    ]
    refusals = {
        e.what for every in runs.values() for run in every for e in run.events if "given up" in e.what
    }
    return (
        *facts,
        *sorted(refusals),
        "the paper's walks are on the robot; it gives no times and no number of trials",
        "without identification nothing stops the walk: the controller keeps the nominal trunk",
    )


def _panels(identified: CrawlRun, nominal: CrawlRun, seed: int) -> tuple[Panel, ...]:
    label = "time [s]"
    c, t = identified.columns, identified.columns["time"]
    n, tn = nominal.columns, nominal.columns["time"]
    spans = _standing(c)
    com = tuple(
        series
        for i, axis in enumerate("xy")
        for series in (
            thinned(f"true {axis}", t, 1e3 * c[axis], "reference", i),
            thinned(f"published {axis}", t, 1e3 * c[f"{axis}_hat"], "line", i),
        )
    )
    mass = (
        thinned("true", t, c["mass"], "reference"),
        thinned("published", t, c["mass_hat"], "line", 2),
    )
    way = (
        thinned("with identification", t, c["ahead"], "line", 2),
        thinned("without", tn, n["ahead"], "line", 3),
    )
    tilt = (
        thinned("", t, np.degrees(c["pitch"]), "thin", 2),
        thinned("", tn, np.degrees(n["pitch"]), "thin", 3),
    )
    return (
        Panel(f"Trunk's centre of mass (seed {seed})", label, "[mm]", com, spans),
        Panel("Trunk's mass", label, "[kg]", mass, spans),
        Panel("Way", label, "[m]", way, spans),
        Panel("Pitch", label, "[deg]", tilt, spans, y_limits=(-30.0, 30.0)),
    )


def _standing(c: Mapping[str, Array]) -> tuple[Span, ...]:
    """Spans in which it was asked to stand."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0.0], c["hold"], [0.0]))))
    t = np.append(c["time"], c["time"][-1])
    pairs = edges.reshape(-1, 2).tolist()
    return tuple(Span(float(t[a]), float(t[b]), "stands" if k == 0 else "") for k, (a, b) in enumerate(pairs))
