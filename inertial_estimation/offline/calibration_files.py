"""Files of a calibration: the offsets as a ROS parameter file, the report as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inertial_estimation.calibration.calibration_report import (
    DISPLAY_UNITS,
    CalibrationReport,
    ChannelError,
    JointOffset,
)
from inertial_estimation.files.outputs import write_json, write_text


def write_offsets(path: Path, report: CalibrationReport, known: Mapping[str, float] | None = None) -> Path:
    """Write the offsets that are identifiable as parameters ``joint_offsets`` of all nodes.

    Args:
        path: File to write.
        report: The calibration.
        known: Offsets it came on top of, by joint [rad]; they stay, the file replaces where they came from.

    Returns:
        The path.

    Raises:
        ConfigurationError: If it cannot be written.
    """
    written = dict(known or {})
    for j in report.written:
        written[j.joint] = written.get(j.joint, 0.0) + j.offset
    names = ", ".join(written) or '""'
    values = ", ".join(f"{value:.9f}" for value in written.values())
    slides = [j.joint for j in report.written if j.unit == "m"]
    units = f"rad (m: {', '.join(slides)})" if slides else "rad"
    lines = [
        f"# Joint offsets: {report.kind} calibration of {report.samples} postures, see calibration.json.",
        "# Load it after the robot's own parameter file.",
        "/**:",
        "  ros__parameters:",
        "    joint_offsets:",
        f"      joints: [{names}]",
        *([f"      values: [{values}]      # {units}, added to the measured positions"] if written else []),
        "",
    ]
    return write_text(path, "\n".join(lines))


def write_report(path: Path, report: CalibrationReport, known: Mapping[str, float] | None = None) -> Path:
    """Write the whole report as JSON, with the earlier offsets to which the new ones are added.

    Raises:
        ConfigurationError: If it cannot be written.
    """
    document = {**report_document(report), "known_offsets_rad": dict(known or {})}
    return write_json(path, document)


def report_document(report: CalibrationReport) -> dict[str, Any]:
    """Return the report as JSON values; the names contain the units, degrees and millimetres."""
    written = {j.joint for j in report.written}
    return {
        "kind": report.kind,
        "samples": report.samples,
        "held_out": report.held_out,
        "outliers": report.outliers,
        "rank": report.rank,
        "rank_with_placements": report.rank_with_placements,
        "converged": report.converged,
        "iterations": report.iterations,
        "warnings": list(report.warnings),
        "joints": [
            {
                "joint": j.joint,
                **_offset(j),
                "identifiability": j.identifiability.value,
                "at_bound": j.at_bound,
                "written": j.joint in written,
            }
            for j in report.joints
        ],
        "unknown_combinations": list(report.unknown_combinations),
        "errors_rms": {channel.name: _channel(channel) for channel in report.channels},
        "noise": dict(report.noise),
        "nuisances": {
            name: {"value": value, "sigma": sigma} for name, (value, sigma) in report.nuisances.items()
        },
        "trials": [
            {
                "offset_sigma_rad": t.offset_sigma,
                "placement_position_sigma_m": t.placement_position_sigma,
                "placement_rotation_sigma_rad": t.placement_rotation_sigma,
                "leave_one_out": {name: float(value) for name, value in t.errors.items()},
                "chosen": t.chosen,
            }
            for t in report.trials
        ],
    }


def _offset(joint: JointOffset) -> Mapping[str, float | str | None]:
    """Return offset and deviation with their units: rad and deg, of a prismatic joint m and mm."""
    factor, unit = DISPLAY_UNITS[joint.unit]
    return {
        f"offset_{joint.unit}": joint.offset,
        f"offset_{unit}": factor * joint.offset,
        f"sigma_{unit}": factor * joint.sigma,
    }


def _channel(channel: ChannelError) -> Mapping[str, float | str | None]:
    scale, unit = DISPLAY_UNITS[channel.unit]
    values = {name: value for name, value in asdict(channel).items() if name not in ("name", "unit")}
    return {"unit": unit, **{name: None if v is None else scale * v for name, v in values.items()}}
