"""Heights before and after a calibration (Yamane, Fig. 4), and the offsets with standard deviations."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inertial_estimation.calibration.calibration_report import DISPLAY_UNITS, CalibrationReport
from inertial_estimation.figures import GREY, Panel, Series
from inertial_estimation.plots.png import write_png
from inertial_estimation.signals import Array, Identifiability

LABELS = {
    "flat-feet": "sole corners, height above their mean [mm]",
    "plane": "height above the plane [mm]",
    "marker": "marker, measured minus predicted [mm]",
}
COLOUR_OF = {
    Identifiability.IDENTIFIABLE: 0,
    Identifiability.COMBINATION: 1,
    Identifiability.NOT: GREY,
}


def write_calibration_figures(folder: Path, report: CalibrationReport) -> list[Path]:
    """Write heights.png and offsets.png to an existing folder, and return their paths."""
    return [
        write_png(folder / "heights.png", "Heights before and after", list(height_panels(report))),
        write_png(folder / "offsets.png", "Offsets, with two sigma", list(offset_panels(report))),
    ]


def height_panels(report: CalibrationReport) -> Iterator[Panel]:
    """Yield the heights of every sample without offsets and with the written ones, a colour per corner."""
    count = len(report.written_joints)
    titles = ("Without offsets", f"With the {count} offsets written" if count else "No offset written")
    held_out = report.is_held_out > 0.5
    k = np.arange(len(report.heights_before), dtype=float)
    marker = report.kind == "marker"
    for heights, title in zip((report.heights_before, report.written_heights), titles, strict=True):
        columns = 1e3 * heights.T
        points = [Series("", k, column, "points", colour=c) for c, column in enumerate(columns)]
        label = "held out" if held_out.any() else ""
        points += [
            Series("" if c else label, k[held_out], column[held_out], "circles", colour=c)
            for c, column in enumerate(columns)
        ]
        ylabel = "error of x, y, z [mm]" if marker else "height [mm]"
        yield Panel(f"{title}: {LABELS[report.kind]}, {_rms(heights, marker)}", "posture", ylabel, points)


def _rms(heights: Array, marker: bool) -> str:
    squares = (heights**2).sum(axis=1) if marker else heights**2
    return f"rms{' distance' if marker else ''} {1e3 * math.sqrt(float(squares.mean())):.2f} mm"


def offset_panels(report: CalibrationReport) -> Iterator[Panel]:
    """Yield the offsets with two standard deviations, coloured by identifiability; written ones are filled.

    Revolute joints are in degrees, prismatic ones in millimetres in a separate panel.
    """
    for unit in ("rad", "m"):
        joints = [joint for joint in report.joints if joint.unit == unit]
        factor, name = DISPLAY_UNITS[unit]
        points = []
        for kind, colour in COLOUR_OF.items():
            rows = np.array([k for k, joint in enumerate(joints) if joint.identifiability is kind], dtype=int)
            values, sigmas = (
                factor * np.array([(joints[k].offset, joints[k].sigma) for k in rows]).reshape(-1, 2).T
            )
            written = np.array([joints[k].joint in report.written_joints for k in rows], dtype=bool)
            if len(rows):
                edges = (values - 2.0 * sigmas, values + 2.0 * sigmas)
                points.append(Series(kind.value, values, rows.astype(float), "circles", *edges, colour))
                points.append(
                    Series("", values[written], rows[written].astype(float), "points", colour=colour)
                )
        if joints:
            names = [joint.joint for joint in joints]
            yield Panel("Filled: written", f"offset [{name}]", "", points, rows=names)
