"""Panels as a PNG by matplotlib, for papers and pages that need a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from inertial_estimation.figures import GREY_COLOUR, INK_COLOUR, Panel, Series

WIDTH, ROW_HEIGHT, NAME_HEIGHT = 8.0, 2.2, 0.24  # of a figure, of a row of panels, of a named row [inch]
DPI = 130
LINES: dict[str, dict[str, Any]] = {
    "line": {"lw": 1.2},
    "thin": {"lw": 0.7, "alpha": 0.9},
    "dashed": {"lw": 1.2, "ls": "--"},
    "dotted": {"lw": 1.3, "ls": ":"},
    "steps": {"lw": 1.2, "drawstyle": "steps-post"},
    "points": {"ls": "none", "marker": ".", "ms": 3.0},
    "crosses": {"ls": "none", "marker": "x", "ms": 4.0},
    "circles": {"ls": "none", "marker": "o", "ms": 5.0, "mfc": "none"},
    "bars": {"lw": 6.0, "solid_capstyle": "butt"},
    "reference": {"lw": 2.4, "alpha": 0.5, "zorder": 1.5},
}


def write_png(path: Path, title: str, panels: Sequence[Panel], *, columns: int = 1) -> Path:
    """Draw panels; those with the same abscissa share its limits, and a label is explained once.

    Args:
        path: File to write.
        title: Title of the figure.
        panels: What it shows, row by row, at least one.
        columns: Columns of panels.

    Returns:
        The path.
    """
    figure_of_panels(title, panels, columns=columns).savefig(path, dpi=DPI)
    return path


def figure_of_panels(title: str, panels: Sequence[Panel], *, columns: int = 1) -> Any:
    """Return the figure that `write_png` writes."""
    rows = -(-len(panels) // columns)
    first_of_row = panels[::columns]
    heights = [max(ROW_HEIGHT, 0.8 + NAME_HEIGHT * len(panel.rows)) for panel in first_of_row]
    size = (WIDTH if columns == 1 else 0.75 * WIDTH * columns, sum(heights) + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    grid = figure.add_gridspec(rows, columns, height_ratios=heights)
    colours: dict[str, str] = {}
    named: set[str] = set()
    shared: dict[str, Any] = {}
    for k, panel in enumerate(panels):
        axis = figure.add_subplot(grid[k // columns, k % columns], sharex=shared.get(panel.x_label))
        shared.setdefault(panel.x_label, axis)
        _draw(axis, panel, colours, named)
        below = panels[k + columns] if k + columns < len(panels) else None
        if below is not None and below.x_label == panel.x_label:
            axis.tick_params(labelbottom=False)
        else:
            axis.set_xlabel(panel.x_label)
    return figure


def _draw(axis: Any, panel: Panel, colours: dict[str, str], named: set[str]) -> None:
    for span in panel.spans:
        label = _once(span.label, named)
        axis.axvspan(span.start, span.end, color=GREY_COLOUR, alpha=0.3, lw=0, label=label)
    for series in panel.series:
        _draw_series(axis, panel, series, colours, named)
    for level in panel.levels:
        axis.axhline(level.value, color=INK_COLOUR, lw=0.9, ls=":", label=_once(level.label, named))
    for mark in panel.marks:
        axis.axvline(mark.value, color=INK_COLOUR, lw=0.9, ls="--", label=_once(mark.label, named))
    if panel.log:
        axis.set_yscale("log")
    if panel.log_x:
        axis.set_xscale("log")
    if panel.y_limits is not None:
        axis.set_ylim(*panel.y_limits)
    if panel.rows:
        axis.set_yticks(range(len(panel.rows)), panel.rows, fontsize=8)
        axis.set_ylim(len(panel.rows) - 0.4, -0.6)
    axis.set_ylabel(panel.y_label)
    axis.set_title(panel.title, loc="left", fontsize=10)
    axis.grid(visible=True, color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, borderaxespad=0.2)


def _draw_series(axis: Any, panel: Panel, one: Series, colours: dict[str, str], named: set[str]) -> None:
    colour = one.colour_in(colours)
    axis.plot(one.x, one.y, color=colour, label=_once(one.label, named), **LINES[one.style])
    if one.low is not None and one.high is not None:
        if panel.rows:
            widths = np.array([one.x - one.low, one.high - one.x])
            axis.errorbar(one.x, one.y, xerr=widths, fmt="none", color=colour, lw=1.0, capsize=2.5)
        else:
            axis.fill_between(one.x, one.low, one.high, color=colour, alpha=0.2, lw=0)


def _once(label: str, named: set[str]) -> str | None:
    """Return the label, unless it is empty or already in a legend of the figure."""
    if not label or label in named:
        return None
    named.add(label)
    return label
