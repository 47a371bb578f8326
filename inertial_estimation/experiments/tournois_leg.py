"""Tournois et al., IV-A: the parameters of HyQ's right hind leg, trunk held, from 180 s of random sines.

The true leg is that of the description with noise on centres of mass and moments of inertia; identification
starts from the description. Least squares determines the parameters that the data determine, the others keep
the values of the description (T 5).

The sensors are ideal ones with added noise (`synthetic/ideal_robots.IdealSensors`): the noise of the
parameters gives physically inconsistent bodies, which physics cannot simulate, but inverse dynamics can.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, over_time, row
from inertial_estimation.figures import Panel
from inertial_estimation.identification.identifiability import base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import IdentificationReport, MethodResult
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import SineMotion
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array, Identifiability, seconds
from inertial_estimation.simulation.config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.synthetic.ideal_robots import IdealSensors, MotionState

LINKS = ("rh_hipassembly", "rh_upperleg", "rh_lowerleg")
OTHER_LEGS = ("lf_*", "rf_*", "lh_*")  # locked
METHOD = "nullspace-prior"
LEADING = ("mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcz", "m")


class Study(NamedTuple):
    """Errors of the description of the leg, and motion of the leg."""

    training_s: float = 180.0
    validation_s: float = 60.0
    plotted_s: tuple[float, float] = (10.0, 45.0)  # part of the validation in the figure
    com_sigma: float = 0.02  # standard deviation of centres of mass (T IV-A) [m]
    moment_sigma: float = 0.02  # standard deviation of moments of inertia [kg m^2]
    amplitudes: tuple[float, ...] = (0.25, 0.20, 0.40)  # of the sines [rad] (T IV-A)
    band_hz: tuple[float, float] = (0.3, 0.9)  # frequencies of the sines (T IV-A)
    margin: float = 0.05  # smallest distance from the joint limits [rad]
    shift_hz: tuple[float, float] = (0.01, 0.05)  # of slow sines, which shift the centre of the fast ones
    shifts: int = 2  # number of slow sines of each joint
    fade_s: float = 1.0
    rate_hz: float = 500.0
    row_hz: float = 10.0
    window_s: float = 0.12


FULL = Study()
QUICK = Study(12.0, 6.0, (0.0, 6.0))


class DisturbedLeg(NamedTuple):
    """A leg whose parameters are not those of its description."""

    robot: RobotModel
    parameters: Array  # of each link, about its frame, Pinocchio's order, shape (3, 10)


def disturbed_leg(urdf: str, rng: Generator) -> DisturbedLeg:
    """Add noise to centres of mass and moments of inertia (T IV-A); bodies may become inconsistent."""
    nominal = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=OTHER_LEGS)
    bodies = estimated_bodies(nominal, LINKS)
    parameters = np.array([body.to_link @ body.nominal_C for body in bodies])
    for pi in parameters:
        pi[1:4] += pi[0] * FULL.com_sigma * rng.standard_normal(3)
        pi[4:] += FULL.moment_sigma * rng.standard_normal(6)
    model = nominal.model.copy()
    for body, pi in zip(bodies, parameters, strict=True):
        pi_J = body.to_joint @ linear_algebra.solve(body.to_link, pi)
        model.inertias[body.joint_id] = model.inertias[body.joint_id].FromDynamicParameters(pi_J)
    return DisturbedLeg(RobotModel(model), parameters)


def swing(robot: RobotModel, rng: Generator) -> SineMotion:
    """Draw a motion within the joint limits: one sine per joint about a centre that slow sines shift.

    The slow sines use the range that the fast ones leave of the joint limits.
    """
    limits, n, study = joint_limits(robot), robot.n_joints, FULL
    half = 0.5 * (limits.upper - limits.lower) - study.margin
    fast = np.minimum(study.amplitudes, half)
    shares = rng.dirichlet(np.full(study.shifts, 5.0), size=n)
    slow = (n, study.shifts)
    frequencies = np.column_stack([rng.uniform(*study.band_hz, n), rng.uniform(*study.shift_hz, slow)])
    phases = rng.uniform(0.0, 2.0 * np.pi, frequencies.shape)
    amplitudes = np.column_stack([fast * rng.uniform(0.5, 1.0, n), (half - fast)[:, None] * shares])
    return SineMotion(0.5 * (limits.lower + limits.upper), amplitudes, frequencies, phases, 0.0, study.fade_s)


def record_swing(
    robot: RobotModel, motion: SineMotion, duration_s: float, noise: SensorNoise, rng: Generator
) -> SignalBlock:
    """Compute measured positions, velocities and torques of a leg."""
    sensors = IdealSensors(robot)
    q, v, a = motion.at(np.arange(round(duration_s * FULL.rate_hz)) / FULL.rate_hz)
    tau = np.array([sensors.read(MotionState(*state)).tau for state in zip(q, v, a, strict=True)])
    return SignalBlock(
        start_ns=0,
        step_s=1.0 / FULL.rate_hz,
        q=q + noise.position * rng.standard_normal(q.shape),
        v=v + noise.velocity * rng.standard_normal(v.shape),
        tau=tau + noise.effort * rng.standard_normal(tau.shape),
    )


class LegTrial(NamedTuple):
    """Identification of one leg."""

    report: IdentificationReport
    base_errors: dict[str, float]  # error of each base parameter, by the name of its leading parameter
    rows: tuple[Array, Array, Array, Array]  # stamps [s], torques: measured, identified, nominal, (k, 3) each

    @property
    def result(self) -> MethodResult:
        """Result of the method."""
        return self.report.methods[METHOD]

    @property
    def masses(self) -> dict[str, float]:
        """Nominal masses by link [kg]."""
        return {body.link: body.nominal.mass for body in self.result.bodies}

    @property
    def first_moments_mm(self) -> Array:
        """Errors of the base parameters led by a first moment, over the link's mass [mm]."""
        led = ((name.split("/"), error) for name, error in self.base_errors.items())
        return np.array(
            [1e3 * error / self.masses[link] for (link, which), error in led if which[:2] == "mc"]
        )

    @property
    def expected_mm(self) -> float:
        """Largest standard deviation of individually identifiable first moments, over the mass [mm]."""
        return max(
            1e3 * parameter.sigma / self.masses[parameter.name.split("/")[0]]
            for parameter in self.result.parameters
            if "/mc" in parameter.name and parameter.identifiability is Identifiability.IDENTIFIABLE
        )


def leg_trial(urdf: str, study: Study, noise: SensorNoise, seed: int) -> LegTrial:
    """Draw a leg that differs from its nominal description, move it and identify it.

    The seed determines the leg, its two motions, of which the first is fitted, and the noise.
    """
    draws = default_rng(seed)
    leg = disturbed_leg(urdf, draws)
    training, validation = (
        record_swing(leg.robot, swing(leg.robot, draws), duration_s, noise, draws)
        for duration_s in (study.training_s, study.validation_s)
    )
    config = {
        "floating_base": False,
        "locked_joints": list(OTHER_LEGS),
        "links": list(LINKS),
        "contact_wrenches": "none",
        "smoothing.window": FULL.window_s,
        "smoothing.row_rate": FULL.row_hz,
    }
    identifier = Identifier(build_config(IdentificationConfig, config), urdf)
    identifier.push(training)
    identifier.push(validation, validation=True)
    report = identifier.report([METHOD])
    x, true = report.methods[METHOD].x, leg.parameters.ravel()
    names = identifier.parameters.names
    order = [names.index(f"{link}/{which}") for which in LEADING for link in LINKS]
    base = base_parameters(identifier.rows(training).regressor.reshape(-1, len(names)), order)
    errors = base.coupling @ (identifier.parameters.standard(x) - true)
    base_errors = {names[i]: float(error) for i, error in zip(base.columns, errors, strict=True)}
    other = identifier.rows(validation)
    torques = (other.measured, other.predicted(x), other.predicted(np.zeros(len(x))))
    return LegTrial(report, base_errors, (seconds(other.stamps_ns), *torques))


def run(trials: Trials) -> ExperimentResult:
    """Identify one leg for each seed, with the noise of sensors and without."""
    study = QUICK if trials.quick else FULL
    trial = partial(leg_trial, RobotLoop("hyq").urdf, study)
    found = trials.by_case({noise: partial(trial, noise) for noise in (REALISTIC, NOISE_FREE)})
    noisy, exact = found[REALISTIC], found[NOISE_FREE]
    first, seed = noisy[0], trials.seeds[0]
    rows = [*_judged_rows(noisy, exact), *_torque_rows(noisy)]
    facts = (
        "Six base parameters are judged, led by m c_x and m c_y of each link, over its nominal mass.",
        f"Condition number of the scaled regressor: {first.report.condition:.3g} (seed {seed}).",
    )
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(first, study.plotted_s, seed))


def _panels(trial: LegTrial, plotted_s: tuple[float, float], seed: int) -> list[Panel]:
    """Return torques of the other motion (T Fig. 4)."""
    times, measured, identified, nominal = trial.rows
    part = (times >= plotted_s[0]) & (times <= plotted_s[1])
    t, names = times[part], trial.report.row_names
    panels = []
    for k, name in enumerate(names):
        curves = (
            ("measured (smoothed)", t, measured[part, k], "reference"),
            ("CAD", t, nominal[part, k], "line", 1),
            ("identified", t, identified[part, k], "line", 0),
        )
        panels.append(over_time(f"{name}, other motion, seed {seed}", "torque [Nm]", *curves))
    return panels


def _judged_rows(noisy: Sequence[LegTrial], exact: Sequence[LegTrial]) -> list[TableRow]:
    verdicts = [parameter.identifiability for parameter in noisy[0].result.parameters]
    worst, quiet = ([np.abs(t.first_moments_mm).max() for t in trials] for trials in (noisy, exact))
    goal = "<= 1, aim <= 0.1"
    what, free = "identifiable first moments, error over the mass, largest", "sensors without noise"
    expected = "standard deviation expected from the noise, those identifiable individually, largest"
    ranks = [trial.report.rank for trial in noisy]
    return [
        row("rank, of 30 parameters", "", ranks, "min", paper=12, bound=">= 12"),
        row("parameters identifiable individually", "", verdicts.count(Identifiability.IDENTIFIABLE)),
        row("parameters identifiable in combination", "", verdicts.count(Identifiability.COMBINATION)),
        row("parameters not identifiable, kept", "", verdicts.count(Identifiability.NOT), paper=7),
        row(what, "mm", worst, paper=1.0, bound=goal),
        row("the same, worst seed", "mm", worst, "max", bound=goal),
        row(expected, "mm", [trial.expected_mm for trial in noisy]),
        row(f"{what}, {free}", "mm", quiet, paper=1.0, bound=goal),
        row(f"the same, worst seed, {free}", "mm", quiet, "max", bound=goal),
    ]


def _torque_rows(trials: Sequence[LegTrial]) -> list[TableRow]:
    rows = []
    for k, error in enumerate(trials[0].result.validation):
        of_row = [trial.result.validation[k] for trial in trials]
        name = f"torque error on the other motion, {error.row}, CAD"
        rows.append(row(name, "Nm", [one.rms_nominal for one in of_row]))
        rows.append(row(f"the same, {error.row}, identified", "Nm", [one.rms for one in of_row]))
    return rows
