"""Report of a diagnosis: one self-contained page."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from inertial_estimation.diagnosis.diagnose import Diagnosis
from inertial_estimation.diagnosis.finding import Finding, Verdict, severest_first
from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.check_figures import (
    figure_of_contact_forces,
    figure_of_efforts,
    figure_of_gyroscope,
    figure_of_masses,
    figure_of_stamps,
    figure_of_time_offsets,
)
from inertial_estimation.plots.identification_figures import inline_svg
from inertial_estimation.plots.page import page_environment

Figure = Callable[[Diagnosis], Any]
SECTIONS: dict[str, tuple[tuple[str, ...], Figure]] = {
    "Streams": (
        (
            "joint names",
            "topic",
            "stamps",
            "gaps",
            "bursts",
            "rate",
            "clock",
            "lost readings",
            "held values",
            "something else",
            "all other checks",
            "stuck",
            "silent",
            "saturated",
            "missing values",
            "sensors",
        ),
        figure_of_stamps,
    ),
    "Time offsets": (("velocity delay", "IMU delay", "wrench delay", "effort delay"), figure_of_time_offsets),
    "IMU": (
        (
            "accelerometer size",
            "accelerometer direction",
            "gyroscope",
            "gyroscope scale",
            "gyroscope axes",
            "IMU mounting",
        ),
        figure_of_gyroscope,
    ),
    "Contact wrenches": (
        (
            "sensor axes",
            "contact names",
            "contact wrench axes",
            "contact weight",
            "contact wrench sign",
            "contact wrench unit",
            "contact wrench zero",
            "contact wrench direction",
            "contact wrench scale",
        ),
        figure_of_contact_forces,
    ),
    "Masses": (
        ("masses", "link mass", "link centre of mass", "informed links", "load change"),
        figure_of_masses,
    ),
    "Joints": ((), figure_of_efforts),  # positions, velocities, efforts, friction: all others
}


def write_check_report(path: Path, diagnosis: Diagnosis, source: Mapping[str, Any]) -> Path:
    """Write the page.

    Args:
        path: File to write.
        diagnosis: What was found.
        source: Where it came from: ``bag`` and ``config``.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
    """
    return write_text(path, check_page(diagnosis, source))


def check_page(diagnosis: Diagnosis, source: Mapping[str, Any]) -> str:
    """Return the page as HTML; see `write_check_report`."""
    results = diagnosis.findings
    sections = []
    for i, (title, (_checks, draw)) in enumerate(SECTIONS.items()):
        own = [result for result in results if _section(result) == title]
        if own:
            figure = draw(diagnosis) if diagnosis.recorded is not None or title == "Streams" else None
            svg = (
                None if figure is None else Markup(inline_svg(figure, f"check{i}"))
            )  # matplotlib escapes its text
            sections.append({"title": title, "results": own, "figure": svg})
    counts = {verdict.value: sum(r.verdict is verdict for r in results) for verdict in Verdict}
    page: str = (
        page_environment()
        .get_template("check.html")
        .render(
            title=f"Check of {Path(source['bag']).name}",
            robot=diagnosis.robot.setup.robot.model.name,
            source=source,
            duration_s=diagnosis.duration_s,
            counts=counts,
            failed=severest_first(results),
            sections=sections,
            classes={
                Verdict.OK: "ok",
                Verdict.WARN: "warn",
                Verdict.WRONG: "wrong",
                Verdict.UNKNOWN: "unknown",
            },
        )
    )
    return page


def _section(result: Finding) -> str:
    for title, (checks, _draw) in SECTIONS.items():
        if result.check in checks:
            return title
    return "Joints"
