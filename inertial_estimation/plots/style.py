"""Common style of all figures: colours for colour-blind readers, thin frames, units on axes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array

# Okabe and Ito 2008, without yellow, which is too light on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLACK = "#222222"
GREY = "#9a9a9a"
WIDTH = 8.0  # [inch]
TRUTH: dict[str, Any] = {"color": BLACK, "lw": 3.0, "alpha": 0.35, "zorder": 1.0}
TIME_LABEL = "time since the start of the recording [s]"
MAX_POINTS = 1500  # per line; more cannot be seen


def new_figure(
    rows: int, *, row_height: float = 2.3, ratios: Sequence[float] | None = None, shared: bool = True
) -> tuple[Any, list[Any]]:
    """Return a figure of some rows that share their time axis, or another one.

    Args:
        rows: Number of axes, one above the other.
        row_height: Height of each [inch].
        ratios: Heights of the axes in units of it; None: all the same.
        shared: Whether all have the same horizontal axis.

    Returns:
        The figure and its axes, from the top.
    """
    heights = [1.0] * rows if ratios is None else list(ratios)
    figure = Figure(figsize=(WIDTH, row_height * sum(heights) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, sharex=shared, squeeze=False, height_ratios=heights)[:, 0].tolist()
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


def draw_line(axis: Any, t: Array, values: Array, **style: Any) -> None:
    """Draw a line of which every peak is visible, however many points it has.

    Of every stretch that the figure cannot resolve, the smallest and the largest value are drawn.

    Args:
        axis: Axis to draw on.
        t: Times, shape (n,).
        values: Values, shape (n,).
        style: Of `matplotlib.axes.Axes.plot`.
    """
    size = -(-2 * len(t) // MAX_POINTS)
    if size > 2:
        stretches = np.arange(0, len(t) - len(t) % size).reshape(-1, size)
        pieces = values[stretches]
        known = np.isfinite(pieces)
        lowest = np.argmin(np.where(known, pieces, np.inf), axis=1)
        highest = np.argmax(np.where(known, pieces, -np.inf), axis=1)
        drawn = np.sort(np.stack([lowest, highest], axis=1), axis=1) + stretches[:, :1]
        t, values = t[drawn.ravel()], values[drawn.ravel()]
    axis.plot(t, values, **style)


def draw_band(axis: Any, t: Array, values: Array, half: Array, colour: str, *, alpha: float = 0.2) -> None:
    """Draw a band around a line.

    Args:
        axis: Axis to draw on.
        t: Times, shape (n,).
        values: Middle of the band, shape (n,).
        half: Half of its width, shape (n,).
        colour: Its colour.
        alpha: Its opacity.
    """
    thin_t, low = thin(t, values - half)
    axis.fill_between(thin_t, low, thin(t, values + half)[1], color=colour, alpha=alpha, lw=0)


def mark_time(axes: Sequence[Any], time: TimeAxis) -> None:
    """Give axes one above the other the time axis of a replay, and mark where its hold-out begins."""
    for number, axis in enumerate(axes):
        if time.hold_out_ns is not None:
            at = time.at(time.hold_out_ns)
            axis.axvline(at, color=BLACK, lw=1.2, ls=(0, (6, 3)))
            if number == 0:
                place = axis.get_xaxis_transform()
                axis.text(at, 0.98, " hold-out", transform=place, va="top", fontsize=8, color=BLACK)
        axis.set_xlim(time.at(time.begin_ns), max(time.at(time.end_ns), time.at(time.begin_ns) + 1e-3))
    axes[-1].set_xlabel(TIME_LABEL)


def thin(t: Array, values: Array, points: int = MAX_POINTS) -> tuple[Array, Array]:
    """Return times and values thinned to a number of points, by default what a figure can resolve."""
    step = max(1, len(t) // points)
    return t[::step], values[::step]


def spans(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of set flags, as pairs of the first index and the one after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
