"""Tournois et al., IV-A: the parameters of HyQ's right hind leg, trunk held, from 180 s of random sines.

The leg is the description's with noise on centres of mass and moments of inertia; the description is what
identification believes. Least squares where the data tell, the description where they do not (T 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.experiment import Bound, ExperimentResult, Progress, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.experiments.leg_swing import disturbed_leg, record_swing, swing
from inertial_estimation.identification.base_parameters import base_parameters
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    MethodResult,
)
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import Array
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE, REALISTIC, SensorNoise
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES, InertialParameters

__all__ = ["run"]

LINKS = ("rh_hipassembly", "rh_upperleg", "rh_lowerleg")
OTHER_LEGS = ("lf_*", "rf_*", "lh_*")
COM_SIGMA_M, MOMENT_SIGMA = 0.02, 0.02  # of the parameter noise (T IV-A) [m], [kg m^2]
AMPLITUDES, BAND_HZ = (0.25, 0.20, 0.40), (0.3, 0.9)  # of the sines (T IV-A) [rad]
RATE_HZ = 500.0
WINDOW_S, ROW_HZ = 0.12, 10.0
METHOD = "nullspace-prior"
PLAIN = "least-squares"  # the smallest change in SI units: (T 5) as it is written
LEADING = ("mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz", "Iyy", "mcz", "m")
PAPER_RANK, PAPER_KEPT = 12, 7
# Simulated less identified centres of mass of its Table I [mm].
PAPER_COM_MM = {
    "rh_hipassembly": (0.8, 1.9, 46.5),
    "rh_upperleg": (2.7, 0.2, 15.8),
    "rh_lowerleg": (0.7, 0.4, 42.7),
}


@dataclass(frozen=True)
class _Plan:
    """Lengths of the two motions [s]."""

    training_s: float
    validation_s: float
    shown_s: tuple[float, float]


FULL, QUICK = _Plan(180.0, 60.0, (10.0, 45.0)), _Plan(12.0, 6.0, (0.0, 6.0))


@dataclass(frozen=True, eq=False)
class _Trial:
    """One leg, identified.

    Attributes:
        true: Its parameters about the link frames, shape (30,).
        report: What identification says.
        base_errors: Error of each base parameter by the name of its leader.
        rows: Stamps [s], and measured, identified and nominal torques of the validation, shape (k, 3).
    """

    true: Array
    report: IdentificationReport
    base_errors: dict[str, float]
    rows: tuple[Array, Array, Array, Array]

    @property
    def result(self) -> MethodResult:
        """Return what the method found."""
        return self.report.methods[METHOD]

    @property
    def plain(self) -> MethodResult:
        """Return what the least change in SI units gives."""
        return self.report.methods[PLAIN]

    @property
    def first_moments_mm(self) -> Array:
        """Errors of the base parameters led by a first moment over the link's mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        led = ((name.split("/"), error) for name, error in self.base_errors.items())
        return np.array([1e3 * error / masses[link] for (link, which), error in led if which[:2] == "mc"])

    @property
    def expected_mm(self) -> float:
        """Largest standard deviation of first moments that can be told by themselves, over the mass [mm]."""
        masses = {body.link: body.nominal.mass for body in self.result.bodies}
        return max(
            1e3 * parameter.sigma / masses[parameter.name.split("/")[0]]
            for parameter in self.result.parameters
            if "/mc" in parameter.name and parameter.identifiability is Identifiability.IDENTIFIABLE
        )

    @property
    def moments(self) -> Array:
        """Errors of the base parameters led by a moment of inertia [kg m^2]."""
        return np.array([error for name, error in self.base_errors.items() if "/I" in name])


def run(seeds: Sequence[int], progress: Progress, quick: bool) -> ExperimentResult:
    """Identify one leg for each seed, with the noise of sensors and without.

    Args:
        seeds: Of the leg, its motion and the noise.
        progress: Told how far it is.
        quick: A shorter motion.

    Returns:
        Errors of parameters and torques; bound: first moments that can be told, over the mass, 1 mm.
    """
    urdf = RobotLoop("hyq").urdf
    plan = QUICK if quick else FULL
    noisy, exact = [], []
    for i, seed in enumerate(seeds):
        progress(f"seed {seed}", i / len(seeds))
        noisy.append(_trial(urdf, seed, REALISTIC, plan))
        progress(f"seed {seed}, sensors without noise", (i + 0.5) / len(seeds))
        exact.append(_trial(urdf, seed, NOISE_FREE, plan))
    return ExperimentResult(
        seeds=tuple(seeds),
        rows=(*_judged_rows(noisy, exact), *_torque_rows(noisy), *_com_rows(noisy), *_each(noisy)),
        per_seed={
            "largest_first_moment_error_mm": tuple(_largest(noisy)),
            "largest_first_moment_error_without_noise_mm": tuple(_largest(exact)),
        },
        settings={
            "com_sigma_m": COM_SIGMA_M,
            "moment_sigma_kg_m2": MOMENT_SIGMA,
            "training_s": plan.training_s,
            "rate_hz": RATE_HZ,
            "row_rate_hz": ROW_HZ,
            "window_s": WINDOW_S,
            "torque_noise_nm": REALISTIC.effort,
        },
        facts=_facts(noisy, seeds[0]),
        panels=_panels(noisy[0], plan, seeds[0]),
    )


def _trial(urdf: str, seed: int, noise: SensorNoise, plan: _Plan) -> _Trial:
    draws = default_rng(seed)
    leg = disturbed_leg(urdf, OTHER_LEGS, LINKS, draws, com_sigma=COM_SIGMA_M, moment_sigma=MOMENT_SIGMA)
    training, validation = (
        record_swing(
            leg.robot,
            swing(leg.robot, draws, amplitudes=np.array(AMPLITUDES), band_hz=BAND_HZ),
            duration_s,
            RATE_HZ,
            noise,
            draws,
        )
        for duration_s in (plan.training_s, plan.validation_s)
    )
    identifier = Identifier(_config(), urdf)
    identifier.push(training)
    identifier.push_validation(validation)
    report = identifier.report([METHOD, PLAIN])
    x = report.methods[METHOD].x
    true = leg.parameters.ravel()
    base = _base_errors(identifier, identifier.rows(training).regressor, x, true)
    shown = identifier.rows(validation)
    torques = (shown.measured, identifier.predicted(shown, x), identifier.predicted(shown, np.zeros(len(x))))
    return _Trial(true, report, base, (np.asarray(1e-9 * shown.stamps_ns, dtype=np.float64), *torques))


def _config() -> IdentificationConfig:
    return build_config(
        IdentificationConfig,
        {
            "floating_base": False,
            "locked_joints": list(OTHER_LEGS),
            "links": list(LINKS),
            "contact_wrenches": "none",
            "smoothing.window": WINDOW_S,
            "smoothing.row_rate": ROW_HZ,
        },
    )


def _base_errors(identifier: Identifier, regressor: Array, x: Array, true: Array) -> dict[str, float]:
    names = identifier.parameters.names
    order = [names.index(f"{link}/{which}") for which in LEADING for link in LINKS]
    base = base_parameters(regressor.reshape(-1, len(names)), order)
    errors = base.coupling @ (identifier.parameters.standard(x) - true)
    return {names[leader]: float(error) for leader, error in zip(base.columns, errors, strict=True)}


def _largest(trials: list[_Trial]) -> Array:
    return np.array([np.abs(trial.first_moments_mm).max() for trial in trials])


def _judged_rows(noisy: list[_Trial], exact: list[_Trial]) -> list[TableRow]:
    verdicts = [parameter.identifiability for parameter in noisy[0].result.parameters]
    bound, aim = Bound("<=", 1.0), Bound("<=", 0.1)
    worst, quiet = _largest(noisy), _largest(exact)
    what = "first moments that can be told, error over the mass, largest"
    return [
        TableRow(
            "rank, of 30 parameters",
            "",
            float(min(trial.report.rank for trial in noisy)),
            paper=PAPER_RANK,
            bound=Bound(">=", PAPER_RANK),
        ),
        TableRow(
            "parameters that can be told by themselves", "", _count(verdicts, Identifiability.IDENTIFIABLE)
        ),
        TableRow(
            "parameters that can be told in combination", "", _count(verdicts, Identifiability.COMBINATION)
        ),
        TableRow(
            "parameters that cannot be told, kept",
            "",
            _count(verdicts, Identifiability.NOT),
            paper=PAPER_KEPT,
        ),
        TableRow.over_seeds(what, "mm", worst, paper=1.0, bound=bound, aim=aim),
        TableRow("the same, worst seed", "mm", float(worst.max()), bound=bound, aim=aim),
        TableRow.over_seeds(
            "standard deviation expected from the noise, those told by themselves, largest",
            "mm",
            np.array([trial.expected_mm for trial in noisy]),
        ),
        TableRow.over_seeds(f"{what}, sensors without noise", "mm", quiet, paper=1.0, bound=bound, aim=aim),
        TableRow(
            "the same, worst seed, sensors without noise", "mm", float(quiet.max()), bound=bound, aim=aim
        ),
        *(
            TableRow.over_seeds(
                f"moments that can be told, error, largest{name}",
                "kg m^2",
                np.array([np.abs(trial.moments).max() for trial in trials]),
            )
            for name, trials in (("", noisy), (", sensors without noise", exact))
        ),
    ]


def _count(verdicts: list[Identifiability], which: Identifiability) -> float:
    return float(sum(verdict is which for verdict in verdicts))


def _torque_rows(trials: list[_Trial]) -> list[TableRow]:
    rows = []
    for k, error in enumerate(trials[0].result.validation):
        per_trial = np.array(
            [(one.rms_nominal, one.rms) for one in (trial.result.validation[k] for trial in trials)]
        )
        rows += [
            TableRow.over_seeds(f"torque error on the other motion, {error.row}, CAD", "Nm", per_trial[:, 0]),
            TableRow.over_seeds(f"the same, {error.row}, identified", "Nm", per_trial[:, 1]),
        ]
    return rows


def _com_rows(trials: list[_Trial]) -> list[TableRow]:
    """Return the errors of the centres of mass as the paper's table shows them, first moment over mass."""
    rows = []
    for i, link in enumerate(LINKS):
        errors = {
            method: np.array(
                [
                    1e3 * np.abs(trial.report.methods[method].bodies[i].inertia.com_F - _true_com(trial, i))
                    for trial in trials
                ]
            )
            for method in (PLAIN, METHOD)
        }
        for k, axis in enumerate("xyz"):
            name = f"centre of mass, {link} {axis}, error"
            paper = PAPER_COM_MM[link][k]
            rows += [
                TableRow.over_seeds(f"{name}, nearest in SI units", "mm", errors[PLAIN][:, k], paper=paper),
                TableRow.over_seeds(f"{name}, nearest by nullspace-prior", "mm", errors[METHOD][:, k]),
            ]
    return rows


def _true_com(trial: _Trial, i: int) -> Array:
    return InertialParameters.from_vector(trial.true[10 * i : 10 * i + 10]).com_F


def _each(trials: list[_Trial]) -> list[TableRow]:
    """Return the error of every parameter, with what can be told of it."""
    rows = []
    for i, parameter in enumerate(trials[0].plain.parameters):
        errors = np.array([trial.plain.parameters[i].value - trial.true[i] for trial in trials])
        quantity = f"{parameter.name} ({parameter.identifiability.value}), error"
        rows.append(TableRow.over_seeds(quantity, parameter.unit, np.abs(errors)))
    return rows


def _facts(trials: list[_Trial], seed: int) -> tuple[str, ...]:
    first = trials[0]
    impossible = sum(
        bool(InertialParameters.from_vector(pi).violations())
        for trial in trials
        for pi in trial.true.reshape(-1, 10)
    )
    left = sum(bool(body.violations) for trial in trials for body in trial.result.bodies)
    return (
        "What can be told are base parameters: a standard parameter plus what cannot be told from it. Six "
        "are judged, led by m c_x and m c_y of each link, over its nominal mass.",
        f"Condition number of the scaled regressor: {first.report.condition:.3g} (seed {seed}).",
        f"Rank: {first.report.rank} combinations act on the torques, whatever the motion. The paper has 12 "
        "at most; in its Table I the 7 parameters that cannot be told here keep their CAD values.",
        "Nearest in SI units: (T 5) as written; masses stay, for kg count like kg m and kg m^2. Nearest "
        "by the prior: the package's method, which expects half a mass, 0.1 m and half a moment.",
        f"The parameter noise makes impossible bodies: {impossible} of {3 * len(trials)} true ones, "
        f"{left} of the identified ones. Physics cannot simulate those: torques are inverse dynamics.",
        *(_comparison(first, i, seed) for i in range(len(LINKS))),
    )


def _comparison(trial: _Trial, i: int, seed: int) -> str:
    """Return simulated, identified and CAD values of a link as text (T Table I)."""
    span = slice(10 * i, 10 * i + 10)
    parts = [
        f"{name} {true:.4f} / {p.value:.4f} / {p.nominal:.4f}"
        for name, true, p in zip(PARAMETER_NAMES, trial.true[span], trial.plain.parameters[span], strict=True)
    ]
    return f"{LINKS[i]}, seed {seed}, simulated / identified / CAD: " + ", ".join(parts)


def _panels(trial: _Trial, plan: _Plan, seed: int) -> tuple[Panel, ...]:
    times, measured, identified, nominal = trial.rows
    shown = (times >= plan.shown_s[0]) & (times <= plan.shown_s[1])
    t, label = times[shown], "time [s]"
    panels = [
        Panel(
            f"{row}, other motion, seed {seed}",
            label,
            "torque [Nm]",
            (
                thinned("measured (smoothed)", t, measured[shown, k], "reference"),
                thinned("CAD", t, nominal[shown, k], colour=1),
                thinned("identified", t, identified[shown, k], colour=0),
            ),
        )
        for k, row in enumerate(trial.report.row_names)
    ]
    error = Panel(
        f"{trial.report.row_names[0]}, error",
        label,
        "measured - predicted [Nm]",
        (
            thinned("CAD", t, (measured - nominal)[shown, 0], colour=1),
            thinned("identified", t, (measured - identified)[shown, 0], colour=0),
        ),
    )
    return (*panels, error)
