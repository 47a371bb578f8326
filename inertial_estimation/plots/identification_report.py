"""Report of an identification: one self-contained page."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.files.outputs import write_text
from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    MethodResult,
    ParameterResult,
    rounded,
)
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_run import IdentificationRun, TorqueTrace, nominal_error
from inertial_estimation.offline.result_diagnostics import result_diagnostics
from inertial_estimation.plots.page import page_environment, render, svg
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, thin, tidy
from inertial_estimation.signals import Array

MARKS = {
    Identifiability.IDENTIFIABLE: "●",
    Identifiability.COMBINATION: "◐",
    Identifiability.NOT: "○",
}
UNCHANGED_SHARE = 1e-6  # of the nominal value, below which a parameter counts as unchanged
MOST_ROWS = 12  # drawn of one trace: the worst ones
ROWS_A_FIGURE = 3
MOST_POINTS = 700  # of a line


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
    report, result = run.report, run.result
    environment = page_environment()
    environment.tests.update(
        not_identifiable=lambda kind: kind is Identifiability.NOT, unchanged=_is_unchanged
    )
    counts = Counter(parameter.identifiability for parameter in result.parameters)
    page = render(
        "identification.html",
        environment,
        title=f"Identification of {source.get('robot') or 'a robot'}",
        run=run,
        report=report,
        result=result,
        source=source,
        nan=float("nan"),
        nominal_error=nominal_error,
        rounded=rounded,
        marks=MARKS,
        force_rows=BASE_ROWS[:3],
        diagnostics=result_diagnostics(report),
        parameter_counts=" ".join(f"{counts[kind]}\N{THIN SPACE}{mark}" for kind, mark in MARKS.items()),
        method_notes=_method_notes(report),
        parameters_by_owner=_by_owner(result.parameters),
        traces=[
            _trace(title, trace, name)
            for title, trace, name in (
                ("Fitted data", run.training, "training"),
                ("Other data", run.validation, "validation"),
            )
            if trace is not None
        ],
        masses=svg(figure_of_identified_masses(result), "masses"),
        singular_values=svg(figure_of_singular_values(report), "singular"),
    )
    return write_text(path, page)


def _method_notes(report: IdentificationReport) -> list[str]:
    return [
        f"{name}: {note}"
        for name, result in report.methods.items()
        for note in (*result.notes, *filter(None, [result.unfinished]))
    ]


def _by_owner(parameters: Iterable[ParameterResult]) -> dict[str, list[ParameterResult]]:
    """Gather parameters by link or joint; friction comes term after term."""
    gathered: dict[str, list[ParameterResult]] = {}
    for parameter in parameters:
        gathered.setdefault(parameter.name.rpartition("/")[0], []).append(parameter)
    return gathered


def _is_unchanged(parameter: ParameterResult) -> bool:
    return abs(parameter.value - parameter.nominal) <= UNCHANGED_SHARE * abs(parameter.nominal)


def _trace(title: str, trace: TorqueTrace, name: str) -> dict[str, Any]:
    count = len(trace.row_names)
    some = f"; the {MOST_ROWS} of {count} rows with the largest remaining error" if count > MOST_ROWS else ""
    text = (
        f"The part with most motion of {Path(trace.recording).name}, {trace.times_s[0]:.1f} to "
        f"{trace.times_s[-1]:.1f} s{some}."
    )
    figures = [svg(figure, f"{name}{i}") for i, figure in enumerate(figures_of_torques(trace))]
    return {"title": title, "text": text, "figures": figures}


def figures_of_torques(trace: TorqueTrace) -> list[Any]:
    """Draw rows as measured and as predicted with nominal and identified parameters, the errors below.

    Of more than `MOST_ROWS` rows those with the largest remaining error are drawn; a few in a figure, so
    that each fits on a page.
    """
    error = trace.measured - trace.identified
    worst = np.argsort(-np.mean(error**2, axis=0))[:MOST_ROWS]
    rows = np.sort(worst).tolist()
    return [_figure_of_rows(trace, rows[i : i + ROWS_A_FIGURE]) for i in range(0, len(rows), ROWS_A_FIGURE)]


def figure_of_singular_values(report: IdentificationReport) -> Any:
    """Draw the singular values of the weighted, scaled regressor; those beyond the rank are set apart."""
    figure, (axis,) = new_figure(1, row_height=2.4)
    values = np.asarray(report.singular_values, dtype=float)
    number = np.arange(1, len(values) + 1)
    largest = float(values.max(initial=0.0)) or 1.0
    shown = np.maximum(values, 1e-18 * largest)
    kept = number <= report.rank
    axis.plot(number[kept], shown[kept], "o", ms=4, color=COLOURS[0], label=f"identifiable ({report.rank})")
    if not kept.all():
        label = f"beyond the data ({report.unknowns - report.rank})"
        axis.plot(number[~kept], shown[~kept], "x", ms=5, color=COLOURS[1], label=label)
    axis.set_yscale("log")
    axis.set_xlabel("number")
    condition = f"condition number of the identifiable part {report.condition:.3g}"
    tidy(axis, ylabel="singular value", title=f"Singular values: {condition}")
    return figure


def figure_of_identified_masses(result: MethodResult) -> Any:
    """Draw every body's mass before and after, with two sigma where the data fix it by itself."""
    bodies = result.bodies
    figure, (axis,) = new_figure(1, row_height=0.27 * len(bodies) + 0.6)
    place = np.arange(len(bodies))[::-1]
    before = np.array([body.nominal.mass for body in bodies])
    after = np.array([body.inertia.mass for body in bodies])
    known = {p.name: p for p in result.parameters}
    for y, body in zip(place.tolist(), bodies, strict=True):
        p = known.get(f"{body.link}/m")
        if p is not None and p.identifiability is Identifiability.IDENTIFIABLE:
            band = 2.0 * p.sigma
            axis.plot([p.value - band, p.value + band], [y, y], color=COLOURS[0], lw=4, alpha=0.35)
    axis.hlines(place, before, after, color=GREY, lw=0.8)
    axis.plot(before, place, "o", ms=5, mfc="white", color=BLACK, label="nominal")
    consistent = np.array([not body.violations for body in bodies])
    kinds = {p.name: p.identifiability for p in result.parameters}
    alone = np.array([kinds.get(f"{body.link}/m") is Identifiability.IDENTIFIABLE for body in bodies])
    found, tied = consistent & alone, consistent & ~alone
    axis.plot(after[found], place[found], "o", ms=5, color=COLOURS[0], label="identified")
    if tied.any():
        label = "not determined by itself"
        axis.plot(after[tied], place[tied], "o", ms=5, mfc="white", color=GREY, label=label)
    if not consistent.all():
        axis.plot(
            after[~consistent], place[~consistent], "X", ms=7, color=COLOURS[1], label="inconsistent body"
        )
    axis.axvline(0.0, color=GREY, lw=0.8)
    axis.set_yticks(place, [body.link for body in bodies], fontsize=8)
    axis.set_xlabel("mass [kg]")
    tidy(
        axis,
        ylabel="",
        title="Masses before and after (band: two sigma, where the data fix the mass by itself)",
    )
    return figure


def _figure_of_rows(trace: TorqueTrace, rows: list[int]) -> Any:
    figure, axes = new_figure(2 * len(rows), row_height=0.83, ratios=[1.7, 1.0] * len(rows))
    for k, row in enumerate(rows):
        _draw_row(axes[2 * k], axes[2 * k + 1], trace, row)
        if k:
            axes[2 * k].legend_.remove()
            axes[2 * k + 1].legend_.remove()
    axes[-1].set_xlabel("time in the recording [s]")
    return figure


def _draw_row(axis: Any, below: Any, trace: TorqueTrace, row: int) -> None:
    name = trace.row_names[row]
    unit = "N" if name in BASE_ROWS[:3] else "Nm"
    measured, nominal, identified = (
        part[:, row] for part in (trace.measured, trace.nominal, trace.identified)
    )
    t = trace.times_s
    axis.plot(*thin(t, measured, MOST_POINTS), color=BLACK, lw=2.2, alpha=0.4, label="measured")
    axis.plot(*thin(t, nominal, MOST_POINTS), color=COLOURS[1], lw=0.9, ls="--", label="nominal")
    axis.plot(*thin(t, identified, MOST_POINTS), color=COLOURS[0], lw=0.9, label="identified")
    before, after = measured - nominal, measured - identified
    tidy(
        axis,
        ylabel=f"[{unit}]",
        title=f"{name}: rms error {_rms(before):.3g} nominal, {_rms(after):.3g} {unit} identified; "
        f"measured {_rms(measured):.3g}",
    )
    below.axhline(0.0, color=GREY, lw=0.6)
    below.plot(*thin(t, before, MOST_POINTS), color=COLOURS[1], lw=0.9, ls="--", label="error, nominal")
    below.plot(*thin(t, after, MOST_POINTS), color=COLOURS[0], lw=0.9, label="error, identified")
    tidy(below, ylabel=f"error [{unit}]")


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
