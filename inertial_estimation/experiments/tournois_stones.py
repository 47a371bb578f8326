"""HyQ crawls over stepping stones under a load on its trunk, with and without identification (Tournois V-C).

The paper reports successful walks on moderately rough terrain, without numbers. Here the ground is a lattice
of level stones of random heights, drawn anew for every seed; neither controller nor estimators know it. At a
load change the robot stops with its feet on stones of different heights, identifies the trunk by the
contact forces (approach (c)) and walks on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.experiments.crawl_run import (
    CrawlRun,
    EventKind,
    crawl_run,
    identified_trunk,
    load_on_trunk,
)
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.experiments.payload_stand import POINT_B, ROBOT, TRUNK
from inertial_estimation.experiments.tournois_walk import walk_plan
from inertial_estimation.experiments.walk_outcome import outcomes

HEIGHTS_M = (0.0, 0.02, 0.04)  # largest height of a stone above and below zero; 0 is flat ground
CELL_M = 0.3  # distance between the centres of two stones
LOAD_N = 100.0
WALKED_S = 25.0  # to walk on after the load has come
AIM_ERROR_MM = 5.0  # error of the centre of mass in x and y


@dataclass(frozen=True)
class _Case:
    """Ground and robot of a run.

    Attributes:
        height: Largest height of a stone above and below zero [m].
        identifies: Whether the trunk is identified.
    """

    height: float
    identifies: bool

    @property
    def name(self) -> str:
        """In table and figure."""
        ground = f"stones +- {100.0 * self.height:g} cm" if self.height else "flat"
        return ground if self.identifies else f"{ground}, without identification"


Runs = dict[str, list[CrawlRun]]


class TournoisStones(Experiment[Runs]):
    """Walk over stones of several heights for every seed, with and without identification.

    Bounds: no fall with identification, a fall in every seed without. A quick run has one seed, one
    height and a few steps.
    """

    figure_columns = 2
    quick_seeds = 1

    def simulate(self, trials: Trials) -> Runs:
        """Walk for every height and seed, with and without identification."""
        robot = RobotLoop(ROBOT)
        return trials.by_case(
            {
                case.name: [partial(_walk, robot, case, seed, quick=self.quick) for seed in self.seeds]
                for case in self._cases
            }
        )

    def table(self, data: Runs) -> list[TableRow]:
        """Return falls, errors and speed for every height."""
        return [row for case in self._cases for row in _rows(case, data[case.name])]

    def panels(self, data: Runs) -> tuple[Panel, ...]:
        """Return way, pitch, and the error of the centre of mass of the first seed, by height."""
        label = "time from the load [s]"
        way, tilt, error, mass = [], [], [], []
        for case in self._cases:
            run = data[case.name][0]
            c, t = run.columns, run.columns["time"] - run.load_s
            kind = "line" if case.identifies else "dashed"
            colour = HEIGHTS_M.index(case.height)
            way.append(thinned(case.name, t, c["ahead"], kind, colour))
            if case.identifies:
                tilt.append(thinned(case.name, t, np.degrees(c["pitch"]), "thin", colour))
                error.append(thinned(case.name, t, 1e3 * run.error_xy(), "line", colour))
                mass.append(thinned(case.name, t, c["mass_hat"] - c["mass"], "line", colour))
        seed = self.seeds[0]
        return (
            Panel(f"Way (seed {seed})", label, "[m]", tuple(way)),
            Panel("Pitch of the trunk", label, "[deg]", tuple(tilt)),
            Panel("Error of the trunk's centre of mass in x and y", label, "[mm]", tuple(error)),
            Panel("Published minus true mass of the trunk", label, "[kg]", tuple(mass)),
        )

    def per_seed(self, data: Runs) -> dict[str, tuple[float, ...]]:
        """Return the outcomes by case."""
        return {
            f"{name}: {quantity}": tuple(values.tolist())
            for name, runs in data.items()
            for quantity, values in outcomes(runs).items()
        }

    def settings(self, data: Runs) -> Mapping[str, float | str]:
        """Return load, ground and walk."""
        return {
            "load [N]": LOAD_N,
            "load at [m]": str(POINT_B),
            "distance between the centres of stones [m]": CELL_M,
            "to walk on after the load [s]": WALKED_S,
            "parameters of estimators and controller": "those of config/hyq.yaml",
        }

    def facts(self, data: Runs) -> tuple[str, ...]:
        """Return falls with identification, refusals, and what the paper does not give."""
        falls = [
            f"{case.name}, seed {seed}: fell {run.fell_s - run.load_s:.2f} s after the load"
            for case in self._cases
            for seed, run in zip(self.seeds, data[case.name], strict=True)
            if case.identifies and run.fell_s is not None
        ]
        refusals = {
            f"{name}: {event.what}"
            for name, runs in data.items()
            for run in runs
            for event in run.events
            if event.kind is EventKind.REFUSED
        }
        return (
            *falls,
            *sorted(refusals),
            "the paper gives no heights, times or errors for its stepping stones",
        )

    @property
    def _cases(self) -> tuple[_Case, ...]:
        heights = HEIGHTS_M[1:2] if self.quick else HEIGHTS_M
        return tuple(_Case(height, identifies) for height in heights for identifies in (True, False))


def _walk(robot: RobotLoop, case: _Case, seed: int, *, quick: bool) -> CrawlRun:
    plan = walk_plan(seed, quick=quick, walked=WALKED_S)
    ground = {"ground.terrain": "stones", "ground.roughness": case.height, "ground.cell": CELL_M}
    loop = robot.build(
        overrides={SIMULATOR_NODE: {**ground, "ground.seed": seed}} if case.height else {},
        disturbances=[load_on_trunk(robot.inertial().robot, TRUNK, LOAD_N, np.array(POINT_B), plan.load_s)],
        seed=seed,
        payload=case.identifies,
        inertial=False,
    )
    return crawl_run(loop, plan, identified_trunk, identified_trunk, hoist_s=hoist_time(quick=quick))


def _rows(case: _Case, runs: list[CrawlRun]) -> list[TableRow]:
    found, count = outcomes(runs), len(runs)
    falls = float(np.isfinite(found["fell"]).sum())
    bound = Bound("==", 0.0 if case.identifies else float(count))
    rows = [TableRow(f"{case.name}: falls, of {count}", "", falls, bound=bound)]
    if not case.identifies:
        return rows
    name = case.name
    before = [_false_changes(run) for run in runs]
    return [
        *rows,
        TableRow(f"{name}: load change found, of {count}", "", float(np.isfinite(found["detected"]).sum())),
        TableRow(f"{name}: load changes reported before the load came", "", float(sum(before))),
        TableRow(
            f"{name}: error in x and y, worst",
            "mm",
            float(found["error"].max()),
            aim=Bound("<=", AIM_ERROR_MM),
        ),
        TableRow(f"{name}: error of the trunk's mass, worst", "%", float(found["mass_error"].max())),
        TableRow(f"{name}: distance to the edge of the support, least", "mm", float(found["margin"].min())),
        TableRow.over_seeds(f"{name}: speed", "m/s", found["speed"]),
    ]


def _false_changes(run: CrawlRun) -> int:
    """Return the number of load changes reported before there was a load."""
    return sum(
        e.kind in (EventKind.LOADED, EventKind.UNLOADED, EventKind.SHIFTED) and e.time_s < run.load_s
        for e in run.events
    )
