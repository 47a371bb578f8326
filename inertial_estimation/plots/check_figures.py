"""Figures of a diagnosis: stamps, time offsets, gyroscope, contact forces, efforts, masses."""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from inertial_estimation.bring_up.cause import Cause, CauseKind
from inertial_estimation.bring_up.doctor import Diagnosis
from inertial_estimation.bring_up.inertia_findings import InertiaReport
from inertial_estimation.bring_up.lag_search import LAGS
from inertial_estimation.bring_up.uniform_signals import STEP_S
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.data_checks.foot_rotation import expected_rate
from inertial_estimation.data_checks.nominal_torques import nominal_torques
from inertial_estimation.plots.style import BLACK, COLOURS, GREY, WIDTH, new_figure, thin, tidy
from inertial_estimation.signals import NANOSECONDS, Array

SHOWN_S = 10.0  # of a recording, where it moves most
MOST_JOINTS = 4
MOST_LINKS = 24
LEAST_AGREEMENT = -1.0  # that is drawn
TOLD = 0.45  # standard deviation of a mass that is drawn, share of it


def figure_of_stamps(diagnosis: Diagnosis) -> Any:
    """Draw the steps between the stamps of every stream over time."""
    streams = diagnosis.case.streams.by_name
    figure, axes = new_figure(len(streams), row_height=1.2)
    first = min(int(stream.stamps_ns.min()) for stream in streams.values())
    for axis, (name, stream) in zip(axes, streams.items(), strict=True):
        times = (stream.stamps_ns[1:] - first) / NANOSECONDS
        steps = np.diff(stream.stamps_ns) / 1e6
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
    figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    shift_ms = 1e3 * STEP_S * LAGS
    unknown = {result.check for result in diagnosis.results if result.verdict is Verdict.UNKNOWN}
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
    signals = diagnosis.case.signals
    expected = expected_rate(diagnosis.mended.signals.table)
    measured = signals.table.w_I
    if not np.isfinite(measured).any() or not np.isfinite(expected).any():
        return None
    mended = diagnosis.mended.signals
    begin, end = _busiest(signals.times_s, measured)
    figure, axes = new_figure(3, row_height=1.5)
    corrected = diagnosis.mended.streams.imu is not diagnosis.case.streams.imu
    recorded = COLOURS[1] if corrected else BLACK
    for k, (axis, name) in enumerate(zip(axes, "xyz", strict=True)):
        t, inside = _within(signals.times_s, begin, end)
        axis.plot(t, measured[inside, k], color=recorded, lw=1.0, label="as recorded")
        t, inside = _within(mended.times_s, begin, end)
        if corrected:
            axis.plot(t, mended.table.w_I[inside, k], color=BLACK, lw=1.0, label="corrected")
        axis.plot(t, expected[inside, k], color=COLOURS[0], lw=1.0, ls="--", label="from the feet")
        tidy(axis, ylabel=f"{name} [rad/s]", title="Angular rate of the IMU" if k == 0 else "")
        if k:
            axis.legend_.remove()
    axes[-1].set_xlabel("time [s]")
    return figure


def figure_of_contact_forces(diagnosis: Diagnosis) -> Any | None:
    """Draw the force of every contact, their sum and what the motion needs, along gravity; None without."""
    table, times = diagnosis.mended.signals.table, diagnosis.mended.signals.times_s
    if not diagnosis.mended.streams.wrenches or table.n_base != 6:
        return None
    needed = np.linalg.norm(table.force[:, :3], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        up = table.force[:, :3] / needed[:, None]
    along = np.einsum("nki,ni->nk", table.forces_B, up)
    figure, (axis,) = new_figure(1, row_height=2.6)
    for k, contact in enumerate(diagnosis.mended.robot.contacts):
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
    signals = diagnosis.case.signals
    tau, predicted = signals.table.tau, nominal_torques(diagnosis.mended.signals.table)
    names = diagnosis.case.robot.names
    if not np.isfinite(tau).any() or not np.isfinite(predicted).any():
        return None
    wrong = [r.subject for r in diagnosis.results if r.failed and r.subject in names]
    mended = diagnosis.mended.signals
    size = np.nan_to_num(np.nanmean(predicted**2, axis=0))
    order = sorted(range(len(names)), key=lambda j: (names[j] not in wrong, -size[j]))[:MOST_JOINTS]
    begin, end = _busiest(signals.times_s, tau[:, order])
    figure, axes = new_figure(len(order), row_height=1.5)
    for row, (axis, j) in enumerate(zip(axes, order, strict=True)):
        t, inside = _within(signals.times_s, begin, end)
        axis.plot(t, tau[inside, j], color=BLACK, lw=1.0, label="as recorded")
        t, inside = _within(mended.times_s, begin, end)
        axis.plot(t, predicted[inside, j], color=COLOURS[0], lw=1.0, ls="--", label="predicted")
        tidy(axis, ylabel="[Nm]", title=f"{names[j]}: effort, and torque by the description without friction")
        if row:
            axis.legend_.remove()
    axes[-1].set_xlabel("time [s]")
    return figure


def _drawn_causes(report: InertiaReport, named: set[str]) -> list[Cause]:
    """Return the links that are named and those whose masses are determined best, in the robot's order."""
    masses = report.fit.masses
    causes = [cause for cause in report.fit.causes if cause.kind is CauseKind.LINK]
    told = [
        cause
        for cause in causes
        if cause.subject in named or cause.sigma < TOLD * max(masses[cause.subject], 1e-9)
    ]
    told.sort(key=lambda c: (c.subject not in named, c.sigma / max(masses[c.subject], 1e-9)))
    return sorted(told[:MOST_LINKS], key=lambda cause: report.rows.links.index(cause.subject))


def figure_of_masses(diagnosis: Diagnosis) -> Any | None:
    """Draw the change of each link's mass if only it were wrong, with two sigma; None without."""
    report = diagnosis.inertia
    if report is None or not report.holds:
        return None
    named = {cause.subject for group in report.named for cause in group if cause.kind is CauseKind.LINK}
    causes = _drawn_causes(report, named)
    if not causes:
        return None
    figure = Figure(figsize=(WIDTH, 0.27 * len(causes) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    place = np.arange(len(causes))[::-1]
    for y, cause in zip(place.tolist(), causes, strict=True):
        colour = COLOURS[1] if cause.subject in named else COLOURS[0]
        band = 2.0 * cause.sigma
        axis.plot([cause.size - band, cause.size + band], [y, y], color=colour, lw=4, alpha=0.35)
        axis.plot([cause.size], [y], "o", ms=5, color=colour)
    labels = [f"{cause.subject} ({report.fit.masses[cause.subject]:.3g} kg)" for cause in causes]
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
