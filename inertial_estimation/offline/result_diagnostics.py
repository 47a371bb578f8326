"""Diagnostics of an identification, computed from its result."""

import math

from inertial_estimation.errors import MOST_NAMES, listing
from inertial_estimation.identification.identification_result import (
    IdentificationReport,
    MethodResult,
    PayloadResult,
)
from inertial_estimation.signals import Identifiability

# Ratios of cost to least squares, of variances to white noise, and of masses to nominal that are reported
FACTOR = 2.0
OVERFIT_RATIO = 1.5  # ratio of validation error to error on the fitted data above which it is reported
BETTER_METHOD_RATIO = 0.98  # ratio of another method's validation error to the chosen one's: reported below
UNEXPLAINED_SHARE = 0.5  # ratio of a row's error to its measurement above which it is reported
COST_FLOOR = 1e-4  # relative error below which costs are dominated by round-off
WIDE_COM_SIGMA_M = 0.05  # standard deviation of a load's centre of mass above which it is reported [m]


def result_diagnostics(report: IdentificationReport) -> list[str]:
    """Return warnings about the chosen result, one sentence each."""
    result = report.methods[report.chosen]
    found = [f"{body.link}: {'; '.join(body.violations)}" for body in result.bodies if body.violations]
    if result.unfinished:
        found.append(f"{result.method}: {result.unfinished}")
    if result.payload:
        found += _payload(report, result.payload)
    if report.held:
        found.append(
            "held at the description's values, and no standard deviation contains their errors: "
            f"{listing(report.held, limit=MOST_NAMES)} (--links '*' identifies all)"
        )
    if report.inflation > FACTOR:
        lacking = "something" if result.friction else "something, as friction (friction.joints)"
        found.append(
            f"residuals are correlated over time, as where the model lacks {lacking}: standard deviations "
            f"are {math.sqrt(report.inflation):.1f} times those of noise (contained in the numbers here)"
        )
    if result.cost > FACTOR * report.cost_least_squares and not result.relative_error < COST_FLOOR:
        found.append(
            f"'{result.method}' costs {result.cost / report.cost_least_squares:.1f} times as much as least "
            "squares: its priors or constraints contradict the data, as where a load is part of a link "
            "(--payload LINK)"
        )
    return found + _validation(report, result) + _unexplained(result) + _values(result)


def _payload(report: IdentificationReport, load: PayloadResult) -> list[str]:
    found = [f"{load.name}: {'; '.join(load.violations)}"] if load.violations else []
    if not report.unloaded:
        found.append(
            "no recording without the load: only the prior about the nominal robot distinguishes load and "
            "robot; give one with --unloaded"
        )
    if not load.mass_known:
        found.append(
            f"the mass of the load is no more than two sigma away from zero ({load.mass_sigma:.3g} kg)"
        )
    elif not float(load.com_sigma.max()) < WIDE_COM_SIGMA_M:
        found.append(
            f"the centre of mass of the load is uncertain by {100.0 * float(load.com_sigma.max()):.3g} cm"
        )
    return found


def _validation(report: IdentificationReport, result: MethodResult) -> list[str]:
    error, other = result.relative_error, result.relative_error_validation
    if report.validation is None or math.isnan(other):
        return ["no data were held out: how well other motions are predicted is unknown"]
    found = []
    if other > OVERFIT_RATIO * error:
        found.append(
            f"other data are predicted {other / error:.1f} times worse than the fitted ones "
            f"({100 * other:.2f} % against {100 * error:.2f} %)"
        )
    if result.cost_validation > result.cost_validation_nominal:
        found.append("on other data the nominal parameters are better than the identified ones")
    errors = {name: one.relative_error_validation for name, one in report.methods.items()}
    best = min(errors, key=errors.__getitem__)
    if errors[best] < BETTER_METHOD_RATIO * other:
        kind = "" if report.methods[best].consistent else ", though with inconsistent bodies"
        found.append(
            f"method '{best}' predicts other data better ({100 * errors[best]:.2f} % against "
            f"{100 * other:.2f} %){kind}"
        )
    return found


def _unexplained(result: MethodResult) -> list[str]:
    found = []
    for data, rows in (("the fitted data", result.direct), ("the other data", result.validation)):
        missed = [row.row for row in rows if row.rms > UNEXPLAINED_SHARE * row.rms_measured]
        if missed:
            names = listing(missed, limit=MOST_NAMES)
            found.append(f"on {data} the error is over half of what was measured: {names}")
    return found


def _values(result: MethodResult) -> list[str]:
    """Return warnings about values that the data do not determine, and about unexpected values."""
    found, kinds = [], [p.identifiability for p in result.parameters]
    alone, not_at_all = kinds.count(Identifiability.IDENTIFIABLE), kinds.count(Identifiability.NOT)
    if alone < len(kinds):
        found.append(
            f"of {len(kinds)} parameters {alone} are fixed by the data by themselves, "
            f"{len(kinds) - alone - not_at_all} only in combination, {not_at_all} not at all: the single "
            "values of the latter come from the nominal ones, a prior or a bound"
        )
    changed = [
        f"{body.link} ({body.nominal.mass:.2f} to {body.inertia.mass:.2f} kg)"
        for body in result.bodies
        if not body.nominal.mass / FACTOR <= body.inertia.mass <= body.nominal.mass * FACTOR
    ]
    if changed:
        found.append(f"masses changed by more than a factor of two: {listing(changed, limit=MOST_NAMES)}")
    positive = ("coulomb", "viscous", "armature")
    negative = [n for n, v in result.friction.items() if v < 0.0 and n.rpartition("/")[2] in positive]
    if negative:
        found.append(f"friction or rotor inertia below zero: {listing(negative, limit=MOST_NAMES)}")
    return found
