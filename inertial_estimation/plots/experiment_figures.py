"""Figure of an experiment, drawn from the panels its result describes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from inertial_estimation.experiments.figure_description import Panel, Series
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, WIDTH, save, tidy

ROW_HEIGHT = 2.2  # [inch]
LINES: dict[str, dict[str, Any]] = {
    "line": {"lw": 1.2},
    "thin": {"lw": 0.7, "alpha": 0.9},
    "dashed": {"lw": 1.2, "ls": "--"},
    "dotted": {"lw": 1.3, "ls": ":"},
    "steps": {"lw": 1.2, "drawstyle": "steps-post"},
    "points": {"ls": "none", "marker": ".", "ms": 3.0},
    "reference": {"lw": 2.4, "alpha": 0.5, "zorder": 1.5},
}


def write_experiment_figure(path: Path, title: str, panels: Sequence[Panel], *, columns: int = 1) -> Path:
    """Draw the panels into a PNG.

    Args:
        path: File to write.
        title: Title of the figure.
        panels: What it shows, row by row.
        columns: Columns of panels.

    Returns:
        The path.
    """
    return save(figure_of_panels(title, panels, columns=columns), path)


def figure_of_panels(title: str, panels: Sequence[Panel], *, columns: int = 1) -> Any:
    """Draw the panels; those with the same abscissa share its limits, and a label is explained once.

    Args:
        title: Title of the figure.
        panels: What it shows, row by row, at least one.
        columns: Columns of panels.

    Returns:
        The figure.
    """
    rows = -(-len(panels) // columns)
    size = (WIDTH if columns == 1 else 0.75 * WIDTH * columns, ROW_HEIGHT * rows + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    colours: dict[str, str] = {}
    named: set[str] = set()
    shared: dict[str, Any] = {}
    for k, panel in enumerate(panels):
        axis = figure.add_subplot(rows, columns, k + 1, sharex=shared.get(panel.x_label))
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
        axis.axvspan(span.start, span.end, color=GREY, alpha=0.3, lw=0, label=_once(span.label, named))
    for series in panel.series:
        colour = _colour(series, colours)
        axis.plot(series.x, series.y, color=colour, label=_once(series.label, named), **LINES[series.style])
        if series.low is not None:
            axis.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2, lw=0)
    for level in panel.levels:
        axis.axhline(level.value, color=BLACK, lw=0.9, ls=":", label=_once(level.label, named))
    if panel.log:
        axis.set_yscale("log")
    if panel.y_limits is not None:
        axis.set_ylim(*panel.y_limits)
    tidy(axis, ylabel=panel.y_label, title=panel.title)


def _once(label: str, named: set[str]) -> str | None:
    """Return the label, unless it is empty or already in a legend of the figure."""
    if not label or label in named:
        return None
    named.add(label)
    return label


def _colour(series: Series, colours: dict[str, str]) -> str:
    """Return the colour of a curve by its label; a new label gets the next free colour."""
    if series.style == "reference":
        return BLACK
    if series.colour is not None:
        return COLOURS[series.colour % len(COLOURS)]
    key = series.label or f"{id(series)}"
    if key not in colours:
        colours[key] = COLOURS[len(colours) % len(COLOURS)]
    return colours[key]
