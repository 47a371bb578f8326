"""TALOS balanced by the tilt observer in the loop: leans its chest, walks forward (Benallegue et al., V-B).

The controller knows orientation and velocity of the base only from the observer, whose sensors have noise
and a biased gyroscope. Paper: the chest leans by 25 deg and comes back, all in 2 s; a walk forward; both
succeeded on two robots, no numbers. Here each is a run of its own, for every seed of the noise. For
comparison the first seed is run again with the true base state, with estimated inertias in the loop as well,
on rough ground and with longer steps.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_walk import ScheduledWalk
from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.balance_run import (
    BalanceRun,
    Lean,
    ReferenceMotion,
    balance_run,
    steps_landed,
)
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, Series, Span, thinned
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import DEGREES

WAIST = "torso_2_joint"
LEAN_DEG, LEAN_S = 25.0, 2.0
LEAST_LEAN_DEG = 23.0
LEFT_DEG = 2.5  # what counts as back: a tenth of the lean
STEP_M, LONG_STEP_M, ROUGHNESS_M = 0.15, 0.25, 0.01
SETTINGS = {CONTROLLER_NODE: {"references.angle_rate": 2.0, "references.angle_acceleration": 12.0}}
Metrics = dict[str, float]


@dataclass(frozen=True)
class _Plan:
    """The commanded motions, with times from the release on.

    Attributes:
        begin_s: When a motion begins [s].
        lean_s: Time of the lean, there and back [s].
        lean_run_s: Length of its run [s].
        steps: Steps to walk.
        walk_run_s: Length of the walk's run [s].
        hoist_s: Time on the hoist before [s].
    """

    begin_s: float
    lean_s: float
    lean_run_s: float
    steps: int
    walk_run_s: float
    hoist_s: float


FULL = _Plan(1.0, LEAN_S, 5.0, 10, 15.0, hoist_time(quick=False))
QUICK = _Plan(0.3, 1.2, 1.8, 2, 3.4, hoist_time(quick=True))


@dataclass(frozen=True)
class _Case:
    """How a run differs from the one that is judged.

    Attributes:
        name: In the table.
        truth: The controller is given the true base state.
        inertias: The inertial filter is in the loop, too.
        overrides: Parameters by node.
        step_m: Length of a step [m].
        leans: Whether the lean is run, too.
    """

    name: str
    truth: bool = False
    inertias: bool = False
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    step_m: float = STEP_M
    leans: bool = True


ROUGH = {SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": ROUGHNESS_M}}
JUDGED = _Case("observer in the loop")
OTHERS = (
    _Case("true base state", truth=True),
    _Case("inertias estimated, too", inertias=True),
    _Case(f"ground rough by +-{1e3 * ROUGHNESS_M:g} mm", overrides=ROUGH, leans=False),
    _Case(f"steps of {LONG_STEP_M:g} m", step_m=LONG_STEP_M, leans=False),
)
QUICK_CASE = replace(OTHERS[0], leans=False)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs by motion: of each seed, and of the other cases by name."""

    judged: list[dict[str, BalanceRun]]
    compared: dict[str, dict[str, BalanceRun]]


class BenallegueLoop(Experiment[_Runs]):
    """Lean and walk for every seed, then the other cases with the first one.

    Bounds: no fall, the lean done in time, all steps made. A quick run has one seed, a faster lean and two
    steps, and of the other cases the true base state only.
    """

    figure_columns = 2
    quick_seeds = 1

    @property
    def plan(self) -> _Plan:
        """The commanded motions."""
        return QUICK if self.quick else FULL

    def simulate(self, trials: Trials) -> _Runs:
        """Lean and walk for every seed, then the other cases with the first one."""
        robot, seeds = RobotLoop("talos", SETTINGS), self.seeds
        others = (QUICK_CASE,) if self.quick else OTHERS
        cases = [(JUDGED, seed) for seed in seeds] + [(case, seeds[0]) for case in others]
        found = trials.results([partial(_both, robot, case, seed, self.plan) for case, seed in cases])
        compared = {case.name: runs for case, runs in zip(others, found[len(seeds) :], strict=True)}
        return _Runs(found[: len(seeds)], compared)

    def table(self, data: _Runs) -> list[TableRow]:
        """Return falls, tracking and tilt errors."""
        judged = _judged_rows(self._figures(data), self.plan.steps)
        return judged + _compared_rows(data.compared, self.plan)

    def panels(self, data: _Runs) -> tuple[Panel, ...]:
        """Return both motions of the first seed, a column each (B Fig. 5 to 7)."""
        runs, seed, plan = data.judged[0], self.seeds[0], self.plan
        columns = [_column(motion, one, seed, plan) for motion, one in runs.items()]
        return tuple(panel for row in zip(*columns, strict=True) for panel in row)

    def per_seed(self, data: _Runs) -> dict[str, tuple[float, ...]]:
        """Return all metrics of both motions."""
        return {
            f"{motion}: {name}": tuple(one[name] for one in metrics)
            for motion, metrics in self._figures(data).items()
            for name in metrics[0]
        }

    def settings(self, data: _Runs) -> Mapping[str, float | str]:
        """Return the controller's parameters and the motions."""
        plan = self.plan
        settings: dict[str, float | str] = {
            f"{node} {name}": value for node, values in SETTINGS.items() for name, value in values.items()
        }
        return settings | {
            "lean asked for [deg]": LEAN_DEG,
            "time there and back [s]": plan.lean_s,
            "motions begin [s]": plan.begin_s,
            "steps": plan.steps,
            "length of a step [m]": STEP_M,
            "run of the lean [s]": plan.lean_run_s,
            "run of the walk [s]": plan.walk_run_s,
        }

    def facts(self, data: _Runs) -> tuple[str, ...]:
        """Return who fell, and how the rows are to be read."""
        figures, compared, seed = self._figures(data), data.compared, self.seeds[0]
        fallen = [
            f"{motion} of seed {i + 1} of {len(metrics)}"
            for motion, metrics in figures.items()
            for i, one in enumerate(metrics)
            if one["falls"]
        ]
        fallen += [
            f"{motion}, {case}"
            for case, runs in compared.items()
            for motion, one in runs.items()
            if one.fallen
        ]
        return (
            f"fell: {'; '.join(fallen) or 'none'}",
            "paper: both motions succeeded on two robots, no numbers; lean and steps of TALOS are asked "
            "for here",
            "errors are judged by the true base: a wrong tilt of the estimate counts in pelvis, CoM and DCM",
            f"rows of other cases: seed {seed} alone, without bounds",
        )

    def _figures(self, data: _Runs) -> dict[str, list[Metrics]]:
        """Return the metrics of each seed by motion."""
        return {
            motion: [_metrics(motion, runs[motion], self.plan) for runs in data.judged]
            for motion in data.judged[0]
        }


def _both(robot: RobotLoop, case: _Case, seed: int, plan: _Plan) -> dict[str, BalanceRun]:
    motions: dict[str, ReferenceMotion] = {}
    if case.leans:
        motions["lean"] = Lean(float(np.radians(LEAN_DEG)), plan.begin_s, plan.lean_s, plan.lean_run_s)
    motions["walk"] = ScheduledWalk(WalkCommand(plan.steps, case.step_m), plan.begin_s, plan.walk_run_s)
    return {name: _one(robot, case, seed, motion, plan.hoist_s) for name, motion in motions.items()}


def _one(robot: RobotLoop, case: _Case, seed: int, motion: ReferenceMotion, hoist_s: float) -> BalanceRun:
    loop = robot.build(overrides=case.overrides, seed=seed, inertial=case.inertias)
    if case.truth:
        loop.tilt = None
    return balance_run(loop, motion, WAIST, hoist_s=hoist_s)


def _metrics(motion: str, one: BalanceRun, plan: _Plan) -> Metrics:
    c = one.columns
    metrics = {"falls": float(one.fallen), "ticks without a solution": float(one.damped)}
    if motion == "lean":
        metrics |= _lean_metrics(c, plan.begin_s)
    else:
        forces = [c[foot] for foot in one.feet]
        metrics["steps made"] = float(steps_landed(c["time"], forces, plan.begin_s))
        metrics["distance [m]"] = float(c["ahead"][-1])
        metrics["drift aside [m]"] = float(c["aside"][-1])
    for name, key, unit, scale in (
        ("tilt error of the estimate", "tilt", "deg", DEGREES),
        ("tilt of the pelvis against its reference", "pelvis", "deg", DEGREES),
        ("height of the pelvis against its reference", "height", "mm", 1e3),
        ("centre of mass against its reference", "com", "mm", 1e3),
        ("DCM against its reference", "dcm", "mm", 1e3),
    ):
        metrics[f"{name}, rms [{unit}]"] = scale * rms(c[key])
        if key in ("tilt", "dcm"):
            metrics[f"{name}, largest [{unit}]"] = scale * float(np.abs(c[key]).max())
    return metrics


def _lean_metrics(c: Mapping[str, Array], begin_s: float) -> Metrics:
    """Chest lean reached, when, and what is left of it where the 2 s are over; all of the true chest."""
    t, chest = c["time"] - begin_s, np.degrees(c["chest"] - np.interp(begin_s, c["time"], c["chest"]))
    top = int(chest.argmax())
    back = np.flatnonzero(chest[top:] < LEFT_DEG)
    left = float(np.interp(LEAN_S, t, chest))
    return {
        "lean of the chest [deg]": float(chest[top]),
        "lean of the pelvis [deg]": float(np.degrees(c["pitch"].max())),
        f"back within {LEFT_DEG:g} deg after [s]": float(t[top + back[0]]) if len(back) else float("nan"),
        f"left after {LEAN_S:g} s [deg]": left,
    }


PAPER = {"falls": 0.0, "lean of the chest [deg]": LEAN_DEG, f"back within {LEFT_DEG:g} deg after [s]": LEAN_S}


def _bounded(steps: int) -> Mapping[str, tuple[str, Callable[[Array], float], Bound]]:
    """Quantities with a bound, and which value of the seeds has to keep it."""
    return {
        "falls": ("sum", np.sum, Bound("==", 0.0)),
        "lean of the chest [deg]": ("least", np.min, Bound(">=", LEAST_LEAN_DEG)),
        f"back within {LEFT_DEG:g} deg after [s]": ("largest", np.max, Bound("<=", LEAN_S)),
        "steps made": ("least", np.min, Bound(">=", float(steps))),
    }


def _judged_rows(figures: Mapping[str, Sequence[Metrics]], steps: int) -> list[TableRow]:
    rows, bounded = [], _bounded(steps)
    for motion, metrics in figures.items():
        for name in metrics[0]:
            quantity, unit = _unit(name)
            values = np.array([one[name] for one in metrics])
            paper = PAPER.get(name)
            if name in bounded:
                which, choose, bound = bounded[name]
                ours = float(choose(values))
                rows.append(TableRow(f"{motion}: {quantity}, {which}", unit, ours, None, paper, bound=bound))
            elif name.startswith(("ticks", "left")) or "largest" in name:
                worst = float(values[np.abs(values).argmax()])
                rows.append(TableRow(f"{motion}: {quantity}, of all seeds", unit, worst))
            else:
                rows.append(TableRow.over_seeds(f"{motion}: {quantity}", unit, values))
    return rows


def _compared_rows(compared: Mapping[str, Mapping[str, BalanceRun]], plan: _Plan) -> list[TableRow]:
    """Return the quantities of single runs, without bounds."""
    rows = []
    for case, runs in compared.items():
        for motion, one in runs.items():
            for name, value in _metrics(motion, one, plan).items():
                quantity, unit = _unit(name)
                if not (case == QUICK_CASE.name and quantity.startswith("tilt error")):
                    rows.append(TableRow(f"{motion}, {case}: {quantity}", unit, value))
    return rows


def _unit(name: str) -> tuple[str, str]:
    """Split "quantity [unit]"."""
    quantity, _, unit = name.partition(" [")
    return quantity, unit.rstrip("]")


def _column(motion: str, one: BalanceRun, seed: int, plan: _Plan) -> tuple[Panel, ...]:
    c, t = one.columns, one.columns["time"]
    label = f"time, {motion} [s]"
    spans = (Span(plan.begin_s, plan.begin_s + plan.lean_s, "there and back"),) if motion == "lean" else ()
    tilts: tuple[Series, ...] = (
        thinned("true", t, c["x"], "reference"),
        thinned("", t, c["y"], "reference"),
        thinned("estimate, x", t, c["x_hat"], "thin", 0),
        thinned("estimate, y", t, c["y_hat"], "thin", 1),
    )
    forces = tuple(
        thinned(foot.removeprefix("force_").replace("_", " "), t, c[foot], "thin", 3 + i)
        for i, foot in enumerate(one.feet)
    )
    dcm = (thinned("DCM", t, 1e3 * c["dcm"], "thin", 5), thinned("CoM", t, 1e3 * c["com"], "thin", 6))
    error = (thinned("error", t, np.degrees(c["tilt"]), "thin", 2),)
    accelerometer = (thinned("accelerometer", t, c["accelerometer"], "thin", 7),)
    return (
        Panel(f"Accelerometer, {motion} (seed {seed})", label, "norm [m/s^2]", accelerometer, spans),
        Panel(f"Vertical in the base, {motion}", label, "component [-]", tilts, spans),
        Panel(f"Error of the estimated vertical, {motion}", label, "angle [deg]", error, spans),
        Panel(f"True vertical forces, {motion}", label, "force [N]", forces, spans),
        Panel(f"Distance from the reference, {motion}", label, "distance [mm]", dcm, spans),
    )
