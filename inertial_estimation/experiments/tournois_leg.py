"""Tournois et al., IV-A: the parameters of HyQ's right hind leg, trunk held, from 180 s of random sines.

The leg is the description's with noise on centres of mass and moments of inertia; the description is what
identification believes. Least squares where the data tell, the description where they do not (T 5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.experiments.experiment import Experiment, Trials
from inertial_estimation.experiments.experiment_result import Bound, TableRow
from inertial_estimation.experiments.figure_description import Panel, thinned
from inertial_estimation.experiments.leg_trial import (
    COM_SIGMA_M,
    LINKS,
    METHOD,
    MOMENT_SIGMA,
    PLAIN,
    RATE_HZ,
    ROW_HZ,
    WINDOW_S,
    LegTrial,
    leg_trial,
)
from inertial_estimation.identification.identification_result import (
    Identifiability,
)
from inertial_estimation.signals import Array
from inertial_estimation.simulation.sensor_noise_config import NOISE_FREE, REALISTIC
from inertial_estimation.spatial.inertial_parameters import PARAMETER_NAMES, InertialParameters

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
class _Trials:
    """One identified leg for each seed, with the noise of sensors and without."""

    noisy: list[LegTrial]
    exact: list[LegTrial]


class TournoisLeg(Experiment[_Trials]):
    """One leg for each seed; bound: identifiable first moments, over the mass, 1 mm."""

    @property
    def plan(self) -> _Plan:
        """Lengths of the motions."""
        return QUICK if self.quick else FULL

    def simulate(self, trials: Trials) -> _Trials:
        """Identify one leg for each seed, with the noise of sensors and without."""
        urdf, plan = RobotLoop("hyq").urdf, self.plan
        found = trials.by_case(
            {
                noise: [
                    partial(leg_trial, urdf, seed, noise, plan.training_s, plan.validation_s)
                    for seed in self.seeds
                ]
                for noise in (REALISTIC, NOISE_FREE)
            }
        )
        return _Trials(noisy=found[REALISTIC], exact=found[NOISE_FREE])

    def table(self, data: _Trials) -> list[TableRow]:
        """Return errors of parameters and torques."""
        noisy = data.noisy
        return [
            *_judged_rows(noisy, data.exact),
            *_torque_rows(noisy),
            *_com_rows(noisy),
            *_parameter_rows(noisy),
        ]

    def panels(self, data: _Trials) -> tuple[Panel, ...]:
        """Return torques of the other motion, first seed (T Fig. 4)."""
        trial, plan, seed = data.noisy[0], self.plan, self.seeds[0]
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

    def per_seed(self, data: _Trials) -> dict[str, tuple[float, ...]]:
        """Return the largest errors of the first moments."""
        return {
            "largest_first_moment_error_mm": tuple(_largest(data.noisy)),
            "largest_first_moment_error_without_noise_mm": tuple(_largest(data.exact)),
        }

    def settings(self, data: _Trials) -> Mapping[str, float | str]:
        """Return deviations, motions, rates and noise."""
        return {
            "com_sigma_m": COM_SIGMA_M,
            "moment_sigma_kg_m2": MOMENT_SIGMA,
            "training_s": self.plan.training_s,
            "rate_hz": RATE_HZ,
            "row_rate_hz": ROW_HZ,
            "window_s": WINDOW_S,
            "torque_noise_nm": REALISTIC.effort,
        }

    def facts(self, data: _Trials) -> tuple[str, ...]:
        """Return what can be identified, how the methods differ, and the link's values."""
        trials, seed = data.noisy, self.seeds[0]
        first = trials[0]
        impossible = sum(
            bool(InertialParameters.from_vector(pi).violations())
            for trial in trials
            for pi in trial.true.reshape(-1, 10)
        )
        left = sum(bool(body.violations) for trial in trials for body in trial.result.bodies)
        return (
            "Base parameters are identifiable: a standard parameter plus those inseparable from it. "
            "Six are judged, led by m c_x and m c_y of each link, over its nominal mass.",
            f"Condition number of the scaled regressor: {first.report.condition:.3g} (seed {seed}).",
            f"Rank: {first.report.rank} combinations act on the torques, whatever the motion. The paper "
            "has 12 at most; in its Table I the 7 parameters not identifiable here keep their CAD "
            "values.",
            "Nearest in SI units: (T 5) as written; masses stay, for kg count like kg m and kg m^2. Nearest "
            "by the prior: the package's method, which expects half a mass, 0.1 m and half a moment.",
            f"The parameter noise makes impossible bodies: {impossible} of {3 * len(trials)} true ones, "
            f"{left} of the identified ones. Physics cannot simulate those: torques are inverse dynamics.",
            *(_comparison(first, i, seed) for i in range(len(LINKS))),
        )


def _largest(trials: list[LegTrial]) -> Array:
    return np.array([np.abs(trial.first_moments_mm).max() for trial in trials])


def _judged_rows(noisy: list[LegTrial], exact: list[LegTrial]) -> list[TableRow]:
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


def _torque_rows(trials: list[LegTrial]) -> list[TableRow]:
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


def _com_rows(trials: list[LegTrial]) -> list[TableRow]:
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


def _true_com(trial: LegTrial, i: int) -> Array:
    return InertialParameters.from_vector(trial.true[10 * i : 10 * i + 10]).com_F


def _parameter_rows(trials: list[LegTrial]) -> list[TableRow]:
    """Return the error of every parameter, with its identifiability."""
    rows = []
    for i, parameter in enumerate(trials[0].plain.parameters):
        errors = np.array([trial.plain.parameters[i].value - trial.true[i] for trial in trials])
        quantity = f"{parameter.name} ({parameter.identifiability.value}), error"
        rows.append(TableRow.over_seeds(quantity, parameter.unit, np.abs(errors)))
    return rows


def _comparison(trial: LegTrial, i: int, seed: int) -> str:
    """Return simulated, identified and CAD values of a link as text (T Table I)."""
    span = slice(10 * i, 10 * i + 10)
    parts = [
        f"{name} {true:.4f} / {p.value:.4f} / {p.nominal:.4f}"
        for name, true, p in zip(PARAMETER_NAMES, trial.true[span], trial.plain.parameters[span], strict=True)
    ]
    return f"{LINKS[i]}, seed {seed}, simulated / identified / CAD: " + ", ".join(parts)
