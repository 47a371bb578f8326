"""Panels as a PNG by matplotlib, for these pages; of an experiment by its name.

python docs/pictures.py NAME [--seeds N] [--output DIR]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from inertial_estimation.experiments.registry import find_experiment
from inertial_estimation.figures import GREY_COLOUR, INK_COLOUR, STYLES, Panel, Series

MARKERS = {"circle": "o", "x": "x", "circle-open": "o"}
DASHES = {"solid": "-", "dash": "--", "dot": ":"}
POINTS = 0.75  # of a pixel of `STYLES`
MOST = 3  # panels of one column


def write_png(path: Path, title: str, panels: Sequence[Panel], *, columns: int = 1) -> Path:
    """Draw panels; those with the same abscissa share its limits, and each label is in one legend only.

    Args:
        path: File to write.
        title: Title of the figure.
        panels: Panels, row by row, at least one.
        columns: Number of columns of panels.

    Returns:
        The path.
    """
    figure_of_panels(title, panels, columns=columns).savefig(path, dpi=130)
    return path


def figure_of_panels(title: str, panels: Sequence[Panel], *, columns: int = 1) -> Any:
    """Return the figure that `write_png` writes."""
    rows = -(-len(panels) // columns)
    heights = [max(2.2, 0.8 + 0.24 * len(panel.rows)) for panel in panels[::columns]]  # [inch]
    size = (8.0 if columns == 1 else 6.0 * columns, sum(heights) + 0.7)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
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
        axis.axhline(level.value, color=INK_COLOUR, lw=1, ls=":", label=_once(level.label, named))
    for mark in panel.marks:
        axis.axvline(mark.value, color=INK_COLOUR, lw=1, ls="--", label=_once(mark.label, named))
    if panel.log:
        axis.set_yscale("log")
    if panel.log_x:
        axis.set_xscale("log")
    if panel.y_limits is not None:
        axis.set_ylim(*panel.y_limits)
    if panel.rows:
        axis.set_yticks(range(len(panel.rows)), panel.rows)
        axis.set_ylim(len(panel.rows) - 0.4, -0.6)
    axis.set_ylabel(panel.y_label)
    axis.set_title(panel.title, loc="left", fontsize="medium")
    axis.grid(visible=True, alpha=0.4)
    axis.spines[["top", "right"]].set_visible(False)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")


def _draw_series(axis: Any, panel: Panel, one: Series, colours: dict[str, str], named: set[str]) -> None:
    colour, style = one.colour_in(colours), STYLES[one.style]
    drawn: dict[str, Any] = {"lw": POINTS * style.width, "ls": DASHES[style.dash]}
    if style.marker:
        drawn = {"ls": "none", "marker": MARKERS[style.marker], "ms": POINTS * style.width}
        drawn |= {"mfc": "none"} if style.marker.endswith("open") else {}
    drawn |= {"drawstyle": "steps-post"} if one.style == "steps" else {}
    drawn |= {"solid_capstyle": "butt"} if one.style == "bars" else {}
    axis.plot(one.x, one.y, color=colour, alpha=style.opacity, label=_once(one.label, named), **drawn)
    if one.low is not None and one.high is not None:
        if panel.rows:
            widths = np.array([one.x - one.low, one.high - one.x])
            axis.errorbar(one.x, one.y, xerr=widths, fmt="none", color=colour, capsize=2)
        else:
            axis.fill_between(one.x, one.low, one.high, color=colour, alpha=0.2, lw=0)


def _once(label: str, named: set[str]) -> str | None:
    """Return the label, unless it is empty or already in a legend of the figure."""
    if not label or label in named:
        return None
    named.add(label)
    return label


def main() -> int:
    """Run an experiment and draw its panels, in two columns where there are many."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="name of the experiment")
    parser.add_argument("--seeds", type=int, help="number of seeds (depends on the experiment)")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("images"), metavar="DIR")
    args = parser.parse_args()
    experiment = find_experiment(args.name)
    panels = experiment.run(range(args.seeds or experiment.seeds)).panels
    path = args.output / f"{experiment.name.replace('-', '_')}.png"
    write_png(path, f"{experiment.name} ({experiment.source})", panels, columns=1 + (len(panels) > MOST))
    return 0


if __name__ == "__main__":
    sys.exit(main())
