"""Report of an identification: one page that needs nothing but itself."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.identification.identification_result import (
    BodyResult,
    DataSummary,
    Identifiability,
    IdentificationReport,
    MethodResult,
    ParameterResult,
    RowError,
)
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_run import IdentificationRun, TorqueTrace, nominal_error
from inertial_estimation.offline.result_diagnostics import doubts
from inertial_estimation.plots.identification_figures import (
    MOST_ROWS,
    figure_of_masses,
    figure_of_singular_values,
    figures_of_torques,
    inline_svg,
)
from inertial_estimation.plots.page import STYLE, cards, listed, table
from inertial_estimation.spatial import linear_algebra
from inertial_estimation.spatial.inertial_parameters import InertialParameters

__all__ = ["identification_page", "write_identification_report"]

MARKS = {
    Identifiability.IDENTIFIABLE: "●",
    Identifiability.COMBINATION: "◐",
    Identifiability.NOT: "○",
}
UNCHANGED = 1e-6  # of the nominal value: no change


def write_identification_report(path: Path, run: IdentificationRun, source: Mapping[str, Any]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        run: What was found.
        source: Where it came from: ``robot``, ``bags``, ``validation_bags``, ``split_s``, ``config`` and
            ``settings`` (values by parameter name).

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    try:
        path.write_text(identification_page(run, source), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write '{path}': {error}") from error
    return path


def identification_page(run: IdentificationRun, source: Mapping[str, Any]) -> str:
    """Return the page as HTML; see `write_identification_report`."""
    report, result = run.report, run.result
    title = f"Identification of {source.get('robot') or 'a robot'}"
    sections = [
        _summary(run),
        _listing_section("What speaks against it", doubts(report), "doubt"),
        _listing_section("Warnings about the data", report.warnings, "warning"),
        _methods(report) if len(report.methods) > 1 else "",
        _rows(result),
        _trace("Fitted data", run.training, "training"),
        _trace("Other data", run.validation, "validation"),
        _bodies(result),
        _parameters(result),
        _singular(report),
        _origin(report, result, source),
    ]
    body = "\n".join(section for section in sections if section)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _summary(run: IdentificationRun) -> str:
    report, result = run.report, run.result
    bad = sum(1 for body in result.bodies if body.violations)
    kinds = [p.identifiability for p in result.parameters]
    nominal = nominal_error(result.direct)
    facts = [
        ("method", result.method, ""),
        ("rank", f"{report.rank} of {report.unknowns}", "directions of the unknowns the data fix"),
        ("condition number", f"{report.condition:.3g}", "of the identifiable part"),
        ("relative error", _percent(result.relative_error), f"fitted data; nominal {_percent(nominal)}"),
        _held_out(result),
        (
            "bodies",
            "all consistent" if not bad else f"{bad} of {len(result.bodies)} impossible",
            "identified.urdf was written" if run.urdf else "identified.urdf was not written",
        ),
        (
            "parameters",
            " ".join(f"{kinds.count(kind)}&thinsp;{mark}" for kind, mark in MARKS.items()),
            "by themselves, in combination, not identifiable",
        ),
        ("cost", f"{result.cost:.3g}", f"weighted, per row; nominal {result.cost_nominal:.3g}"),
    ]
    refusal = f'<p class="box doubt">{escape(run.refusal)}</p>' if run.refusal else ""
    return cards(facts) + refusal


def _held_out(result: MethodResult) -> tuple[str, str, str]:
    if not result.validation:
        return ("error on other data", "&ndash;", "nothing was held out")
    nominal = _percent(nominal_error(result.validation))
    return ("error on other data", _percent(result.relative_error_validation), f"nominal {nominal}")


def _listing_section(title: str, sentences: Sequence[str], kind: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{listed(sentences, kind)}" if sentences else ""


def _methods(report: IdentificationReport) -> str:
    head = (
        *("method", "error", "cost", "error", "cost"),
        *("impossible", "smallest mass [kg]"),
    )
    rows = []
    for name, result in report.methods.items():
        bad = sum(1 for body in result.bodies if body.violations)
        smallest = min((body.inertia.mass for body in result.bodies), default=math.nan)
        written = "<br>(written)" if name == report.chosen else ""
        rows.append(
            (
                f"{escape(name)}{written}",
                _percent(result.relative_error),
                _number(result.cost),
                _percent(result.relative_error_validation),
                _number(result.cost_validation),
                f"{bad} of {len(result.bodies)}",
                _number(smallest),
            )
        )
    some = next(iter(report.methods.values()))
    nominal = (
        "nominal",
        _percent(nominal_error(some.direct)),
        _number(some.cost_nominal),
        _percent(nominal_error(some.validation)),
        _number(some.cost_validation_nominal),
        *("", _number(min((body.nominal.mass for body in some.bodies), default=math.nan))),
    )
    groups = (("", 1), ("fitted data", 2), ("other data", 2), ("bodies", 2))
    notes = [
        f"{name}: {note}"
        for name, result in report.methods.items()
        for note in (*result.notes, *filter(None, [result.unfinished]))
    ]
    explained = (
        "<p>Error: norm of measured minus predicted torques over norm of measured ones. Cost: weighted "
        "squares per row, one at the level of the noise.</p>"
    )
    return (
        f"<h2>Methods</h2>\n{explained}"
        + table(head, [*rows, nominal], groups=groups, text=(0,))
        + listed(notes, "note")
    )


def _rows(result: MethodResult) -> str:
    held_out = {row.row: row for row in result.validation}
    head = ["row", "", "measured", "nominal", "identified", "share"]
    head += ["measured", "nominal", "identified", "share"] if held_out else []
    lines = []
    for row in result.direct:
        unit = "N" if row.row in BASE_ROWS[:3] else "Nm"
        other = held_out.get(row.row)
        cells = [escape(row.row), unit, *_row_cells(row), *(_row_cells(other) if other else ())]
        lines.append(cells)
    groups = [("", 2), ("fitted data", 4), *([("other data", 4)] if held_out else [])]
    note = (
        "<p>Root mean square of what was measured and of measured minus predicted. Share: identified over "
        "nominal error; above one the identified parameters are worse.</p>"
    )
    return "<h2>Torques, row by row</h2>\n" + note + table(head, lines, groups=groups, text=(0, 1))


def _row_cells(row: RowError) -> tuple[str, ...]:
    share = row.rms / row.rms_nominal if row.rms_nominal > 0.0 else math.nan
    mark = f'<b class="bad">{share:.2f}</b>' if share > 1.0 else _number(share)
    return (_number(row.rms_measured), _number(row.rms_nominal), _number(row.rms), mark)


def _trace(title: str, trace: TorqueTrace | None, name: str) -> str:
    if trace is None:
        return ""
    count = len(trace.row_names)
    some = f"; the {MOST_ROWS} of {count} rows with the largest remaining error" if count > MOST_ROWS else ""
    text = (
        f"The part with most motion of {Path(trace.recording).name}, {trace.times_s[0]:.1f} to "
        f"{trace.times_s[-1]:.1f} s{some}."
    )
    figures = [inline_svg(one, f"{name}{i}") for i, one in enumerate(figures_of_torques(trace))]
    return f"<h2>{title}: measured and predicted</h2>\n<p>{escape(text)}</p>\n" + "".join(
        map(_figure, figures)
    )


def _bodies(result: MethodResult) -> str:
    head = ("body", "", "mass [kg]", "centre of mass [m]", "principal moments [kg m²]", "possible")
    lines = [line for body in result.bodies for line in _body_lines(body)]
    figure = _figure(inline_svg(figure_of_masses(result), "masses"))
    note = (
        "<p>A body is a link with all that is fixed to it, in the axes of the link; moments are about the "
        "centre of mass. Possible: some distribution of positive mass has these moments.</p>"
    )
    return "<h2>Bodies</h2>\n" + note + table(head, lines, text=(0, 1, 5)) + figure


def _body_lines(body: BodyResult) -> Iterator[tuple[str, ...]]:
    given = (
        ("identified", body.inertia, body.violations),
        ("nominal", body.nominal, body.nominal.violations()),
    )
    for k, (kind, inertia, violations) in enumerate(given):
        verdict = f'<b class="bad">no</b>: {escape("; ".join(violations))}' if violations else "yes"
        numbers = (_number(inertia.mass), _triple(inertia.com_F), _moments(inertia))
        yield ("" if k else escape(body.link), kind, *numbers, verdict)


def _parameters(result: MethodResult) -> str:
    legend = "; ".join(f"{mark} {kind.value}" for kind, mark in MARKS.items())
    note = (
        f"<p>{escape(legend)}. About the link frame. Sigma: standard deviation from the noise of the rows; "
        "none where the data alone do not fix the value. Prior: the data say nothing of it, but the prior "
        "ties it to others that moved.</p>"
    )
    parts = []
    for owner, group in groupby(result.parameters, key=lambda p: p.name.rpartition("/")[0]):
        parts.append((owner, [_parameter_cells(p) for p in group]))
    merged: dict[str, list[Any]] = {}
    for owner, cells in parts:  # friction comes term after term: gather by joint
        merged.setdefault(owner, []).extend(cells)
    head = ("", "parameter", "unit", "nominal", "identified", "sigma")
    tables = [
        f"<details open><summary>{escape(owner)}</summary>{table(head, lines, text=(0, 1, 2))}</details>"
        for owner, lines in merged.items()
    ]
    return "<h2>Parameters</h2>\n" + note + '<div class="columns">' + "\n".join(tables) + "</div>"


def _parameter_cells(p: ParameterResult) -> tuple[str, ...]:
    sigma = _number(p.sigma) if math.isfinite(p.sigma) else "&ndash;"
    kind = f'<span title="{escape(p.identifiability.value)}">{MARKS[p.identifiability]}</span>'
    name = escape(p.name.rpartition("/")[2])
    value = _number(p.value)
    if p.identifiability is Identifiability.NOT:
        sigma = "prior"
        if abs(p.value - p.nominal) <= UNCHANGED * abs(p.nominal):
            value, sigma = "stays", "&ndash;"
    return (kind, name, escape(p.unit), _number(p.nominal), value, sigma)


def _singular(report: IdentificationReport) -> str:
    return "<h2>What the data tell apart</h2>\n" + _figure(
        inline_svg(figure_of_singular_values(report), "singular")
    )


def _origin(report: IdentificationReport, result: MethodResult, source: Mapping[str, Any]) -> str:
    head = ("data", "recordings", "samples", "time [s]", "rows", "standing still", "left out")
    lines = [_data_cells("fitted", report.training, source.get("bags", ()))]
    if report.validation is not None:
        names = source.get("validation_bags") or source.get("bags", ())
        lines.append(_data_cells("other", report.validation, names))
    split = source.get("split_s")
    divided = f"<p>Divided {split:g} s after the start.</p>" if split is not None else ""
    notes = _listing_section("Notes of the method", result.notes if len(report.methods) == 1 else (), "note")
    settings = source.get("settings") or {}
    rows = [(escape(name), escape(str(value))) for name, value in settings.items()]
    values = (
        f"<details><summary>Settings</summary>{table(('parameter', 'value'), rows, text=(0, 1))}</details>"
    )
    return notes + "<h2>Data and settings</h2>\n" + table(head, lines, text=(0, 1, 6)) + divided + values


def _data_cells(name: str, data: DataSummary, recordings: Iterable[str]) -> tuple[str, ...]:
    dropped = "<br>".join(f"{escape(reason)}: {count}" for reason, count in data.dropped.items()) or "nothing"
    files = "<br>".join(escape(Path(recording).name) for recording in recordings)
    numbers = (str(data.samples), f"{data.duration_s:.1f}", str(data.rows), str(data.stiction_rows))
    return (name, files, *numbers, dropped)


def _figure(svg: str) -> str:
    return f'<div class="figure">{svg}</div>\n'


def _percent(value: float) -> str:
    return f"{100 * value:.2f}&thinsp;%" if math.isfinite(value) else "&ndash;"


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "&ndash;"


def _triple(values: Any) -> str:
    return ", ".join(f"{float(value):.3f}" for value in values).replace("-", "−")


def _moments(inertia: InertialParameters) -> str:
    return ", ".join(_number(float(m)) for m in linear_algebra.eigvalsh(inertia.inertia_Fcm))
