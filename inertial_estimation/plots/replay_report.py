"""Report of a replay: one self-contained page."""

from collections.abc import Iterable, Mapping
from math import nan
from pathlib import Path
from typing import Any

from inertial_estimation.diagnosis.finding import Verdict
from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.page import render
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import (
    BASE_ERRORS,
    BASE_STATE_FIGURE,
    BIAS_FIGURE,
    COM_FIGURE,
    INERTIA_FIGURE,
    MASS_FIGURE,
    NIS_FIGURE,
    TILT_FIGURE,
    TORQUE_FIGURES,
    TRUNK_FIGURE,
)

SECTIONS = (
    ("Tilt and contacts", (TILT_FIGURE,)),
    ("Yaw, position and velocity of the base", (BASE_STATE_FIGURE,)),
    ("Gyroscope bias", (BIAS_FIGURE,)),
    ("Measured and predicted torques", TORQUE_FIGURES),
    ("Masses", (MASS_FIGURE,)),
    ("Centres of mass", (COM_FIGURE,)),
    ("Moments of inertia", (INERTIA_FIGURE,)),
    ("Innovations and the gate", (NIS_FIGURE,)),
    ("The trunk", (TRUNK_FIGURE,)),
)
NOTES = {
    BASE_STATE_FIGURE: "Yaw and position are not observable from joints, IMU and contacts: they drift, and "
    "their origin is arbitrary. A reference is aligned by a translation and a yaw before the comparison.",
    TORQUE_FIGURES[0]: "The prediction that each measurement was compared with, before it corrected the "
    "estimates. For rows of the base, which are no measured torque, the residual is drawn.",
    COM_FIGURE: "As change from the first estimate, which is the description's value after one measurement, "
    "with two sigma. Grey and dotted: the standard deviation at the end is more than half of the prior's, so "
    "the recording does not measure the quantity.",
    INERTIA_FIGURE: "As change from the first estimate, which is the description's value after one "
    "measurement, with two sigma, about the centre of mass in the axes of the link.",
    TRUNK_FIGURE: "Grey and dotted: not measured, the value of the description.",
}


def write_replay_report(path: Path, evaluation: ReplayResults, figures: Iterable[Path]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        evaluation: Series and metrics of the replay; the metrics have their provenance.
        figures: Files of the figures, PNG, which the page contains.

    Raises:
        ConfigurationError: If the file cannot be written.
    """
    metrics = evaluation.metrics
    provenance = metrics["provenance"]
    wrong = [check for check in metrics["checks"] if check["verdict"] != Verdict.OK.value]
    page = render(
        "replay.html",
        title=f"Replay of {Path(provenance['bags'][0]['path']).name}",
        metrics=metrics,
        provenance=provenance,
        checks=wrong,
        checks_ok=len(metrics["checks"]) - len(wrong),
        errors=_errors(metrics),
        links=_links(metrics),
        hold_out_s=metrics["time"]["hold_out_s"],
        sections=_sections(figures),
        settings=_settings(provenance),
    )
    return write_text(path, page)


def _errors(metrics: Mapping[str, Any]) -> list[tuple[str, Mapping[str, float]]]:
    rows = [
        (f"{quantity} [{unit}]", metrics[name]) for name, quantity, unit in BASE_ERRORS if name in metrics
    ]
    true = metrics.get("truth", {}).get("tilt_error_deg")
    return [*rows, ("tilt, against the truth without alignment [deg]", true)] if true else rows


def _links(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the table of links."""
    truth = metrics.get("truth", {}).get("links", {})
    return [
        {"name": name, "truth": truth.get(name), "com": _measured_com(link), **link}
        for name, link in metrics.get("links", {}).items()
    ]


def _measured_com(link: Mapping[str, Any]) -> list[float]:
    """Return the centre of mass of a link; NaN where it was not measured."""
    names = ("com_x", "com_y", "com_z")
    unknown = link["not_informed"]
    return [nan if name in unknown else value for name, value in zip(names, link["com_m"], strict=True)]


def _sections(figures: Iterable[Path]) -> list[dict[str, Any]]:
    images = {path.name: path for path in figures}
    sections = []
    for title, names in SECTIONS:
        drawn = [images[name] for name in names if name in images]
        if drawn:
            sections.append({"title": title, "note": NOTES.get(names[0], ""), "images": drawn})
    return sections


def _settings(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters in effect by node and name."""
    return {
        f"{node}.{name}": value
        for node, values in provenance["parameters"].items()
        for name, value in values.items()
    }
