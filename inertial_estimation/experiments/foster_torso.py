"""Foster et al., the torso of TALOS: pelvis height (Fig. 4), linear KF and EKF (Fig. 3), gate (Fig. 8).

Pelvis: TALOS walks over ground of random height; its torso weighs 30 kg +- 5 kg by a square wave at 0.2 Hz;
the controller has the URDF's model, with and without the estimates. It is done twice: with the torso of the
URDF, 17.6 kg, and with one that already weighs the mean of 30 kg, so that only the square wave is unknown.

Consistency: both filters receive the readings of one walk, with equal priors and noise; neither moves the
robot. A sample is inconsistent if an eigenvalue of the pseudo-inertia is not positive.

Gating: one robot steps in place; two filters watch it, one with a gate. What shocks them is set up
as on hardware (docs/experiments.md). A second run changes the torso's mass by a square wave: the gate must
not mistake a load for a shock.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.scheduled_motions import ScheduledWalk
from inertial_estimation.closed_loop.time_series import TimeSeries, rms
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.result import ExperimentResult, Trials, row
from inertial_estimation.figures import Level, Panel, thinned
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import urdf_with_bodies
from inertial_estimation.models.whole_body_dynamics import BaseMotion, WholeBodyDynamics
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import MassWaveform
from inertial_estimation.simulation.simulation import GroundTruth
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters, pseudo_inertia

TORSO = "torso_2_link"
Columns = dict[str, Array]


MEAN_KG, AMPLITUDE_KG, WAVE_HZ = 30.0, 5.0, 0.2  # Table I
PELVIS_S = 20.0
HEIGHT_STIFFNESS = 40.0  # [1/s^2], so low that the unknown mass pulls the pelvis down by centimetres
PELVIS_OVERRIDES: Mapping[str, Mapping[str, Any]] = {
    SIMULATOR_NODE: {"ground.terrain": "rough", "ground.roughness": 0.01, "ground.cell": 0.25},
    CONTROLLER_NODE: {
        "base_height.stiffness": HEIGHT_STIFFNESS,
        "inertias.links": [TORSO],
    },
    INERTIAL_NODE: {
        "links": [TORSO],
        "window": 0.03,
        "prior.memory": 2.0,
        "gate.reopen_after": 0.05,
        "hand_over_rate": 1000.0,
        "filter": "log_cholesky",  # the filter of the paper
    },
}


class _PelvisHeight:
    """Height of the base origin above the soles, weighted by the vertical force on each [m]."""

    def __init__(self, robot: RobotModel, soles: Sequence[str]) -> None:
        self._dynamics = WholeBodyDynamics(robot, list(soles))
        self._still = np.zeros(robot.n_joints)

    def __call__(self, truth: GroundTruth) -> float:
        base = BaseMotion(truth.base.quaternion_xyzw, np.zeros(3), np.zeros(3))
        state = self._dynamics.compute(base, truth.q, self._still)
        heights = np.array([-frame.p_BF_W[2] for frame in state.frames])
        weights = np.maximum(0.0, [wrench[2] for wrench in truth.wrenches_C.values()])
        return float(np.average(heights, weights=weights if weights.sum() > 0.0 else None))


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

    The seed is that of ground and sensor noise. With adaptation the controller is given the estimates. A true
    URDF describes the simulated robot; empty: that of estimators and controller.

    Returns:
        Columns time, height and reference [m], mass, published [kg], x [m]; whether it fell.
    """
    loop = robot.build(
        disturbances=[MassWaveform(TORSO, "square", MEAN_KG, AMPLITUDE_KG, WAVE_HZ)],
        seed=seed,
        adaptation=adaptation,
        true_urdf=true_urdf,
    )
    loop.release(hoist_s)
    height = _PelvisHeight(loop.simulation.robot, loop.controller.config.robot.contact_frames)
    reference = height(loop.simulation.truth())
    walk, series = ScheduledWalk(WalkCommand(16, 0.1), 1.0, duration_s), TimeSeries()

    def tick(loop: ClosedLoop) -> None:
        walk.command(loop)
        truth = loop.simulation.truth((TORSO,))
        assert loop.inertias is not None
        series.add(
            loop.time_s,
            height=height(truth),
            reference=reference,
            mass=truth.inertias[TORSO].mass,
            published=loop.inertias.links[0].published.mass,
            x=float(truth.base.p_WB[0]),
        )

    loop.run(duration_s, tick)
    return dict(series.columns()), loop.simulation.fallen


def pelvis(trials: Trials) -> ExperimentResult:
    """Walk with either model of the torso's mass, with and without adaptation, for every seed."""
    robot = RobotLoop("talos", PELVIS_OVERRIDES)
    described = robot.inertial().robot
    torso = BodyReference.of_link(described, TORSO)
    scaled = torso.to_link @ torso.nominal_C * (MEAN_KG / torso.nominal_J.mass)
    heavier = urdf_with_bodies(robot.urdf, described, [torso], [scaled])
    models = {"URDF": robot, "30 kg": robot.believing(heavier)}
    duration_s, hoist_s = 0.2 if trials.quick else PELVIS_S, hoist_time(quick=trials.quick)
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
    first = [runs[case][0][0] for case in (("URDF", False), ("URDF", True), ("30 kg", False))]
    facts = ("Height: of the base above the soles that carry the robot, against that at the release.",)
    return ExperimentResult(trials.seeds, rows, facts, panels=_pelvis_panels(*first))


def _pelvis_panels(without: Columns, adapted: Columns, known: Columns) -> tuple[Panel, ...]:
    t, label = adapted["time"], "time [s]"
    heights = (
        thinned("desired", t, adapted["reference"], "reference"),
        thinned("without adaptation", without["time"], without["height"], colour=1),
        thinned("without, mean mass known", known["time"], known["height"], "dashed", colour=3),
        thinned("with adaptation", t, adapted["height"], colour=0),
    )
    masses = (
        thinned("true mass", t, adapted["mass"], "reference"),
        thinned("handed over", t, adapted["published"], colour=0),
    )
    return (
        Panel("Pelvis", label, "height above the soles [m]", heights),
        Panel("Torso", label, "mass [kg]", masses),
    )


STEPS, STEP_M, CONSISTENCY_S = 12, 0.15, 16.0
MOMENTS = ("ixx", "iyy", "izz")
FOLLOWING = {"links": [TORSO], "prior.memory": 2.0, "window": 0.03}  # follows a load, as in the pelvis runs
KINDS = {"ekf": "log_cholesky", "kf": "linear"}


def smallest_eigenvalue(link: LinkInertia) -> float:
    """Return the smallest eigenvalue of the pseudo-inertia about the centre of mass, [kg m^2] or [kg].

    About its centre of mass the pseudo-inertia is the second moments and the mass, side by side: it is
    positive definite exactly if mass and second moments are (F 16-21).
    """
    centred = InertialParameters(link.mass, np.zeros(3), link.inertia_Lcm)
    return float(linear_algebra.eigvalsh(pseudo_inertia(centred.vector))[0])


def _parameters(link: LinkInertia) -> dict[str, float]:
    moments = dict(zip(MOMENTS, np.diag(link.inertia_Lcm).tolist(), strict=True))
    return {"mass": link.mass, "smallest": smallest_eigenvalue(link), **moments}


def _watched_walk(robot: RobotLoop, quick: bool, seed: int) -> tuple[dict[str, Columns], float]:
    """Return what both filters estimate during a walk, and the distance walked [m]."""
    spectators = [robot.inertial({INERTIAL_NODE: {**FOLLOWING, "filter": kind}}) for kind in KINDS.values()]
    loop = robot.build(seed=seed, adaptation=False, inertial=False, spectators=spectators)
    duration_s, series = 0.4 if quick else CONSISTENCY_S, {name: TimeSeries() for name in KINDS}
    walk = ScheduledWalk(WalkCommand(STEPS, STEP_M), 0.5, duration_s)

    def tick(loop: ClosedLoop) -> None:
        walk.command(loop)
        for one, estimate in zip(series.values(), loop.watched, strict=True):
            if estimate is not None:
                one.add(loop.time_s, **_parameters(estimate.links[0].estimate))

    loop.release(hoist_time(quick=quick))
    loop.run(duration_s, tick)
    columns = {name: dict(one.columns()) for name, one in series.items()}
    return columns, float(loop.simulation.truth().base.p_WB[0])


def consistency(trials: Trials) -> ExperimentResult:
    """Walk once for every seed; both filters watch."""
    robot = RobotLoop("talos")
    walks = trials.by_seed(partial(_watched_walk, robot, trials.quick))
    body = robot.inertial({INERTIAL_NODE: FOLLOWING}).robot.link_body(TORSO)
    value = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
    nominal = _parameters(LinkInertia(TORSO, value.mass, value.com_F, value.inertia_Fcm))
    ekf, kf = (
        [np.count_nonzero(~(columns[name]["smallest"] > 0.0)) for columns, _ in walks] for name in KINDS
    )
    first = walks[0][0]
    rows = [
        row("inconsistent samples, EKF, most of any seed", "", ekf, "max", bound="== 0"),
        row("inconsistent samples, linear KF, least of any seed", "", kf, "min", bound="> 0"),
        row("samples of each filter and seed", "", len(first["ekf"]["time"])),
        row("torso mass at the end, EKF", "kg", first["ekf"]["mass"][-1]),
        row("torso mass at the end, linear KF", "kg", first["kf"]["mass"][-1]),
        row("torso mass, true", "kg", nominal["mass"]),
        row("distance walked, least", "m", [distance for _, distance in walks], "min"),
    ]
    shown = {
        "mass": ("Mass", "kg"),
        **{moment: (f"I{moment[1:]}", "kg m^2") for moment in MOMENTS},
        "smallest": ("Smallest eigenvalue of the pseudo-inertia", "kg m^2"),
    }
    panels = [_consistency_panel(first, nominal, column, *words) for column, words in shown.items()]
    return ExperimentResult(trials.seeds, rows, panels=panels, columns=2)


def _consistency_panel(
    shown: Mapping[str, Columns], nominal: Mapping[str, float], column: str, title: str, unit: str
) -> Panel:
    times = shown["ekf"]["time"]
    curves = (
        thinned("true", times, np.full(len(times), nominal[column]), "reference"),
        thinned("linear KF", shown["kf"]["time"], shown["kf"][column], colour=1),
        thinned("EKF", times, shown["ekf"][column], colour=0),
    )
    levels = () if column == "mass" else (Level(0.0),)
    return Panel(title, "time [s]", f"{title.split()[0]} [{unit}]", curves, levels=levels)


GATING_S, SETTLED_S = 20.0, 4.0
QUICK_GATING_S, QUICK_SETTLED_S = 1.9, 1.0  # one touchdown
LOAD_KG, LOAD_HZ = 5.0, 0.2  # the square wave is the nominal mass plus and minus half of it
CONTACT_N = 50.0
BEFORE_S, AFTER_S = 0.05, 0.25  # window around a touchdown in which its shock is searched
FOLLOW_S, MEAN_S = 0.5, 0.1
FILTERS = {"gated": {}, "ungated": {"gate.reopen_after": 0.0}}
GATING = {"links": [TORSO], "prior.memory": 2.0, "filter": "log_cholesky", "window": 0.015}
HARDWARE: Mapping[str, Mapping[str, Any]] = {
    SIMULATOR_NODE: {"ground.stiffness": 5e5, "step": 0.0005, "sensors.wrench_delay_s": 0.003},
    CONTROLLER_NODE: {"walking.touchdown_speed": 0.3},
}


def touchdowns(times: Array, force: Array) -> Array:
    """Return the times at which a vertical force rises through the threshold [s]."""
    loaded = force > CONTACT_N
    moments: Array = times[1:][loaded[1:] & ~loaded[:-1]]
    return moments


def touchdown_deviation(times: Array, mass: Array, truth: Array, moments: Array) -> float:
    """Return the largest deviation of the mass from the truth around any touchdown [kg]."""
    near = np.zeros(len(times), dtype=bool)
    for moment in moments:
        near |= (times > moment - BEFORE_S) & (times < moment + AFTER_S)
    return float(np.abs(mass - truth)[near].max()) if near.any() else float("nan")


def followed_share(times: Array, mass: Array, truth: Array) -> Array:
    """Return the share of each jump of the true mass that the estimate has followed within 0.5 s.

    It is one minus what is missing or too much, relative to the jump, shape (jumps,). The estimate is
    averaged over the last `MEAN_S` of that time.
    """
    jumps = np.flatnonzero(np.abs(np.diff(truth)) > 1.0) + 1
    shares = []
    for jump in jumps:
        first, last = np.searchsorted(times, times[jump] + FOLLOW_S + np.array([-MEAN_S, 0.0]))
        if last < len(times):
            missing = truth[last] - float(np.mean(mass[first : last + 1]))
            shares.append(1.0 - abs(missing / (truth[jump] - truth[jump - 1])))
    return np.array(shares)


def _step_in_place(robot: RobotLoop, load: bool, quick: bool, seed: int) -> Columns:
    """Return time, true mass, estimates by filter, and the force on each foot."""
    spectators = [robot.inertial({INERTIAL_NODE: {**GATING, **kind}}) for kind in FILTERS.values()]
    nominal = spectators[0].robot.link_body(TORSO).nominal_J.mass
    waves = [MassWaveform(TORSO, "square", nominal, LOAD_KG / 2.0, LOAD_HZ)] if load else []
    loop = robot.build(seed=seed, disturbances=waves, adaptation=False, inertial=False, spectators=spectators)
    begin_s, duration_s = (0.0, 0.2 if load else QUICK_GATING_S) if quick else (0.5, GATING_S)
    walk, series = ScheduledWalk(WalkCommand(40, 0.0), begin_s, duration_s), TimeSeries()

    def tick(loop: ClosedLoop) -> None:
        walk.command(loop)
        masses = [e.links[0].estimate.mass for e in loop.watched if e is not None]
        if len(masses) == len(FILTERS):
            truth = loop.simulation.truth((TORSO,))
            forces = {name: float(wrench[2]) for name, wrench in truth.wrenches_C.items()}
            watched = dict(zip(FILTERS, masses, strict=True))
            series.add(loop.time_s, mass=truth.inertias[TORSO].mass, **watched, **forces)

    loop.release(hoist_time(quick=quick))
    loop.run(duration_s, tick)
    return dict(series.columns())


def gating(trials: Trials) -> ExperimentResult:
    """Step in place with constant and with varying mass for every seed; two filters watch."""
    robot = RobotLoop("talos", HARDWARE)
    runs = trials.by_case(
        {load: partial(_step_in_place, robot, load, trials.quick) for load in (False, True)}
    )
    settled_s = QUICK_SETTLED_S if trials.quick else SETTLED_S
    settled = [{k: v[c["time"] > settled_s] for k, v in c.items()} for c in runs[False]]
    landed = [np.concatenate([touchdowns(c["time"], c[foot]) for foot in _feet(c)]) for c in settled]
    pairs = list(zip(settled, landed, strict=True))
    peak = {
        name: np.array([touchdown_deviation(c["time"], c[name], c["mass"], times) for c, times in pairs])
        for name in FILTERS
    }
    share = np.concatenate([followed_share(c["time"], c["gated"], c["mass"]) for c in runs[True]])
    where = "peak deviation around touchdown"
    followed = f"5 kg square wave, share followed in 0.5 s (mean of its last {MEAN_S:g} s), least of any jump"
    rows = [
        row(f"{where}, gated", "kg", peak["gated"]),
        row(f"{where}, ungated", "kg", peak["ungated"]),
        row("gated / ungated", "", peak["gated"] / peak["ungated"], bound="<= 0.3, aim <= 0.1"),
        row("touchdowns looked at, least of any seed", "", [len(moments) for moments in landed], "min"),
        row(followed, "", share, "min", bound=">= 0.9"),
        row("the same, mean over jumps", "", share),
    ]
    return ExperimentResult(trials.seeds, rows, panels=_gating_panels(runs[False][0], runs[True][0]))


def _gating_panels(constant: Columns, loaded: Columns) -> tuple[Panel, ...]:
    panels = []
    for title, run in (("Torso, constant mass", constant), ("Torso, square wave of 5 kg", loaded)):
        masses = (
            thinned("true mass", run["time"], run["mass"], "reference"),
            thinned("ungated", run["time"], run["ungated"], "thin", colour=1),
            thinned("gated", run["time"], run["gated"], colour=0),
        )
        panels.append(Panel(title, "time [s]", "mass [kg]", masses))
    return tuple(panels)


def _feet(columns: Columns) -> list[str]:
    return [name for name in columns if name not in ("time", "mass", *FILTERS)]
