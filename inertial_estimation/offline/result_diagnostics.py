"""Diagnostics of the result of an identification, computed from its own numbers."""

import math
from collections.abc import Sequence

from inertial_estimation.errors import listing
from inertial_estimation.identification.identifiability import Identifiability
from inertial_estimation.identification.identification_result import (
    BodyResult,
    IdentificationReport,
    MethodResult,
    PayloadResult,
    RowError,
    rounded,
)
from inertial_estimation.spatial import linear_algebra

OVERFIT_RATIO = 1.5  # error on other data over that on the fitted data, above which it is reported
BETTER_METHOD_RATIO = 0.98  # error of another method on other data over the chosen one's: reported below
LARGE_MASS_RATIO = 2.0  # factor by which a mass changed, either way
WORSE_ROW_RATIO = 1.01  # error of a row over its nominal one, above which it is reported
UNEXPLAINED_SHARE = 0.5  # error of a row over what was measured, above which it is reported
POSITIVE_TERMS = ("m", "Ixx", "Iyy", "Izz", "coulomb", "viscous", "armature")  # they are never zero
FLAT_BODY_RATIO = 1e-3  # smallest over largest second moment, below which a body is a plate or a rod
THINNER_RATIO = 0.1  # second moment over that of the description below which a body has become thinner
COST_RATIO = 2.0  # cost of a method over that of least squares, above which it is reported
COST_FLOOR = 1e-4  # relative error below which costs are those of round-off
WIDE_COM_SIGMA_M = 0.05  # standard deviation of a load's centre of mass, above which it is reported
CORRELATED = 2.0  # inflation of variances by correlated residuals, above which it is reported
MOST_NAMES = 8  # largest number of names listed in one sentence


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
    if report.inflation > CORRELATED:
        found.append(
            "residuals are correlated over time, as where the model lacks something: standard deviations are "
            f"{math.sqrt(report.inflation):.1f} times those of noise (contained in the numbers here)"
        )
    found += _cost(report, result) + _validation(report, result)
    found += _rows("the fitted data", result.direct) + _rows("the other data", result.validation)
    found += _held_back(result) + _uncertain(result) + _changes(result)
    flat = [body.link for body in result.bodies if not body.violations and _flat(body)]
    if flat:
        found.append(f"plates or rods, at the edge of what is possible: {listing(flat, limit=MOST_NAMES)}")
    negative = [n for n, v in result.friction.items() if v < 0.0 and n.rpartition("/")[2] in POSITIVE_TERMS]
    if negative:
        found.append(f"friction or rotor inertia below zero: {listing(negative, limit=MOST_NAMES)}")
    return found


def _payload(report: IdentificationReport, load: PayloadResult) -> list[str]:
    found = [f"{load.name}: {'; '.join(load.violations)}"] if load.violations else []
    if not report.unloaded:
        found.append(
            "no recording without the load: load and robot are told apart by the prior about the nominal "
            "robot alone; give one with --unloaded"
        )
    if not load.mass_known:
        found.append(
            f"the mass of the load is no more than two sigma away from zero ({load.mass_sigma:.3g} kg)"
        )
    elif not float(load.com_sigma.max()) < WIDE_COM_SIGMA_M:
        found.append(
            f"the centre of mass of the load is uncertain by {100.0 * float(load.com_sigma.max()):.3g} cm"
        )
    moments = linear_algebra.eigvalsh(load.inertia.inertia_Fcm)
    if not 2.0 * float(load.inertia_sigma.max()) < float(moments[-1]):
        found.append("the moments of inertia of the load about its centre of mass are mostly prior")
    return found


def _cost(report: IdentificationReport, result: MethodResult) -> list[str]:
    least = report.cost_least_squares
    if not result.cost > COST_RATIO * least or result.relative_error < COST_FLOOR:
        return []
    return [
        f"'{result.method}' costs {result.cost / least:.1f} times as much as least squares: its priors or "
        "constraints contradict the data, as where a load is part of a link (--payload LINK)"
    ]


def _validation(report: IdentificationReport, result: MethodResult) -> list[str]:
    error, other = result.relative_error, result.relative_error_validation
    if report.validation is None or math.isnan(other):
        return ["nothing was held out: no number here says how well other motions are predicted"]
    found = []
    if other > OVERFIT_RATIO * error:
        found.append(
            f"other data are predicted {other / error:.1f} times worse than the fitted ones "
            f"({100 * other:.2f} % against {100 * error:.2f} %)"
        )
    if result.cost_validation > result.cost_validation_nominal:
        found.append("on other data the nominal parameters are better than the identified ones")
    ahead = {
        name: one.relative_error_validation
        for name, one in report.methods.items()
        if one.relative_error_validation < BETTER_METHOD_RATIO * other
    }
    if ahead:
        best = min(ahead, key=ahead.__getitem__)
        kind = "" if report.methods[best].consistent else ", though with inconsistent bodies"
        found.append(
            f"method '{best}' predicts other data better ({100 * ahead[best]:.2f} % against "
            f"{100 * other:.2f} %){kind}"
        )
    return found


def _rows(data: str, rows: Sequence[RowError]) -> list[str]:
    worse = [row.row for row in rows if row.rms > WORSE_ROW_RATIO * row.rms_nominal]
    found = [f"on {data} worse than nominal: {listing(worse, limit=MOST_NAMES)}"] if worse else []
    missed = [row.row for row in rows if row.rms > UNEXPLAINED_SHARE * row.rms_measured]
    if missed:
        found.append(
            f"on {data} the error is over half of what was measured: {listing(missed, limit=MOST_NAMES)}"
        )
    return found


def _held_back(result: MethodResult) -> list[str]:
    """Report friction that a prior or a bound holds."""
    held = [
        f"{p.name} {rounded(p.value, p.sigma):g} instead of {rounded(p.alone, p.sigma):g} {p.unit}"
        for p in result.parameters
        if p.name in result.friction and p.held_back
    ]
    if not held:
        return []
    return [
        "the prior (friction.share of the effort limits) or the condition that friction is positive holds "
        f"what the data alone give otherwise: {listing(held, limit=MOST_NAMES)}"
    ]


def _uncertain(result: MethodResult) -> list[str]:
    kinds = [p.identifiability for p in result.parameters]
    alone, not_at_all = kinds.count(Identifiability.IDENTIFIABLE), kinds.count(Identifiability.NOT)
    found = []
    if alone < len(kinds):
        together = len(kinds) - alone - not_at_all
        found.append(
            f"of {len(kinds)} parameters {alone} are fixed by the data by themselves, {together} only in "
            f"combination, {not_at_all} not at all: the single values of the latter come from the nominal "
            "ones, a prior or a bound"
        )
    vague = [
        p.name
        for p in result.parameters
        if p.identifiability is Identifiability.IDENTIFIABLE
        and p.name.rpartition("/")[2] in POSITIVE_TERMS
        and 2.0 * p.sigma > abs(p.value)
    ]
    if vague:
        found.append(f"no more than two sigma away from zero: {listing(vague, limit=MOST_NAMES)}")
    return found


def _changes(result: MethodResult) -> list[str]:
    changed = [
        f"{body.link} ({body.nominal.mass:.2f} to {body.inertia.mass:.2f} kg)"
        for body in result.bodies
        if not body.nominal.mass / LARGE_MASS_RATIO
        <= body.inertia.mass
        <= body.nominal.mass * LARGE_MASS_RATIO
    ]
    return (
        [f"masses changed by more than a factor of two: {listing(changed, limit=MOST_NAMES)}"]
        if changed
        else []
    )


def _flat(body: BodyResult) -> bool:
    """Whether the mass extends along only one or two directions, and less than in the description."""
    moments = linear_algebra.eigvalsh(body.inertia.inertia_Fcm)
    spread = 0.5 * moments.sum() - moments  # second moments along the principal axes
    nominal = linear_algebra.eigvalsh(body.nominal.inertia_Fcm)
    before = 0.5 * nominal.sum() - nominal
    return bool(spread.min() < FLAT_BODY_RATIO * spread.max() and spread.min() < THINNER_RATIO * before.min())
