"""Figures of the inertial filter over one replay: masses, centres of mass, inertias, innovations, torques."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from inertial_estimation.plots.style import (
    BLACK,
    COLOURS,
    GREY,
    MAX_POINTS,
    TRUTH,
    draw_band,
    draw_line,
    mark_time,
    new_figure,
    spans,
    thin,
    tidy,
)
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.estimate_series import InertialSeries, LinkSeries
from inertial_estimation.replay.metrics import FILTER_CUTOFF
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import Array, Decision

AXES = ("x", "y", "z")
DIAGONAL = (4, 7, 9)  # places of xx, yy and zz among the ten parameters
BAND_QUANTILE, WIDEST_BAND = 0.8, 4.0  # of a band's width, and over its last one: what a panel has room for
NOT_INFORMED = "not measured by this recording"
MOST_ROWS = 12  # drawn: those with the largest errors
ROWS_A_FIGURE = 4


def figure_of_masses(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Any:
    """Draw the mass of each estimated body with its two-sigma band, the published mass, and the truth.

    Args:
        series: Inertial estimates.
        time: The time axis.
        truth: True inertias, None where they are not known.
    """
    figure, axes = new_figure(len(series.links), row_height=2.6 if len(series.links) < 3 else 1.6)
    t = time.of(series.stamps_ns)
    for k, (axis, link) in enumerate(zip(axes, series.links, strict=True)):
        informed = bool(link.informed[0])
        colour = COLOURS[k % len(COLOURS)] if informed else GREY
        band = 2.0 * link.mass_sigmas
        draw_band(axis, t, link.masses, band, colour)
        draw_line(axis, t, link.published_masses, color=BLACK, lw=1.0, ls="--", label="published")
        label = "estimate, 2 sigma" if informed else "prior, 2 sigma"
        draw_line(axis, t, link.masses, color=colour, lw=1.3, label=label)
        nominal = float(link.masses[0] - link.payload_masses[0])
        axis.axhline(nominal, color=GREY, lw=1.0, ls=":", label=f"URDF {nominal:.2f} kg")
        shown = [link.published_masses, np.array([nominal]), *_visible_edges(link.masses, band)]
        if truth is not None and link.link in truth.steps:
            true = truth.masses(link.link, t)
            draw_line(axis, t, true, **TRUTH, label=f"truth {true[-1]:.3f} kg")
            shown.append(true)
        _limit_to(axis, np.concatenate(shown))
        value = f"{link.masses[-1]:.3f} +- {link.mass_sigmas[-1]:.3f} kg at the end"
        tidy(axis, ylabel="mass [kg]", title=f"{link.link}: {value if informed else NOT_INFORMED}")
    mark_time(axes, time)
    return figure


def figure_of_coms(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Any:
    """Draw the centre of mass of each body in its link's frame; what was not measured is grey and dotted."""
    return _figure_of_triples(
        series,
        time,
        [(1e3 * link.coms_L, 1e3 * link.sigmas[:, 1:4], link.informed[1:4]) for link in series.links],
        [_true_com(truth, link) for link in series.links],
        ("change from start [mm]", "mm", ".1f", AXES),
    )


def figure_of_inertias(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Any:
    """Draw the moments of inertia of each body about its centre of mass, in the axes of its link."""
    parts = []
    for link in series.links:
        moments = np.diagonal(link.inertias_Lcm, axis1=1, axis2=2)
        parts.append((moments, link.sigmas[:, DIAGONAL], link.informed[list(DIAGONAL)]))
    return _figure_of_triples(
        series,
        time,
        parts,
        [_true_moments(truth, link) for link in series.links],
        ("change from start [kg m²]", "kg m²", ".3g", ("xx", "yy", "zz")),
    )


def figure_of_nis(series: InertialSeries, time: TimeAxis) -> Any:
    """Draw the normalised innovation squared, its 95 % bounds and the gate's, and the gate's decisions."""
    found = [decision for decision in Decision if decision in series.decisions]
    figure, (axis, below) = new_figure(2, ratios=(1.2, 0.12 * (1 + len(found))))
    t = time.of(series.stamps_ns)
    rows = max(len(series.row_names), 1)
    nis = np.maximum(series.nis, 1e-3)
    taken = series.accepted
    step = max(1, len(t) // MAX_POINTS)
    axis.plot(t[taken][::step], nis[taken][::step], ".", ms=2.0, color=COLOURS[0], label="accepted")
    rejected = np.array([decision is Decision.REJECTED for decision in series.decisions])
    idle = ~taken & ~rejected
    if rejected.any():
        axis.plot(t[rejected], nis[rejected], "x", ms=3.5, mew=0.8, color=COLOURS[1], label="rejected")
    if idle.any():
        axis.plot(t[idle][::step], nis[idle][::step], ".", ms=2.0, color=GREY, label="not learning")
    low, high = chi2.interval(0.95, rows)
    axis.axhspan(low, high, color=COLOURS[2], alpha=0.2, lw=0, label="95 % of chi-square")
    if np.isfinite(series.nis_bounds).any():
        axis.plot(*thin(t, series.nis_bounds), color=BLACK, lw=1.0, ls="--", label="gate")
    axis.set_yscale("log")
    inside = float(np.mean((series.nis >= low) & (series.nis <= high)))
    title = f"Innovation over {rows} rows: {100 * inside:.0f} % inside the 95 % bounds"
    tidy(axis, ylabel="NIS [-]", title=title)
    _draw_decisions(below, t, series.decisions, found)
    mark_time([axis, below], time)
    return figure


def _draw_decisions(axis: Any, t: Array, decisions: Sequence[Decision], found: Sequence[Decision]) -> None:
    """Draw a bar a decision where it was taken."""
    for row, decision in enumerate(found):
        flags = np.array([one is decision for one in decisions])
        least = 0.001 * float(t[-1] - t[0])  # so that a single one is visible
        bars = [(t[i], max(t[min(j, len(t) - 1)] - t[i], least)) for i, j in spans(flags)]
        colour = COLOURS[0] if decision is Decision.ACCEPTED else COLOURS[1]
        axis.broken_barh(bars, (row - 0.35, 0.7), facecolor=colour, lw=0)
    shares = [sum(one is decision for one in decisions) / max(len(decisions), 1) for decision in found]
    names = [f"{d.value} ({100 * share:.1f} %)" for d, share in zip(found, shares, strict=True)]
    axis.set_yticks(range(len(found)), names)
    axis.set_ylim(len(found) - 0.4, -0.6)
    tidy(axis, ylabel="", title="Decisions of the gate")


def _figure_of_triples(
    series: InertialSeries,
    time: TimeAxis,
    parts: Sequence[tuple[Array, Array, Any]],
    truths: Sequence[Array | None],
    texts: tuple[str, str, str, tuple[str, str, str]],
) -> Any:
    """Draw three quantities of each body as changes from their first values.

    Args:
        series: Inertial estimates.
        time: The time axis.
        parts: Of each body: values, standard deviations, shape (n, 3) each, and which are informed.
        truths: Of each body its true values at the end, shape (3,), or None.
        texts: Label of the y axes, unit, format of values, names of the quantities.
    """
    ylabel, unit, digits, names = texts
    figure, axes = new_figure(len(series.links), row_height=2.4 if len(series.links) < 3 else 1.8)
    t = time.of(series.stamps_ns)
    rows = zip(axes, series.links, parts, truths, strict=True)
    for axis, link, (values, sigmas, informed), true in rows:
        shown = []
        for k, name in enumerate(names):
            change, band = values[:, k] - values[0, k], 2.0 * sigmas[:, k]
            if informed[k]:
                draw_band(axis, t, change, band, COLOURS[k])
                label = f"{name} {values[-1, k]:{digits}} +- {sigmas[-1, k]:{digits}} {unit}"
                draw_line(axis, t, change, color=COLOURS[k], lw=1.2, label=label)
                shown += _visible_edges(change, band)
            else:
                draw_line(axis, t, change, color=GREY, lw=1.0, ls=":", label=f"{name} not measured")
                shown.append(change)
            if true is not None and informed[k]:
                offset = true[k] - values[0, k]
                axis.axhline(offset, color=COLOURS[k], lw=1.0, ls="-.")
                shown.append(np.array([offset]))
        if true is not None and np.any(informed):
            axis.plot([], [], color=BLACK, lw=1.0, ls="-.", label="truth at the end")
        _limit_to(axis, np.concatenate(shown), 1e-6)
        tidy(axis, ylabel=ylabel, title=link.link)
    mark_time(axes, time)
    return figure


def _visible_edges(values: Array, band: Array) -> list[Array]:
    """Return the edges of a band that a panel shall show: most of it, but not the widest of its begin."""
    half = np.minimum(band, min(float(np.quantile(band, BAND_QUANTILE)), WIDEST_BAND * float(band[-1])))
    return [values - half, values + half]


def _true_com(truth: TrueInertias | None, link: LinkSeries) -> Array | None:
    true = truth.at_end(link.link) if truth is not None else None
    return None if true is None else 1e3 * true.com_L


def _true_moments(truth: TrueInertias | None, link: LinkSeries) -> Array | None:
    true = truth.at_end(link.link) if truth is not None else None
    return None if true is None else np.diagonal(true.inertia_Lcm)


def _limit_to(axis: Any, values: Array, least: float = 1e-3) -> None:
    low, high = float(np.min(values)), float(np.max(values))
    margin = max(0.1 * (high - low), 0.02 * abs(high), least)
    axis.set_ylim(low - margin, high + margin)


def figures_of_torques(series: TorqueSeries, time: TimeAxis) -> list[Any]:
    """Draw rows as measured and as predicted; of rows that are no measured torque the residual alone.

    Of more than `MOST_ROWS` rows those with the largest innovations are drawn, a few in a figure, so that
    each fits on a page. Measurements and predictions went through one low-pass without delay.

    Args:
        series: Rows of the measurement.
        time: The time axis.
    """
    worst = np.argsort(-np.mean(series.innovations**2, axis=0))[:MOST_ROWS]
    rows = np.sort(worst).tolist()
    return [_figure(series, rows[i : i + ROWS_A_FIGURE], time) for i in range(0, len(rows), ROWS_A_FIGURE)]


def _figure(series: TorqueSeries, rows: list[int], time: TimeAxis) -> Any:
    figure, axes = new_figure(len(rows), row_height=1.9)
    t = time.of(series.stamps_ns)
    for axis, row in zip(axes, rows, strict=True):
        measured, innovation, unit = series.measured[:, row], series.innovations[:, row], series.unit(row)
        known = bool(np.isfinite(measured).all())
        if known:
            draw_line(axis, t, measured, color=BLACK, lw=2.0, alpha=0.4, label="measured")
            draw_line(axis, t, measured - innovation, color=COLOURS[0], lw=0.9, label="predicted")
        else:
            axis.axhline(0.0, color=GREY, lw=0.6)
            draw_line(axis, t, innovation, color=COLOURS[3], lw=0.8, label="measured minus\npredicted")
        errors = _error_text(series, row, time, unit)
        tidy(axis, ylabel=f"[{unit}]", title=f"{series.row_names[row]}: {errors}")
    mark_time(axes, time)
    figure.suptitle(f"Low-passed at {FILTER_CUTOFF:g} Hz, without delay", x=0.01, ha="left", fontsize=9)
    return figure


def _error_text(series: TorqueSeries, row: int, time: TimeAxis, unit: str) -> str:
    """Return the rms error of a row, after the hold-out where there is one."""
    chosen = np.ones(len(series.stamps_ns), dtype=bool)
    where = ""
    if time.hold_out_ns is not None and (series.stamps_ns >= time.hold_out_ns).any():
        chosen, where = series.stamps_ns >= time.hold_out_ns, " after the hold-out"
    error = float(np.sqrt(np.mean(series.innovations[chosen, row] ** 2)))
    size = float(np.sqrt(np.mean(series.measured[chosen, row] ** 2)))
    of = f", measured {size:.3g}" if np.isfinite(size) else ""
    return f"rms error{where} {error:.3g} {unit}{of}"
