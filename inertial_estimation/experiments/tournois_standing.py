"""Tournois et al., V-A and V-B: the trunk of a standing HyQ (Tables II, III on ramps, IV; Fig. 6).

Approaches: HyQ carries no load, 50 N or 100 N at a point outside its trunk; the assumed centre of mass of the
trunk is several centimetres from that of the description.

Slopes: (c) determines a vertical line on which the centre of mass lies, not where on it. On a trunk tilted by
s, an error of the assumed position on that line appears along the trunk's x axis: with (19) an initial error
e along gravity as e sin(s), with the package's rule an initial error e of the trunk's z as e tan(s). On a
level trunk it has no effect.

The robot stands under the whole-body controller on the tilt observer's estimate, with noisy sensors. Load and
ground are present from the start; estimators and controller assume a trunk whose centre of mass is several
centimetres off. An identification runs through the pipeline of the node and is judged by the truth.

Sensitivity: effects of torque offsets and misplaced feet on approaches (b) and (c). The paper adds constant
Gaussian errors to "the joint torque measurements and feet positions" and does not say where else they act, on
which the result depends (docs/experiments.md). So both readings of each error are run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import PAYLOAD_NODE, SIMULATOR_NODE
from inertial_estimation.errors import ConfigurationError, ModelError, did_you_mean
from inertial_estimation.experiments.crawl_run import RECORD_S, load_on_trunk, trunk_columns
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, over_time, row
from inertial_estimation.figures import Level, Panel
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf import XmlDocument, numbers_of, numbers_text, set_child
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.signals import Array, BaseReference
from inertial_estimation.simulation.config import SimulationConfig
from inertial_estimation.spatial.inertial_parameters import InertialParameters

ROBOT, TRUNK = "hyq", "trunk"
POINT_B = (-0.75, 0.4, 0.0)  # position of the load, base frame [m] (T V-A)
POSES, ORIENTATION, FORCES = "static_poses", "orientation_error", "contact_forces"  # approaches (a) to (c)
LIMIT_S = {POSES: 60.0, ORIENTATION: 60.0, FORCES: 15.0}  # longest duration of an identification [s]
COM_ERROR_L = (0.04, -0.03, 0.03)  # error of the initially assumed centre of mass of the trunk [m]
STANDING_S = 1.5  # time between release and request [s]


class Scene(NamedTuple):
    """Ground and load of a robot, and its errors."""

    load_N: float = 0.0
    slope: float = 0.0  # inclination of the ground, upwards along x [rad]
    parallel: bool = True  # whether the trunk is parallel to the slope; else it is level
    load_s: float = 0.0  # time of the load from the release; unless 0, it starts the identification
    errors: Mapping[str, Any] = {}  # parameters of the simulator that describe its errors

    def overrides(self) -> Overrides:
        """Return parameters by node."""
        ramp = {"ground.terrain": "ramp", "ground.slope": self.slope, "ground.begin": -2.0}  # [m]: far behind
        return {
            SIMULATOR_NODE: {**(ramp if self.slope else {}), **self.errors},
            PAYLOAD_NODE: {"start": "on_change" if self.load_s else "on_request"},
        }


@dataclass(frozen=True, slots=True, eq=False)
class IdentificationTrial:
    """Result of one identification.

    The columns are, by name, shape (n,) each: time (since the request) [s]; x, y, z, mass (of the true trunk
    with its load, trunk frame) [m, kg]; x_hat, y_hat, z_hat, mass_hat (identified); begun (whether the
    recursion on the centre of mass is under way).
    """

    converged: bool  # whether it has converged
    refusal: str  # why it was given up; empty if it was not
    columns: Mapping[str, Array]

    @property
    def error_L(self) -> Array:
        """Error of the centre of mass over time [m], shape (n, 3)."""
        c = self.columns
        return np.column_stack([c[f"{axis}_hat"] - c[axis] for axis in "xyz"])

    @property
    def error_xy(self) -> float:
        """Distance from the true centre of mass in x and y, at the end [m]."""
        return float(np.hypot(*self.error_L[-1, :2]))

    @property
    def mass_error(self) -> float:
        """Error of the trunk's mass at the end, share of the true one."""
        return float(abs(self.columns["mass_hat"][-1] / self.columns["mass"][-1] - 1.0))

    @property
    def begins(self) -> float:
        """Start of the recursion on the centre of mass [s]; NaN if it never started."""
        begun = self.columns["begun"] > 0.0
        return float(self.columns["time"][begun.argmax()]) if begun.any() else math.nan

    def settled(self, tolerance: float) -> float:
        """Return the time from which on x and y stay within a tolerance [m] of the truth [s]; NaN if none."""
        far = np.hypot(*self.error_L[:, :2].T) > tolerance
        if far[-1]:
            return math.nan
        return float(self.columns["time"][len(far) - far[::-1].argmax()]) if far.any() else 0.0


def perturbed(robot: RobotLoop) -> RobotLoop:
    """Return the robot with a shifted centre of mass of the trunk in its model."""
    return robot.with_description(urdf_with_moved_com(robot.urdf, TRUNK, np.array(COM_ERROR_L)))


def standing_loop(
    robot: RobotLoop,
    scene: Scene,
    seed: int,
    *,
    quick: bool,
    identified: RobotLoop | None = None,
) -> ClosedLoop:
    """Release a robot and let it stand; estimators and controller use the model of `robot`.

    The seed is that of the sensor noise; the identification may use another model, `identified`.

    Raises:
        ConfigurationError: If the robot falls.
    """
    overrides, loads = scene.overrides(), []
    if scene.load_N:
        model = RobotModel.from_urdf(robot.urdf)
        loads = [load_on_trunk(model, TRUNK, scene.load_N, POINT_B, scene.load_s)]
    loop = robot.build(overrides=overrides, disturbances=loads, seed=seed, payload=True, inertial=False)
    if identified is not None:
        loop.payload = identified.payload(overrides)
    loop.release(hoist_time(quick=quick))
    if scene.slope and scene.parallel:
        assert loop.controller.last is not None
        loop.controller.push_base_reference(BaseReference(loop.controller.last.height_ref, 0.0, -scene.slope))
    loop.run(STANDING_S)
    if loop.simulation.fallen:
        raise ConfigurationError(f"the robot falls before it is identified ({scene})")
    return loop


def identification(loop: ClosedLoop, method: str) -> IdentificationTrial:
    """Request an identification; record it until it ends, the robot falls or `LIMIT_S` has passed.

    The method is an approach to the centre of mass; empty if a load change starts the identification.
    """
    assert loop.payload is not None
    limit_s = LIMIT_S[method or FORCES]
    if method:
        loop.payload.identify(method)
    begin_s, rows = loop.time_s, list[dict[str, float]]()
    under_way = ended = converged = False
    refusal = ""
    while not (ended or loop.simulation.fallen) and loop.time_s - begin_s < limit_s:
        loop.run(RECORD_S)
        last, truth = loop.identified, loop.simulation.truth((TRUNK,)).inertias[TRUNK]
        assert last is not None
        bodies = {**trunk_columns(truth, ""), **trunk_columns(last.estimate, "_hat")}
        rows.append({"time": loop.time_s - begin_s, **bodies, "begun": float(last.phase is Phase.COM)})
        watching = last.phase is Phase.WATCHING
        ended, under_way = under_way and watching, under_way or not watching
        ended, converged, refusal = ended or bool(method and last.refusal), last.converged, last.refusal
    columns = {name: np.array([one[name] for one in rows]) for name in rows[0]}
    return IdentificationTrial(ended and converged and not refusal, refusal, columns)


def urdf_with_moved_com(urdf: str, link: str, move_L: Array) -> str:
    """Move the centre of mass of a body, link axes [m], shape (3,); its mass and central moments are kept."""
    robot = RobotModel.from_urdf(urdf)
    body = BodyReference.of_link(robot, link)
    own = InertialParameters.from_vector(body.to_link @ body.nominal_C)
    moved = InertialParameters(own.mass, own.com_F + move_L, own.inertia_Fcm)
    return urdf_with_bodies(urdf, robot, [body], [moved.vector])


def urdf_with_moved_links(urdf: str, moves_P: Mapping[str, Array]) -> str:
    """Move links on their parents, such as feet on their shanks, in the parent's axes [m], shape (3,) each.

    Raises:
        ModelError: If a link has no joint to a parent.
    """
    document = XmlDocument.parsed(urdf, "the URDF")
    joints = document.parent_joints()
    for link, move in moves_P.items():
        if link not in joints:
            hint = did_you_mean(link, joints, "there are")
            raise ModelError(f"no link '{link}' with a parent in the URDF{hint}")
        xyz = np.array(numbers_of(joints[link].find("origin"), "xyz")) + move
        set_child(joints[link], "origin", {"xyz": numbers_text(xyz)})
    return document.text()


def errors_cm(trials: Sequence[IdentificationTrial]) -> Array:
    """Return the horizontal error of each identification at its end [cm], shape (n,)."""
    return np.array([1e2 * trial.error_xy for trial in trials])


def horizontal_rows(
    name: str, trials: Sequence[IdentificationTrial], paper_cm: float, worst_cm: float
) -> list[TableRow]:
    """Return median and worst seed of the horizontal error of one entry of the paper's tables.

    The worst entry of the paper's table is the bound, half of it the aim.
    """
    bound = f"<= {worst_cm}, aim <= {0.5 * worst_cm}"
    errors = errors_cm(trials)
    return [
        row(f"{name}, median", "cm", errors, "median", paper=paper_cm),
        row(f"{name}, worst seed", "cm", errors, "max", paper=paper_cm, bound=bound),
    ]


def unfinished_row(trials: Sequence[IdentificationTrial], bound: str = "") -> TableRow:
    """Return the number of identifications that did not converge."""
    count = sum(not trial.converged for trial in trials)
    return row("identifications that did not come to their end", "", count, bound=bound)


def _result(
    seeds: Sequence[int], rows: Sequence[TableRow], every: Sequence[IdentificationTrial], **figure: Any
) -> ExperimentResult:
    """Return a result whose table ends with the mass error and the number that did not converge."""
    errors = [1e2 * trial.mass_error for trial in every]
    mass = row("mass of the trunk, error, worst of all", "%", errors, "max", bound="<= 1, aim <= 0.3")
    refused = [f"Given up: {refusal}" for refusal in sorted({t.refusal for t in every if t.refusal})]
    return ExperimentResult(tuple(seeds), [*rows, mass, unfinished_row(every, "== 0")], refused, **figure)


APPROACHES = {POSES: "(a) static poses", ORIENTATION: "(b) orientation error", FORCES: "(c) contact forces"}
TABLE_TWO_CM = {  # by approach and load [N]
    POSES: {0.0: 0.010, 50.0: 0.357, 100.0: 0.513},
    ORIENTATION: {0.0: 0.020, 50.0: 0.049, 100.0: 0.452},
    FORCES: {0.0: 0.006, 50.0: 0.125, 100.0: 0.586},
}
LARGEST_N = max(TABLE_TWO_CM[FORCES])
PAPER_Z_CM = {POSES: 2.0, ORIENTATION: 1.0}
NEAR_M = 2e-3  # tolerance that is reached in less than 2 s in Fig. 6
ON_CHANGE = ""  # in place of an approach: the load change starts the identification
ByCase = Mapping[tuple[str, float], Sequence[IdentificationTrial]]


def approaches(trials: Trials) -> ExperimentResult:
    """Identify by every approach with every load, for every seed of the sensor noise."""
    robot, quick = RobotLoop(ROBOT), trials.quick
    shifted = perturbed(robot)
    cases = [(approach, load) for approach in APPROACHES for load in TABLE_TWO_CM[approach]]
    runs = {case: partial(_approach, shifted, *case, quick) for case in cases}
    runs[ON_CHANGE, LARGEST_N] = partial(_approach, robot, ON_CHANGE, LARGEST_N, quick)
    if quick:
        runs = {(FORCES, LARGEST_N): runs[FORCES, LARGEST_N]}
    found = trials.by_case(runs)
    loaded = found.pop((ON_CHANGE, LARGEST_N), [])
    rows = []
    for (approach, load), some in found.items():
        name, paper = f"by {APPROACHES[approach]}, {load:g} N", TABLE_TWO_CM[approach][load]
        rows += horizontal_rows(f"|delta| in x and y {name}", some, paper, 0.586)
    for approach, paper in PAPER_Z_CM.items():
        of_it = [one for case, some in found.items() if case[0] == approach for one in some]
        errors = [1e2 * abs(one.error_L[-1, 2]) for one in of_it]
        if errors:
            name, bound = f"z by {APPROACHES[approach]}, all loads", f"<= {paper}, aim <= 0.5"
            rows.append(row(f"{name}, median", "cm", errors, "median", paper=paper))
            rows.append(row(f"{name}, worst", "cm", errors, "max", paper=paper, bound=bound))
    rows += _time_rows(found[FORCES, LARGEST_N], loaded)
    every = [one for some in found.values() for one in some] + loaded
    panels = _approach_panels(found, loaded, trials.seeds[0])
    return _result(trials.seeds, rows, every, panels=panels)


def _approach(robot: RobotLoop, approach: str, load_N: float, quick: bool, seed: int) -> IdentificationTrial:
    scene = Scene(load_N, load_s=0.0 if approach else STANDING_S)
    return identification(standing_loop(robot, scene, seed, quick=quick), approach)


def _time_rows(asked: Sequence[IdentificationTrial], loaded: Sequence[IdentificationTrial]) -> list[TableRow]:
    """Return the times from which on (c) stays within `NEAR_M`, Fig. 6."""
    name, begin = f"(c), {LARGEST_N:g} N, within 2 mm to stay", "from the recursion's begin, worst seed"
    rows = []
    if loaded:
        end, start = np.array([(one.settled(NEAR_M), one.begins) for one in loaded]).T
        known = f"{name}, load on a robot with known trunk, {begin}"
        rows = [
            row(known, "s", end - start, "max", paper=2.0, bound="< 2"),
            row(f"{name}, from the application of the load, worst seed", "s", end, "max"),
        ]
    end, start = np.array([(one.settled(NEAR_M), one.begins) for one in asked]).T
    return [
        *rows,
        row(f"{name}, wrong start in z, too, {begin}", "s", end - start, "max"),
        row(f"{name}, wrong start in z, too, from the request, worst seed", "s", end, "max"),
    ]


def _approach_panels(found: ByCase, loaded: Sequence[IdentificationTrial], seed: int) -> list[Panel]:
    """Return the centre of mass over time, first seed, largest load (T Fig. 6)."""
    c = (loaded or found[FORCES, LARGEST_N])[0].columns
    since = f"time since {'the load came' if loaded else 'the request'} [s]"
    panels = []
    for axis in "xy":
        title = f"(c), {LARGEST_N:g} N, {axis}, seed {seed}"
        curves = (
            ("true", c["time"], c[axis], "reference"),
            ("identified", c["time"], c[f"{axis}_hat"], "line", 0),
        )
        panels.append(over_time(title, "centre of mass [m]", *curves, x_label=since))
    far, heights = [], []
    for (approach, load), some in found.items():
        if load == LARGEST_N:
            name, time, error_cm = APPROACHES[approach], some[0].columns["time"], 1e2 * some[0].error_L
            far.append((name, time, np.hypot(*error_cm[:, :2].T)))
            heights.append((name, time, error_cm[:, 2]))
    asked, near = "time since the request [s]", (Level(1e2 * NEAR_M, "2 mm"),)
    title, label = f"{LARGEST_N:g} N, x and y", "|delta| [cm]"
    return [
        *panels,
        over_time(title, label, *far, x_label=asked, levels=near, log=True),
        over_time(f"{LARGEST_N:g} N, z", "error [cm]", *heights, x_label=asked),
    ]


TABLE_THREE_CM = {  # by slope [deg] and load [N]
    0.0: {0.0: 0.082, 50.0: 0.104, 100.0: 0.864},
    10.0: {0.0: 0.294, 50.0: 0.621, 100.0: 0.904},
    15.0: {0.0: 0.429, 50.0: 0.528, 100.0: 0.773},
}
PARALLEL, LEVEL = "trunk parallel", "trunk level"
DESCRIPTION, PERTURBED = "starts from the URDF", "starts with an error of 6 cm"


class _Case(NamedTuple):
    """One entry of the table."""

    slope_deg: float
    load_N: float
    trunk: str
    start: str

    def __str__(self) -> str:
        return f"{self.slope_deg:g} deg, {self.load_N:g} N, {self.trunk}, {self.start}"


def slopes(trials: Trials) -> ExperimentResult:
    """Identify on every slope with every load, trunk parallel and level, from both starts."""
    robot = RobotLoop(ROBOT)
    robots = {DESCRIPTION: robot, PERTURBED: perturbed(robot)}
    cases = [
        _Case(slope, load, trunk, start)
        for trunk in (PARALLEL, LEVEL)
        for start in robots
        for slope, by_load in TABLE_THREE_CM.items()
        for load in by_load
        if slope or trunk == LEVEL
    ]
    if trials.quick:
        cases = [_Case(max(TABLE_THREE_CM), 0.0, PARALLEL, PERTURBED)]
    found = trials.by_case({case: partial(_slope, robots[case.start], case, trials.quick) for case in cases})
    rows = []
    for case, some in found.items():
        paper = TABLE_THREE_CM[case.slope_deg][case.load_N]
        rows += horizontal_rows(f"|delta|, {case}", some, paper, 0.904)
    return _result(trials.seeds, rows, [one for some in found.values() for one in some])


def _slope(robot: RobotLoop, case: _Case, quick: bool, seed: int) -> IdentificationTrial:
    scene = Scene(case.load_N, math.radians(case.slope_deg), parallel=case.trunk == PARALLEL)
    return identification(standing_loop(robot, scene, seed, quick=quick), FORCES)


class _Kind(NamedTuple):
    """A reading of the paper's errors, and the paper's results by approach [cm]."""

    name: str
    of_torques: bool  # whether the error is of torques; else of the feet's positions
    shared: bool  # whether it acts equally on controller, (b) and (c); else it gives the paper's pattern
    paper: Mapping[str, tuple[float, ...]]

    @property
    def levels(self) -> tuple[float, ...]:
        """Means of the torques [Nm], or standard deviations of the feet [cm]."""
        return (0.0, 10.0, 20.0) if self.of_torques else (1.0, 2.0, 3.0)

    def text(self, level: float) -> str:
        """Return name and size of the error at a level."""
        noise = f"mu {level:g}, sigma 1 Nm" if self.of_torques else f"sigma {level:g} cm"
        return f"{self.name}, {noise}"


TORQUES = {ORIENTATION: (0.410, 1.114, 2.098), FORCES: (0.073, 0.190, 0.255)}
FEET = {ORIENTATION: (0.001, 0.060, 0.202)}  # our copy of the paper lacks the row of (c)
KINDS = (
    _Kind("torques off, sensors do not see it", of_torques=True, shared=True, paper=TORQUES),
    _Kind("torques off, sensors see it", of_torques=True, shared=False, paper=TORQUES),
    _Kind("feet misplaced for all", of_torques=False, shared=True, paper=FEET),
    _Kind("feet misplaced for the identification", of_torques=False, shared=False, paper=FEET),
)


def sensitivity(trials: Trials) -> ExperimentResult:
    """Identify with every error, for every seed of errors and sensor noise."""
    robot = RobotLoop(ROBOT)
    cases = [
        (k, level, which) for k in range(len(KINDS)) for level in range(3) for which in (ORIENTATION, FORCES)
    ]
    if trials.quick:
        cases = [(0, 1, FORCES)]
    found = trials.by_case({case: partial(_identified, robot, *case, trials.quick) for case in cases})
    rows, refusals = list[TableRow](), set[str]()
    for (number, level, approach), some in found.items():
        kind, letter = KINDS[number], APPROACHES[approach][:3]
        text = f"{letter}, {kind.text(kind.levels[level])}"
        paper = kind.paper[approach][level] if approach in kind.paper else None
        bound = f"<= {2.0 * paper}" if paper is not None and not kind.shared else ""
        rows.append(row(f"{text}, median", "cm", errors_cm(some), "median", paper=paper, bound=bound))
        refusals |= {f"Given up: {text}: {trial.refusal}" for trial in some if trial.refusal}
    rows.append(unfinished_row([one for some in found.values() for one in some]))
    caveat = "our copy of the paper lacks the row of (c) for misplaced feet"
    return ExperimentResult(trials.seeds, rows, facts=sorted(refusals), caveat=caveat)


def _identified(
    robot: RobotLoop, number: int, level: int, approach: str, quick: bool, seed: int
) -> IdentificationTrial:
    """Identify with an error.

    The hind legs mirror the front ones, so hips and knees turn the other way: torques of mirrored sign bend
    all legs equally.
    """
    kind = KINDS[number]
    rng = default_rng([seed, level, int(kind.of_torques)])
    model, identified, size = perturbed(robot), None, kind.levels[level]
    errors: dict[str, Any] = {}
    if kind.of_torques:
        names = list(RobotModel.from_urdf(robot.urdf).joint_names)
        signs = np.array([-1.0 if name[1] == "h" and "haa" not in name else 1.0 for name in names])
        errors = {
            "nominal_friction.joints": names,
            "nominal_friction.terms": ["offset"],
            "nominal_friction.values": (rng.normal(size, 1.0, len(names)) * signs).tolist(),
            "sensors.effort_at": "motor" if kind.shared else "link",
        }
    else:
        feet = robot.config(SIMULATOR_NODE, SimulationConfig).robot.contacts
        moves = {foot: 1e-2 * rng.normal(0.0, size, 3) for foot in feet}
        identified = model.with_description(urdf_with_moved_links(model.urdf, moves))
        model = identified if kind.shared else model
    loop = standing_loop(model, Scene(errors=errors), seed, quick=quick, identified=identified)
    return identification(loop, approach)
