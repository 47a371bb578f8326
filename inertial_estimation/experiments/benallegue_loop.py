"""TALOS balanced by the tilt observer in the loop: leans its chest, walks forward (Benallegue et al., V-B).

The controller knows orientation and velocity of the base only from the observer, whose sensors have noise
and a biased gyroscope. Paper: the chest leans by 25 deg and comes back, all in 2 s; a walk forward; both
succeeded on two robots, no numbers. Here each is a run of its own, for every seed of the noise. For
comparison the first seed is run again with the true base state, with estimated inertias in the loop as well,
on rough ground and with longer steps.

What is tracked is judged by the truth. The reference of the DCM is fixed to the feet as the controller
believes it to lie relative to the base; it is carried into the world by the true pose of the base, turned by
the error of the estimated orientation: so that a wrong tilt counts as an error of the DCM.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_motions import ScheduledWalk
from inertial_estimation.closed_loop.time_series import TimeSeries, rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.control.controller import ControlState
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.figures import Panel, Span, thinned
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array, BaseReference
from inertial_estimation.spatial.minimum_jerk import minimum_jerk_derivatives
from inertial_estimation.spatial.rotations import DEGREES, exp_so3, rotation_from_quaternion

WAIST = "torso_2_joint"  # about y, between base and chest
FORCE_PREFIX = "force_"  # begins the names of the columns with the feet's forces


class Lean(NamedTuple):
    """Pitch the base forward and back by minimum jerk, half of the time each."""

    angle: float  # largest commanded pitch, positive forward [rad]
    begin_s: float = 1.0
    moving_s: float = 2.0  # there and back
    duration_s: float = 5.0  # of the run

    def pitch(self, time_s: float) -> tuple[float, float]:
        """Return pitch [rad] and its rate [rad/s] at a time since the release."""
        half = 0.5 * self.moving_s
        t = time_s - self.begin_s
        u = min(1.0, max(0.0, (t if t < half else self.moving_s - t) / half))
        share, slope, _ = minimum_jerk_derivatives(u)
        rate = math.copysign(slope / half, half - t)
        return self.angle * share, self.angle * rate

    def command(self, loop: ClosedLoop) -> None:
        """Ask for the pitch of now; the height stays."""
        last = loop.controller.last
        if last is None or loop.time_s < self.begin_s:
            return
        pitch, rate = self.pitch(loop.time_s)
        loop.controller.push_base_reference(BaseReference(last.height_ref, pitch=pitch, pitch_rate=rate))


Motion = Lean | ScheduledWalk
"""A motion commanded to a robot."""


class BalanceRun(NamedTuple):
    """What one run gave.

    The columns are, by name, shape (n,) each: time [s]; pitch of base and chest [rad]; x, y (horizontal parts
    of the vertical in the base, true) and x_hat, y_hat [-]; tilt (error of the estimate), pelvis (angle
    between true vertical and that of the reference) [rad]; height (of the base above the soles against the
    reference), dcm (distance from its reference) [m]; ahead, aside (position of the base) [m];
    the vertical force of each foot [N].
    """

    fallen: bool  # the run ends there
    damped: int  # ticks for which the controller had no solution
    steps: int  # feet that have landed
    feet: tuple[str, ...]  # names of the columns with the forces
    columns: dict[str, Array]


def balance_run(loop: ClosedLoop, motion: Motion, hoist_s: float) -> BalanceRun:
    """Release TALOS after a time on its hoist [s], command the motion, record until its end or a fall."""
    loop.release(hoist_s)
    recorder = _Recorder(loop)

    def tick(loop: ClosedLoop) -> None:
        motion.command(loop)
        recorder.record(loop)

    loop.run(motion.duration_s, tick)
    feet = tuple(name for name in recorder.series.names if name.startswith(FORCE_PREFIX))
    steps = loop.controller.controller.gait.steps_made
    return BalanceRun(loop.simulation.fallen, recorder.damped, steps, feet, dict(recorder.series.columns()))


class _Recorder:
    """Truth against estimate and reference, tick by tick."""

    def __init__(self, loop: ClosedLoop) -> None:
        self.series = TimeSeries()
        self.damped = 0
        self._waist = loop.simulation.robot.joint_index(WAIST)
        truth = loop.simulation.truth()
        self._start, self._waist_home = truth.base.p_WB, truth.q[self._waist]

    def record(self, loop: ClosedLoop) -> None:
        """Append a row."""
        truth, last = loop.simulation.truth(), loop.controller.last
        assert last is not None
        if last.state is not ControlState.CONTROL:
            self.damped += 1
            return
        R_WB = rotation_from_quaternion(truth.base.quaternion_xyzw)
        estimated = loop.base.state if loop.tilt is not None and loop.base is not None else truth.base
        R_hat = rotation_from_quaternion(estimated.quaternion_xyzw)
        up, up_hat = R_WB[2], R_hat[2]
        roll, pitch = loop.controller.controller.references.tilt.position
        up_ref = (exp_so3(np.array([0.0, pitch, 0.0])) @ exp_so3(np.array([roll, 0.0, 0.0])))[2]
        # The estimated reference point on the ground, in the world by the true base pose.
        dcm_ref = (truth.base.p_WB + R_WB @ R_hat.T @ np.array([*last.dcm_ref, -last.height]))[:2]
        omega = math.sqrt(STANDARD_GRAVITY / float(last.com[2] + last.height))
        true_pitch = math.atan2(R_WB[0, 2], R_WB[2, 2])
        ahead, aside, _ = truth.base.p_WB - self._start
        self.series.add(
            loop.time_s,
            pitch=true_pitch,
            chest=true_pitch + float(truth.q[self._waist] - self._waist_home),
            x=up[0],
            y=up[1],
            x_hat=up_hat[0],
            y_hat=up_hat[1],
            tilt=_angle(up, up_hat),
            pelvis=_angle(up, up_ref),
            height=last.height - last.height_ref,
            dcm=float(np.hypot(*(truth.com_W[:2] + truth.com_velocity_W[:2] / omega - dcm_ref))),
            ahead=ahead,
            aside=aside,
            **{FORCE_PREFIX + name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()},
        )


def _angle(a: Array, b: Array) -> float:
    """Angle between unit vectors [rad]."""
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


LEAN_DEG, LEAN_S = 25.0, 2.0
BACK_DEG = 2.5  # what counts as back: a tenth of the lean
STEP_M, LONG_STEP_M, ROUGHNESS_M = 0.15, 0.25, 0.01
SETTINGS = {CONTROLLER_NODE: {"references.angle_rate": 3.0}}
ROUGH = {SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": ROUGHNESS_M}}


class _Plan(NamedTuple):
    """The commanded motions, with times from the release on [s]."""

    begin_s: float
    lean_s: float  # there and back
    lean_run_s: float
    steps: int
    walk_run_s: float
    hoist_s: float


FULL = _Plan(1.0, LEAN_S, 5.0, 10, 15.0, hoist_time(quick=False))
QUICK = _Plan(0.3, 1.2, 1.8, 2, 3.4, hoist_time(quick=True))


class _Case(NamedTuple):
    """How a run differs from the one that is judged."""

    truth: bool = False  # the controller is given the true base state
    inertias: bool = False  # the inertial filter is in the loop, too
    rough: bool = False  # the ground is rough
    step_m: float = STEP_M
    leans: bool = True  # the lean is run, too


JUDGED, TRUE_STATE = "observer in the loop", "true base state"
CASES = {
    JUDGED: _Case(),
    TRUE_STATE: _Case(truth=True),
    "inertias estimated, too": _Case(inertias=True),
    f"ground rough by +-{1e3 * ROUGHNESS_M:g} mm": _Case(rough=True, leans=False),
    f"steps of {LONG_STEP_M:g} m": _Case(step_m=LONG_STEP_M, leans=False),
}
QUICK_CASES = {JUDGED: _Case(), TRUE_STATE: _Case(truth=True, leans=False)}


def run(trials: Trials) -> ExperimentResult:
    """Lean and walk for every seed, then the other cases with the first one."""
    robot = RobotLoop("talos", SETTINGS)
    plan, cases = (QUICK, QUICK_CASES) if trials.quick else (FULL, CASES)
    others = [name for name in cases if name != JUDGED]
    runs = trials.by_case(
        {name: partial(_both, robot, case, plan) for name, case in cases.items()}, first_seed_only=others
    )
    judged = runs[JUDGED]
    rows = [
        judged_row
        for motion in judged[0]
        for judged_row in _judged_rows(motion, [_metrics(motion, one[motion], plan) for one in judged], plan)
    ]
    compared = {(case, motion): one for case in others for motion, one in runs[case][0].items()}
    rows += [
        row(f"{motion}, {case}: {quantity}", unit, value)
        for (case, motion), one in compared.items()
        for (quantity, unit), value in _metrics(motion, one, plan).items()
        if not (case == TRUE_STATE and quantity.startswith("tilt error"))
    ]
    fallen = [
        f"{motion} of seed {seed}"
        for seed, both in zip(trials.seeds, judged, strict=True)
        for motion, one in both.items()
        if one.fallen
    ]
    fallen += [f"{motion}, {case}" for (case, motion), one in compared.items() if one.fallen]
    columns = [_panels(motion, one, trials.seeds[0], plan) for motion, one in judged[0].items()]
    return ExperimentResult(
        trials.seeds,
        rows,
        facts=(
            f"fell: {'; '.join(fallen) or 'none'}",
            f"rows of other cases: seed {trials.seeds[0]} alone, without bounds",
        ),
        panels=[panel for pair in zip(*columns, strict=True) for panel in pair],
        columns=2,
    )


def _both(robot: RobotLoop, case: _Case, plan: _Plan, seed: int) -> dict[str, BalanceRun]:
    motions: dict[str, Motion] = {}
    if case.leans:
        motions["lean"] = Lean(float(np.radians(LEAN_DEG)), plan.begin_s, plan.lean_s, plan.lean_run_s)
    motions["walk"] = ScheduledWalk(WalkCommand(plan.steps, case.step_m), plan.begin_s, plan.walk_run_s)
    runs = {}
    for name, motion in motions.items():
        overrides: Mapping[str, Mapping[str, Any]] = ROUGH if case.rough else {}
        loop = robot.build(overrides=overrides, seed=seed, inertial=case.inertias)
        if case.truth:
            loop.tilt = None
        runs[name] = balance_run(loop, motion, plan.hoist_s)
    return runs


ERRORS = (  # of a run: name, column, unit, scale
    ("tilt error of the estimate", "tilt", "deg", DEGREES),
    ("tilt of the pelvis against its reference", "pelvis", "deg", DEGREES),
    ("height of the pelvis against its reference", "height", "mm", 1e3),
    ("DCM against its reference", "dcm", "mm", 1e3),
)
CHEST, BACK = "lean of the chest", f"back within {BACK_DEG:g} deg after"


def _metrics(motion: str, one: BalanceRun, plan: _Plan) -> dict[tuple[str, str], float]:
    """Return quantities of a run by name and unit; those of the lean are of the true chest."""
    c = one.columns
    metrics = {("falls", ""): float(one.fallen), ("ticks without a solution", ""): float(one.damped)}
    if motion == "lean":
        t = c["time"] - plan.begin_s
        chest = np.degrees(c["chest"] - np.interp(plan.begin_s, c["time"], c["chest"]))
        top = int(chest.argmax())
        back = np.flatnonzero(chest[top:] < BACK_DEG)
        metrics[CHEST, "deg"] = float(chest[top])
        metrics["lean of the pelvis", "deg"] = float(np.degrees(c["pitch"].max()))
        metrics[BACK, "s"] = float(t[top + back[0]]) if len(back) else float("nan")
        metrics[f"left after {LEAN_S:g} s", "deg"] = float(np.interp(LEAN_S, t, chest))
    else:
        metrics["steps made", ""] = float(one.steps)
        metrics["distance", "m"] = float(c["ahead"][-1])
        metrics["drift aside", "m"] = float(c["aside"][-1])
    for name, key, unit, scale in ERRORS:
        metrics[f"{name}, rms", unit] = scale * rms(c[key])
        if key in ("tilt", "dcm"):
            metrics[f"{name}, largest", unit] = scale * float(np.abs(c[key]).max())
    return metrics


def _judged_rows(
    motion: str, metrics: Sequence[Mapping[tuple[str, str], float]], plan: _Plan
) -> list[TableRow]:
    """Return the quantities over the seeds; with a bound that of the least favourable one."""
    bounds: dict[str, dict[str, Any]] = {
        "falls": {"summary": "sum", "bound": "== 0", "paper": 0.0},
        CHEST: {"summary": "min", "bound": ">= 23", "paper": LEAN_DEG},
        BACK: {"summary": "max", "bound": f"<= {LEAN_S}", "paper": LEAN_S},
        "steps made": {"summary": "min", "bound": f">= {plan.steps}"},
    }
    words = {"min": "least", "max": "largest", "sum": "sum"}
    rows = []
    for quantity, unit in metrics[0]:
        values = np.array([one[quantity, unit] for one in metrics])
        if quantity in bounds:
            name = f"{motion}: {quantity}, {words[bounds[quantity]['summary']]}"
            rows.append(row(name, unit, values, **bounds[quantity]))
        elif quantity.startswith(("ticks", "left")) or "largest" in quantity:
            worst = values[np.abs(values).argmax()]
            rows.append(row(f"{motion}: {quantity}, of all seeds", unit, worst))
        else:
            rows.append(row(f"{motion}: {quantity}", unit, values))
    return rows


def _panels(motion: str, one: BalanceRun, seed: int, plan: _Plan) -> tuple[Panel, ...]:
    """Return a column of the figure (B Fig. 5 to 7)."""
    c, t = one.columns, one.columns["time"]
    label = f"time, {motion} [s]"
    spans = (Span(plan.begin_s, plan.begin_s + plan.lean_s, "there and back"),) if motion == "lean" else ()
    tilts = (
        thinned("true", t, c["x"], "reference"),
        thinned("", t, c["y"], "reference"),
        thinned("estimate, x", t, c["x_hat"], "thin", 0),
        thinned("estimate, y", t, c["y_hat"], "thin", 1),
    )
    forces = [
        thinned(foot.removeprefix("force_").replace("_", " "), t, c[foot], "thin", 3 + i)
        for i, foot in enumerate(one.feet)
    ]
    dcm = (thinned("DCM", t, 1e3 * c["dcm"], "thin", 5),)
    error = (thinned("error", t, np.degrees(c["tilt"]), "thin", 2),)
    return (
        Panel(f"Vertical in the base, {motion} (seed {seed})", label, "component [-]", tilts, spans),
        Panel(f"Error of the estimated vertical, {motion}", label, "angle [deg]", error, spans),
        Panel(f"True vertical forces, {motion}", label, "force [N]", forces, spans),
        Panel(f"Distance from the reference, {motion}", label, "distance [mm]", dcm, spans),
    )
