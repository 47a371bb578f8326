"""HyQ crawls under a weight put on its trunk: it stops, identifies, walks on, or falls (Tournois V-C).

The load comes at any moment of the gait, drawn for every seed. With identification the mass is watched
whenever the robot is at rest; at a change it stands still, finds mass and centre of mass by the contact
forces (approach (c)), hands them to controller and gait, and goes on. Without, the controller keeps the
nominal trunk. For the paper's Table V the robot stops after the walk and is identified once more by static
poses (approach (a)).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.crawl_run import (
    CrawlRun,
    CrawlSchedule,
    EventKind,
    crawl_run,
    identified_trunk,
    load_on_trunk,
    perturbed_robot,
)
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Span, thinned
from inertial_estimation.experiments.payload_stand import POINT_B, ROBOT, TRUNK
from inertial_estimation.experiments.walk_outcome import outcomes, walk_outcome
from inertial_estimation.parallel import Call
from inertial_estimation.signals import Array

CORNER_L = (-0.36, 0.07, 0.1)  # position of the weight on the real robot in Table V [m]; docs/experiments.md
STRIDE_M = 0.3  # [m]
QUICK_WALK: Overrides = {  # nearer to the paper's 0.1 m/s
    CONTROLLER_NODE: {"crawl.swing_duration": 0.3, "crawl.acceleration": 2.0, "crawl.dwell": 0.3}
}
LONG_STRIDE_M = 0.4  # [m]
BEGIN_S = 1.0  # when the walk begins
EARLIEST_LOAD_S, LOAD_SPREAD_S = 8.0, 6.0  # when the load comes, and at most later [s]
WALKED_S = 60.0  # to walk on after the load has come [s]
LONGEST_POSES_S = 40.0  # longest time of an identification by static poses [s]
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
        faster: Whether it walks with `QUICK_WALK` and `LONG_STRIDE_M`.
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
    _Case("100 N at the hind end", point=CORNER_L),
    _Case("100 N at the hind end, without", point=CORNER_L, identifies=False),
)


@dataclass(frozen=True, eq=False)
class _Walks:
    """Runs by case, and centres of mass of the trunk for Table V.

    Attributes:
        runs: By name of the case; with and without identification one for each seed.
        table_five: By load [N]: centre of mass by (c), by (a) and true [m].
    """

    runs: dict[str, list[CrawlRun]]
    table_five: dict[float, tuple[Array, Array, Array]]


class TournoisWalk(Experiment[_Walks]):
    """Walk under load for every seed, with and without; other loads and Table V with the first one.

    Bounds: a fall in every seed without identification, none with. A quick run has one seed and a few steps.
    """

    figure_columns = 2
    quick_seeds = 1

    def simulate(self, trials: Trials) -> _Walks:
        """Walk under load for every seed, with and without; other loads and Table V with the first one."""
        robot, seeds, others = RobotLoop(ROBOT), self.seeds, () if self.quick else OTHERS
        cases = [(case, seed) for case in (WITHOUT, WITH) for seed in seeds]
        cases += [(case, seeds[0]) for case in others]
        forces = () if self.quick else tuple(TABLE_V)
        calls: list[Call[Any]] = [partial(_walk, robot, case, seed, quick=self.quick) for case, seed in cases]
        calls += [partial(_against_poses, robot, force, seeds[0]) for force in forces]
        found = trials.results(calls)
        runs: dict[str, list[CrawlRun]] = {case.name: [] for case, _seed in cases}
        for (case, _seed), run in zip(cases, found[: len(cases)], strict=True):
            runs[case.name].append(run)
        return _Walks(runs, dict(zip(forces, found[len(cases) :], strict=True)))

    def table(self, data: _Walks) -> list[TableRow]:
        """Return falls, times and errors, and Table V."""
        others = [case for case in OTHERS if case.name in data.runs]
        return [
            *_judged(data.runs, len(self.seeds)),
            *_other_rows(data.runs, others),
            *_table_five(data.table_five),
        ]

    def panels(self, data: _Walks) -> tuple[Panel, ...]:
        """Return trunk, way and pitch over time, first seed."""
        identified, nominal = data.runs[WITH.name][0], data.runs[WITHOUT.name][0]
        seed, label = self.seeds[0], "time [s]"
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

    def per_seed(self, data: _Walks) -> dict[str, tuple[float, ...]]:
        """Return the outcomes with and without identification."""
        runs = data.runs
        return {
            f"{name}: {quantity}": tuple(values.tolist())
            for name in (WITHOUT.name, WITH.name)
            for quantity, values in outcomes(runs[name]).items()
        }

    def settings(self, data: _Walks) -> Mapping[str, float | str]:
        """Return load and walk."""
        latest = EARLIEST_LOAD_S + LOAD_SPREAD_S
        return {
            "load at [m]": str(POINT_B),
            "stride [m]": STRIDE_M,
            "walk begins [s]": BEGIN_S,
            "load comes [s]": f"{EARLIEST_LOAD_S:g} to {latest:g}, drawn from the seed",
            "to walk on after the load [s]": WALKED_S,
        }

    def facts(self, data: _Walks) -> tuple[str, ...]:
        """Return the falls, the refusals, and the details missing in the paper."""
        runs, seeds = data.runs, self.seeds
        facts = [
            f"{name}, seed {seed}: fell {run.fell_s - run.load_s:.2f} s after the load"
            for name in (WITH.name,)
            for seed, run in zip(seeds, runs[name], strict=True)
            if run.fell_s is not None
        ]
        refusals = {
            e.what
            for every in runs.values()
            for run in every
            for e in run.events
            if e.kind is EventKind.REFUSED
        }
        return (
            *facts,
            *sorted(refusals),
            "the paper's walks are on the robot; it gives no times and no number of trials",
            "without identification nothing stops the walk: the controller keeps the nominal trunk",
        )


def walk_plan(seed: int, *, quick: bool, walked: float = WALKED_S) -> CrawlSchedule:
    """Return what happens in the run of a seed: the load comes at a moment drawn from it.

    Args:
        seed: The seed.
        quick: A shortened run.
        walked: How long it is to walk on after the load [s].
    """
    begin, earliest, spread, walked = (
        QUICK_TIMES if quick else (BEGIN_S, EARLIEST_LOAD_S, LOAD_SPREAD_S, walked)
    )
    load_s = round(earliest + spread * float(default_rng(seed).random()), 3)
    return CrawlSchedule(TRUNK, STRIDE_M, begin, load_s, load_s + walked)


def _walk(robot: RobotLoop, case: _Case, seed: int, *, quick: bool = False) -> CrawlRun:
    plan = walk_plan(seed, quick=quick)
    if case.faster:
        plan = replace(plan, stride=LONG_STRIDE_M)
    loop = _loop(robot, case, seed, plan)
    return crawl_run(loop, plan, identified_trunk, identified_trunk, hoist_s=hoist_time(quick=quick))


def _loop(robot: RobotLoop, case: _Case, seed: int, plan: CrawlSchedule) -> ClosedLoop:
    body = robot.inertial().robot
    load = [load_on_trunk(body, TRUNK, case.force, np.array(case.point), plan.load_s)] if case.force else []
    true_urdf, overrides = perturbed_robot(robot, seed) if case.unlike else ("", {})
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


def _against_poses(robot: RobotLoop, force: float, seed: int) -> tuple[Array, Array, Array]:
    """Return the trunk's centre of mass by (c) while walking, by (a) afterwards, and the true one [m]."""
    plan = CrawlSchedule(TRUNK, STRIDE_M, BEGIN_S, EARLIEST_LOAD_S, EARLIEST_LOAD_S + 15.0)
    loop = _loop(robot, _Case("", force), seed, plan)
    assert loop.payload is not None
    crawl_run(loop, plan, identified_trunk, identified_trunk, hoist_s=hoist_time(quick=False))
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


def _judged(runs: Mapping[str, Sequence[CrawlRun]], seeds: int) -> tuple[TableRow, ...]:
    without, with_ = outcomes(runs[WITHOUT.name]), outcomes(runs[WITH.name])
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
            bound=Bound(">=", WALKED_S),
        ),
        TableRow(f"load change found, of {seeds}", "", float(np.isfinite(detected).sum())),
        TableRow("found after, longest", "s", float(detected.max())),
        TableRow("stands to identify, longest", "s", float(with_["stood"].max())),
        TableRow("error in x and y, worst", "mm", float(with_["error"].max())),
        TableRow("error of the trunk's mass, worst", "%", float(with_["mass_error"].max())),
        TableRow("distance to the edge of the support, least", "mm", float(with_["margin"].min())),
        TableRow.over_seeds("speed", "m/s", with_["speed"], paper=0.1),
    )


def _other_rows(runs: Mapping[str, Sequence[CrawlRun]], others: Sequence[_Case]) -> list[TableRow]:
    rows = []
    for case in others:
        one = walk_outcome(runs[case.name][0])
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


def _standing(c: Mapping[str, Array]) -> tuple[Span, ...]:
    """Return the time spans with a request to stand."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0.0], c["hold"], [0.0]))))
    t = np.append(c["time"], c["time"][-1])
    pairs = edges.reshape(-1, 2).tolist()
    return tuple(Span(float(t[a]), float(t[b]), "stands" if k == 0 else "") for k, (a, b) in enumerate(pairs))
