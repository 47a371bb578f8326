"""Figures of one replay as files."""

from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.plots.base_figures import figure_of_base, figure_of_bias, figure_of_tilt
from inertial_estimation.plots.inertia_figures import (
    figure_of_coms,
    figure_of_inertias,
    figure_of_masses,
    figure_of_nis,
    figures_of_torques,
)
from inertial_estimation.plots.style import (
    BLACK,
    COLOURS,
    GREY,
    TRUTH,
    draw_band,
    draw_line,
    mark_time,
    new_figure,
    save,
    spans,
    tidy,
)
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.payload_series import PayloadSeries
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import (
    BASE_STATE_FIGURE,
    BIAS_FIGURE,
    COM_FIGURE,
    INERTIA_FIGURE,
    MASS_FIGURE,
    NIS_FIGURE,
    TILT_FIGURE,
    TORQUE_FIGURES,
    TRUNK_FIGURE,
)
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array, HealthLevel

EVENT_COLOURS = {HealthLevel.OK: COLOURS[2], HealthLevel.WARN: COLOURS[1], HealthLevel.ERROR: COLOURS[3]}


def figure_of_trunk(series: PayloadSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Any:
    """Draw mass and centre of mass of the trunk, the published values, and the events.

    Times with a request to hold still are shaded; load changes, results and refusals are vertical lines. A
    quantity is grey and dotted, the value of the description, until it is measured.

    Args:
        series: Estimates of the trunk.
        time: The time axis.
        truth: True inertias, None where they are not known.
    """
    figure, axes = new_figure(4, row_height=1.8)
    t = time.of(series.stamps_ns)
    known = truth if truth is not None and series.link in truth.steps else None
    true_mass = None if known is None else known.masses(series.link, t)
    true_coms = None if known is None else 1e3 * known.coms(series.link, t)
    _draw(axes[0], t, (series.masses, series.mass_sigmas, series.published_masses, true_mass))
    for axis in axes:
        _mark(axis, t, series, time, legend=axis is axes[0])
    ends = np.array([series.masses[-1], *(1e3 * series.coms_L[-1])])
    measured = np.isfinite(np.array([series.mass_sigmas[-1], *series.com_sigmas[-1]]))
    mass = f"{ends[0]:.3f} kg at the end" if measured[0] else "mass not measured"
    tidy(axes[0], ylabel="mass [kg]", title=f"{series.link}: {mass}")
    for k, name in enumerate("xyz"):
        axis = axes[1 + k]
        true_com = None if true_coms is None else true_coms[:, k]
        com = (1e3 * series.coms_L[:, k], 1e3 * series.com_sigmas[:, k], 1e3 * series.published_coms_L[:, k])
        _draw(axis, t, (*com, true_com), labels=not measured[1 + k])
        value = f"{ends[1 + k]:.1f} mm at the end" if measured[1 + k] else "not measured"
        tidy(axis, ylabel=f"{name} [mm]", title=f"Centre of mass, {name}: {value}")
    mark_time(axes, time)
    return figure


def _draw(
    axis: Any, t: Array, lines: tuple[Array, Array, Array, Array | None], *, labels: bool = True
) -> None:
    """Draw a quantity: values, their standard deviations, published values, true values or None."""
    values, sigmas, published, true = lines
    measured = np.isfinite(sigmas)
    known = np.where(measured, values, np.nan)
    draw_band(axis, t, known, np.where(measured, 2.0 * sigmas, np.nan), COLOURS[0], alpha=0.25)

    def draw(line: Array, name: str, **style: Any) -> None:
        draw_line(axis, t, line, label=name if labels else None, **style)

    if not measured.all():
        draw(np.where(measured, np.nan, values), "URDF, not measured", color=GREY, lw=1.6, ls=":")
    if measured.any():
        draw(known, "identified, 2 sigma", color=COLOURS[0], lw=1.6)
    draw(published, "published", color=BLACK, lw=1.0, ls="--")
    if true is not None:
        draw(true, "truth", **TRUTH)
    least = 0.02 * max(abs(float(values[0])), 50.0)
    low_y, high_y = axis.get_ylim()
    middle, half = 0.5 * (low_y + high_y), 0.5 * max(high_y - low_y, least)
    axis.set_ylim(middle - half, middle + half)


def _mark(axis: Any, t: Array, series: PayloadSeries, time: TimeAxis, *, legend: bool) -> None:
    for begin, end in spans(series.holds):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=GREY, alpha=0.2, lw=0)
    shown: set[str] = set()
    for event in series.events:
        first = legend and event.kind not in shown
        shown.add(event.kind)
        label = event.kind if first else None
        axis.axvline(time.at(event.stamp_ns), color=EVENT_COLOURS[event.level], lw=1.2, ls=":", label=label)
    if legend and series.holds.any():
        axis.plot([], [], color=GREY, lw=6, alpha=0.3, label="asked to hold")


def replay_figures(evaluation: ReplayResults) -> dict[str, Any]:
    """Return the figures for which there are estimates, by the names of their files.

    Args:
        evaluation: Series and metrics of the replay.
    """
    time, tilt, inertial = evaluation.time, evaluation.tilt, evaluation.inertial
    figures: dict[str, Any] = {}
    if len(tilt.stamps_ns):
        figures[TILT_FIGURE] = figure_of_tilt(tilt, evaluation.tilt_errors, time, evaluation.forces)
        figures[BASE_STATE_FIGURE] = figure_of_base(tilt, evaluation.base_errors, time)
        figures[BIAS_FIGURE] = figure_of_bias(tilt, time)
    if len(inertial.stamps_ns):
        figures[MASS_FIGURE] = figure_of_masses(inertial, time, evaluation.truth)
        figures[COM_FIGURE] = figure_of_coms(inertial, time, evaluation.truth)
        figures[INERTIA_FIGURE] = figure_of_inertias(inertial, time, evaluation.truth)
        figures[NIS_FIGURE] = figure_of_nis(inertial, time)
    if evaluation.torques is not None:
        drawn = figures_of_torques(evaluation.torques, time)
        figures |= dict(zip(TORQUE_FIGURES, drawn, strict=False))
    if evaluation.payload is not None:
        figures[TRUNK_FIGURE] = figure_of_trunk(evaluation.payload, time, evaluation.truth)
    return figures


def write_figures(folder: Path, figures: dict[str, Any]) -> list[Path]:
    """Write figures.

    Args:
        folder: Existing folder.
        figures: By the names of their files.

    Returns:
        The files written.
    """
    return [save(figure, folder / name) for name, figure in figures.items()]
