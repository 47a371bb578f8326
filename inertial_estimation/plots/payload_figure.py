"""Figure of the trunk's identification over one replay."""

from typing import Any

import numpy as np

from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, spans, thin, tidy
from inertial_estimation.replay.payload_series import PayloadSeries
from inertial_estimation.signals import Array, HealthLevel, seconds

__all__ = ["figure_of_trunk"]

EVENT_COLOURS = {HealthLevel.OK: COLOURS[2], HealthLevel.WARN: COLOURS[1], HealthLevel.ERROR: COLOURS[3]}


def figure_of_trunk(series: PayloadSeries) -> Any:
    """Draw mass and centre of mass of the trunk, the published values, and the events.

    Times with a request to hold still are shaded; load changes, results and refusals are vertical lines.
    """
    figure, axes = new_figure(4, row_height=1.8)
    t: Array = seconds(series.stamps_ns - series.stamps_ns[0])
    masses = (series.masses, series.mass_sigmas, series.published_masses)
    _draw(axes[0], t, *masses, colour=COLOURS[0])
    for axis in axes:
        _mark(axis, t, series, legend=axis is axes[0])
    tidy(axes[0], ylabel="mass [kg]", title=f"{series.link}: {series.masses[-1]:.3f} kg at the end")
    for k, name in enumerate("xyz"):
        axis = axes[1 + k]
        com = (1e3 * series.coms_L[:, k], 1e3 * series.com_sigmas[:, k])
        _draw(axis, t, *com, 1e3 * series.published_coms_L[:, k], colour=COLOURS[0], labels=False)
        tidy(axis, ylabel=f"{name} [mm]", title=f"Centre of mass, {name}: {com[0][-1]:.1f} mm at the end")
    axes[-1].set_xlabel("time [s]")
    return figure


def _draw(
    axis: Any, t: Array, values: Array, sigmas: Array, published: Array, *, colour: str, labels: bool = True
) -> None:
    band = np.where(np.isfinite(sigmas), 2.0 * sigmas, 0.0)
    thin_t, low = thin(t, values - band)
    axis.fill_between(thin_t, low, thin(t, values + band)[1], color=colour, alpha=0.25, lw=0)
    axis.plot(*thin(t, values), color=colour, lw=1.6, label="identified, 2 sigma" if labels else None)
    axis.plot(*thin(t, published), color=BLACK, lw=1.0, ls="--", label="published" if labels else None)
    least = 0.02 * max(abs(float(values[0])), 50.0)
    low_y, high_y = axis.get_ylim()
    middle, half = 0.5 * (low_y + high_y), 0.5 * max(high_y - low_y, least)
    axis.set_ylim(middle - half, middle + half)


def _mark(axis: Any, t: Array, series: PayloadSeries, *, legend: bool) -> None:
    for begin, end in spans(series.holds):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=GREY, alpha=0.2, lw=0)
    shown: set[str] = set()
    for event in series.events:
        at = seconds(event.stamp_ns - int(series.stamps_ns[0]))
        first = legend and event.kind not in shown
        shown.add(event.kind)
        label = event.kind if first else None
        axis.axvline(at, color=EVENT_COLOURS[event.level], lw=1.2, ls=":", label=label)
    if legend and series.holds.any():
        axis.plot([], [], color=GREY, lw=6, alpha=0.3, label="asked to hold")
