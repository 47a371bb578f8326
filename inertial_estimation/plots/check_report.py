"""Report of a diagnosis: one self-contained page with its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from inertial_estimation.diagnosis.causes import LINK, Cause
from inertial_estimation.diagnosis.delays import SHIFTS_S
from inertial_estimation.diagnosis.diagnose import Diagnosis
from inertial_estimation.diagnosis.finding import Finding, Verdict, severest_first
from inertial_estimation.diagnosis.masses import MassReport
from inertial_estimation.diagnosis.parts import rate_rows
from inertial_estimation.diagnosis.table import Table
from inertial_estimation.errors import counted
from inertial_estimation.figures import INK, MOST_ROWS, Figure, Mark, Panel, Series
from inertial_estimation.plots.page import BAD, CAUTION, GOOD, Card, Findings, Page, Section
from inertial_estimation.signals import Array, seconds
from inertial_estimation.spatial import linear_algebra

MOST_JOINTS = 4  # largest number of joints that are drawn
LEAST_ODDS = -100.0  # smallest log odds that are drawn
TIME_LABEL = "time [s]"


def panels_of_time_offsets(diagnosis: Diagnosis) -> Iterator[Panel]:
    """Yield the log odds of delays of each stream, relative to the corrected recording."""
    if not diagnosis.delays:
        return
    shift_ms, lines = np.asarray(1e3 * SHIFTS_S, dtype=np.float64), []
    for colour, (name, delay) in enumerate(diagnosis.delays.items()):
        curve = np.where(delay.curve > LEAST_ODDS, delay.curve, np.nan)
        lines.append(Series(f"{name}: {1e3 * delay.seconds:+.0f} ms", shift_ms, curve, colour=colour))
    title = "Log odds of a delay of one stream, all others as they are"
    yield Panel(title, "later than the joint states by [ms]", "log odds", lines, marks=[Mark(0.0)])


def panels_of_gyroscope(diagnosis: Diagnosis) -> Iterator[Panel]:
    """Yield the angular rate of the gyroscope, and that expected from the standing feet."""
    recorded, table = diagnosis.recorded, diagnosis.mended
    if recorded is None or table is None:
        return
    mended, expected = table.signals, _rotation_over_feet(table)
    if not np.isfinite(recorded.w).any() or expected is None:
        return
    corrected = not np.array_equal(recorded.w, mended.w, equal_nan=True)
    drawn = [("as recorded", recorded.times_s, recorded.w, "thin", 1 if corrected else INK)]
    drawn += [("corrected", mended.times_s, mended.w, "thin", INK)] if corrected else []
    drawn += [("from the feet", mended.times_s, expected, "dashed", 0)]
    for k, name in enumerate("xyz"):
        lines = [Series(label, t, w[:, k], style, colour=colour) for label, t, w, style, colour in drawn]
        yield Panel(f"Angular rate of the IMU, {name}", TIME_LABEL, "[rad/s]", lines)


def _rotation_over_feet(table: Table) -> Array | None:
    """Return the angular rate of the IMU by the standing feet [rad/s], shape (N, 3), NaN where unknown."""
    rows = rate_rows(table)
    if rows is None:
        return None
    M, b = np.zeros((table.size, 3, 3)), np.zeros((table.size, 3))
    np.add.at(M, rows.rows, np.einsum("rki,rkj->rij", rows.A, rows.A))
    np.add.at(b, rows.rows, np.einsum("rki,rk->ri", rows.A, rows.y))
    values = linear_algebra.eigvalsh(M)
    full = values[:, 0] > 1e-2 * np.maximum(values[:, 2], 1e-9)
    found = np.full((table.size, 3), np.nan)
    found[full] = linear_algebra.solve(M[full], b[full][..., None])[..., 0]
    return found


def panels_of_contact_forces(diagnosis: Diagnosis) -> Iterator[Panel]:
    """Yield the force of every contact, their sum, and the force that the motion needs, along gravity."""
    table = diagnosis.mended
    if table is None or not diagnosis.streams.wrenches or diagnosis.robot.n_base != 6:
        return
    times = table.signals.times_s
    needed = np.linalg.norm(table.force[:, :3], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = table.force[:, :3] / needed[:, None]
    forces_B = np.einsum("nkij,nkj->nki", table.rotations_BF, table.signals.wrenches[:, :, :3])
    along = np.einsum("nki,ni->nk", forces_B, up)
    names = diagnosis.robot.setup.contact_names
    lines = [Series(name, times, along[:, k], "thin", colour=2 + k % 4) for k, name in enumerate(names)]
    lines.append(Series("sum", times, along.sum(axis=1), colour=INK))
    lines.append(Series("needed", times, needed, "dashed", colour=0))
    title = "Contact forces against gravity, and the force that weight and motion need"
    yield Panel(title, TIME_LABEL, "[N]", lines)


def panels_of_efforts(diagnosis: Diagnosis) -> Iterator[Panel]:
    """Yield efforts and predicted torques of the joints with the largest differences."""
    recorded, table, names = diagnosis.recorded, diagnosis.mended, diagnosis.robot.names
    if recorded is None or table is None:
        return
    mended, predicted = table.signals, table.torques
    if not np.isfinite(recorded.tau).any() or not np.isfinite(predicted).any():
        return
    wrong = {one.subject for one in diagnosis.findings if one.failed}
    size = np.nan_to_num(np.nanmean(predicted**2, axis=0))
    order = sorted(range(len(names)), key=lambda j: (names[j] not in wrong, -size[j]))[:MOST_JOINTS]
    for j in order:
        lines = [Series("as recorded", recorded.times_s, recorded.tau[:, j], "thin", colour=INK)]
        lines.append(Series("predicted", mended.times_s, predicted[:, j], "dashed", colour=0))
        title = f"{names[j]}: effort, and torque by the description without friction"
        yield Panel(title, TIME_LABEL, "[Nm]", lines)


def panels_of_masses(diagnosis: Diagnosis) -> Iterator[Panel]:
    """Yield for each link the change of its mass if only that mass were wrong, with two sigma."""
    report = diagnosis.masses
    if report is None or report.why:
        return
    named = {cause.subject for cause in report.group if cause.kind is LINK}
    causes = _drawn_causes(report, named)
    if not causes:
        return
    is_named = np.array([cause.subject in named for cause in causes])
    sizes, spread = np.array([(cause.size, 2.0 * cause.sigma) for cause in causes]).T
    drawn = [
        Series(label, x, rows.astype(float), "points", x - spread[rows], x + spread[rows], colour)
        for label, rows, colour in (
            ("named above", np.flatnonzero(is_named), 1),
            ("others", np.flatnonzero(~is_named), 0),
        )
        if len(x := sizes[rows])
    ]
    names = [f"{cause.subject} ({report.masses[cause.subject]:.3g} kg)" for cause in causes]
    title = "If only this link's mass were wrong (bar: two sigma)"
    yield Panel(title, "change of the mass [kg]", "", drawn, marks=[Mark(0.0)], rows=names)


def _drawn_causes(report: MassReport, named: set[str]) -> list[Cause]:
    """Return the named links and those whose masses are determined best, in the robot's order."""

    def rank(cause: Cause) -> tuple[bool, float]:
        return cause.subject not in named, cause.sigma / max(report.masses[cause.subject], 1e-9)

    causes = sorted((cause for cause in report.fit.causes if cause.kind is LINK), key=rank)
    return sorted(causes[:MOST_ROWS], key=lambda cause: report.rows.links.index(cause.subject))


FIGURES: dict[str, Callable[[Diagnosis], Iterator[Panel]]] = {
    "Angular rates": panels_of_gyroscope,
    "Contact forces": panels_of_contact_forces,
    "Efforts": panels_of_efforts,
    "Masses": panels_of_masses,
    "Time offsets": panels_of_time_offsets,
}


def check_page(diagnosis: Diagnosis, bag: str, config: Sequence[str], *, drawn: bool) -> Page:
    """Return the page.

    Args:
        diagnosis: The diagnosis.
        bag: The recording.
        config: Parameter files.
        drawn: Whether it has figures.
    """
    findings = diagnosis.findings
    failed, sections = severest_first(findings), list[Section]()
    if failed:
        order = (
            "Each check runs with what is above it corrected where it can be, so that one error is named "
            "once. Mend the first, and check again."
        )
        sections.append(Section("What to mend, in this order", [Findings(failed), order], printed=True))
    for title, verdict in (("What is in order", Verdict.OK), ("What cannot be decided", Verdict.UNKNOWN)):
        own = [one for one in findings if one.verdict is verdict]
        if own:
            sections.append(Section(title, [Section(counted(len(own), "check"), [Findings(own)])], True))
    for title, draw in FIGURES.items() if drawn else ():
        panels = list(draw(diagnosis))
        if panels:
            sections.append(Section(title, [Figure(title, panels)]))
    sections.append(Section("Source", [f"{bag}; {', '.join(config)}"]))
    counts = {verdict: sum(one.verdict is verdict for one in findings) for verdict in Verdict}
    lasts = seconds(int(np.ptp(diagnosis.streams.joints.times_ns)))
    cards = [
        Card("checks", ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())),
        Card("examined", f"{lasts:.1f} s", diagnosis.robot.setup.robot.model.name),
    ]
    return Page(f"Check of {Path(bag).name}", *_lead(failed, counts), cards, sections)


def _lead(failed: Sequence[Finding], counts: Mapping[Verdict, int]) -> tuple[str, str]:
    """Return the first sentence and its tone."""
    unknown, wrong = counts[Verdict.UNKNOWN], counts[Verdict.WRONG]
    fine = f"{counts[Verdict.OK]} checks are fine"
    rest = f", {unknown} cannot be decided from it" if unknown else ""
    if wrong:
        count = "One thing is wrong" if wrong == 1 else f"{wrong} things are wrong"
        return f"{count}. Mend first: {failed[0].check} of {failed[0].subject}.", BAD
    if failed:
        return f"Nothing is wrong: {fine}, {len(failed)} gave a warning{rest}.", CAUTION
    return f"Recording and description agree: {fine}{rest}.", GOOD
