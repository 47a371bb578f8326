"""Yamane III-E: mass and centre of mass of every link of a humanoid that stands and moves its arms.

TALOS, balanced on its own estimate, tracks three random motions of arms, torso and head; both feet stay flat.
Controller and identification use a description with wrong masses and centres of mass. The first
motion is fitted, the other two judge: individual links (L) and left-right symmetry (LS), least squares and
bounded gradient, at three condition limits and without any. Unlike the paper we know the truth.
"""

import fnmatch
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, SIMULATOR_NODE
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.figures import Panel, thinned
from inertial_estimation.identification.equations import ROUND_OFF, EquationStack
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.methods import method_named
from inertial_estimation.identification.rows import RowBlock, SignalBlock
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

CONSISTENT, GRADIENT, LEAST_SQUARES = "consistent", "bounded-gradient", "least-squares"


class Fit(NamedTuple):
    """What one method found from the first motion."""

    x: Array  # deviation of the unknowns from nominal, shape (n,)
    costs: tuple[float, ...]  # ||dF - A x||^2 (Y 17) of each motion, fitted one first [N^2, (Nm)^2]
    masses: Array  # identified, of each body [kg]

    @property
    def possible(self) -> bool:
        """Whether no mass is negative, the only failure that shows without the truth."""
        return bool(self.masses.min() > 0.0)


class MotionRows:
    """The rows of several motions in one set of unknowns; the first is to be fitted.

    Attributes:
        identifier: Converts signals to rows, and holds the meaning of the unknowns.
        blocks: Rows of each motion.
        equation: The rows of the first motion, unweighted (Y 17), reduced.
    """

    def __init__(self, identifier: Identifier, blocks: Sequence[RowBlock]) -> None:
        """Reduce the rows of the first motion."""
        self.identifier = identifier
        self.blocks = tuple(blocks)
        m, n = self.blocks[0].regressor.shape[1:]
        stack = EquationStack(tuple(f"row {i}" for i in range(m)), n)
        stack.add(self.blocks[0])
        self.equation = stack.reduced(np.ones(m))

    @property
    def condition(self) -> float:
        """Condition number of the regressor without what is zero but for round-off."""
        s = linear_algebra.singular_values(self.equation.R)
        return float(s[0] / s[s > ROUND_OFF * s[0]][-1])

    def costs(self, x: Array) -> tuple[float, ...]:
        """Return ||dF - A x||^2 of each motion; x = 0: with the nominal parameters."""
        return tuple(float(np.sum((b.value - b.regressor @ x) ** 2)) for b in self.blocks)

    def fit(self, method: str, condition_limit: float) -> Fit:
        """Solve for the first motion, with the condition limit c_max (Y 21-23).

        Singular values smaller than 1 / c_max of the largest are taken for zero; infinite: none is.
        """
        parameters = self.identifier.parameters
        equation = self.equation.truncated(condition_limit)
        solution = method_named(method)(equation, parameters, IdentificationConfig().mass_deviation)
        phi = parameters.standard(solution.x)
        masses = np.array([parameters.body(phi, i)[0] for i in range(len(parameters.bodies))])
        return Fit(solution.x, self.costs(solution.x), masses)


MOTIONS = ("direct", "cross-validation (1)", "cross-validation (2)")
PAPER_NOMINAL = 2.2e7  # 2.11e7 to 2.29e7
PAPER_UNKNOWNS = {"L": 92, "LS": 56}
PAPER_CONDITION = {"L": 1.38e5, "LS": 3.81e4}
PAPER_COSTS: Mapping[tuple[str, str, float], tuple[float, float, float]] = {
    ("L", LEAST_SQUARES, 1e2): (1.56e5, 7.13e5, 7.93e5),
    ("LS", LEAST_SQUARES, 1e2): (1.97e5, 5.77e5, 9.47e5),
    ("L", GRADIENT, 1e6): (1.52e5, 5.28e5, 7.29e5),
    ("L", GRADIENT, 1e3): (1.52e5, 5.28e5, 7.29e5),
    ("L", GRADIENT, 1e2): (1.52e5, 5.29e5, 7.30e5),
    ("LS", GRADIENT, 1e6): (1.99e5, 4.51e5, 5.81e5),
    ("LS", GRADIENT, 1e3): (1.99e5, 4.51e5, 5.81e5),
    ("LS", GRADIENT, 1e2): (1.99e5, 4.50e5, 5.84e5),
}
AIM = 1.0 / 42.0  # of the paper's gradient, L, cross-validation (1)
LOWEST_LIMIT = 1e2  # the only c_max at which the paper's least squares has possible masses
PAPER_RATIOS = (5.28 / 7.13, 7.29 / 7.93, 4.51 / 5.77, 5.81 / 9.47)  # gradient (1e6) / least squares (1e2)


class SetOfFits(NamedTuple):
    """All fits of one set of unknowns."""

    rows: MotionRows
    fits: Mapping[tuple[str, float], Fit]  # by method and condition limit
    true: MotionRows  # the same motions' rows about the true robot: x = 0 is the truth

    @property
    def nominal_costs(self) -> tuple[float, ...]:
        """Costs of each motion with the nominal parameters."""
        return self.rows.costs(np.zeros(len(self.rows.identifier.parameters.unknowns)))

    @property
    def true_costs(self) -> tuple[float, ...]:
        """Costs that noise and smoothing leave with the true parameters, moments of inertia too."""
        return self.true.costs(np.zeros(len(self.true.identifier.parameters.unknowns)))

    def ratios(self, method: str, limit: float) -> Array:
        """Return cost / nominal of each motion; NaN where a mass is negative, as the paper's n/a."""
        fit = self.fits[method, limit]
        share: Array = np.divide(fit.costs, self.nominal_costs)
        return share if fit.possible else np.full(len(share), math.nan)

    @property
    def true_x(self) -> Array:
        """What the unknowns would be, were they those of the true robot."""
        nominal, true = self.rows.identifier.parameters, self.true.identifier.parameters
        value = {
            name: t - n
            for name, t, n in zip(nominal.names, true.nominal.tolist(), nominal.nominal.tolist(), strict=True)
        }
        return np.array([value[name] for name in nominal.unknowns])


def table_rows(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    """Return the judged rows, then Table I, of the sets L and LS of each seed."""
    rows = _judged(seeds)
    for name, first in seeds[0].items():
        sets = [seed[name] for seed in seeds]
        conditions = [one.rows.condition for one in sets]
        unknowns = len(first.rows.identifier.parameters.unknowns)
        rows += [
            row(f"{name}: number of parameters", "", unknowns, paper=PAPER_UNKNOWNS[name]),
            row(f"{name}: condition number of the regressor", "", conditions, paper=PAPER_CONDITION[name]),
        ]
        nominal, true = np.array([(one.nominal_costs, one.true_costs) for one in sets]).transpose(1, 0, 2)
        for k, motion in enumerate(MOTIONS):
            label = f"{name}: {motion}"
            rows += [
                row(f"{label}, cost with nominal parameters", "", nominal[:, k], paper=PAPER_NOMINAL),
                row(f"{label}, true parameters, cost / nominal", "", (true / nominal)[:, k]),
            ]
        for method, limit in first.fits:
            ratios = np.array([one.ratios(method, limit) for one in sets])
            paper = PAPER_COSTS.get((name, method, limit))
            for k, motion in enumerate(MOTIONS):
                label = f"{name}: {method}, {_limit(limit)}, {motion}, cost / nominal"
                rows.append(row(label, "", ratios[:, k], paper=paper[k] / PAPER_NOMINAL if paper else None))
    return rows


def truth_rows(name: str, sets: Sequence[SetOfFits]) -> list[TableRow]:
    """Return errors against the true robot, nominal and by some of the fits; the name begins the rows."""
    cases = [case for case in TRUTH_CASES if case in sets[0].fits]
    solutions = {"nominal": [np.zeros(len(one.true_x)) for one in sets]}
    for method, limit in cases:
        solutions[f"{method}, {_limit(limit)}"] = [one.fits[method, limit].x for one in sets]
    errors = {
        case: np.array([_true_errors(one, x) for one, x in zip(sets, xs, strict=True)])
        for case, xs in solutions.items()
    }
    return [
        row(f"{name}: {quantity}: {case}", unit, values[:, k])
        for k, (quantity, unit) in enumerate(TRUE_ERRORS)
        for case, values in errors.items()
    ]


TRUTH_CASES = (
    (LEAST_SQUARES, LOWEST_LIMIT),
    (GRADIENT, math.inf),
    (GRADIENT, LOWEST_LIMIT),
    (CONSISTENT, math.inf),
)
TRUE_ERRORS = (
    ("error of the total mass", "kg"),
    ("error of the whole centre of mass, horizontal, rms over cross-validation (1)", "mm"),
    ("error of the joint torques against the truth, rms over cross-validation (1)", "Nm"),
    ("error of the links' masses, rms (not identifiable individually)", "kg"),
)


def _true_errors(fits: SetOfFits, x: Array) -> list[float]:
    identifier = fits.rows.identifier
    names, total = list(identifier.row_model.row_names), fits.true.identifier.robot.total_mass
    wrong = x - fits.true_x
    forces = fits.rows.blocks[1].regressor @ wrong
    moments = [names.index("base_moment_x"), names.index("base_moment_y")]
    shift = np.linalg.norm(forces[:, moments], axis=1) / (total * STANDARD_GRAVITY)
    torques = forces[:, [i for i, name in enumerate(names) if name not in BASE_ROWS]]
    each = (identifier.parameters.E @ wrong)[[name.endswith("/m") for name in identifier.parameters.names]]
    return [abs(float(each.sum())), 1e3 * rms(shift), rms(torques.ravel()), rms(each)]


def _judged(seeds: Sequence[Mapping[str, SetOfFits]]) -> list[TableRow]:
    sets = [one for seed in seeds for one in seed.values()]
    plain = [float((one.fits[LEAST_SQUARES, math.inf].masses < 0.0).sum()) for one in sets]
    gradients = [fit for one in sets for (method, _), fit in one.fits.items() if method == GRADIENT]
    least = [float(fit.masses.min()) for fit in gradients]
    crossed = [float(one.ratios(GRADIENT, math.inf)[1:].max()) for one in sets]
    lowest = [one.ratios(LEAST_SQUARES, LOWEST_LIMIT)[1:] for one in sets]
    pairs = zip(sets, lowest, strict=True)
    against = [one.ratios(GRADIENT, math.inf)[1:] / other for one, other in pairs]
    gradient = "cross-validation, gradient without truncation"
    negative = "negative masses, least squares without truncation, fewest of all sets"
    ratio, paper = f"{gradient} / least squares at 1e2, mean", float(np.mean(PAPER_RATIOS))
    largest, paper_largest = f"{gradient}, cost / nominal, largest", 7.29e5 / PAPER_NOMINAL
    return [
        row(negative, "", plain, "min", bound=">= 1"),
        row("smallest mass, bounded gradient, all sets and limits", "kg", least, "min", bound="> 0"),
        row(ratio, "", float(np.mean(against)), paper=paper, bound="<= 1"),
        row(largest, "", crossed, "max", paper=paper_largest, bound=f"aim <= {AIM}"),
    ]


def _limit(limit: float) -> str:
    return f"c_max {limit:.0e}" if math.isfinite(limit) else "no truncation"


STIFFNESS = 400.0  # of the joints' posture [1/s^2]
ROW_HZ = 10.0  # every 100 ms (Y III-E)
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
    quick: bool


FULL = _Plan(2.0, 30.0, 500.0, 0.502, (math.inf, 1e6, 1e3, 1e2), quick=False)
QUICK = _Plan(0.5, 1.0, 250.0, 0.15, (math.inf, 1e2), quick=True)
MASS_SIGMA, COM_SIGMA_M = 0.10, 0.010  # by which the description is wrong: share, [m]


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
    """Let a robot unlike its description track three motions; left and right of both are mirror images."""
    draws = default_rng(seed)
    nominal = _mirrored(loops.urdf)
    deviating = perturbed_urdf(nominal, draws, mass_sigma=MASS_SIGMA, com_sigma=COM_SIGMA_M)
    true = _mirrored(deviating)
    believing = loops.believing(nominal)
    stance = loops.config(SIMULATOR_NODE, SimulationConfig).stance
    motions = []
    for i in range(len(MOTIONS)):
        loop = believing.build(true_urdf=true, seed=len(MOTIONS) * seed + i)
        loop.inertial = None
        model = loop.simulation.robot
        motion = UpperBodyMotion.draw(model, stance_positions(stance, model), draws, plan.approach_s)
        loop.release(hoist_time(quick=plan.quick))
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
        cases += [] if plan.quick else [(CONSISTENT, math.inf)]
        sets[name] = SetOfFits(rows, {case: rows.fit(*case) for case in cases}, true)
    return sets
