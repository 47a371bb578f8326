"""Foster et al., the torso of TALOS: pelvis height (Fig. 4), linear KF and EKF (Fig. 3), gate (Fig. 8).

Pelvis: TALOS walks over ground of random height; its torso weighs 30 kg +- 5 kg by a square wave at 0.2 Hz;
the controller has the URDF's model, with and without the estimates. It is done twice: with the torso of the
URDF, 17.6 kg, and with one that already weighs the mean of 30 kg, so that only the square wave is unknown.

Consistency: both filters receive the readings of one walk, with equal priors and noise; neither moves the
robot. A sample is inconsistent if an eigenvalue of the pseudo-inertia is not positive.

Gating: one robot steps in place; two filters receive its readings, one with a gate. Ground, step, delay and
touchdown speed cause shocks as on hardware (docs/experiments.md). A second run changes the torso's mass by a
square wave: the gate must not mistake a load for a shock.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, hoist_time, walk_at
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.result import ExperimentResult, Trials, over_time, row
from inertial_estimation.figures import Level
from inertial_estimation.inertial.comparison_filters import LogCholeskyEkf
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import MassWaveform
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia
from inertial_estimation.spatial.linear_algebra import rms

TORSO = "torso_2_link"
Columns = dict[str, Array]
FOLLOWING = {"links": [TORSO], "window": 0.03}  # parameters of a filter that follows a load
UNKNOWN = {"prior.mass": 1.0, "prior.com": 0.1, "prior.radii": 0.5}  # a wide prior
MEAN_KG = 30.0  # mean mass of the torso (Table I)
PELVIS_OVERRIDES: Overrides = {
    SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": 0.01, "ground.cell": 0.25},
    CONTROLLER_NODE: {
        "base_height.stiffness": 40.0,  # so low that the unknown mass pulls the pelvis down by centimetres
        "inertias.links": [TORSO],
    },
    INERTIAL_NODE: {
        **FOLLOWING,
        "hand_over_rate": 1000.0,
        "filter": "log_cholesky",  # the filter of the paper
    },
}


def pelvis_run(
    robot: RobotLoop,
    seed: int,
    *,
    adaptation: bool,
    duration_s: float,
    hoist_s: float = HOIST_S,
    true_urdf: str = "",
) -> tuple[Columns, bool]:
    """Walk over rough ground while the mass of the torso varies (Table I).

    The seed is that of ground and sensor noise. With adaptation the controller gets the estimates. A true
    URDF describes the simulated robot; empty: that of estimators and controller.

    Returns:
        Columns time [s], height (of the base above the soles, weighted by the force on each) and reference
        [m], mass and published [kg], x [m]; whether the robot fell.
    """
    wave = MassWaveform(TORSO, "square", MEAN_KG, amplitude=5.0, frequency=0.2)
    loop = robot.build(disturbances=[wave], seed=seed, adaptation=adaptation, true_urdf=true_urdf)
    loop.release(hoist_s)
    walk = walk_at(1.0, WalkCommand(16, 0.1))

    def look(loop: ClosedLoop) -> dict[str, float]:
        walk(loop)
        truth = loop.simulation.truth((TORSO,))
        heights = [truth.base.p_WB[2] - points[:, 2].mean() for points in truth.points_W.values()]
        weights = np.maximum(0.0, [wrench[2] for wrench in truth.wrenches_C.values()])
        assert loop.inertias is not None
        return {
            "height": float(np.average(heights, weights=weights if weights.sum() > 0.0 else None)),
            "mass": truth.inertias[TORSO].mass,
            "published": loop.inertias.links[0].published.mass,
            "x": float(truth.base.p_WB[0]),
        }

    begin = look(loop)["height"]
    columns = loop.record(duration_s, look)
    return {**columns, "reference": np.full(len(columns["time"]), begin)}, loop.simulation.fallen


def pelvis(trials: Trials) -> ExperimentResult:
    """Walk with either model of the torso's mass, with and without adaptation, for every seed."""
    robot = RobotLoop("talos", PELVIS_OVERRIDES)
    described = robot.inertial().robot
    torso = BodyReference.of_link(described, TORSO)
    scaled = torso.to_link @ torso.nominal_C * (MEAN_KG / torso.nominal_J.mass)
    heavier = urdf_with_bodies(robot.urdf, described, [torso], [scaled])
    models = {"URDF": robot, "30 kg": robot.with_description(heavier)}
    duration_s, hoist_s = 0.2 if trials.quick else 20.0, hoist_time(quick=trials.quick)
    run = partial(pelvis_run, duration_s=duration_s, hoist_s=hoist_s)
    runs = trials.by_case(
        {
            (model, adaptation): partial(run, loop, adaptation=adaptation)
            for model, loop in models.items()
            for adaptation in (False, True)
        }
    )
    error = {
        case: np.array([rms(c["height"] - c["reference"]) for c, _fell in walks])
        for case, walks in runs.items()
    }
    every = [run for walks in runs.values() for run in walks]
    rows = []
    for model in models:
        without, adapted = error[model, False], error[model, True]
        ratio = without / adapted
        rows += [
            row(f"height RMSE without adaptation, torso of {model}", "m", without, paper=0.0352),
            row(f"height RMSE with adaptation, torso of {model}", "m", adapted, paper=0.0157),
            row(f"without / with, torso of {model}", "", ratio, paper=2.24, bound=">= 2.24, aim >= 3"),
        ]
    rows.append(row("falls", "", sum(fell for _columns, fell in every)))
    rows.append(row("distance walked, least", "m", [c["x"][-1] for c, _fell in every], "min"))
    facts = ("Height: of the base above the soles that carry the robot, against that at the release.",)
    held, sagged, known = (runs[case][0][0] for case in (("URDF", True), ("URDF", False), ("30 kg", False)))
    heights = (
        ("desired", held["time"], held["reference"], "reference"),
        ("without adaptation", sagged["time"], sagged["height"], "line", 1),
        ("without, mean mass known", known["time"], known["height"], "dashed", 3),
        ("with adaptation", held["time"], held["height"], "line", 0),
    )
    masses = (
        ("true mass", held["time"], held["mass"], "reference"),
        ("handed over", held["time"], held["published"], "line", 0),
    )
    panels = [
        over_time("Pelvis", "height above the soles [m]", *heights),
        over_time("Torso", "mass [kg]", *masses),
    ]
    return ExperimentResult(trials.seeds, rows, facts, panels=panels)


MOMENTS = ("ixx", "iyy", "izz")
KINDS = {"ekf": "log_cholesky", "kf": "linear"}


def _parameters(link: LinkInertia) -> dict[str, float]:
    """Return mass, moments of inertia, and the smallest eigenvalue of the pseudo-inertia, [kg m^2] or [kg].

    About the centre of mass the pseudo-inertia is the second moments and the mass, side by side: it is
    positive definite exactly if mass and second moments are (F 16-21).
    """
    centred = InertialParameters(link.mass, np.zeros(3), link.inertia_Lcm)
    smallest = float(linear_algebra.eigvalsh(pseudo_inertia(centred.vector))[0])
    moments = dict(zip(MOMENTS, np.diag(link.inertia_Lcm).tolist(), strict=True))
    return {"mass": link.mass, "smallest": smallest, **moments}


def _watched_walk(robot: RobotLoop, quick: bool, seed: int) -> Columns:
    """Return the estimates of both filters during a walk, ``ekf/mass`` etc., and x of the base [m]."""
    spectators = [
        robot.inertial({INERTIAL_NODE: {**FOLLOWING, **UNKNOWN, "filter": kind}}) for kind in KINDS.values()
    ]
    loop = robot.build(seed=seed, adaptation=False, inertial=False, spectators=spectators)
    duration_s = 0.4 if quick else 16.0
    walk = walk_at(0.5, WalkCommand(12, 0.15))

    def look(loop: ClosedLoop) -> dict[str, float]:
        walk(loop)
        found = {"x": float(loop.simulation.truth().base.p_WB[0])}
        for name, estimate in zip(KINDS, loop.spectator_estimates, strict=True):
            if estimate is None:
                return {}
            values = _parameters(estimate.links[0].estimate)
            found |= {f"{name}/{quantity}": value for quantity, value in values.items()}
        return found

    loop.release(hoist_time(quick=quick))
    return loop.record(duration_s, look)


def consistency(trials: Trials) -> ExperimentResult:
    """Walk once for every seed, with both filters as spectators."""
    robot = RobotLoop("talos")
    walks = trials.by_seed(partial(_watched_walk, robot, trials.quick))
    body = robot.inertial({INERTIAL_NODE: FOLLOWING}).robot.link_body(TORSO)
    value = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
    nominal = _parameters(value.of_link(TORSO))
    ekf, kf = ([np.count_nonzero(~(c[f"{name}/smallest"] > 0.0)) for c in walks] for name in KINDS)
    first = walks[0]
    rows = [
        row("inconsistent samples, EKF, most of any seed", "", ekf, "max", bound="== 0"),
        row("inconsistent samples, linear KF, least of any seed", "", kf, "min", bound="> 0"),
        row("samples of each filter and seed", "", len(first["time"])),
        row("torso mass at the end, EKF", "kg", first["ekf/mass"][-1]),
        row("torso mass at the end, linear KF", "kg", first["kf/mass"][-1]),
        row("torso mass, true", "kg", nominal["mass"]),
        row("distance walked, least", "m", [c["x"][-1] for c in walks], "min"),
    ]
    shown = {
        "mass": ("Mass", "kg"),
        **{moment: (f"I{moment[1:]}", "kg m^2") for moment in MOMENTS},
        "smallest": ("Smallest eigenvalue of the pseudo-inertia", "kg m^2"),
    }
    panels = []
    for column, (title, unit) in shown.items():
        curves = (
            ("true", first["time"], np.full(len(first["time"]), nominal[column]), "reference"),
            ("linear KF", first["time"], first[f"kf/{column}"], "line", 1),
            ("EKF", first["time"], first[f"ekf/{column}"], "line", 0),
        )
        levels = () if column == "mass" else (Level(0.0),)
        panels.append(over_time(title, f"{title.split()[0]} [{unit}]", *curves, levels=levels))
    return ExperimentResult(trials.seeds, rows, panels=panels)


class Gating(NamedTuple):
    """Schedule of the steps in place, and evaluation of touchdowns and of jumps of the mass."""

    duration_s: float = 20.0  # duration of the run with constant mass
    loaded_s: float = 20.0  # duration of the run with the square wave
    begin_s: float = 0.5  # start of the steps
    settled_s: float = 4.0  # time from which on touchdowns count
    load_kg: float = 5.0  # height of the square wave: the nominal mass plus and minus half of it
    contact_N: float = 50.0  # vertical force from which on a foot has touched down
    before_s: float = 0.05  # start of the window around a touchdown in which its shock is searched
    after_s: float = 0.25  # end of that window
    follow_s: float = 0.5  # time in which the estimate is to follow a jump of the mass
    mean_s: float = 0.1  # part at the end of that time over which the estimate is averaged


FULL = Gating()
QUICK = Gating(1.9, 0.2, 0.0, 1.0)  # quick: one touchdown
FILTERS = {"gated": True, "ungated": False}
GATING = {**FOLLOWING, "filter": "log_cholesky", "window": 0.015}
HARDWARE: Overrides = {
    SIMULATOR_NODE: {"ground.stiffness": 5e5, "step": 0.0005, "sensors.wrench_delay_s": 0.003},
    CONTROLLER_NODE: {"walking.touchdown_speed": 0.3},
}


def touchdown_deviations(c: Columns, names: tuple[str, ...], plan: Gating) -> tuple[list[float], int]:
    """Return the largest deviation of each estimate [kg] around touchdowns, and the number of touchdowns.

    Args:
        c: Columns time, mass (true), the named estimates, and the vertical force of each foot.
        names: Names of the estimates.
        plan: Touchdowns that count, and the window around them.
    """
    c = {name: column[c["time"] > plan.settled_s] for name, column in c.items()}
    t, near, count = c["time"], np.zeros(len(c["time"]), dtype=bool), 0
    for foot in c.keys() - {"time", "mass", *FILTERS}:
        loaded = c[foot] > plan.contact_N
        for moment in t[1:][loaded[1:] & ~loaded[:-1]]:
            near |= (t > moment - plan.before_s) & (t < moment + plan.after_s)
            count += 1
    deviations = [np.abs(c[name] - c["mass"])[near] for name in names]
    return [float(one.max()) if len(one) else float("nan") for one in deviations], count


def followed_share(times: Array, mass: Array, truth: Array, plan: Gating) -> Array:
    """Return the share of each jump of the true mass that the estimate has followed in time.

    It is one minus the magnitude of the error of the estimate, relative to the jump, shape (jumps,).
    """
    jumps = np.flatnonzero(np.abs(np.diff(truth)) > 1.0) + 1
    shares = []
    for jump in jumps:
        first, last = np.searchsorted(times, times[jump] + plan.follow_s + np.array([-plan.mean_s, 0.0]))
        if last < len(times):
            missing = truth[last] - float(np.mean(mass[first : last + 1]))
            shares.append(1.0 - abs(missing / (truth[jump] - truth[jump - 1])))
    return np.array(shares)


def _step_in_place(robot: RobotLoop, load: bool, quick: bool, seed: int) -> Columns:
    """Return time, true mass, estimates by filter, and the force on each foot."""
    plan = QUICK if quick else FULL
    spectators = [robot.inertial({INERTIAL_NODE: GATING}) for _ in FILTERS]
    for spectator, gated in zip(spectators, FILTERS.values(), strict=True):
        filter_ = spectator.estimator.filter
        assert isinstance(filter_, LogCholeskyEkf)
        filter_.gated = gated
    nominal = spectators[0].robot.link_body(TORSO).nominal_J.mass
    waves = [MassWaveform(TORSO, "square", nominal, plan.load_kg / 2.0, 0.2)] if load else []
    loop = robot.build(seed=seed, disturbances=waves, adaptation=False, inertial=False, spectators=spectators)
    duration_s = plan.loaded_s if load else plan.duration_s
    walk = walk_at(plan.begin_s, WalkCommand(40, 0.0))

    def look(loop: ClosedLoop) -> dict[str, float]:
        walk(loop)
        masses = [e.links[0].estimate.mass for e in loop.spectator_estimates if e is not None]
        if len(masses) < len(FILTERS):
            return {}
        truth = loop.simulation.truth((TORSO,))
        forces = {name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()}
        return {"mass": truth.inertias[TORSO].mass, **dict(zip(FILTERS, masses, strict=True)), **forces}

    loop.release(hoist_time(quick=quick))
    return loop.record(duration_s, look)


def gating(trials: Trials) -> ExperimentResult:
    """Step in place with constant and with varying mass for every seed, with two filters as spectators."""
    robot, plan = RobotLoop("talos", HARDWARE), QUICK if trials.quick else FULL
    runs = trials.by_case(
        {load: partial(_step_in_place, robot, load, trials.quick) for load in (False, True)}
    )
    found = [touchdown_deviations(c, tuple(FILTERS), plan) for c in runs[False]]
    gated, ungated = np.array([deviations for deviations, _count in found]).T
    share = np.concatenate([followed_share(c["time"], c["gated"], c["mass"], plan) for c in runs[True]])
    where = "peak deviation around touchdown"
    followed = (
        f"5 kg square wave, share followed in 0.5 s (mean of its last {plan.mean_s:g} s), least of any jump"
    )
    rows = [
        row(f"{where}, gated", "kg", gated),
        row(f"{where}, ungated", "kg", ungated),
        row("gated / ungated", "", gated / ungated, bound="<= 0.3, aim <= 0.1"),
        row("touchdowns looked at, least of any seed", "", [count for _one, count in found], "min"),
        row(followed, "", share, "min", bound=">= 0.9"),
        row("the same, mean over jumps", "", share),
    ]
    panels = []
    for title, load in (("Torso, constant mass", False), ("Torso, square wave of 5 kg", True)):
        c = runs[load][0]
        masses = (
            ("true mass", c["time"], c["mass"], "reference"),
            ("ungated", c["time"], c["ungated"], "thin", 1),
            ("gated", c["time"], c["gated"], "line", 0),
        )
        panels.append(over_time(title, "mass [kg]", *masses))
    return ExperimentResult(trials.seeds, rows, panels=panels)
