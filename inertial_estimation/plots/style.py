"""Common style of all figures: colours for colour-blind readers, thin frames, units on axes."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from inertial_estimation.signals import Array

__all__ = ["BLACK", "COLOURS", "GREY", "MAX_POINTS", "new_figure", "save", "spans", "thin", "tidy"]

# Okabe and Ito 2008, without yellow, which is too light on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLACK = "#222222"
GREY = "#9a9a9a"
WIDTH = 8.0  # [inch]
MAX_POINTS = 4000  # per line; more cannot be seen


def new_figure(rows: int, *, row_height: float = 2.3) -> tuple[Any, list[Any]]:
    """Return a figure of some rows that share their time axis.

    Args:
        rows: Number of axes, one above the other.
        row_height: Height of each [inch].

    Returns:
        The figure and its axes, from the top.
    """
    figure = Figure(figsize=(WIDTH, row_height * rows + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0].tolist()
    return figure, axes


def tidy(axis: Any, *, ylabel: str, title: str = "") -> None:
    """Label an axis, lighten its frame, and place its legend if it has one."""
    axis.set_ylabel(ylabel)
    if title:
        axis.set_title(title, loc="left", fontsize=10)
    axis.grid(visible=True, color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    handles, _labels = axis.get_legend_handles_labels()
    if handles:
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, borderaxespad=0.2)


def save(figure: Any, path: Path) -> Path:
    """Write a figure as PNG and return its path."""
    figure.savefig(path, dpi=130)
    return path


def thin(t: Array, values: Array) -> tuple[Array, Array]:
    """Return times and values thinned to the number of points that a figure can resolve."""
    step = max(1, len(t) // MAX_POINTS)
    return t[::step], values[::step]


def spans(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of set flags, as pairs of the first index and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
