"""Yamane III-E: mass and centre of mass of every link of a humanoid that stands and moves its arms.

TALOS, balanced on its own estimate, tracks three random motions of arms, torso and head; both feet stay flat.
Controller and identification use a description with wrong masses and centres of mass. The first
motion is fitted, the other two judge: individual links (L) and left-right symmetry (LS), least squares and
bounded gradient, at three condition limits and without any. Unlike the paper we know the truth.
"""

import fnmatch
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.motion_fits import (
    CONSISTENT,
    GRADIENT,
    LEAST_SQUARES,
    MOTIONS,
    TRUTH_CASES,
    MotionRows,
    SetOfFits,
    table_rows,
    truth_rows,
)
from inertial_estimation.experiments.result import ExperimentResult, TableRow, row
from inertial_estimation.experiments.trials import Trials
from inertial_estimation.figures import Panel, thinned
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.signal_block import SignalBlock
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import SineMotion, random_sines
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import mirrored_urdf, perturbed_urdf
from inertial_estimation.signals import Array, BaseReference, JointReading, seconds
from inertial_estimation.simulation.config import SimulationConfig

STIFFNESS = 400.0  # of the joints' posture [1/s^2]
ROW_HZ = 10.0  # every 100 ms (Y III-E)
SHORT_WINDOW_S = 0.12  # the paper's is 125 samples of 2 ms either side
SHORT_WINDOW = f"window of {SHORT_WINDOW_S:g} s"
MOVING = ("arm_*", "torso_*", "head_*")  # joints of TALOS
REACH_RAD, BAND_HZ = 0.5, (0.1, 0.6)  # farthest a joint goes from its centre; of the sines
BASE_REACH = np.array([0.02, 0.04, 0.04])  # of the pelvis: height [m], roll and pitch [rad]
LIMIT_MARGIN_RAD = 0.1  # smallest distance from every joint limit
TRUTH_EVERY = 10  # ticks between two records of the true contacts
SHOWN = (
    ("base_force_z", "Root, up", "force [N]"),
    ("base_force_x", "Root, forwards", "force [N]"),
    ("leg_left_4_joint", "Left knee, less the ground's share", "torque [Nm]"),
)


class _Plan(NamedTuple):
    """How much is done."""

    approach_s: float
    duration_s: float
    rate_hz: float  # of sensors and controller
    window_s: float
    limits: tuple[float, ...]
    variants: bool


FULL = _Plan(2.0, 30.0, 500.0, 0.502, (math.inf, 1e6, 1e3, 1e2), variants=True)
QUICK = _Plan(0.5, 1.0, 250.0, 0.15, (math.inf, 1e2), variants=False)


class _Deviations(NamedTuple):
    """How wrong the description is (sigma)."""

    name: str
    mass: float  # share
    com_m: float


JUDGED, NEARER = _Deviations("10 %, 10 mm", 0.10, 0.010), _Deviations("3 %, 3 mm", 0.03, 0.003)


class UpperBodyMotion(NamedTuple):
    """Random sines of the joints `MOVING`, and small ones of the pelvis."""

    joints: tuple[str, ...]
    joint_sines: SineMotion  # their positions [rad]
    base_sines: SineMotion  # height [m], roll and pitch [rad] of the base, about the stance
    approach_s: float  # time on the way to where the sines begin; as long they fade in

    @classmethod
    def draw(cls, robot: RobotModel, stance: Array, rng: Generator, approach_s: float) -> "UpperBodyMotion":
        """Draw a motion within the joints' limits.

        The sines of a joint swing about a centre that is drawn too, at most half the reach away from the
        stance, which are the joint positions at the start [rad], shape (n_joints,).
        """
        names = [n for n in robot.joint_names if any(fnmatch.fnmatchcase(n, p) for p in MOVING)]
        limits = joint_limits(robot)
        picked = [robot.joint_index(name) for name in names]
        low, high = limits.lower[picked] + LIMIT_MARGIN_RAD, limits.upper[picked] - LIMIT_MARGIN_RAD
        start = np.clip(stance[picked], low, high)
        centre = np.clip(start + 0.5 * REACH_RAD * rng.uniform(-1.0, 1.0, len(names)), low, high)
        room = np.minimum(REACH_RAD, np.maximum(centre - low, high - centre) * 0.5)
        centre = np.clip(centre, low + room, high - room)
        joint_sines, base_sines = (
            random_sines(c, r, rng, band_hz=BAND_HZ, rest_s=approach_s, fade_s=approach_s)
            for c, r in ((centre, room), (np.zeros(3), BASE_REACH))
        )
        return cls(tuple(names), joint_sines, base_sines, approach_s)

    def command(self, loop: ClosedLoop, height: float) -> None:
        """Push the references of now; the height is that of the base above the soles in the stance [m]."""
        q, v, _ = self.joint_sines.at(loop.time_s)
        loop.controller.push_joint_reference(JointReading(loop.simulation.stamp_ns, self.joints, q, v))
        x, x1, _ = self.base_sines.at(loop.time_s)
        loop.controller.push_base_reference(
            BaseReference(height + x[0], x[1], x[2], height_rate=x1[0], roll_rate=x1[1], pitch_rate=x1[2])
        )


class Tracking(NamedTuple):
    """What one run gave."""

    block: SignalBlock  # what the sensors read, from the beginning of the sines on
    fallen: bool  # the run ends there
    flat: float  # share of the time at which every corner of every sole touched the ground
    error_rms: float  # of the joints that were commanded [rad]


def track(loop: ClosedLoop, motion: UpperBodyMotion, duration_s: float) -> Tracking:
    """Let a released robot track a motion; what it reads on the way to the motion is not recorded."""
    robot = loop.simulation.robot
    picked = [robot.joint_index(name) for name in motion.joints]
    read: list[tuple[int, Array, Array | None, Array | None, Array, Array, Array]] = []
    errors: list[float] = []
    flat: list[bool] = []
    height: list[float] = []

    def tick(loop: ClosedLoop) -> None:
        if not height:
            assert loop.controller.last is not None
            height.append(loop.controller.last.height_ref)
        motion.command(loop, height[0])
        if loop.time_s <= motion.approach_s:
            return
        read.append(_readings(loop))
        if len(read) % TRUTH_EVERY == 0:
            truth = loop.simulation.truth()
            flat.append(all(float(depth.min()) > 0.0 for depth in truth.depths.values()))
            errors.append(float(np.mean((truth.q[picked] - motion.joint_sines.at(loop.time_s)[0]) ** 2)))

    loop.run(motion.approach_s + duration_s, tick)
    stamps, *columns = zip(*read, strict=True)
    q, v, tau, f_I, w_I, wrenches = (np.array(column) for column in columns)
    block = SignalBlock(
        start_ns=stamps[0],
        step_s=seconds(stamps[1] - stamps[0]),
        q=q,
        v=v,
        tau=tau,
        f_I=f_I,
        w_I=w_I,
        wrenches=wrenches,
    )
    error_rms = float(np.sqrt(np.mean(errors))) if errors else float("nan")
    return Tracking(block, loop.simulation.fallen, float(np.mean(flat)), error_rms)


def _readings(loop: ClosedLoop) -> tuple[int, Array, Array | None, Array | None, Array, Array, Array]:
    """Return what arrived in the last tick: stamp, q, v, tau, f_I, w_I, wrenches."""
    readings = loop.readings
    if readings is None or readings.joints is None or readings.imu is None:
        raise ConfigurationError("a reading is missing, expected sensors that lose none")
    joints, imu = readings.joints, readings.imu
    wrenches = np.array([sample.wrench_F for sample in readings.wrenches.values()])
    sensed = (joints.position, joints.velocity, joints.effort, imu.specific_force_I, imu.angular_rate_I)
    return (readings.stamp_ns, *sensed, wrenches)


class _Record(NamedTuple):
    """Three motions of one robot, with the descriptions of its assumed and its true model."""

    nominal: str
    true: str
    motions: tuple[Tracking, ...]


def run(trials: Trials) -> ExperimentResult:
    """Simulate and identify one robot for each seed, the first one nearer to its description, too."""
    plan = QUICK if trials.quick else FULL
    loops = RobotLoop("talos", _overrides(plan))
    cases = (JUDGED, NEARER) if plan.variants else (JUDGED,)
    records = trials.by_case({case: partial(_record, loops, case, plan) for case in cases}, (NEARER,))
    judged = records[JUDGED]
    trials.progress("identification", 0.9)
    sets = [_both_sets(loops, record, plan) for record in judged]
    rows = [*table_rows(sets), *truth_rows("L", [of_seed["L"] for of_seed in sets])]
    if plan.variants:
        rows += _variants(loops, judged[0], sets[0]["L"], records[NEARER][0], plan)
    motions = [motion for record in judged for motion in record.motions]
    flat, error = min(m.flat for m in motions), max(m.error_rms for m in motions)
    facts = (
        "none: a mass is negative, the paper's n/a. Cost: sum of squares of all rows [N^2, (Nm)^2].",
        f"Motions: {sum(m.fallen for m in motions)} falls; all corners of the soles on the ground "
        f"{100.0 * flat:.2f} % of the time, the least; joints off their references by {error:.3f} rad rms at "
        "most.",
        "A lower cost is not a smaller error: the table gives the errors against the true robot, too.",
    )
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(sets[0]["L"]), columns=2)


def _panels(fits: SetOfFits) -> list[Panel]:
    """Return measured, nominal and identified forces (Y Fig. 5): no truncation, individual links."""
    names = fits.rows.identifier.row_model.row_names
    found = fits.fits[GRADIENT, math.inf].x
    panels = []
    for shown, title, unit in SHOWN:
        i = names.index(shown)
        for block, motion in zip(fits.rows.blocks[:2], MOTIONS[:2], strict=True):
            t = seconds(block.stamps_ns - block.stamps_ns[0])
            curves = (
                thinned("measured (smoothed)", t, block.measured[:, i], "reference"),
                thinned("nominal", t, block.predicted(np.zeros(len(found)))[:, i], colour=1),
                thinned("identified", t, block.predicted(found)[:, i], colour=0),
            )
            panels.append(Panel(f"{title}, {motion}", "time [s]", unit, curves))
    return panels


def _overrides(plan: _Plan) -> Mapping[str, Mapping[str, Any]]:
    return {
        SIMULATOR_NODE: {"sensors.rate": plan.rate_hz},
        CONTROLLER_NODE: {
            "rate": plan.rate_hz,
            "await_inertias": False,
            "inertias.links": [],
            "posture.stiffness": STIFFNESS,
        },
    }


def _record(loops: RobotLoop, deviations: _Deviations, plan: _Plan, seed: int) -> _Record:
    """Let a robot unlike its description track three motions; left and right of both are mirror images."""
    draws = default_rng(seed)
    nominal = mirrored_urdf(loops.urdf)
    deviating = perturbed_urdf(nominal, draws, mass_sigma=deviations.mass, com_sigma=deviations.com_m)
    true = mirrored_urdf(deviating)
    believing = loops.believing(nominal)
    stance = loops.config(SIMULATOR_NODE, SimulationConfig).stance
    motions = []
    for i in range(len(MOTIONS)):
        loop = believing.build(true_urdf=true, seed=len(MOTIONS) * seed + i)
        loop.inertial = None
        model = loop.simulation.robot
        motion = UpperBodyMotion.draw(model, stance_positions(stance, model), draws, plan.approach_s)
        loop.release(hoist_time(quick=not plan.variants))
        motions.append(track(loop, motion, plan.duration_s))
    return _Record(nominal, true, tuple(motions))


def _motion_rows(loops: RobotLoop, urdf: str, record: _Record, plan: _Plan, **overrides: Any) -> MotionRows:
    """Compute the rows of all motions: mass and centre of mass of the bodies, equal weights (Y 17)."""
    values = {
        "links": [],
        "parameters": "mass_com",
        "weighting": "none",
        "smoothing.window": plan.window_s,
        "smoothing.row_rate": ROW_HZ,
        **overrides,
    }
    config = loops.config("identification", IdentificationConfig, {"identification": values})
    identifier = Identifier(config, urdf)
    return MotionRows(identifier, [identifier.rows(motion.block) for motion in record.motions])


def _both_sets(loops: RobotLoop, record: _Record, plan: _Plan) -> dict[str, SetOfFits]:
    true = _motion_rows(loops, record.true, record, plan)
    sets = {}
    for name, overrides in (("L", {}), ("LS", {"symmetry": ["left=right"]})):
        rows = _motion_rows(loops, record.nominal, record, plan, **overrides)
        cases = [(method, limit) for method in (LEAST_SQUARES, GRADIENT) for limit in plan.limits]
        cases += [(CONSISTENT, math.inf)] if plan.variants else []
        sets[name] = SetOfFits(rows, {case: rows.fit(*case) for case in cases}, true)
    return sets


def _variants(
    loops: RobotLoop, record: _Record, first: SetOfFits, nearer: _Record, plan: _Plan
) -> list[TableRow]:
    """Fit the variants with one changed setting each: individual links (L), no truncation."""
    names = first.rows.identifier.row_model.row_names
    known = [i for i, name in enumerate(names) if not name.startswith(("arm_", "gripper_"))]
    short = {"smoothing.window": SHORT_WINDOW_S}
    unknown = {"contact_wrenches": "projected"}
    short_rows = _motion_rows(loops, record.nominal, record, plan, **short)
    cases = {
        "torques of the arms unknown": (first.rows.of_rows(known), record),
        "contact wrenches unknown": (_motion_rows(loops, record.nominal, record, plan, **unknown), record),
        SHORT_WINDOW: (short_rows, record),
        f"robot off by {NEARER.name}": (_motion_rows(loops, nearer.nominal, nearer, plan), nearer),
    }
    table = []
    for name, (rows, of) in cases.items():
        gradient, plain = (rows.fit(method, math.inf) for method in (GRADIENT, LEAST_SQUARES))
        nominal = rows.costs(np.zeros(len(gradient.x)))
        total = RobotModel.from_urdf(of.true).total_mass
        table += [
            row(f"{name}: gradient, {motion}, cost / nominal", "", cost / before)
            for motion, cost, before in zip(MOTIONS, gradient.costs, nominal, strict=True)
        ]
        table += [
            row(f"{name}: gradient, error of the total mass", "kg", abs(gradient.masses.sum() - total)),
            row(f"{name}: least squares, negative masses", "", (plain.masses < 0.0).sum()),
        ]
    fits = {case: short_rows.fit(*case) for case in TRUTH_CASES}
    true = _motion_rows(loops, record.true, record, plan, **short)
    return [*table, *truth_rows(SHORT_WINDOW, [SetOfFits(short_rows, fits, true)])]
