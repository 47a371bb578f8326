"""Yamane III-E: mass and centre of mass of every link of a humanoid that stands and moves its arms.

TALOS, balanced with its own estimates, tracks three random motions of arms, torso and head; both feet remain
flat. Controller and identification use a description with wrong masses and centres of mass. The first motion
is fitted, the other two are for cross-validation: individual links (L) and left-right symmetry (LS), least
squares and bounded gradient, at three condition limits and without any. Here, the truth is known.
"""

import fnmatch
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, over_time, row
from inertial_estimation.figures import Panel
from inertial_estimation.identification.equations import ROUND_OFF, EquationStack
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import method_named
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.models.bodies import BodyReference, mirror_image
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import SineMotion, random_sines
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.models.robot_config import stance_positions
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf, urdf_with_bodies
from inertial_estimation.signals import Array, BaseReference, JointReading, seconds
from inertial_estimation.simulation.config import SimulationConfig
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.linear_algebra import rms

CONSISTENT, GRADIENT, LEAST_SQUARES = "consistent", "bounded-gradient", "least-squares"
MOTIONS = ("direct", "cross-validation (1)", "cross-validation (2)")
Case = tuple[str, float]
"""A method and the largest condition number c_max (Y 21-23)."""


class _Plan(NamedTuple):
    """Duration and motion of a run, and errors of the robot's description."""

    approach_s: float = 2.0  # time to move to the start of the sines, and then to fade them in
    duration_s: float = 30.0
    rate_hz: float = 500.0  # of sensors and controller
    window_s: float = 0.502
    row_hz: float = 10.0  # every 100 ms (Y III-E)
    limits: tuple[float, ...] = (math.inf, 1e6, 1e3, 1e2)  # values of c_max
    quick: bool = False
    moving: tuple[str, ...] = ("arm_*", "torso_*", "head_*")  # joints of TALOS
    reach: float = 0.5  # largest distance of a joint from its centre [rad]
    base_reach: tuple[float, ...] = (0.02, 0.04, 0.04)  # of the pelvis: height [m], roll and pitch [rad]
    band_hz: tuple[float, float] = (0.1, 0.6)  # frequencies of the sines
    margin: float = 0.1  # smallest distance from every joint limit [rad]
    stiffness: float = 400.0  # of the joints' posture [1/s^2]
    mass_sigma: float = 0.10  # standard deviation of the description's masses, as a share
    com_sigma: float = 0.010  # standard deviation of the description's centres of mass [m]


FULL = _Plan()
QUICK = _Plan(0.5, 1.0, 250.0, 0.15, limits=(math.inf, 1e2), quick=True)
LOWEST_LIMIT = min(FULL.limits)  # the only c_max at which the paper's least squares has possible masses
PAPER = {  # by set: number of parameters, condition number, costs of each motion by method and limit
    "L": (
        *(92, 1.38e5),
        {
            (LEAST_SQUARES, 1e2): (1.56e5, 7.13e5, 7.93e5),
            (GRADIENT, 1e6): (1.52e5, 5.28e5, 7.29e5),
            (GRADIENT, 1e3): (1.52e5, 5.28e5, 7.29e5),
            (GRADIENT, 1e2): (1.52e5, 5.29e5, 7.30e5),
        },
    ),
    "LS": (
        *(56, 3.81e4),
        {
            (LEAST_SQUARES, 1e2): (1.97e5, 5.77e5, 9.47e5),
            (GRADIENT, 1e6): (1.99e5, 4.51e5, 5.81e5),
            (GRADIENT, 1e3): (1.99e5, 4.51e5, 5.81e5),
            (GRADIENT, 1e2): (1.99e5, 4.50e5, 5.84e5),
        },
    ),
}
PAPER_NOMINAL = 2.2e7  # 2.11e7 to 2.29e7


class Fit(NamedTuple):
    """Result of one method on the first motion."""

    x: Array  # deviation of the unknowns from nominal, shape (n,)
    masses: Array  # identified mass of each body [kg]
    costs: Array  # ||dF - A x||^2 (Y 17) of each motion, the fitted one first [N^2, (Nm)^2]


class MotionRows:
    """The rows of several motions in one set of unknowns; the first is to be fitted.

    Attributes:
        identifier: Converts signals to rows, and holds the meaning of the unknowns.
        blocks: Rows of each motion.
        equation: The rows of the first motion, unweighted (Y 17), reduced.
    """

    def __init__(self, identifier: Identifier, motions: Sequence[SignalBlock]) -> None:
        """Compute the rows, and reduce those of the first motion."""
        self.identifier = identifier
        self.blocks = [identifier.rows(motion) for motion in motions]
        m, n = self.blocks[0].regressor.shape[1:]
        stack = EquationStack(tuple(f"row {i}" for i in range(m)), n)
        stack.add(self.blocks[0])
        self.equation = stack.reduced(np.ones(m))

    @property
    def condition(self) -> float:
        """Condition number of the regressor, without singular values that are zero up to round-off."""
        s = linear_algebra.svd(self.equation.R)[1]
        return float(s[0] / s[s > ROUND_OFF * s[0]][-1])

    def costs(self, x: Array | float = 0.0) -> Array:
        """Return ||dF - A x||^2 of each motion; x of zero is the nominal parameters."""
        deviation = x + np.zeros(len(self.identifier.parameters.unknowns))
        return np.array([np.sum((b.value - b.regressor @ deviation) ** 2) for b in self.blocks])

    def fit(self, method: str, condition_limit: float) -> Fit:
        """Solve for the first motion, with the condition limit c_max (Y 21-23).

        Singular values smaller than 1 / c_max of the largest count as zero; with infinite c_max none does.
        """
        parameters = self.identifier.parameters
        equation = self.equation.truncated(condition_limit)
        x = method_named(method)(equation, parameters, IdentificationConfig().mass_deviation).x
        phi = parameters.standard(x)
        masses = np.array([parameters.body(phi, i)[0] for i in range(len(parameters.bodies))])
        return Fit(x, masses, self.costs(x))


class SetOfFits(NamedTuple):
    """All fits of one set of unknowns."""

    rows: MotionRows
    fits: Mapping[Case, Fit]
    true: MotionRows  # the same motions' rows about the true robot: x = 0 is the truth

    def ratios(self, method: str, limit: float) -> Array:
        """Return cost / nominal of each motion; NaN where a mass is negative (n/a in the paper)."""
        fit = self.fits[method, limit]
        share: Array = fit.costs / self.rows.costs()
        return share if fit.masses.min() > 0.0 else np.full(len(share), math.nan)

    def true_errors(self, x: Array | float) -> list[float]:
        """Return the errors `TRUE_ERRORS` of a deviation x from nominal."""
        identifier, true = self.rows.identifier, self.true.identifier
        differences = (true.parameters.nominal - identifier.parameters.nominal).tolist()
        value = dict(zip(identifier.parameters.names, differences, strict=True))
        wrong = x - np.array([value[name] for name in identifier.parameters.unknowns])
        names = list(identifier.row_model.row_names)
        forces = self.rows.blocks[1].regressor @ wrong
        moments = [names.index("base_moment_x"), names.index("base_moment_y")]
        shift = np.linalg.norm(forces[:, moments], axis=1) / (true.robot.total_mass * STANDARD_GRAVITY)
        torques = forces[:, [i for i, name in enumerate(names) if name not in BASE_ROWS]]
        of_masses = [name.endswith("/m") for name in identifier.parameters.names]
        each = (identifier.parameters.E @ wrong)[of_masses]
        return [abs(float(each.sum())), 1e3 * rms(shift), rms(torques.ravel()), rms(each)]


TRUE_ERRORS = (
    ("error of the total mass", "kg"),
    ("error of the whole centre of mass, horizontal, rms over cross-validation (1)", "mm"),
    ("error of the joint torques against the truth, rms over cross-validation (1)", "Nm"),
    ("error of the links' masses, rms (not identifiable individually)", "kg"),
)


def table_rows(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    """Return the judged rows, then Table I, of the sets L and LS of each seed."""
    rows = _judged(seeds)
    for name, first in seeds[0].items():
        sets, (count, condition, paper_costs) = [seed[name] for seed in seeds], PAPER[name]
        conditions = [one.rows.condition for one in sets]
        unknowns = len(first.rows.identifier.parameters.unknowns)
        rows += [
            row(f"{name}: number of parameters", "", unknowns, paper=count),
            row(f"{name}: condition number of the regressor", "", conditions, paper=condition),
        ]
        nominal = np.array([one.rows.costs() for one in sets])
        left = np.array([one.true.costs() for one in sets]) / nominal  # by noise and smoothing
        for k, motion in enumerate(MOTIONS):
            label = f"{name}: {motion}"
            rows += [
                row(f"{label}, cost with nominal parameters", "", nominal[:, k], paper=PAPER_NOMINAL),
                row(f"{label}, true parameters, cost / nominal", "", left[:, k]),
            ]
        for method, limit in first.fits:
            ratios = np.array([one.ratios(method, limit) for one in sets])
            paper = paper_costs.get((method, limit))
            for k, motion in enumerate(MOTIONS):
                label = f"{name}: {method}, {_limit(limit)}, {motion}, cost / nominal"
                rows.append(row(label, "", ratios[:, k], paper=paper[k] / PAPER_NOMINAL if paper else None))
    return rows


def truth_rows(name: str, sets: Sequence[SetOfFits]) -> list[TableRow]:
    """Return errors against the true robot, nominal and by some of the fits; the name begins the rows."""
    cases = [(LEAST_SQUARES, LOWEST_LIMIT), (GRADIENT, math.inf)]
    cases += [(GRADIENT, LOWEST_LIMIT), (CONSISTENT, math.inf)]
    errors = {"nominal": [one.true_errors(0.0) for one in sets]}
    for method, limit in cases:
        if (method, limit) in sets[0].fits:
            found = [one.true_errors(one.fits[method, limit].x) for one in sets]
            errors[f"{method}, {_limit(limit)}"] = found
    return [
        row(f"{name}: {quantity}: {case}", unit, np.array(values)[:, k])
        for k, (quantity, unit) in enumerate(TRUE_ERRORS)
        for case, values in errors.items()
    ]


def _judged(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    sets = [one for seed in seeds for one in seed.values()]
    plain = [float((one.fits[LEAST_SQUARES, math.inf].masses < 0.0).sum()) for one in sets]
    gradients = [fit for one in sets for (method, _), fit in one.fits.items() if method == GRADIENT]
    least = [float(fit.masses.min()) for fit in gradients]
    crossed = [one.ratios(GRADIENT, math.inf)[1:] for one in sets]
    worst = [float(ratios.max()) for ratios in crossed]
    against = [g / one.ratios(LEAST_SQUARES, LOWEST_LIMIT)[1:] for g, one in zip(crossed, sets, strict=True)]
    papers = [np.divide(costs[GRADIENT, 1e6], costs[LEAST_SQUARES, 1e2])[1:] for *_, costs in PAPER.values()]
    gradient = "cross-validation, gradient without truncation"
    negative = "negative masses, least squares without truncation, fewest of all sets"
    ratio, paper = f"{gradient} / least squares at 1e2, mean", float(np.mean(papers))
    _direct, aim, largest = (cost / PAPER_NOMINAL for cost in PAPER["L"][2][GRADIENT, 1e6])
    return [
        row(negative, "", plain, "min", bound=">= 1"),
        row("smallest mass, bounded gradient, all sets and limits", "kg", least, "min", bound="> 0"),
        row(ratio, "", float(np.mean(against)), paper=paper, bound="<= 1"),
        row(f"{gradient}, cost / nominal, largest", "", worst, "max", paper=largest, bound=f"aim <= {aim}"),
    ]


def _limit(limit: float) -> str:
    return f"c_max {limit:.0e}" if math.isfinite(limit) else "no truncation"


class UpperBodyMotion(NamedTuple):
    """Random sines of the moving joints, and small ones of the pelvis."""

    joints: tuple[str, ...]
    joint_sines: SineMotion  # positions of these joints [rad]
    base_sines: SineMotion  # height [m], roll and pitch [rad] of the base, about the stance

    @classmethod
    def draw(cls, robot: RobotModel, stance: Array, rng: Generator, plan: _Plan) -> "UpperBodyMotion":
        """Draw a motion within the joints' limits.

        The sines of a joint have a random centre, at most half of `reach` from `stance`, the joint positions
        at the start [rad], shape (n_joints,).
        """
        names = [n for n in robot.joint_names if any(fnmatch.fnmatchcase(n, p) for p in plan.moving)]
        limits = joint_limits(robot)
        picked = [robot.joint_index(name) for name in names]
        low, high = limits.lower[picked] + plan.margin, limits.upper[picked] - plan.margin
        start = np.clip(stance[picked], low, high)
        centre = np.clip(start + 0.5 * plan.reach * rng.uniform(-1.0, 1.0, len(names)), low, high)
        room = np.minimum(plan.reach, np.maximum(centre - low, high - centre) * 0.5)
        centre = np.clip(centre, low + room, high - room)
        times = {"rest_s": plan.approach_s, "fade_s": plan.approach_s}
        joint_sines, base_sines = (
            random_sines(c, r, rng, band_hz=plan.band_hz, **times)
            for c, r in ((centre, room), (np.zeros(3), np.array(plan.base_reach)))
        )
        return cls(tuple(names), joint_sines, base_sines)

    def command(self, loop: ClosedLoop, height: float) -> None:
        """Push the present references; `height` is that of the base above the soles in the stance [m]."""
        q, v, _ = self.joint_sines.at(loop.time_s)
        loop.controller.push_joint_reference(JointReading(loop.simulation.stamp_ns, self.joints, q, v))
        x, x1, _ = self.base_sines.at(loop.time_s)
        loop.controller.push_base_reference(
            BaseReference(height + x[0], x[1], x[2], height_rate=x1[0], roll_rate=x1[1], pitch_rate=x1[2])
        )


class Tracking(NamedTuple):
    """Result of one run."""

    block: SignalBlock  # readings of the sensors, from the start of the sines on
    fallen: bool  # whether the robot fell, which ends the run
    flat: float  # share of the time in which every corner of every sole touched the ground
    error_rms: float  # tracking error of the commanded joints [rad]


def track(loop: ClosedLoop, motion: UpperBodyMotion, plan: _Plan) -> Tracking:
    """Let a released robot track a motion; readings during the approach are not recorded."""
    picked = [loop.simulation.robot.joint_index(name) for name in motion.joints]
    read: list[tuple[Any, ...]] = []  # stamp, q, v, tau, f_I, w_I, wrenches
    height: list[float] = []

    def look(loop: ClosedLoop) -> dict[str, float]:
        if not height:
            assert loop.controller.last is not None
            height.append(loop.controller.last.height_ref)
        motion.command(loop, height[0])
        if loop.time_s <= plan.approach_s:
            return {}
        readings = loop.readings
        if readings is None or readings.joints is None or readings.imu is None:
            raise ConfigurationError("a reading is missing, expected sensors that lose none")
        joints, imu = readings.joints, readings.imu
        sensed = joints.position, joints.velocity, joints.effort, imu.specific_force_I, imu.angular_rate_I
        wrenches = [sample.wrench_F for sample in readings.wrenches.values()]
        read.append((readings.stamp_ns, *sensed, wrenches))
        if len(read) % 10:
            return {}
        truth = loop.simulation.truth()
        return {
            "flat": all(float(depth.min()) > 0.0 for depth in truth.depths.values()),
            "error": rms(truth.q[picked] - motion.joint_sines.at(loop.time_s)[0]),
        }

    watched = loop.record(plan.approach_s + plan.duration_s, look)
    stamps, *columns = zip(*read, strict=True)
    signals = zip(("q", "v", "tau", "f_I", "w_I", "wrenches"), map(np.array, columns), strict=True)
    block = SignalBlock(start_ns=stamps[0], step_s=seconds(stamps[1] - stamps[0]), **dict(signals))
    return Tracking(block, loop.simulation.fallen, float(np.mean(watched["flat"])), rms(watched["error"]))


class _Record(NamedTuple):
    """Three motions of one robot, with the descriptions of its assumed and its true model."""

    nominal: str
    true: str
    motions: list[Tracking]


def run(trials: Trials) -> ExperimentResult:
    """Simulate and identify one robot for each seed."""
    plan = QUICK if trials.quick else FULL
    loops = RobotLoop("talos", _overrides(plan))
    records = trials.by_seed(partial(_record, loops, plan))
    trials.progress("identification", 0.9)
    sets = [_both_sets(loops, record, plan) for record in records]
    rows = [*table_rows(sets), *truth_rows("L", [of_seed["L"] for of_seed in sets])]
    motions = [motion for record in records for motion in record.motions]
    flat, error = min(m.flat for m in motions), max(m.error_rms for m in motions)
    facts = (
        "none: a mass is negative, the paper's n/a. Cost: sum of squares of all rows [N^2, (Nm)^2].",
        f"Motions: {sum(m.fallen for m in motions)} falls; all corners of the soles on the ground "
        f"{100.0 * flat:.2f} % of the time, the least; joints off their references by {error:.3f} rad rms at "
        "most.",
        "A lower cost is not a smaller error: the table gives the errors against the true robot, too.",
    )
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(sets[0]["L"]))


def _panels(fits: SetOfFits) -> list[Panel]:
    """Return measured, nominal and identified forces (Y Fig. 5): no truncation, individual links."""
    names, panels = fits.rows.identifier.row_model.row_names, []
    found = fits.fits[GRADIENT, math.inf].x
    for shown, title, unit in (
        ("base_force_z", "Root, up", "force [N]"),
        ("base_force_x", "Root, forwards", "force [N]"),
        ("leg_left_4_joint", "Left knee, less the ground's share", "torque [Nm]"),
    ):
        i = names.index(shown)
        for block, motion in zip(fits.rows.blocks[:2], MOTIONS[:2], strict=True):
            t = seconds(block.stamps_ns - block.stamps_ns[0])
            curves = (
                ("measured (smoothed)", t, block.measured[:, i], "reference"),
                ("nominal", t, block.predicted(np.zeros(len(found)))[:, i], "line", 1),
                ("identified", t, block.predicted(found)[:, i], "line", 0),
            )
            panels.append(over_time(f"{title}, {motion}", unit, *curves))
    return panels


def _overrides(plan: _Plan) -> Overrides:
    return {
        SIMULATOR_NODE: {"sensors.rate": plan.rate_hz},
        CONTROLLER_NODE: {
            "rate": plan.rate_hz,
            "await_inertias": False,
            "inertias.links": [],
            "posture.stiffness": plan.stiffness,
        },
    }


def _mirrored(urdf: str) -> str:
    """Return a description whose bodies on the right are the mirror images of those on the left."""
    robot, rights, parameters = RobotModel.from_urdf(urdf), [], []
    for link in robot.links_matching(("*left*",), "the robot"):
        left, twin = BodyReference.of_link(robot, link), link.replace("left", "right")
        rights.append(BodyReference.of_link(robot, twin))
        image = mirror_image(robot, link, twin)
        parameters.append(image.parameters @ left.to_link @ left.nominal_C)
    return urdf_with_bodies(urdf, robot, rights, parameters)


def _record(loops: RobotLoop, plan: _Plan, seed: int) -> _Record:
    """Let a robot that differs from its description track three motions; both are symmetric left to right."""
    draws = default_rng(seed)
    nominal = _mirrored(loops.urdf)
    deviating = perturbed_urdf(nominal, draws, mass_sigma=plan.mass_sigma, com_sigma=plan.com_sigma)
    true = _mirrored(deviating)
    described = loops.with_description(nominal)
    stance = loops.config(SIMULATOR_NODE, SimulationConfig).stance
    motions = []
    for i in range(len(MOTIONS)):
        loop = described.build(true_urdf=true, seed=len(MOTIONS) * seed + i)
        loop.inertial = None
        model = loop.simulation.robot
        motion = UpperBodyMotion.draw(model, stance_positions(stance, model), draws, plan)
        loop.release(hoist_time(quick=plan.quick))
        motions.append(track(loop, motion, plan))
    return _Record(nominal, true, motions)


def _motion_rows(loops: RobotLoop, urdf: str, record: _Record, plan: _Plan, **overrides: Any) -> MotionRows:
    """Compute the rows of all motions: mass and centre of mass of the bodies, equal weights (Y 17)."""
    values = {
        "links": [],
        "parameters": "mass_com",
        "weighting": "none",
        "smoothing.window": plan.window_s,
        "smoothing.row_rate": plan.row_hz,
        **overrides,
    }
    config = loops.config("identification", IdentificationConfig, {"identification": values})
    return MotionRows(Identifier(config, urdf), [motion.block for motion in record.motions])


def _both_sets(loops: RobotLoop, record: _Record, plan: _Plan) -> dict[str, SetOfFits]:
    true = _motion_rows(loops, record.true, record, plan)
    sets = {}
    for name, overrides in (("L", {}), ("LS", {"symmetry": ["left=right"]})):
        rows = _motion_rows(loops, record.nominal, record, plan, **overrides)
        cases = [(method, limit) for method in (LEAST_SQUARES, GRADIENT) for limit in plan.limits]
        cases += [] if plan.quick else [(CONSISTENT, math.inf)]
        sets[name] = SetOfFits(rows, {case: rows.fit(*case) for case in cases}, true)
    return sets
