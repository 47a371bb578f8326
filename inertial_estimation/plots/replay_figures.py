"""Figures of one replay as files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.plots.inertia_figures import (
    figure_of_coms,
    figure_of_inertias,
    figure_of_masses,
    figure_of_nis,
    figures_of_torques,
)
from inertial_estimation.plots.style import (
    BLACK,
    COLOURS,
    GREY,
    TRUTH,
    draw_band,
    draw_line,
    mark_time,
    new_figure,
    save,
    spans,
    thin,
    tidy,
)
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.base_errors import BaseErrors, yaws
from inertial_estimation.replay.estimate_series import PayloadSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import (
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
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.signals import Array, HealthLevel

Forces = Mapping[str, tuple[NDArray[np.int64], Array]]
REFERENCE = {"color": BLACK, "lw": 2.0, "alpha": 0.45, "label": "reference"}
DRAWN_SIGMAS = 0.9  # share of the tilt's standard deviations that the axis of the error has room for
MOST_SIGMA = 10.0  # times the largest error, so that the error can still be seen
INCLINATIONS = ("along x (minus the pitch)", "along y (roll)")


def figure_of_tilt(
    series: TiltSeries, errors: TiltErrors | None, time: TimeAxis, forces: Forces | None = None
) -> Any:
    """Draw the estimated tilt, the reference and the error between them, and below the contacts.

    The tilt is drawn as the inclination of the vertical along the base's x and y axes.

    Args:
        series: Base estimates.
        errors: Against a reference, None without one.
        time: The time axis.
        forces: Magnitude of the contact forces by contact: stamps [ns] and values [N].
    """
    contacts = sorted({contact for contacts in series.contacts for contact in contacts})
    ratios = [1.0] * (2 + (errors is not None) + bool(forces))
    ratios += [0.15 * (1 + len(contacts))] if contacts else []
    figure, axes = new_figure(len(ratios), row_height=2.0, ratios=ratios)
    for k, name in enumerate(INCLINATIONS):
        _draw_inclination(axes[k], k, series, errors, time)
        tidy(axes[k], ylabel="inclination [deg]", title=f"Vertical in the base frame, {name}")
    below = iter(axes[2:])
    if errors is not None:
        _draw_tilt_error(next(below), errors, series, time)
    if forces:
        _draw_forces(next(below), forces, time)
    if contacts:
        _draw_phases(next(below), series, contacts, time)
    mark_time(axes, time)
    return figure


def figure_of_base(series: TiltSeries, errors: BaseErrors | None, time: TimeAxis) -> Any:
    """Draw yaw, position and velocity of the base, and the aligned reference.

    Args:
        series: Base estimates.
        errors: Against a reference, None without one.
        time: The time axis.
    """
    figure, axes = new_figure(3, row_height=2.2)
    t = time.of(series.stamps_ns)
    drawn = (
        (np.degrees(yaws(series.quaternions_xyzw))[:, None], "yaw [deg]", "Yaw (its origin is arbitrary)"),
        (
            series.positions_W,
            "position [m]",
            "Position of the base in the world (drifts without a reference)",
        ),
        (series.velocities_B, "velocity [m/s]", "Velocity of the base in its own frame"),
    )
    references = _base_references(errors, time)
    for axis, (values, ylabel, title), (t_ref, reference) in zip(axes, drawn, references, strict=True):
        names = ("estimate",) if values.shape[1] == 1 else ("x", "y", "z")
        for k, name in enumerate(names):
            if reference is not None:
                label = "reference" if k == 0 else None
                draw_line(axis, t_ref, reference[:, k], **{**REFERENCE, "label": label})
            draw_line(axis, t, values[:, k], color=COLOURS[k], lw=0.9, label=name)
        tidy(axis, ylabel=ylabel, title=title)
    mark_time(axes, time)
    return figure


def figure_of_bias(series: TiltSeries, time: TimeAxis) -> Any:
    """Draw the estimated gyroscope bias."""
    figure, (axis,) = new_figure(1, row_height=2.8)
    t = time.of(series.stamps_ns)
    for k, name in enumerate("xyz"):
        values = 1e3 * series.gyro_biases_I[:, k]
        draw_line(axis, t, values, color=COLOURS[k], lw=1.2, label=f"{name} {values[-1]:+.2f}")
    tidy(axis, ylabel="bias [mrad/s]", title="Gyroscope bias in the IMU frame (final value in the legend)")
    mark_time([axis], time)
    return figure


def _draw_inclination(
    axis: Any, k: int, series: TiltSeries, errors: TiltErrors | None, time: TimeAxis
) -> None:
    if errors is not None:
        reference = np.where(errors.trusted, _inclination(errors.reference_B[:, k]), np.nan)
        draw_line(axis, time.of(errors.stamps_ns), reference, **REFERENCE)
    t = time.of(series.stamps_ns)
    draw_line(axis, t, _inclination(series.tilts_B[:, k]), color=COLOURS[k], lw=0.9, label="estimate")
    flight = np.array([not contacts for contacts in series.contacts])
    if flight.any() and not flight.all():
        _shade(axis, t, flight, COLOURS[4], "no contact")


def _base_references(errors: BaseErrors | None, time: TimeAxis) -> list[tuple[Array, Array | None]]:
    """Return times and values of the reference's yaw, position and velocity; None where it has none."""
    nothing: tuple[Array, Array | None] = (np.zeros(0), None)
    if errors is None:
        return [nothing] * 3
    t, used = time.of(errors.stamps_ns), errors.used[:, None]
    found = [(t, np.where(used, np.degrees(errors.reference_yaws)[:, None], np.nan)), nothing, nothing]
    if errors.reference_positions_W is not None:
        found[1] = (t, np.where(used, errors.reference_positions_W, np.nan))
    if errors.reference_velocities_B is not None and errors.velocity_stamps_ns is not None:
        known = np.asarray(errors.velocity_used)[:, None]
        values = np.where(known, errors.reference_velocities_B, np.nan)
        found[2] = (time.of(errors.velocity_stamps_ns), values)
    return found


def _draw_tilt_error(axis: Any, errors: TiltErrors, series: TiltSeries, time: TimeAxis) -> None:
    t = time.of(errors.stamps_ns)
    degrees = np.degrees(errors.errors)
    _shade(axis, t, ~errors.trusted, GREY, "not trusted")
    draw_line(axis, t, np.where(errors.trusted, degrees, np.nan), color=COLOURS[3], lw=0.9, label="error")
    sigma = np.degrees(series.tilt_sigmas)
    label = f"estimate's sigma\n(median {np.median(sigma):.3g} deg)"
    axis.plot(*thin(time.of(series.stamps_ns), sigma), color=COLOURS[5], lw=1.2, label=label)
    axis.axhline(float(np.degrees(errors.summary.rms)), color=BLACK, lw=1.0, ls="--", label="rms")
    s = errors.summary
    largest_error = max(float(np.degrees(s.max)), 1e-6)
    sigma_drawn = float(np.nan_to_num(np.quantile(sigma, DRAWN_SIGMAS)))  # the initial one is far larger
    axis.set_ylim(0.0, 1.15 * max(largest_error, min(sigma_drawn, MOST_SIGMA * largest_error)))
    mean, rms, p95, largest = (float(np.degrees(value)) for value in (s.mean, s.rms, s.p95, s.max))
    title = f"Tilt error: mean {mean:.3f}, rms {rms:.3f}, 95 % {p95:.3f}, max {largest:.2f} deg"
    tidy(axis, ylabel="error [deg]", title=title)


def _draw_forces(axis: Any, forces: Forces, time: TimeAxis) -> None:
    for k, (contact, (stamps_ns, values)) in enumerate(forces.items()):
        style = {"color": COLOURS[k % len(COLOURS)], "lw": 0.8, "ls": "-" if k < len(COLOURS) else "--"}
        draw_line(axis, time.of(stamps_ns), values, label=contact, **style)
    axis.set_ylim(bottom=0.0)
    tidy(axis, ylabel="force [N]", title="Measured contact forces, magnitude")


def _draw_phases(axis: Any, series: TiltSeries, contacts: list[str], time: TimeAxis) -> None:
    """Draw a bar where a contact is in use."""
    t = time.of(series.stamps_ns)
    for row, contact in enumerate(contacts):
        used = np.array([contact in now for now in series.contacts])
        bars = [(t[i], t[min(j, len(t) - 1)] - t[i]) for i, j in spans(used)]
        axis.broken_barh(bars, (row - 0.35, 0.7), facecolor=COLOURS[row % len(COLOURS)], alpha=0.7, lw=0)
    axis.set_yticks(range(len(contacts)), contacts)
    axis.set_ylim(len(contacts) - 0.4, -0.6)
    tidy(axis, ylabel="", title="Contacts in use by the observer")


def _shade(axis: Any, t: Array, flags: NDArray[np.bool_], colour: str, label: str) -> None:
    for begin, end in spans(flags):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=colour, alpha=0.25, lw=0)
    if flags.any():
        axis.plot([], [], color=colour, lw=6, alpha=0.25, label=label)


def _inclination(component: Array) -> Array:
    inclination: Array = np.degrees(np.arcsin(np.clip(component, -1.0, 1.0)))
    return inclination


EVENT_COLOURS = {HealthLevel.OK: COLOURS[2], HealthLevel.WARN: COLOURS[1], HealthLevel.ERROR: COLOURS[3]}


def figure_of_trunk(series: PayloadSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Any:
    """Draw mass and centre of mass of the trunk, the published values, and the events.

    Times with a request to hold still are shaded; load changes, results and refusals are vertical lines. A
    quantity is grey and dotted, the value of the description, until it is measured.

    Args:
        series: Estimates of the trunk.
        time: The time axis.
        truth: True inertias, None where they are not known.
    """
    figure, axes = new_figure(4, row_height=1.8)
    t = time.of(series.stamps_ns)
    known = truth if truth is not None and series.link in truth.steps else None
    true_mass = None if known is None else known.masses(series.link, t)
    true_coms = None if known is None else 1e3 * known.coms(series.link, t)
    _draw(axes[0], t, (series.masses, series.mass_sigmas, series.published_masses, true_mass))
    for axis in axes:
        _mark(axis, t, series, time, legend=axis is axes[0])
    ends = np.array([series.masses[-1], *(1e3 * series.coms_L[-1])])
    measured = np.isfinite(np.array([series.mass_sigmas[-1], *series.com_sigmas[-1]]))
    mass = f"{ends[0]:.3f} kg at the end" if measured[0] else "mass not measured"
    tidy(axes[0], ylabel="mass [kg]", title=f"{series.link}: {mass}")
    for k, name in enumerate("xyz"):
        axis = axes[1 + k]
        true_com = None if true_coms is None else true_coms[:, k]
        com = (1e3 * series.coms_L[:, k], 1e3 * series.com_sigmas[:, k], 1e3 * series.published_coms_L[:, k])
        _draw(axis, t, (*com, true_com), labels=not measured[1 + k])
        value = f"{ends[1 + k]:.1f} mm at the end" if measured[1 + k] else "not measured"
        tidy(axis, ylabel=f"{name} [mm]", title=f"Centre of mass, {name}: {value}")
    mark_time(axes, time)
    return figure


def _draw(
    axis: Any, t: Array, lines: tuple[Array, Array, Array, Array | None], *, labels: bool = True
) -> None:
    """Draw a quantity: values, their standard deviations, published values, true values or None."""
    values, sigmas, published, true = lines
    measured = np.isfinite(sigmas)
    known = np.where(measured, values, np.nan)
    draw_band(axis, t, known, np.where(measured, 2.0 * sigmas, np.nan), COLOURS[0], alpha=0.25)

    def draw(line: Array, name: str, **style: Any) -> None:
        draw_line(axis, t, line, label=name if labels else None, **style)

    if not measured.all():
        draw(np.where(measured, np.nan, values), "URDF, not measured", color=GREY, lw=1.6, ls=":")
    if measured.any():
        draw(known, "identified, 2 sigma", color=COLOURS[0], lw=1.6)
    draw(published, "published", color=BLACK, lw=1.0, ls="--")
    if true is not None:
        draw(true, "truth", **TRUTH)
    least = 0.02 * max(abs(float(values[0])), 50.0)
    low_y, high_y = axis.get_ylim()
    middle, half = 0.5 * (low_y + high_y), 0.5 * max(high_y - low_y, least)
    axis.set_ylim(middle - half, middle + half)


def _mark(axis: Any, t: Array, series: PayloadSeries, time: TimeAxis, *, legend: bool) -> None:
    for begin, end in spans(series.holds):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=GREY, alpha=0.2, lw=0)
    shown: set[str] = set()
    for event in series.events:
        first = legend and event.kind not in shown
        shown.add(event.kind)
        label = event.kind if first else None
        axis.axvline(time.at(event.stamp_ns), color=EVENT_COLOURS[event.level], lw=1.2, ls=":", label=label)
    if legend and series.holds.any():
        axis.plot([], [], color=GREY, lw=6, alpha=0.3, label="asked to hold")


def replay_figures(evaluation: ReplayResults) -> dict[str, Any]:
    """Return the figures for which there are estimates, by the names of their files.

    Args:
        evaluation: Series and metrics of the replay.
    """
    time, tilt, inertial = evaluation.time, evaluation.tilt, evaluation.inertial
    figures: dict[str, Any] = {}
    if len(tilt.stamps_ns):
        figures[TILT_FIGURE] = figure_of_tilt(tilt, evaluation.tilt_errors, time, evaluation.forces)
        figures[BASE_STATE_FIGURE] = figure_of_base(tilt, evaluation.base_errors, time)
        figures[BIAS_FIGURE] = figure_of_bias(tilt, time)
    if len(inertial.stamps_ns):
        figures[MASS_FIGURE] = figure_of_masses(inertial, time, evaluation.truth)
        figures[COM_FIGURE] = figure_of_coms(inertial, time, evaluation.truth)
        figures[INERTIA_FIGURE] = figure_of_inertias(inertial, time, evaluation.truth)
        figures[NIS_FIGURE] = figure_of_nis(inertial, time)
    if evaluation.torques is not None:
        drawn = figures_of_torques(evaluation.torques, time)
        figures |= dict(zip(TORQUE_FIGURES, drawn, strict=False))
    if evaluation.payload is not None:
        figures[TRUNK_FIGURE] = figure_of_trunk(evaluation.payload, time, evaluation.truth)
    return figures


def write_figures(folder: Path, figures: dict[str, Any]) -> list[Path]:
    """Write figures.

    Args:
        folder: Existing folder.
        figures: By the names of their files.

    Returns:
        The files written.
    """
    return [save(figure, folder / name) for name, figure in figures.items()]
