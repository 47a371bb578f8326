"""Figures of measured and predicted torques over one replay."""

from typing import Any

import numpy as np

from inertial_estimation.plots.style import BLACK, COLOURS, GREY, draw_line, mark_time, new_figure, tidy
from inertial_estimation.replay.metrics import FILTER_CUTOFF
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries

MOST_ROWS = 12  # drawn: those with the largest errors
ROWS_A_FIGURE = 4


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
