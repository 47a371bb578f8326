"""Report of a calibration: offsets with deviations, errors, and heights before and after (Yamane, Fig. 4)."""

import math
from collections.abc import Collection, Iterator

import numpy as np

from inertial_estimation.calibration.calibration_report import DISPLAY_UNITS, CalibrationReport
from inertial_estimation.errors import listing
from inertial_estimation.figures import GREY, Figure, Panel, Series
from inertial_estimation.plots.page import (
    CAUTION,
    GOOD,
    Notes,
    Page,
    Section,
    Table,
    number,
    with_sigma,
)
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


def calibration_page(report: CalibrationReport, known: Collection[str]) -> Page:
    """Return the page; `known` are the joints with known offsets, which the written ones include."""
    offsets = []
    for j in report.joints:
        factor, unit = DISPLAY_UNITS[j.unit]
        written = "" if j.joint in report.written_joints else "not written"
        offset = with_sigma(factor * j.offset, factor * j.sigma)
        offsets.append((j.joint, offset, unit, j.identifiability.value, written))
    errors = {channel.name: channel.values() for channel in report.channels}
    kinds = [
        kind for kind in next(iter(errors.values())) if any(one[kind] is not None for one in errors.values())
    ]
    rows = [
        [name, *(one[k] if k == "unit" else number(one[k], 3) for k in kinds)] for name, one in errors.items()
    ]
    title = f"Errors, rms{' of distances between points' if report.kind == 'marker' else ''}"
    sums = f"On top of the known offsets of {listing(known)}; the file has the sums."
    lead = (
        f"{report.samples} postures fitted, {report.held_out} held out; rank {report.rank} of {len(offsets)}"
    )
    sections = [
        Section("Offsets", [Table(("joint", "offset", "", "", ""), offsets, (0, 2, 3, 4))], True),
        Section(title, [Table(("", *(kind.replace("_", " ") for kind in kinds)), rows, (0, 1))], True),
        *([Section("Known offsets", [Notes([sums])], True)] if known else []),
        *([Section("Warnings", [Notes(report.warnings, CAUTION)])] if report.warnings else []),
        Section(
            "Heights before and after", [Figure("Heights before and after", list(height_panels(report)))]
        ),
        Section("Offsets, with two sigma", [Figure("Offsets, with two sigma", list(offset_panels(report)))]),
    ]
    return Page(f"Calibration by {report.kind}", lead, CAUTION if report.warnings else GOOD, (), sections)


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
