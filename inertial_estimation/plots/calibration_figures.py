"""Heights before and after a calibration (Yamane, Fig. 4), and the offsets with their deviations."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.calibration.calibration_report import DISPLAY_UNITS, CalibrationReport, JointOffset
from inertial_estimation.calibration.identifiability import OffsetIdentifiability
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, save, tidy

LABELS = {
    "flat-feet": "sole corners, height above their mean [mm]",
    "plane": "height above the plane [mm]",
    "marker": "marker, measured minus predicted [mm]",
}


def write_calibration_figures(folder: Path, report: CalibrationReport) -> list[Path]:
    """Write heights.png and offsets.png.

    Args:
        folder: Existing folder.
        report: The calibration.

    Returns:
        The files written.
    """
    return [
        save(figure_of_heights(report), folder / "heights.png"),
        save(figure_of_offsets(report), folder / "offsets.png"),
    ]


def figure_of_heights(report: CalibrationReport) -> Any:
    """Draw the heights of every sample without offsets and with those written, a colour per corner."""
    figure, axes = new_figure(2)
    count = len(report.written_joints)
    titles = ("Without offsets", f"With the {count} offsets written" if count else "No offset written")
    held_out = np.flatnonzero(report.is_held_out > 0.5)
    k = np.arange(len(report.heights_before))
    for axis, heights, title in zip(
        axes, (report.heights_before, report.written_heights), titles, strict=True
    ):
        for c, column in enumerate(heights.T):
            colour = COLOURS[c % len(COLOURS)]
            axis.plot(k, 1e3 * column, ls="none", marker="o", ms=3.0, color=colour, alpha=0.8)
            axis.plot(
                held_out, 1e3 * column[held_out], ls="none", marker="o", ms=6.0, mfc="none", color=colour
            )
        axis.axhline(0.0, color=BLACK, lw=0.7)
        if len(held_out) and axis is axes[0]:
            axis.plot([], [], ls="none", marker="o", ms=6.0, mfc="none", color=GREY, label="held out")
        marker = report.kind == "marker"
        squares = (heights**2).sum(axis=1) if marker else heights**2
        rms = f"rms{' distance' if marker else ''} {1e3 * math.sqrt(float(squares.mean())):.2f} mm"
        ylabel = "error of x, y, z [mm]" if marker else "height [mm]"
        tidy(axis, ylabel=ylabel, title=f"{title}: {LABELS[report.kind]}, {rms}")
    axes[-1].set_xlabel("posture")
    return figure


def figure_of_offsets(report: CalibrationReport) -> Any:
    """Draw the offsets with two standard deviations, coloured by identifiability; filled are those written.

    Revolute joints are in degrees, prismatic ones in millimetres on an axis of their own.
    """
    shown = [unit for unit in ("rad", "m") if any(j.unit == unit for j in report.joints)]
    figure, axes = new_figure(len(shown), row_height=3.2)
    for axis, unit in zip(axes, shown, strict=True):
        factor, name = DISPLAY_UNITS[unit]
        joints = {i: joint for i, joint in enumerate(report.joints) if joint.unit == unit}
        _draw_offsets(axis, joints, factor, frozenset(report.written_joints))
        tidy(axis, ylabel=f"offset [{name}]", title="Offsets, bars: two standard deviations; filled: written")
    names = [joint.joint.removesuffix("_joint") for joint in report.joints]
    axes[-1].set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
    return figure


def _draw_offsets(axis: Any, joints: dict[int, JointOffset], factor: float, written: frozenset[str]) -> None:
    colours = {
        OffsetIdentifiability.IDENTIFIABLE: COLOURS[0],
        OffsetIdentifiability.COMBINATION: COLOURS[1],
        OffsetIdentifiability.NOT: GREY,
    }
    for kind, colour in colours.items():
        chosen = [i for i, joint in joints.items() if joint.identifiability is kind]
        if chosen:
            offsets = [factor * joints[i].offset for i in chosen]
            spread = [2.0 * factor * joints[i].sigma for i in chosen]
            axis.errorbar(
                chosen, offsets, spread, fmt="o", ms=4.0, mfc="w", color=colour, capsize=3.0, label=kind.value
            )
            full = [i for i in chosen if joints[i].joint in written]
            values = [factor * joints[i].offset for i in full]
            axis.plot(full, values, ls="none", marker="o", ms=4.0, color=colour, zorder=5)
    axis.axhline(0.0, color=BLACK, lw=0.7)
