"""Tournois et al., V-A, Table II and Fig. 6: the trunk's centre of mass by three approaches, standing.

HyQ carries no load, 50 N or 100 N at a point outside its trunk and assumes the trunk's centre of mass to be
several centimetres from where the description has it.
"""

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
from inertial_estimation.experiments.figure_description import Level, Panel, thinned
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
    STANDING_S,
    IdentificationTrial,
    Scene,
    identification,
    perturbed,
    standing_loop,
)
from inertial_estimation.signals import Array

APPROACHES = {
    "static_poses": "(a) static poses",
    "orientation_error": "(b) orientation error",
    "contact_forces": "(c) contact forces",
}
PAPER_CM = {
    "static_poses": (0.010, 0.357, 0.513),
    "orientation_error": (0.020, 0.049, 0.452),
    "contact_forces": (0.006, 0.125, 0.586),
}
PAPER_WORST_CM = 0.586
PAPER_Z_CM = {"static_poses": 2.0, "orientation_error": 1.0}
LIMIT_S = {"static_poses": 60.0, "orientation_error": 60.0, "contact_forces": 15.0}
NEAR_M = 2e-3  # Fig. 6: within this in under 2 s
CASE = "by {}, {:g} N"


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """Identifications by approach and load, one for each seed; and those a load that comes starts."""

    by_case: dict[tuple[str, float], list[IdentificationTrial]]
    loaded: list[IdentificationTrial]

    def values(self, case: tuple[str, float], what: str) -> Array:
        """Return a property of each seed's identification, shape (n,)."""
        return np.array([getattr(trial, what) for trial in self.by_case[case]], dtype=np.float64)

    @property
    def all(self) -> list[IdentificationTrial]:
        """Every identification."""
        return [trial for trials in self.by_case.values() for trial in trials] + self.loaded


class TournoisCom(Experiment[_Trials]):
    """Identification by every approach with every load, for every seed of the sensor noise."""

    figure_columns = 2

    def simulate(self, trials: Trials) -> _Trials:
        """Identify by every approach with every load, for every seed of the sensor noise."""
        robot, seeds, hoist_s = RobotLoop(ROBOT), self.seeds, hoist_time(quick=self.quick)
        approaches = ("contact_forces",) if self.quick else tuple(APPROACHES)
        cases = [(a, load) for a in approaches for load in (LOADS_N[-1:] if self.quick else LOADS_N)]
        unlike, shortened = perturbed(robot), {PAYLOAD_NODE: dict(QUICK)} if self.quick else {}
        calls = {
            (approach, load): [
                partial(_trial, unlike, Scene(load), seed, approach, approach, hoist_s, shortened)
                for seed in seeds
            ]
            for approach, load in cases
        }
        scene, loaded = Scene(LOADS_N[-1], load_s=STANDING_S), ("", LOADS_N[-1])
        if not self.quick:
            calls[loaded] = [
                partial(_trial, robot, scene, seed, "", "contact_forces", hoist_s) for seed in seeds
            ]
        found = trials.by_case(calls)
        return _Trials(loaded=found.pop(loaded, []), by_case=found)

    def table(self, data: _Trials) -> list[TableRow]:
        """Return Table II, errors in z, times and mass."""
        return [
            *_horizontal_rows(data),
            *_height_rows(data),
            *_time_rows(data),
            TableRow(
                "mass of the trunk, error, median of all",
                "%",
                1e2 * float(np.median([trial.mass_error for trial in data.all])),
            ),
            worst_mass_row(data.all),
            unfinished_row(data.all, bound=Bound("==", 0.0)),
        ]

    def panels(self, data: _Trials) -> tuple[Panel, ...]:
        """Return the centre of mass over time, first seed, largest load (T Fig. 6)."""
        trials, seed = data, self.seeds[0]
        largest = LOADS_N[-1]
        shown = trials.loaded[0] if trials.loaded else trials.by_case["contact_forces", largest][0]
        since = "the load came" if trials.loaded else "the request"
        c, label = shown.columns, f"time since {since} [s]"
        panels = [
            Panel(
                f"(c), {largest:g} N, {axis}, seed {seed}",
                label,
                "centre of mass [m]",
                (
                    thinned("true", c["time"], c[axis], "reference"),
                    thinned("identified", c["time"], c[f"{axis}_hat"], colour=0),
                ),
            )
            for axis in "xy"
        ]
        curves = [
            thinned(APPROACHES[approach], ts[0].columns["time"], 1e2 * np.hypot(*ts[0].error_L[:, :2].T))
            for (approach, load), ts in trials.by_case.items()
            if load == largest
        ]
        heights = [
            thinned(APPROACHES[approach], ts[0].columns["time"], 1e2 * ts[0].error_L[:, 2])
            for (approach, load), ts in trials.by_case.items()
            if load == largest
        ]
        asked = "time since the request [s]"
        near = Level(1e2 * NEAR_M, "2 mm")
        return (
            *panels,
            Panel(f"{largest:g} N, x and y", asked, "|delta| [cm]", tuple(curves), levels=(near,), log=True),
            Panel(f"{largest:g} N, z", asked, "error [cm]", tuple(heights)),
        )

    def per_seed(self, data: _Trials) -> dict[str, tuple[float, ...]]:
        """Return the horizontal error by approach and load."""
        return {
            f"|delta| [cm], {CASE.format(APPROACHES[a], load)}": tuple(errors_cm(trials))
            for (a, load), trials in data.by_case.items()
        }

    def settings(self, data: _Trials) -> Mapping[str, float | str]:
        """Return the position of the load and the estimates at the start."""
        return {
            "load at, base frame [m]": str(POINT_B),
            "centre of mass believed off by [m]": str(COM_ERROR_L),
        }

    def facts(self, data: _Trials) -> tuple[str, ...]:
        """Return what the paper leaves open, how long identifications take, and refusals."""
        trials = data
        lasted = {
            approach: float(
                np.median(
                    [
                        t.columns["time"][-1]
                        for case, ts in trials.by_case.items()
                        if case[0] == approach
                        for t in ts
                    ]
                )
            )
            for approach in dict.fromkeys(approach for approach, _ in trials.by_case)
        }
        return (
            "The load's point is taken in the axes of HyQ's base: x forward, y left, z up, origin amid "
            "the hips. The paper does not write its axes down; its real robot was loaded on the left hind "
            "corner.",
            "The paper does not say how large its errors at the start are, nor what noise its sensors have.",
            "An identification lasts, median: "
            + ", ".join(f"{APPROACHES[approach]} {time:.1f} s" for approach, time in lasted.items())
            + ".",
            *refusal_facts(data.all),
        )


def _trial(
    robot: RobotLoop,
    scene: Scene,
    seed: int,
    approach: str,
    limit_of: str,
    hoist_s: float,
    overrides: dict[str, dict[str, Any]] | None = None,
) -> IdentificationTrial:
    """Identify once; the approach may be left to the node, its time limit is that of an approach."""
    loop = standing_loop(robot, scene, seed, hoist_s=hoist_s, overrides=overrides)
    return identification(loop, approach, LIMIT_S[limit_of])


def _horizontal_rows(trials: _Trials) -> list[TableRow]:
    """Return Table II: median and worst seed of every entry."""
    rows = []
    bound, aim = Bound("<=", PAPER_WORST_CM), Bound("<=", 0.5 * PAPER_WORST_CM)
    for (approach, load), _ in trials.by_case.items():
        errors = errors_cm(trials.by_case[approach, load])
        paper = PAPER_CM[approach][LOADS_N.index(load)]
        name = f"|delta| in x and y {CASE.format(APPROACHES[approach], load)}"
        rows += [
            TableRow(f"{name}, median", "cm", float(np.median(errors)), float(errors.std()), paper),
            TableRow(f"{name}, worst seed", "cm", float(errors.max()), None, paper, bound, aim),
        ]
    return rows


def _height_rows(trials: _Trials) -> list[TableRow]:
    rows = []
    for approach, paper in PAPER_Z_CM.items():
        cases = [case for case in trials.by_case if case[0] == approach]
        if cases:
            errors = 1e2 * np.concatenate([trials.values(case, "error_z") for case in cases])
            name = f"z by {APPROACHES[approach]}, all loads"
            rows += [
                TableRow(f"{name}, median", "cm", float(np.median(errors)), float(errors.std()), paper),
                TableRow(
                    f"{name}, worst",
                    "cm",
                    float(errors.max()),
                    None,
                    paper,
                    Bound("<=", paper),
                    Bound("<=", 0.5),
                ),
            ]
    return rows


def _time_rows(trials: _Trials) -> list[TableRow]:
    """Return how soon (c) is near and stays there, Fig. 6."""
    largest = LOADS_N[-1]
    asked = _times_of(trials.by_case["contact_forces", largest])
    name = f"(c), {largest:g} N, within 2 mm to stay"
    rows = []
    if trials.loaded:
        loaded = _times_of(trials.loaded)
        rows = [
            TableRow(
                f"{name}, load on a robot that knows its trunk, from the recursion's begin, worst seed",
                "s",
                float((loaded[0] - loaded[1]).max()),
                paper=2.0,
                bound=Bound("<", 2.0),
            ),
            TableRow(f"{name}, from the load's coming (detected), worst seed", "s", float(loaded[0].max())),
        ]
    start = "start off in z, too"
    return [
        *rows,
        TableRow(
            f"{name}, {start}, from the recursion's begin, worst seed",
            "s",
            float((asked[0] - asked[1]).max()),
        ),
        TableRow(f"{name}, {start}, from the request, worst seed", "s", float(asked[0].max())),
    ]


def _times_of(trials: Sequence[IdentificationTrial]) -> Array:
    """Return when each is near to stay and when its recursion begins [s], shape (2, n)."""
    times: Array = np.array([(trial.settled(NEAR_M), trial.begins) for trial in trials]).T
    return times
