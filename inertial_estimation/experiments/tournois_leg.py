"""Tournois et al., IV-A: the parameters of HyQ's right hind leg, trunk held, from 180 s of random sines.

The leg is the description's with noise on centres of mass and moments of inertia; the description is what
identification starts from. Least squares determines what the data do, the rest is the description's (T 5).

The sensors are ideal ones with noise on top (`models/inverse_dynamics.IdealSensors`): that noise of the
parameters makes bodies that no mass distribution has, and physics cannot simulate those, while inverse
dynamics can.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.result import ExperimentResult, TableRow, Trials, row
from inertial_estimation.figures import Panel, thinned
from inertial_estimation.identification.identifiability import Identifiability, base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import IdentificationReport, MethodResult
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.identification.rows import SignalBlock
from inertial_estimation.models.bodies import estimated_bodies
from inertial_estimation.models.inverse_dynamics import IdealSensors, MotionState
from inertial_estimation.models.joint_limits import joint_limits
from inertial_estimation.models.joint_trajectory import SineMotion
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array, seconds
from inertial_estimation.simulation.config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.spatial import linear_algebra

LINKS = ("rh_hipassembly", "rh_upperleg", "rh_lowerleg")
OTHER_LEGS = ("lf_*", "rf_*", "lh_*")  # locked
COM_SIGMA_M, MOMENT_SIGMA = 0.02, 0.02  # of the parameter noise (T IV-A) [m], [kg m^2]
AMPLITUDES_RAD, BAND_HZ = np.array([0.25, 0.20, 0.40]), (0.3, 0.9)  # of the sines (T IV-A)
LIMIT_MARGIN_RAD = 0.05  # smallest distance from the joint limits
SHIFT_HZ, SHIFTS_PER_JOINT = (0.01, 0.05), 2  # slow sines, which shift the origin of the fast ones
FADE_S = 1.0
RATE_HZ, ROW_HZ, WINDOW_S = 500.0, 10.0, 0.12
METHOD = "nullspace-prior"
LEADING = ("mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcz", "m")
PAPER_RANK, PAPER_KEPT = 12, 7
FULL, QUICK = (180.0, 60.0, (10.0, 45.0)), (12.0, 6.0, (0.0, 6.0))  # training, validation, shown [s]


class DisturbedLeg(NamedTuple):
    """A leg whose parameters are not those of its description."""

    robot: RobotModel
    parameters: Array  # of each link, about its frame, Pinocchio's order, shape (3, 10)


def disturbed_leg(urdf: str, rng: Generator) -> DisturbedLeg:
    """Add noise to centres of mass and moments of inertia (T IV-A); masses stay, bodies may be impossible."""
    nominal = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=OTHER_LEGS)
    bodies = estimated_bodies(nominal, LINKS)
    parameters = np.array([body.to_link @ body.nominal_C for body in bodies])
    for pi in parameters:
        pi[1:4] += pi[0] * COM_SIGMA_M * rng.standard_normal(3)
        pi[4:] += MOMENT_SIGMA * rng.standard_normal(6)
    model = nominal.model.copy()
    for body, pi in zip(bodies, parameters, strict=True):
        pi_J = body.to_joint @ linear_algebra.solve(body.to_link, pi)
        model.inertias[body.joint_id] = model.inertias[body.joint_id].FromDynamicParameters(pi_J)
    return DisturbedLeg(RobotModel(model), parameters)


def swing(robot: RobotModel, rng: Generator) -> SineMotion:
    """Draw a motion within the joint limits: one sine a joint, about an origin that slow sines shift.

    The slow ones use what the joint limits leave.
    """
    limits, n = joint_limits(robot), robot.n_joints
    half = 0.5 * (limits.upper - limits.lower) - LIMIT_MARGIN_RAD
    fast = np.minimum(AMPLITUDES_RAD, half)
    shares = rng.dirichlet(np.full(SHIFTS_PER_JOINT, 5.0), size=n)
    frequencies = np.column_stack([rng.uniform(*BAND_HZ, n), rng.uniform(*SHIFT_HZ, (n, SHIFTS_PER_JOINT))])
    phases = rng.uniform(0.0, 2.0 * np.pi, frequencies.shape)
    amplitudes = np.column_stack([fast * rng.uniform(0.5, 1.0, n), (half - fast)[:, None] * shares])
    return SineMotion(0.5 * (limits.lower + limits.upper), amplitudes, frequencies, phases, 0.0, FADE_S)


def record_swing(
    robot: RobotModel, motion: SineMotion, duration_s: float, noise: SensorNoise, rng: Generator
) -> SignalBlock:
    """Compute positions, velocities and torques that the sensors of a leg read."""
    sensors = IdealSensors(robot)
    q, v, a = motion.at(np.arange(round(duration_s * RATE_HZ)) / RATE_HZ)
    tau = np.array([sensors.read(MotionState(*state)).tau for state in zip(q, v, a, strict=True)])
    return SignalBlock(
        start_ns=0,
        step_s=1.0 / RATE_HZ,
        q=q + noise.position * rng.standard_normal(q.shape),
        v=v + noise.velocity * rng.standard_normal(v.shape),
        tau=tau + noise.effort * rng.standard_normal(tau.shape),
    )


class LegTrial(NamedTuple):
    """One leg, identified."""

    report: IdentificationReport
    base_errors: dict[str, float]  # of each base parameter by the name of its leader
    rows: tuple[Array, Array, Array, Array]  # stamps [s], torques: measured, identified, nominal, (k, 3) each

    @property
    def result(self) -> MethodResult:
        """What the method found."""
        return self.report.methods[METHOD]

    @property
    def masses(self) -> dict[str, float]:
        """Nominal masses by link [kg]."""
        return {body.link: body.nominal.mass for body in self.result.bodies}

    @property
    def first_moments_mm(self) -> Array:
        """Errors of the base parameters led by a first moment, over the link's mass."""
        led = ((name.split("/"), error) for name, error in self.base_errors.items())
        return np.array(
            [1e3 * error / self.masses[link] for (link, which), error in led if which[:2] == "mc"]
        )

    @property
    def expected_mm(self) -> float:
        """Largest standard deviation of first moments identifiable individually, over the mass."""
        return max(
            1e3 * parameter.sigma / self.masses[parameter.name.split("/")[0]]
            for parameter in self.result.parameters
            if "/mc" in parameter.name and parameter.identifiability is Identifiability.IDENTIFIABLE
        )


def leg_trial(urdf: str, training_s: float, validation_s: float, noise: SensorNoise, seed: int) -> LegTrial:
    """Draw a leg unlike its nominal description, move it and identify it.

    The seed is that of the leg, its two motions, of which the first is fitted, and the noise.
    """
    draws = default_rng(seed)
    leg = disturbed_leg(urdf, draws)
    training, validation = (
        record_swing(leg.robot, swing(leg.robot, draws), duration_s, noise, draws)
        for duration_s in (training_s, validation_s)
    )
    config = {
        "floating_base": False,
        "locked_joints": list(OTHER_LEGS),
        "links": list(LINKS),
        "contact_wrenches": "none",
        "smoothing.window": WINDOW_S,
        "smoothing.row_rate": ROW_HZ,
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
    shown = identifier.rows(validation)
    torques = (shown.measured, shown.predicted(x), shown.predicted(np.zeros(len(x))))
    return LegTrial(report, base_errors, (seconds(shown.stamps_ns), *torques))


def run(trials: Trials) -> ExperimentResult:
    """Identify one leg for each seed, with the noise of sensors and without."""
    training_s, validation_s, shown_s = QUICK if trials.quick else FULL
    trial = partial(leg_trial, RobotLoop("hyq").urdf, training_s, validation_s)
    found = trials.by_case({noise: partial(trial, noise) for noise in (REALISTIC, NOISE_FREE)})
    noisy, exact = found[REALISTIC], found[NOISE_FREE]
    first, seed = noisy[0], trials.seeds[0]
    rows = [*_judged_rows(noisy, exact), *_torque_rows(noisy)]
    facts = (
        "Six base parameters are judged, led by m c_x and m c_y of each link, over its nominal mass.",
        f"Condition number of the scaled regressor: {first.report.condition:.3g} (seed {seed}).",
    )
    return ExperimentResult(trials.seeds, rows, facts, panels=_panels(first, shown_s, seed))


def _panels(trial: LegTrial, shown_s: tuple[float, float], seed: int) -> list[Panel]:
    """Return torques of the other motion (T Fig. 4)."""
    times, measured, identified, nominal = trial.rows
    shown = (times >= shown_s[0]) & (times <= shown_s[1])
    t, label, names = times[shown], "time [s]", trial.report.row_names
    panels = []
    for k, name in enumerate(names):
        curves = (
            thinned("measured (smoothed)", t, measured[shown, k], "reference"),
            thinned("CAD", t, nominal[shown, k], colour=1),
            thinned("identified", t, identified[shown, k], colour=0),
        )
        panels.append(Panel(f"{name}, other motion, seed {seed}", label, "torque [Nm]", curves))
    return panels


def _judged_rows(noisy: Sequence[LegTrial], exact: Sequence[LegTrial]) -> list[TableRow]:
    verdicts = [parameter.identifiability for parameter in noisy[0].result.parameters]
    worst, quiet = ([np.abs(t.first_moments_mm).max() for t in trials] for trials in (noisy, exact))
    goal = "<= 1, aim <= 0.1"
    what, free = "identifiable first moments, error over the mass, largest", "sensors without noise"
    expected = "standard deviation expected from the noise, those identifiable individually, largest"
    ranks = [trial.report.rank for trial in noisy]
    return [
        row("rank, of 30 parameters", "", ranks, "min", paper=PAPER_RANK, bound=f">= {PAPER_RANK}"),
        row("parameters identifiable individually", "", verdicts.count(Identifiability.IDENTIFIABLE)),
        row("parameters identifiable in combination", "", verdicts.count(Identifiability.COMBINATION)),
        row("parameters not identifiable, kept", "", verdicts.count(Identifiability.NOT), paper=PAPER_KEPT),
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
