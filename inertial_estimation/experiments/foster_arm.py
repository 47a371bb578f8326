"""Foster et al., the arm of TALOS: an elbow holds its pose (Fig. 5), curls with 12 lb (Fig. 6 and 7).

Elbow: the mass of the forearm is 4.5 kg +- 3 kg, a sine of 1 Hz, from 8 s on a square wave; the controller
uses the URDF, with and without the estimates, with the same compliant gains.

Curl: the simulated robot differs from its description. At rest the mean residual becomes a bias (the startup
calibration); then 12 lb are fixed to the forearm, the filter is switched on, its estimate is handed over at
3 kg/s, and the elbow follows a sine. The same robots run without calibration, for comparison.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, hoist_time
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import CONTROLLER_NODE, INERTIAL_NODE, SIMULATOR_NODE
from inertial_estimation.experiments.crawl_run import perturbed_masses
from inertial_estimation.experiments.result import ExperimentResult, Trials, over_time, row
from inertial_estimation.figures import Level, Span
from inertial_estimation.signals import Array, JointReading
from inertial_estimation.simulation.disturbances import TWELVE_POUNDS, Attachment, MassWaveform, ball
from inertial_estimation.spatial.linear_algebra import rms

FOREARM, ELBOW = "arm_left_5_link", "arm_left_4_joint"
Columns = dict[str, Array]


def _overrides(stiffness: float, filter_parameters: Mapping[str, Any]) -> Overrides:
    """Return overrides with twice the torque limits: the elbow's 17.9 Nm cannot carry the heavy forearm.

    The stiffness is that of the elbow's posture [1/s^2].
    """
    return {
        SIMULATOR_NODE: {"actuators.torque_limit_scale": 2.0},
        CONTROLLER_NODE: {
            "torque_scale": 2.0,
            "posture.joints": [ELBOW],
            "posture.stiffnesses": [stiffness],
            "inertias.links": [FOREARM],
        },
        INERTIAL_NODE: {"links": [FOREARM], **filter_parameters},
    }


ELBOW_OVERRIDES = _overrides(
    8.0,  # so low that the unknown mass pulls the arm down by about a radian
    {
        "window": 0.03,
        "hand_over_rate": 1000.0,
        "filter": "log_cholesky",  # the filter of the paper
    },
)
SQUARE_FROM_S = 8.0


def elbow_run(
    robot: RobotLoop,
    seed: int,
    *,
    adaptation: bool,
    duration_s: float,
    hoist_s: float = HOIST_S,
    true_urdf: str = "",
) -> Columns:
    """Hold the elbow while the mass of the forearm varies (Table I).

    The seed is that of the sensor noise. With adaptation the controller gets the estimates. A true URDF
    describes the simulated robot; empty: that of estimators and controller.

    Returns:
        Columns time [s], error of the elbow [rad], and masses [kg]: mass (true), estimate, published.
    """
    mass = {"offset": 4.5, "amplitude": 3.0, "frequency": 1.0}  # [kg], [Hz]
    waves = [
        MassWaveform(FOREARM, wave="sine", stop=SQUARE_FROM_S, **mass),
        MassWaveform(FOREARM, wave="square", start=SQUARE_FROM_S, **mass),
    ]
    loop = robot.build(disturbances=waves, seed=seed, adaptation=adaptation, true_urdf=true_urdf)
    loop.release(hoist_s)
    home = _arm(loop)["angle"]
    columns = loop.record(duration_s, _arm)
    return {**columns, "error": columns["angle"] - home}


def _arm(loop: ClosedLoop) -> dict[str, float]:
    """Return the angle of the elbow [rad], and masses of the forearm [kg]: true, estimated, handed over."""
    truth, elbow = loop.simulation.truth((FOREARM,)), loop.simulation.robot.joint_index(ELBOW)
    assert loop.inertias is not None
    link = loop.inertias.links[0]
    return {
        "angle": float(truth.q[elbow]),
        "mass": truth.inertias[FOREARM].mass,
        "estimate": link.estimate.mass,
        "published": link.published.mass,
    }


def elbow(trials: Trials) -> ExperimentResult:
    """Hold the elbow with and without adaptation for every seed."""
    duration_s = 0.2 if trials.quick else 2.0 * SQUARE_FROM_S
    robot, hoist_s = RobotLoop("talos", ELBOW_OVERRIDES), hoist_time(quick=trials.quick)
    run = partial(elbow_run, robot, duration_s=duration_s, hoist_s=hoist_s)
    runs = trials.by_case({adaptation: partial(run, adaptation=adaptation) for adaptation in (False, True)})
    without, adapted = (np.array([rms(c["error"]) for c in runs[case]]) for case in (False, True))
    rows = [
        row("elbow RMSE without adaptation", "rad", without, paper=1.0956),
        row("elbow RMSE with adaptation", "rad", adapted, paper=0.1499),
        row("without / with", "", without / adapted, paper=7.3, bound=">= 7.3, aim >= 10"),
        row("without adaptation, at least", "rad", without, "min", bound=">= 0.5"),
        row("without adaptation, at most", "rad", without, "max", bound="<= 1.5"),
    ]
    ended = min(c["time"][-1] for columns in runs.values() for c in columns)
    facts = (f"Shortest run: {ended:.1f} s of {duration_s:g} s.",)
    held, sagged = runs[True][0], runs[False][0]
    t, end = held["time"], float(held["time"][-1])
    spans = (Span(SQUARE_FROM_S, end, "square wave"),) if end > SQUARE_FROM_S else ()
    errors = (
        ("without adaptation", sagged["time"], sagged["error"], "line", 1),
        ("with adaptation", t, held["error"], "line", 0),
    )
    masses = (
        ("true mass", t, held["mass"], "reference"),
        ("estimate, with adaptation", t, held["published"], "line", 0),
    )
    panels = [
        over_time("Elbow", "error [rad]", *errors, spans=spans),
        over_time("Forearm", "mass [kg]", *masses, spans=spans),
    ]
    return ExperimentResult(trials.seeds, rows, facts, panels=panels)


class Curl(NamedTuple):
    """Schedule and motion of a run; times count from the release [s] (F IV-B)."""

    calibrate_s: float = 1.0  # start of the calibration
    attach_s: float = 5.0  # the weight is attached
    on_s: float = 6.0  # the filter is switched on
    curl_s: float = 9.0  # start of the sine
    end_s: float = 21.0  # end of the run
    steady_s: float = 10.5  # time from which on errors count
    amplitude: float = 0.7  # amplitude of the sine [rad] (F IV-B)
    frequency: float = 0.333  # frequency of the sine [Hz] (F IV-B)
    centre: float = -1.0  # mean of the sine [rad]

    def reference(self, time_s: float) -> tuple[float, float]:
        """Return the elbow's angle and rate; the sine begins at its lower end, at rest."""
        omega = 2.0 * np.pi * self.frequency
        phase = omega * max(0.0, time_s - self.curl_s)
        rate = omega * self.amplitude * np.sin(phase)
        return float(self.centre - self.amplitude * np.cos(phase)), float(rate)


FULL = Curl()
QUICK = Curl(0.1, 0.25, 0.3, 0.35, 0.5, 0.35)


def _curl_run(robot: RobotLoop, seed: int, *, calibrated: bool, adaptation: bool, quick: bool) -> Columns:
    """Return columns time, angle and reference [rad], mass, estimate and published [kg].

    The seed is that of the robot's deviations and of the sensor noise.
    """
    plan = QUICK if quick else FULL
    true_urdf = perturbed_masses(robot.urdf, default_rng(seed))
    weight = Attachment(ball(FOREARM, TWELVE_POUNDS, (0.0, 0.0, 0.05)), start=plan.attach_s)
    loop = robot.build(true_urdf=true_urdf, disturbances=[weight], seed=seed, adaptation=adaptation)
    inertial = loop.inertial
    assert inertial is not None
    inertial.set_enabled(False)
    if quick:
        inertial.estimator.bias.window_s = plan.calibrate_s
    pending = [(plan.calibrate_s, inertial.calibrate)] if calibrated else []
    pending.append((plan.on_s, partial(inertial.set_enabled, True)))

    def look(loop: ClosedLoop) -> dict[str, float]:
        while pending and loop.time_s >= pending[0][0]:
            pending.pop(0)[1]()
        angle, rate = plan.reference(loop.time_s)
        loop.controller.push_joint_reference(
            JointReading(loop.simulation.stamp_ns, (ELBOW,), np.array([angle]), np.array([rate]))
        )
        return {**_arm(loop), "reference": angle}

    loop.release(hoist_time(quick=quick))
    return loop.record(plan.end_s, look)


def curl(trials: Trials) -> ExperimentResult:
    """Curl with and without calibration for every seed, without adaptation for the first one."""
    robot = RobotLoop("talos", _overrides(30.0, {}))
    run = partial(_curl_run, robot, quick=trials.quick)
    runs = trials.by_case(
        {
            "calibrated": partial(run, calibrated=True, adaptation=True),
            "plain": partial(run, calibrated=False, adaptation=True),
            "unadapted": partial(run, calibrated=True, adaptation=False),
        },
        first_seed_only=["unadapted"],
    )
    steady_s = (QUICK if trials.quick else FULL).steady_s
    steady = {
        case: [{k: v[c["time"] >= steady_s] for k, v in c.items()} for c in columns]
        for case, columns in runs.items()
    }
    off = {case: [c["published"] / c["mass"] - 1.0 for c in columns] for case, columns in steady.items()}
    mean, plain = ([100.0 * abs(float(e.mean())) for e in off[case]] for case in ("calibrated", "plain"))
    tracking = {case: [rms(c["angle"] - c["reference"]) for c in columns] for case, columns in steady.items()}
    goal = "<= 5, aim <= 2"
    rows = [
        row("forearm + weight, error of the mean mass", "%", mean, bound=goal),
        row("the same, worst seed", "%", mean, "max", bound=goal),
        row("error of the mean mass without calibration", "%", plain),
        row("the same, worst seed without calibration", "%", plain, "max"),
        row("elbow RMSE while curling", "rad", tracking["calibrated"]),
        row("elbow RMSE without adaptation, first seed", "rad", tracking["unadapted"][0]),
    ]
    facts = ("The calibration also absorbs errors of the forearm, as far as they change torques at rest.",)
    shown, plain_run, unadapted = (runs[case][0] for case in ("calibrated", "plain", "unadapted"))
    t, spans = shown["time"], (Span(FULL.attach_s, FULL.on_s, "weight on, filter off"),)
    angles = (
        ("commanded", t, shown["reference"], "reference"),
        ("without adaptation", unadapted["time"], unadapted["angle"], "line", 1),
        ("with adaptation", t, shown["angle"], "line", 0),
    )
    masses = (
        ("true mass", t, shown["mass"], "reference"),
        ("without calibration", plain_run["time"], plain_run["published"], "line", 2),
        ("with adaptation", t, shown["published"], "line", 0),
    )
    final = float(shown["mass"][-1])
    levels = (Level(1.05 * final, "5 %"), Level(0.95 * final))
    panels = [
        over_time("Elbow", "angle [rad]", *angles, spans=spans),
        over_time("Forearm and weight", "mass handed over [kg]", *masses, spans=spans, levels=levels),
    ]
    return ExperimentResult(trials.seeds, rows, facts, panels=panels)
