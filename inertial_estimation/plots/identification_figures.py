"""Figures of an identification: torques measured and predicted, singular values, masses."""

import io
import re
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from inertial_estimation.identification.identification_result import (
    Identifiability,
    IdentificationReport,
    MethodResult,
)
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.offline.identification_run import TorqueTrace
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, WIDTH, tidy
from inertial_estimation.signals import Array

MOST_ROWS = 12  # drawn of one trace: the worst ones
ROWS_A_FIGURE = 3
MOST_POINTS = 700  # of a line


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
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
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
    figure = Figure(figsize=(WIDTH, 0.27 * len(bodies) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
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
    axis.plot(after[consistent], place[consistent], "o", ms=5, color=COLOURS[0], label="identified")
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


def inline_svg(figure: Any, name: str) -> str:
    """Return a figure as an SVG element for an HTML page, with text as text elements.

    Args:
        figure: The figure.
        name: Unique in the page: identifiers inside the SVG derive from it.
    """
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}
    with mpl.rc_context(settings):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, tail = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    identifiers = sorted(set(re.findall(r' id="([^"]+)"', tail)), key=len, reverse=True)
    for identifier in identifiers:
        for before, after in (('id="', '"'), ("url(#", ")"), ('href="#', '"')):
            tail = tail.replace(f"{before}{identifier}{after}", f"{before}{name}-{identifier}{after}")
    return f'{head} role="img">{tail.rstrip()}'


def _figure_of_rows(trace: TorqueTrace, rows: list[int]) -> Any:
    figure = Figure(figsize=(WIDTH, 2.25 * len(rows) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    heights = [1.7, 1.0] * len(rows)
    axes = figure.subplots(2 * len(rows), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
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
    axis.plot(*_thin(t, measured), color=BLACK, lw=2.2, alpha=0.4, label="measured")
    axis.plot(*_thin(t, nominal), color=COLOURS[1], lw=0.9, ls="--", label="nominal")
    axis.plot(*_thin(t, identified), color=COLOURS[0], lw=0.9, label="identified")
    before, after = measured - nominal, measured - identified
    tidy(
        axis,
        ylabel=f"[{unit}]",
        title=f"{name}: rms error {_rms(before):.3g} nominal, {_rms(after):.3g} {unit} identified; "
        f"measured {_rms(measured):.3g}",
    )
    below.axhline(0.0, color=GREY, lw=0.6)
    below.plot(*_thin(t, before), color=COLOURS[1], lw=0.9, ls="--", label="error, nominal")
    below.plot(*_thin(t, after), color=COLOURS[0], lw=0.9, label="error, identified")
    tidy(below, ylabel=f"error [{unit}]")


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _thin(t: Array, values: Array) -> tuple[Array, Array]:
    step = max(1, len(t) // MOST_POINTS)
    return t[::step], values[::step]
