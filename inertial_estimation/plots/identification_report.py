"""Report of an identification: one self-contained page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.figures import GREY, INK, MOST_ROWS, Figure, Mark, Panel, Series
from inertial_estimation.identification.identification_result import (
    IdentificationReport,
    MethodResult,
    ParameterResult,
    relative_error,
)
from inertial_estimation.offline.identification_run import IdentificationRun, TorqueTrace
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.page import (
    BAD,
    CAUTION,
    GOOD,
    Card,
    Cell,
    Notes,
    Page,
    Section,
    Table,
    number,
    percent,
    sources,
    triple,
    with_sigma,
)
from inertial_estimation.plots.replay_figures import row_title, row_unit
from inertial_estimation.signals import Identifiability
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.spatial.linear_algebra import rms

UNCHANGED_SHARE = 1e-6  # relative change up to which a parameter counts as unchanged
Parts = Iterator[str | Table | Notes | Figure | Section]


def identification_page(run: IdentificationRun, source: Mapping[str, Any]) -> Page:
    """Return the page.

    Args:
        run: The identification.
        source: Sources of the identification: ``robot``, ``bags``, ``validation_bags``, ``split_s``,
            ``config`` and ``settings`` (values by parameter name).
    """
    title = f"Identification of {source.get('robot') or 'a robot'}"
    against = result_diagnostics(run.report)
    sections = list(_sections(run, against, source))
    return Page(title, *_lead(run, against), list(_cards(run)), sections)


def _lead(run: IdentificationRun, against: Sequence[str]) -> tuple[str, str]:
    """Return the first sentence and its tone."""
    result = run.result
    if run.refusal:
        return run.refusal, BAD
    on_other = bool(result.validation)
    error = result.relative_error_validation if on_other else result.relative_error
    before = relative_error(result.validation if on_other else result.direct, "rms_nominal")
    data = "other data" if on_other else "the fitted data (nothing was held out)"
    news = f"The torque error on {data} went from {percent(before)} with the description to {percent(error)}."
    if against:
        return f"{news} {len(against)} facts speak against the result, see below.", CAUTION
    return news, GOOD if error < before else BAD


def _cards(run: IdentificationRun) -> Iterator[Card]:
    report, result = run.report, run.result
    yield Card("method", result.method)
    yield Card("rank", f"{report.rank} of {report.unknowns}", "directions of the unknowns the data fix")
    yield Card("condition number", f"{report.condition:.3g}", "of the identifiable part")
    nominal = f"fitted data; nominal {percent(relative_error(result.direct, 'rms_nominal'))}"
    yield Card("relative error", percent(result.relative_error), nominal)
    before = (
        f"nominal {percent(relative_error(result.validation, 'rms_nominal'))}" if result.validation else ""
    )
    other = percent(result.relative_error_validation)
    yield Card("error on other data", other, before or "nothing was held out")
    impossible = sum(bool(body.violations) for body in result.bodies)
    bodies = f"{impossible} of {len(result.bodies)} impossible" if impossible else "all consistent"
    yield Card("bodies", bodies, f"identified.urdf was {'' if run.urdf else 'not '}written")
    counts = Counter(parameter.identifiability for parameter in result.parameters)
    numbers = " / ".join(str(counts[kind]) for kind in Identifiability)
    yield Card("parameters", numbers, "by themselves / in combination / not identifiable")


def _sections(run: IdentificationRun, against: Sequence[str], source: Mapping[str, Any]) -> Iterator[Section]:
    report, result = run.report, run.result
    if against:
        yield Section("What speaks against it", [Notes(against, BAD)], printed=True)
    if report.warnings:
        yield Section("Warnings about the data", [Notes(report.warnings, CAUTION)])
    if len(report.methods) > 1:
        yield Section("Methods", list(_methods(report)), printed=True)
    yield Section("Torques, row by row", list(_torques(result)))
    for title, trace in (("Fitted data", run.training), ("Other data", run.validation)):
        if trace is not None:
            yield Section(f"{title}: measured and predicted", [_torque_figure(title, trace)])
    yield Section("Bodies", list(_bodies(result)))
    if result.payload:
        yield Section(f"Load on {result.payload.link}", list(_payload(result)), printed=True)
    yield Section("Parameters", list(_parameters(result)))
    if len(report.methods) == 1 and result.notes:
        yield Section("Notes of the method", [Notes(result.notes)])
    yield Section("Data", list(_data(run, source)), printed=True)
    yield sources(source["provenance"], source["settings"])


def _methods(report: IdentificationReport) -> Parts:
    yield (
        "Error: norm of measured minus predicted torques over norm of measured ones. Cost: weighted "
        "squares per row, one at the level of the noise."
    )
    rows = []
    for name, one in report.methods.items():
        errors = (percent(one.relative_error), number(one.cost))
        others = (percent(one.relative_error_validation), number(one.cost_validation))
        impossible = f"{sum(bool(body.violations) for body in one.bodies)} of {len(one.bodies)}"
        smallest = number(min((body.inertia.mass for body in one.bodies), default=nan))
        written = " (written)" if name == report.chosen else ""
        rows.append((name + written, *errors, *others, impossible, smallest))
    some = next(iter(report.methods.values()))
    errors = (percent(relative_error(some.direct, "rms_nominal")), number(some.cost_nominal))
    others = (percent(relative_error(some.validation, "rms_nominal")), number(some.cost_validation_nominal))
    smallest = number(min((body.nominal.mass for body in some.bodies), default=nan))
    rows.append(("nominal", *errors, *others, "", smallest))
    columns = ("method", "error", "cost", "error", "cost", "impossible", "smallest mass [kg]")
    yield Table(columns, rows, groups=(("", 1), ("fitted data", 2), ("other data", 2), ("bodies", 2)))
    notes = [
        f"{name}: {note}"
        for name, result in report.methods.items()
        for note in (*result.notes, *filter(None, [result.unfinished]))
    ]
    if notes:
        yield Notes(notes)


def _torques(result: MethodResult) -> Parts:
    yield (
        "Root mean square of what was measured and of measured minus predicted. Share: identified over "
        "nominal error; above one the identified parameters are worse."
    )
    other = {row.row: row for row in result.validation}
    four = ("measured", "nominal", "identified", "share")
    rows = []
    for row in result.direct:
        cells: list[str | Cell] = [row_title(row.row), row_unit(row.row)]
        for one in (row, other[row.row]) if row.row in other else (row,):
            share = one.rms / one.rms_nominal if one.rms_nominal > 0.0 else nan
            cells += [number(one.rms_measured), number(one.rms_nominal), number(one.rms)]
            cells.append(Cell(f"{share:.2f}", "bad") if share > 1.0 else number(share))
        rows.append(cells)
    groups = [("", 2), ("fitted data", 4), *([("other data", 4)] if other else [])]
    yield Table(("row", "", *four, *(four if other else ())), rows, (0, 1), groups)


def _torque_figure(title: str, trace: TorqueTrace) -> Figure:
    """Draw measured and predicted rows, at most `MOST_ROWS`, those with the largest remaining errors."""
    count = len(trace.row_names)
    some = f"; the {MOST_ROWS} of {count} rows with the largest remaining error" if count > MOST_ROWS else ""
    worst = np.argsort(-np.mean((trace.measured - trace.identified) ** 2, axis=0))[:MOST_ROWS]
    panels, t = [], trace.times_s
    for row in np.sort(worst).tolist():
        name, unit = trace.row_names[row], row_unit(trace.row_names[row])
        parts = (trace.measured, trace.nominal, trace.identified)
        measured, nominal, identified = (part[:, row] for part in parts)
        lines = [
            Series("measured", t, measured, "reference"),
            Series("nominal", t, nominal, "dashed", colour=1),
            Series("identified", t, identified, "thin", colour=0),
        ]
        errors = f"{rms(measured - nominal):.3g} nominal, {rms(measured - identified):.3g} {unit} identified"
        panel_title = f"{row_title(name)}: rms error {errors}; measured {rms(measured):.3g}"
        panels.append(Panel(panel_title, "time in the recording [s]", f"[{unit}]", lines))
    note = f"The part with most motion of {Path(trace.recording).name}, {t[0]:.1f} to {t[-1]:.1f} s{some}."
    return Figure(f"{title}: measured and predicted", panels, note)


def _bodies(result: MethodResult) -> Parts:
    yield (
        "A body is a link with all that is fixed to it, in the axes of the link; moments are about the "
        "centre of mass. Possible: some distribution of positive mass has these moments. Faded: the data do "
        "not determine the mass."
    )
    rows, parameters = [], {parameter.name: parameter for parameter in result.parameters}
    for body in result.bodies:
        mass: str | Cell = number(body.inertia.mass)
        if (known := parameters.get(f"{body.link}/m")) is not None:
            determined = known.identifiability is not Identifiability.NOT
            mass = with_sigma(known.value, known.sigma) if determined else Cell(number(known.value), "faded")
        rows.append([body.link, "identified", mass, *_body_cells(body.inertia, body.violations)])
        nominal = body.nominal
        rows.append(["", "nominal", number(nominal.mass), *_body_cells(nominal, nominal.violations())])
    columns = ("body", "", "mass [kg]", "centre of mass [m]", "principal moments [kg m²]", "possible")
    yield Table(columns, rows, (0, 1, 5))
    yield Figure("Masses before and after", [_mass_panel(result)])


def _body_cells(inertia: InertialParameters, violations: Sequence[str]) -> list[str | Cell]:
    possible = Cell(f"no: {'; '.join(violations)}", "bad") if violations else "yes"
    return [triple(inertia.com_F), _principal_moments(inertia), possible]


def _principal_moments(inertia: InertialParameters) -> str:
    return ", ".join(number(float(moment)) for moment in linear_algebra.eigvalsh(inertia.inertia_Fcm))


def _mass_panel(result: MethodResult) -> Panel:
    """Return every body's mass before and after, with two sigma if the data determine it by itself."""
    bodies, rows = result.bodies, np.arange(len(result.bodies), dtype=float)
    sigmas = {p.name: p.sigma for p in result.parameters if p.identifiability is Identifiability.IDENTIFIABLE}
    masses = np.array([body.inertia.mass for body in bodies])
    spread = np.array([2.0 * sigmas.get(f"{body.link}/m", np.nan) for body in bodies])
    alone = np.isfinite(spread)
    series = [Series("nominal", np.array([b.nominal.mass for b in bodies]), rows, "circles", colour=INK)]
    for label, chosen, edge, colour in (
        ("identified, two sigma", alone, spread, 0),
        ("not determined by itself", ~alone, 0.0 * masses, GREY),
    ):
        if chosen.any():
            x, e = masses[chosen], edge[chosen]
            series.append(Series(label, x, rows[chosen], "points", x - e, x + e, colour))
    names = [body.link for body in bodies]
    return Panel(
        "Nominal and identified mass of each body", "mass [kg]", "", series, marks=[Mark(0.0)], rows=names
    )


def _payload(result: MethodResult) -> Parts:
    load = result.payload
    assert load is not None
    yield (
        f"A body of its own in the frame of {load.link}, where the bodies above are those of the robot "
        "without it; moments are about its centre of mass. Sigma: standard deviation from the residuals "
        "of the rows and their correlation over time, the prior and the uncertainty of the robot's "
        "parameters; errors that repeat with the motion add to it."
    )
    centre = [with_sigma(1e3 * v, 1e3 * s) for v, s in zip(load.inertia.com_F, load.com_sigma, strict=True)]
    moments = zip(load.inertia.inertia_Fcm.diagonal(), load.inertia_sigma.diagonal(), strict=True)
    rows: list[Sequence[str | Cell]] = [
        ("mass [kg]", with_sigma(load.inertia.mass, load.mass_sigma)),
        ("centre of mass x, y, z [mm]", ", ".join(centre)),
        ("moments xx, yy, zz [kg m²]", ", ".join(with_sigma(*pair) for pair in moments)),
        ("principal moments [kg m²]", _principal_moments(load.inertia)),
        ("possible", Cell(f"no: {'; '.join(load.violations)}", "bad") if load.violations else "yes"),
    ]
    yield Table((), rows, (0, 1))


def _parameters(result: MethodResult) -> Parts:
    yield (
        "About the link frame, with one standard deviation from the residuals of the rows and their "
        "correlation over time. In combination: the data fix it only together with others. Faded: the "
        "data do not determine it; it stays, or the prior ties it to others that moved."
    )
    owners: dict[str, list[ParameterResult]] = {}
    for parameter in result.parameters:
        owners.setdefault(parameter.name.rpartition("/")[0], []).append(parameter)
    columns = ("parameter", "unit", "nominal", "identified", "")
    for owner, parameters in owners.items():
        yield Section(owner, [Table(columns, [_parameter_row(p) for p in parameters], (0, 1, 4))])


def _parameter_row(p: ParameterResult) -> Sequence[str | Cell]:
    name, nominal = p.name.rpartition("/")[2], number(p.nominal)
    if p.identifiability is not Identifiability.NOT:
        kind = "in combination" if p.identifiability is Identifiability.COMBINATION else ""
        return name, p.unit, nominal, with_sigma(p.value, p.sigma), kind
    stays = abs(p.value - p.nominal) <= UNCHANGED_SHARE * abs(p.nominal)
    found = Cell("stays" if stays else number(p.value), "faded")
    return Cell(name, "faded"), p.unit, nominal, found, Cell("" if stays else "by the prior", "faded")


def _data(run: IdentificationRun, source: Mapping[str, Any]) -> Parts:
    bags = source.get("bags", ())
    rows = []
    for name, data, recordings in (
        ("fitted", run.report.training, bags),
        ("other", run.report.validation, source.get("validation_bags") or bags),
    ):
        if data is not None:
            names = ", ".join(Path(recording).name for recording in recordings)
            dropped = "; ".join(f"{reason}: {count}" for reason, count in data.dropped.items()) or "nothing"
            counts = (str(data.samples), f"{data.duration_s:.1f}", str(data.rows))
            rows.append((name, names, *counts, dropped))
    columns = ("data", "recordings", "samples", "time [s]", "rows", "left out")
    yield Table(columns, rows, (0, 1, 5))
    if source.get("split_s") is not None:
        yield f"Divided {source['split_s']:g} s after the start."
