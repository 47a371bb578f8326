"""TALOS, balanced with the tilt observer in the loop, leans its chest and walks (Benallegue et al., V-B).

The controller gets orientation and velocity of the base only from the observer, whose sensors have noise
and a biased gyroscope. Paper: the chest leans by 25 deg and comes back, all in 2 s; a walk forward; both
succeeded on two robots, without numbers. Here each motion is a separate run, for every seed of the noise. For
comparison the first seed is run again with the true base state, with estimated inertias in the loop as well,
on rough ground and with longer steps.

Tracking errors are against the true state. The reference of the DCM is known to the controller relative to
the estimated base; it is transformed to the world by the true pose of the base and the error of the estimated
orientation, so that a wrong tilt counts as an error of the DCM.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time, walk_at
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.result import ExperimentResult, Trials, metric_rows, over_time, row
from inertial_estimation.figures import Panel, Span
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_trajectory import minimum_jerk
from inertial_estimation.replay.metrics import angles_between
from inertial_estimation.signals import Array, BaseReference
from inertial_estimation.spatial.linear_algebra import rms
from inertial_estimation.spatial.rotations import (
    DEGREES,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
)

WAIST = "torso_2_joint"  # about y, between base and chest
FORCE = "force "  # prefix of the names of the columns with the feet's forces


class _Plan(NamedTuple):
    """The commanded motions, with times from the release on [s]."""

    begin_s: float = 1.0
    lean_deg: float = 25.0  # lean of the chest, by the pitch of the base: minimum jerk there and back [deg]
    lean_s: float = 2.0  # duration of the lean, half of it there, half of it back [s]
    lean_run_s: float = 5.0
    steps: int = 10
    walk_run_s: float = 15.0
    back_deg: float = 2.5  # lean from which on the chest counts as back: a tenth of `lean_deg` [deg]

    def lean(self, loop: ClosedLoop) -> None:
        """Request the present pitch of the lean; the height is kept."""
        last = loop.controller.last
        if last is None or loop.time_s < self.begin_s:
            return
        half, t = 0.5 * self.lean_s, loop.time_s - self.begin_s
        u = min(1.0, max(0.0, (t if t < half else self.lean_s - t) / half))
        share, slope, _ = minimum_jerk(u)
        angle = math.radians(self.lean_deg)
        pitch, rate = angle * share, angle * math.copysign(slope / half, half - t)
        loop.controller.push_base_reference(BaseReference(last.height_ref, pitch=pitch, pitch_rate=rate))


FULL = _Plan()
QUICK = _Plan(0.3, lean_s=1.2, lean_run_s=1.8, steps=2, walk_run_s=3.4)


class _Run(NamedTuple):
    """Result of one run.

    The columns are, by name, shape (n,) each: time [s]; pitch of base and chest [rad]; x, y (horizontal parts
    of the vertical in the base, true) and x_hat, y_hat [-]; tilt (error of the estimate), pelvis (angle
    between true vertical and that of the reference) [rad]; height (of the base above the soles against the
    reference), dcm (distance from its reference) [m]; ahead, aside (position of the base) [m];
    the vertical force of each foot [N].
    """

    fallen: bool  # whether the robot fell, which ends the run
    damped: int  # number of ticks for which the controller had no solution
    steps: int  # number of landed swings
    columns: dict[str, Array]


def _balance(
    loop: ClosedLoop, command: Callable[[ClosedLoop], None], duration_s: float, hoist_s: float
) -> _Run:
    """Release TALOS after a time on its hoist [s], command a motion, record until its end or a fall."""
    loop.release(hoist_s)
    begin, waist = loop.simulation.truth(), loop.simulation.robot.joint_index(WAIST)

    def look(loop: ClosedLoop) -> dict[str, float]:
        command(loop)
        truth, last = loop.simulation.truth(), loop.controller.last
        assert last is not None
        if last.state is not ControlState.CONTROL:
            return {}
        R_WB = rotation_from_quaternion(truth.base.quaternion_xyzw)
        estimated = loop.base.state if loop.tilt is not None and loop.base is not None else truth.base
        R_hat = rotation_from_quaternion(estimated.quaternion_xyzw)
        roll, pitch = loop.controller.controller.references.tilt.position
        R_ref = rotation_from_roll_pitch_yaw(roll, pitch, 0.0)
        # The estimated reference point on the ground, in the world by the true base pose.
        dcm_ref = (truth.base.p_WB + R_WB @ R_hat.T @ np.array([*last.dcm_ref, -last.height]))[:2]
        omega = math.sqrt(STANDARD_GRAVITY / float(last.com[2] + last.height))
        dcm = truth.com_W[:2] + truth.com_velocity_W[:2] / omega
        true_pitch = math.atan2(R_WB[0, 2], R_WB[2, 2])
        tilt, pelvis = angles_between(R_WB[[2, 2]], np.stack((R_hat[2], R_ref[2]))).tolist()
        moved = truth.base.p_WB - begin.base.p_WB
        return {
            "pitch": true_pitch,
            "chest": true_pitch + float(truth.q[waist] - begin.q[waist]),
            "x": R_WB[2, 0],
            "y": R_WB[2, 1],
            "x_hat": R_hat[2, 0],
            "y_hat": R_hat[2, 1],
            "tilt": tilt,
            "pelvis": pelvis,
            "height": last.height - last.height_ref,
            "dcm": float(np.hypot(*(dcm - dcm_ref))),
            "ahead": moved[0],
            "aside": moved[1],
            **{FORCE + name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()},
        }

    columns = loop.record(duration_s, look)
    counts, steps = loop.controller.supervisor.counts, loop.controller.controller.gait.steps_made
    return _Run(loop.simulation.fallen, counts.damped + counts.held, steps, columns)


class _Case(NamedTuple):
    """Differences of a run from the one that the bounds apply to."""

    truth: bool = False  # whether the controller gets the true base state
    inertias: bool = False  # whether the inertial filter is in the loop, too
    overrides: Overrides | None = None
    step_m: float = 0.15
    leans: bool = True  # whether the lean is run, too


JUDGED, TRUE_STATE = "observer in the loop", "true base state"
CASES = {
    JUDGED: _Case(),
    TRUE_STATE: _Case(truth=True),
    "inertias estimated, too": _Case(inertias=True),
    "ground rough by +-10 mm": _Case(
        overrides={SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": 0.01}}, leans=False
    ),
    "steps of 0.25 m": _Case(step_m=0.25, leans=False),
}
QUICK_CASES = {JUDGED: _Case(), TRUE_STATE: _Case(truth=True, leans=False)}


def run(trials: Trials) -> ExperimentResult:
    """Lean and walk for every seed, then the other cases with the first one."""
    robot = RobotLoop("talos")
    plan, cases = (QUICK, QUICK_CASES) if trials.quick else (FULL, CASES)
    others = [name for name in cases if name != JUDGED]
    runs = trials.by_case(
        {name: partial(_both, robot, case, trials.quick) for name, case in cases.items()},
        first_seed_only=others,
    )
    judged = runs[JUDGED]
    rules: dict[str, list[dict[str, Any]]] = {
        "falls": [{"summary": "sum", "bound": "== 0", "paper": 0.0}],
        "ticks without a solution": [{"summary": "max"}],
        CHEST: [{"summary": "min", "bound": ">= 23", "paper": FULL.lean_deg}],
        BACK: [{"summary": "max", "bound": f"<= {FULL.lean_s}", "paper": FULL.lean_s}],
        "steps": [{"summary": "min", "bound": f">= {plan.steps}"}],
        **{f"{name}, largest in a run": [{"summary": "max"}] for name, *_ in ERRORS},
    }
    rows = [
        one
        for motion in judged[0]
        for one in metric_rows(motion, [_metrics(motion, both[motion], plan) for both in judged], rules)
    ]
    compared = {(case, motion): one for case in others for motion, one in runs[case][0].items()}
    rows += [
        row(f"{motion}, {case}: {quantity}", unit, value)
        for (case, motion), one in compared.items()
        for (quantity, unit), value in _metrics(motion, one, plan).items()
        if not (case == TRUE_STATE and quantity.startswith("tilt error"))
    ]
    facts = (f"rows of other cases: seed {trials.seeds[0]} alone, without bounds",)
    columns = [_panels(motion, one.columns, trials.seeds[0], plan) for motion, one in judged[0].items()]
    panels = [panel for pair in zip(*columns, strict=True) for panel in pair]
    return ExperimentResult(trials.seeds, rows, facts, panels=panels)


def _both(robot: RobotLoop, case: _Case, quick: bool, seed: int) -> dict[str, _Run]:
    plan, runs = QUICK if quick else FULL, {}
    motions: dict[str, tuple[Callable[[ClosedLoop], None], float]] = {}
    motions |= {"lean": (plan.lean, plan.lean_run_s)} if case.leans else {}
    motions |= {"walk": (walk_at(plan.begin_s, WalkCommand(plan.steps, case.step_m)), plan.walk_run_s)}
    for name, motion in motions.items():
        loop = robot.build(overrides=case.overrides, seed=seed, inertial=case.inertias)
        if case.truth:
            loop.tilt = None
        runs[name] = _balance(loop, *motion, hoist_time(quick=quick))
    return runs


ERRORS = (  # of a run: name, column, unit, scale
    ("tilt error of the estimate", "tilt", "deg", DEGREES),
    ("tilt of the pelvis against its reference", "pelvis", "deg", DEGREES),
    ("height of the pelvis against its reference", "height", "mm", 1e3),
    ("DCM against its reference", "dcm", "mm", 1e3),
)
CHEST, BACK = "lean of the chest", f"back within {FULL.back_deg:g} deg after"


def _metrics(motion: str, one: _Run, plan: _Plan) -> dict[tuple[str, str], float]:
    """Return quantities of a run by name and unit; those of the lean are of the true chest."""
    c = one.columns
    metrics = {("falls", ""): float(one.fallen), ("ticks without a solution", ""): float(one.damped)}
    if motion == "lean":
        t = c["time"] - plan.begin_s
        chest = np.degrees(c["chest"] - np.interp(plan.begin_s, c["time"], c["chest"]))
        top = int(chest.argmax())
        back = np.flatnonzero(chest[top:] < plan.back_deg)
        metrics[CHEST, "deg"] = float(chest[top])
        metrics["lean of the pelvis", "deg"] = float(np.degrees(c["pitch"].max()))
        metrics[BACK, "s"] = float(t[top + back[0]]) if len(back) else float("nan")
        metrics[f"left after {FULL.lean_s:g} s", "deg"] = float(np.interp(FULL.lean_s, t, chest))
    else:
        metrics["steps", ""] = float(one.steps)
        metrics["distance", "m"] = float(c["ahead"][-1])
        metrics["drift aside", "m"] = float(c["aside"][-1])
    for name, key, unit, scale in ERRORS:
        metrics[f"{name}, rms", unit] = scale * rms(c[key])
        if key in ("tilt", "dcm"):
            metrics[f"{name}, largest in a run", unit] = scale * float(np.abs(c[key]).max())
    return metrics


def _panels(motion: str, c: Mapping[str, Array], seed: int, plan: _Plan) -> tuple[Panel, ...]:
    """Return a column of the figure (B Fig. 5 to 7)."""
    t = c["time"]
    spans = (Span(plan.begin_s, plan.begin_s + plan.lean_s, "there and back"),) if motion == "lean" else ()
    panel = partial(over_time, x_label=f"time, {motion} [s]", spans=spans)
    tilts = (
        ("true", t, c["x"], "reference"),
        ("", t, c["y"], "reference"),
        ("estimate, x", t, c["x_hat"], "thin", 0),
        ("estimate, y", t, c["y_hat"], "thin", 1),
    )
    feet = [name for name in c if name.startswith(FORCE)]
    forces = (
        (name.removeprefix(FORCE).replace("_", " "), t, c[name], "thin", 3 + i) for i, name in enumerate(feet)
    )
    error, dcm = ("error", t, np.degrees(c["tilt"]), "thin", 2), ("DCM", t, 1e3 * c["dcm"], "thin", 5)
    return (
        panel(f"Vertical in the base, {motion} (seed {seed})", "component [-]", *tilts),
        panel(f"Error of the estimated vertical, {motion}", "angle [deg]", error),
        panel(f"True vertical forces, {motion}", "force [N]", *forces),
        panel(f"Distance from the reference, {motion}", "distance [mm]", dcm),
    )
