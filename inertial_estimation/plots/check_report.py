"""Report of a diagnosis: one self-contained page with its figures."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.diagnosis.causes import Cause, Kind
from inertial_estimation.diagnosis.diagnose import Diagnosis
from inertial_estimation.diagnosis.finding import Finding, Verdict, severest_first
from inertial_estimation.diagnosis.lags import LAGS
from inertial_estimation.diagnosis.masses import MassReport
from inertial_estimation.diagnosis.parts import rotation_over_feet
from inertial_estimation.diagnosis.table import STEP_S
from inertial_estimation.files.outputs import write_text
from inertial_estimation.plots.page import render, svg
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, new_figure, thin, tidy
from inertial_estimation.signals import NANOSECONDS, Array

SHOWN_S = 10.0  # of a recording, where it moves most
MOST_JOINTS = 4
MOST_LINKS = 24
LEAST_AGREEMENT = -1.0  # that is drawn
TOLD = 0.45  # standard deviation of a mass that is drawn, share of it


def figure_of_stamps(diagnosis: Diagnosis) -> Any:
    """Draw the steps between the stamps of every stream over time."""
    streams = diagnosis.streams.by_name
    figure, axes = new_figure(len(streams), row_height=1.2)
    first = min(int(stream.times_ns.min()) for stream in streams.values())
    for axis, (name, stream) in zip(axes, streams.items(), strict=True):
        times = (stream.times_ns[1:] - first) / NANOSECONDS
        steps = np.diff(stream.times_ns) / 1e6
        axis.plot(*thin(times, steps), ".", ms=2, color=COLOURS[0])
        median = float(np.median(steps))
        axis.set_ylim(min(0.0, float(steps.min())), max(3.0 * median, float(np.quantile(steps, 0.999)) * 1.1))
        tidy(axis, ylabel="step [ms]", title=f"{name}: median {median:.3g}, longest {steps.max():.3g} ms")
    axes[-1].set_xlabel("time [s]")
    return figure


def figure_of_time_offsets(diagnosis: Diagnosis) -> Any | None:
    """Draw the agreement of pairs of streams over the shift in time; None where no pair agrees at any."""
    lags = {name: lag for name, lag in diagnosis.lags.items() if lag.curve.max() > LEAST_AGREEMENT}
    if not lags:
        return None
    figure, (axis,) = new_figure(1, row_height=2.2)
    shift_ms = 1e3 * STEP_S * LAGS
    unknown = {result.check for result in diagnosis.findings if result.verdict is Verdict.UNKNOWN}
    for colour, (name, lag) in zip(COLOURS, lags.items(), strict=False):
        if name in unknown:
            axis.plot(shift_ms, lag.curve, ":", color=colour, lw=1.2, label=f"{name}: cannot tell")
            continue
        axis.plot(shift_ms, lag.curve, color=colour, lw=1.2, label=f"{name}: {1e3 * lag.seconds:+.0f} ms")
        axis.plot([1e3 * lag.seconds], [lag.score], "o", ms=5, color=colour)
    axis.axvline(0.0, color=GREY, lw=0.8)
    axis.set_ylim(max(LEAST_AGREEMENT, axis.get_ylim()[0]), 1.05)
    axis.set_xlabel("later than the joint states by [ms]")
    tidy(axis, ylabel="agreement", title="Agreement of the streams when one of them is shifted")
    return figure


def figure_of_gyroscope(diagnosis: Diagnosis) -> Any | None:
    """Draw the gyroscope and what it should read over standing feet; None without."""
    recorded, table = diagnosis.recorded, diagnosis.mended
    if recorded is None or table is None:
        return None
    mended, expected = table.signals, rotation_over_feet(table)
    if not np.isfinite(recorded.w).any() or expected is None:
        return None
    begin, end = _busiest(recorded.times_s, recorded.w)
    figure, axes = new_figure(3, row_height=1.5)
    corrected = not np.array_equal(recorded.w, mended.w, equal_nan=True)
    for k, (axis, name) in enumerate(zip(axes, "xyz", strict=True)):
        t, inside = _within(recorded.times_s, begin, end)
        colour = COLOURS[1] if corrected else BLACK
        axis.plot(t, recorded.w[inside, k], color=colour, lw=1.0, label="as recorded")
        t, inside = _within(mended.times_s, begin, end)
        if corrected:
            axis.plot(t, mended.w[inside, k], color=BLACK, lw=1.0, label="corrected")
        axis.plot(t, expected[inside, k], color=COLOURS[0], lw=1.0, ls="--", label="from the feet")
        tidy(axis, ylabel=f"{name} [rad/s]", title="Angular rate of the IMU" if k == 0 else "")
        if k:
            axis.legend_.remove()
    axes[-1].set_xlabel("time [s]")
    return figure


def figure_of_contact_forces(diagnosis: Diagnosis) -> Any | None:
    """Draw the force of every contact, their sum and what the motion needs, along gravity; None without."""
    table = diagnosis.mended
    if table is None or not diagnosis.streams.wrenches or diagnosis.robot.n_base != 6:
        return None
    times = table.signals.times_s
    needed = np.linalg.norm(table.force[:, :3], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = table.force[:, :3] / needed[:, None]
    along = np.einsum("nki,ni->nk", table.forces_B, up)
    figure, (axis,) = new_figure(1, row_height=2.6)
    for k, contact in enumerate(diagnosis.robot.setup.contact_names):
        colour = COLOURS[2 + k % (len(COLOURS) - 2)]
        axis.plot(*thin(times, along[:, k]), color=colour, lw=0.8, label=contact)
    axis.plot(*thin(times, along.sum(axis=1)), color=BLACK, lw=1.2, label="sum")
    axis.plot(*thin(times, needed), color=COLOURS[0], lw=1.0, ls="--", label="needed")
    axis.set_xlabel("time [s]")
    tidy(
        axis, ylabel="[N]", title="Contact forces against gravity, and the force that weight and motion need"
    )
    return figure


def figure_of_efforts(diagnosis: Diagnosis) -> Any | None:
    """Draw efforts and predicted torques of the joints with the largest differences; None without."""
    recorded, table, names = diagnosis.recorded, diagnosis.mended, diagnosis.robot.names
    if recorded is None or table is None:
        return None
    mended, predicted = table.signals, table.torques
    if not np.isfinite(recorded.tau).any() or not np.isfinite(predicted).any():
        return None
    wrong = [one.subject for one in diagnosis.findings if one.failed and one.subject in names]
    size = np.nan_to_num(np.nanmean(predicted**2, axis=0))
    order = sorted(range(len(names)), key=lambda j: (names[j] not in wrong, -size[j]))[:MOST_JOINTS]
    begin, end = _busiest(recorded.times_s, recorded.tau[:, order])
    figure, axes = new_figure(len(order), row_height=1.5)
    for row, (axis, j) in enumerate(zip(axes, order, strict=True)):
        t, inside = _within(recorded.times_s, begin, end)
        axis.plot(t, recorded.tau[inside, j], color=BLACK, lw=1.0, label="as recorded")
        t, inside = _within(mended.times_s, begin, end)
        axis.plot(t, predicted[inside, j], color=COLOURS[0], lw=1.0, ls="--", label="predicted")
        tidy(axis, ylabel="[Nm]", title=f"{names[j]}: effort, and torque by the description without friction")
        if row:
            axis.legend_.remove()
    axes[-1].set_xlabel("time [s]")
    return figure


def _drawn_causes(report: MassReport, named: set[str]) -> list[Cause]:
    """Return the links that are named and those whose masses are determined best, in the robot's order."""
    masses = report.masses
    causes = [cause for cause in report.fit.causes if cause.kind is Kind.LINK]
    told = [
        cause
        for cause in causes
        if cause.subject in named or cause.sigma < TOLD * max(masses[cause.subject], 1e-9)
    ]
    told.sort(key=lambda c: (c.subject not in named, c.sigma / max(masses[c.subject], 1e-9)))
    return sorted(told[:MOST_LINKS], key=lambda cause: report.rows.links.index(cause.subject))


def figure_of_masses(diagnosis: Diagnosis) -> Any | None:
    """Draw the change of each link's mass if only it were wrong, with two sigma; None without."""
    report = diagnosis.masses
    if report is None or not report.holds:
        return None
    named = {cause.subject for group in report.named for cause in group if cause.kind is Kind.LINK}
    masses, causes = report.masses, _drawn_causes(report, named)
    if not causes:
        return None
    figure, (axis,) = new_figure(1, row_height=0.27 * len(causes) + 0.6)
    place = np.arange(len(causes))[::-1]
    for y, cause in zip(place.tolist(), causes, strict=True):
        colour = COLOURS[1] if cause.subject in named else COLOURS[0]
        band = 2.0 * cause.sigma
        axis.plot([cause.size - band, cause.size + band], [y, y], color=colour, lw=4, alpha=0.35)
        axis.plot([cause.size], [y], "o", ms=5, color=colour)
    labels = [f"{cause.subject} ({masses[cause.subject]:.3g} kg)" for cause in causes]
    axis.set_yticks(place, labels, fontsize=8)
    axis.axvline(0.0, color=GREY, lw=0.8)
    axis.set_xlabel("change of the mass [kg]")
    tidy(
        axis,
        ylabel="",
        title="If only this link's mass were wrong (band: two sigma)",
    )
    return figure


def _busiest(times_s: Array, values: Array) -> tuple[float, float]:
    """Return begin and end of the part of a recording in which signals vary most [s]."""
    begins = np.arange(times_s[0], max(times_s[-1] - SHOWN_S, times_s[0] + 0.1), 1.0)
    filled = np.nan_to_num(values)
    spread = [float(filled[(times_s >= b) & (times_s < b + SHOWN_S)].std(axis=0).sum()) for b in begins]
    begin = float(begins[int(np.argmax(spread))])
    return begin, begin + SHOWN_S


def _within(times_s: Array, begin: float, end: float) -> tuple[Array, NDArray[np.bool_]]:
    inside = (times_s >= begin) & (times_s <= end)
    return times_s[inside], inside


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
    results = diagnosis.findings
    sections = []
    for i, (title, (_checks, draw)) in enumerate(SECTIONS.items()):
        own = [result for result in results if _section(result) == title]
        if own:
            figure = draw(diagnosis) if diagnosis.recorded is not None or title == "Streams" else None
            drawn = None if figure is None else svg(figure, f"check{i}")
            sections.append({"title": title, "results": own, "figure": drawn})
    counts = {verdict.value: sum(r.verdict is verdict for r in results) for verdict in Verdict}
    page = render(
        "check.html",
        title=f"Check of {Path(source['bag']).name}",
        robot=diagnosis.robot.setup.robot.model.name,
        source=source,
        duration_s=diagnosis.duration_s,
        counts=counts,
        failed=severest_first(results),
        sections=sections,
        classes={Verdict.OK: "ok", Verdict.WARN: "warn", Verdict.WRONG: "wrong", Verdict.UNKNOWN: "unknown"},
    )
    return write_text(path, page)


def _section(result: Finding) -> str:
    for title, (checks, _draw) in SECTIONS.items():
        if result.check in checks:
            return title
    return "Joints"
