"""Yamane III-E: mass and centre of mass of every link of a humanoid that stands and moves its arms.

TALOS, balanced on its own estimate, tracks three random motions of arms, torso and head; both feet stay flat.
Controller and identification use a description with wrong masses and centres of mass. The first
motion is fitted, the other two judge: individual links (L) and left-right symmetry (LS), least squares and
bounded gradient, at three condition limits and without any. Unlike the paper we know the truth.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.experiments.arm_tracking import Tracking, UpperBodyMotion, track
from inertial_estimation.experiments.condition_sweep import CONSISTENT, GRADIENT, LEAST_SQUARES, MotionRows
from inertial_estimation.experiments.dynamic_table import (
    MOTIONS,
    TRUTH_CASES,
    SetOfFits,
    table_rows,
    truth_rows,
)
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.stance_config import stance_positions
from inertial_estimation.models.urdf_inertia import mirrored_urdf, perturbed_urdf
from inertial_estimation.signals import seconds
from inertial_estimation.simulation.simulation_config import SimulationConfig

MOVING, REACH_RAD, BAND_HZ = ("arm_*", "torso_*", "head_*"), 0.5, (0.1, 0.6)
BASE_REACH = (0.02, 0.04, 0.04)  # of the pelvis: height [m], roll and pitch [rad]
STIFFNESS = 400.0  # of the joints' posture [1/s^2]
ROW_HZ = 10.0  # every 100 ms (Y III-E)
SHORT_WINDOW_S = 0.12  # the paper's is 125 samples of 2 ms either side
SHORT_WINDOW = f"window of {SHORT_WINDOW_S:g} s"
SHOWN = (
    ("base_force_z", "Root, up", "force [N]"),
    ("base_force_x", "Root, forwards", "force [N]"),
    ("leg_left_4_joint", "Left knee, less the ground's share", "torque [Nm]"),
)


@dataclass(frozen=True)
class _Plan:
    """How much is done: times [s], rate of sensors and controller [Hz], fits."""

    approach_s: float
    duration_s: float
    rate_hz: float
    window_s: float
    limits: tuple[float, ...]
    variants: bool


FULL = _Plan(2.0, 30.0, 500.0, 0.502, (math.inf, 1e6, 1e3, 1e2), variants=True)
QUICK = _Plan(0.5, 1.0, 250.0, 0.15, (math.inf, 1e2), variants=False)


@dataclass(frozen=True)
class _Robot:
    """How wrong the description is: deviations of masses (share) and of centres of mass [m]."""

    name: str
    mass_sigma: float
    com_sigma_m: float


JUDGED, NEARER = _Robot("10 %, 10 mm", 0.10, 0.010), _Robot("3 %, 3 mm", 0.03, 0.003)


@dataclass(frozen=True, eq=False)
class _Record:
    """Three motions of one robot: its assumed model, its true model, and its sensor readings."""

    nominal: str
    true: str
    motions: tuple[Tracking, ...]


@dataclass(frozen=True, eq=False)
class _Identified:
    """What all robots gave.

    Attributes:
        records: Motions of the robot of each seed, then of the one nearer to its description.
        sets: Fits of each seed by set of unknowns (L, LS).
        variants: Rows of fits with one changed setting each; empty in a quick run.
    """

    records: list[_Record]
    sets: list[dict[str, SetOfFits]]
    variants: list[TableRow]


class YamaneDynamic(Experiment[_Identified]):
    """One robot for each seed, the first also nearer to its description; bounds on masses and costs."""

    figure_columns = 2

    @property
    def plan(self) -> _Plan:
        """How much is done."""
        return QUICK if self.quick else FULL

    def simulate(self, trials: Trials) -> _Identified:
        """Simulate three motions of every robot; identify."""
        plan, seeds = self.plan, self.seeds
        loops = RobotLoop("talos", _overrides(plan))
        robots = [(JUDGED, seed) for seed in seeds]
        robots += [(NEARER, seeds[0])] if plan.variants else []
        found = trials.results([partial(_record, loops, robot, seed, plan) for robot, seed in robots])
        records = found[: len(seeds)]
        trials.progress("identification", 0.9)
        sets = [_both_sets(loops, record, plan) for record in records]
        variants = _variants(loops, records[0], sets[0]["L"], found[-1], plan) if plan.variants else []
        return _Identified(records, sets, variants)

    def table(self, data: _Identified) -> list[TableRow]:
        """Return costs relative to nominal as in Table I, errors against the truth, and variants."""
        individual = [sets["L"] for sets in data.sets]
        return [*table_rows(data.sets), *truth_rows("L", individual), *data.variants]

    def panels(self, data: _Identified) -> list[Panel]:
        """Return measured, nominal and identified forces (Y Fig. 5): no truncation, individual links."""
        fits = data.sets[0]["L"]
        names = fits.rows.identifier.row_names
        found = fits.fits[GRADIENT, math.inf].x
        panels = []
        for row, title, unit in SHOWN:
            i = names.index(row)
            for block, motion in zip(fits.rows.blocks[:2], MOTIONS[:2], strict=True):
                t = seconds(block.stamps_ns - block.stamps_ns[0])
                curves = (
                    thinned("measured (smoothed)", t, block.measured[:, i], "reference"),
                    thinned("nominal", t, block.predicted(np.zeros(len(found)))[:, i], colour=1),
                    thinned("identified", t, block.predicted(found)[:, i], colour=0),
                )
                panels.append(Panel(f"{title}, {motion}", "time [s]", unit, curves))
        return panels

    def per_seed(self, data: _Identified) -> dict[str, tuple[float, ...]]:
        """Return the nominal cost, and what the gradient leaves of it on another motion."""
        return {
            "direct, cost with nominal parameters": tuple(sets["L"].nominal_costs[0] for sets in data.sets),
            "L: gradient, cross-validation (1), cost / nominal": tuple(
                float(sets["L"].ratios(GRADIENT, math.inf)[1]) for sets in data.sets
            ),
        }

    def settings(self, data: _Identified) -> Mapping[str, float | str]:
        """Return the robots' deviations and the motions."""
        return {
            "mass_sigma": JUDGED.mass_sigma,
            "com_sigma_m": JUDGED.com_sigma_m,
            "duration_s": self.plan.duration_s,
            "rate_hz": self.plan.rate_hz,
            "reach_rad": REACH_RAD,
            "band_hz": f"{BAND_HZ[0]:g} to {BAND_HZ[1]:g}",
            "posture_stiffness_1_s2": STIFFNESS,
        }

    def facts(self, data: _Identified) -> tuple[str, ...]:
        """Return how the motions went, and how the rows compare with the paper's."""
        motions = [motion for record in data.records for motion in record.motions]
        fallen = sum(motion.fallen for motion in motions)
        flat = min(motion.flat for motion in motions)
        error = max(motion.error_rms for motion in motions)
        return (
            "none: a mass is negative, the paper's n/a. Cost: sum of squares of all rows [N^2, (Nm)^2].",
            f"Robot: description of TALOS made symmetric; truth off by {JUDGED.name} (sigma), symmetric as "
            "well.",
            f"Motions: {fallen} falls; all corners of the soles on the ground {100.0 * flat:.2f} % of the "
            f"time, the least; joints off their references by {error:.3f} rad rms at most.",
            "Least squares is the pseudo-inverse of the unscaled, truncated regressor (Y 18 to 21); the "
            "gradient starts from nominal on the same truncated regressor (Y 22, 23).",
            "Paper: 30 s of human motion on a hydraulic robot, arms without torques; its nominal model is "
            "off by 270 N (Nm) a sample, the root of its cost over 300.",
            "A lower cost is not a smaller error: the table gives the errors against the true robot, too.",
        )


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


def _record(loops: RobotLoop, robot: _Robot, seed: int, plan: _Plan) -> _Record:
    """Let a robot unlike its description track three motions; left and right of both are mirror images."""
    draws = default_rng(seed)
    nominal = mirrored_urdf(loops.urdf)
    deviating = perturbed_urdf(nominal, draws, mass_sigma=robot.mass_sigma, com_sigma=robot.com_sigma_m)
    true = mirrored_urdf(deviating)
    believing = loops.believing(nominal)
    stance = loops.config(SIMULATOR_NODE, SimulationConfig).stance
    motions = []
    for i in range(len(MOTIONS)):
        loop = believing.build(true_urdf=true, seed=len(MOTIONS) * seed + i)
        loop.inertial = None
        model = loop.simulation.robot
        motion = UpperBodyMotion.draw(
            model,
            stance_positions(stance, model),
            draws,
            joints=MOVING,
            reach=REACH_RAD,
            band_hz=BAND_HZ,
            base_reach=BASE_REACH,
            approach_s=plan.approach_s,
        )
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
    return MotionRows.of(Identifier(config, urdf), [motion.block for motion in record.motions])


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
    names = first.rows.identifier.row_names
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
            TableRow(f"{name}: gradient, {motion}, cost / nominal", "", cost / before)
            for motion, cost, before in zip(MOTIONS, gradient.costs, nominal, strict=True)
        ]
        table += [
            TableRow(f"{name}: gradient, error of the total mass", "kg", abs(gradient.masses.sum() - total)),
            TableRow(f"{name}: least squares, negative masses", "", float((plain.masses < 0.0).sum())),
        ]
    fits = {case: short_rows.fit(*case) for case in TRUTH_CASES}
    true = _motion_rows(loops, record.true, record, plan, **short)
    return [*table, *truth_rows(SHORT_WINDOW, [SetOfFits(short_rows, fits, true)])]
