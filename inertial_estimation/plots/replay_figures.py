"""Figures of one replay: tilt against reference, gyroscope bias, masses, NIS."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from inertial_estimation.plots.payload_figure import figure_of_trunk
from inertial_estimation.plots.style import (
    BLACK,
    COLOURS,
    GREY,
    MAX_POINTS,
    new_figure,
    save,
    spans,
    thin,
    tidy,
)
from inertial_estimation.replay.estimate_series import InertialSeries, TiltSeries
from inertial_estimation.replay.metrics import TiltErrors
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.result_files import (
    BIAS_FIGURE,
    MASS_FIGURE,
    NIS_FIGURE,
    TILT_FIGURE,
    TRUNK_FIGURE,
)
from inertial_estimation.signals import Array, Decision, seconds

__all__ = [
    "figure_of_bias",
    "figure_of_masses",
    "figure_of_nis",
    "figure_of_tilt",
    "write_figures",
]


def write_figures(folder: Path, evaluation: ReplayResults) -> list[Path]:
    """Write the figures for which there are estimates.

    Args:
        folder: Existing folder.
        evaluation: Series and metrics of the replay.

    Returns:
        The files written, of `FIGURES`.
    """
    written: list[Path] = []
    if len(evaluation.tilt.stamps_ns):
        written.append(save(figure_of_tilt(evaluation.tilt, evaluation.tilt_errors), folder / TILT_FIGURE))
        written.append(save(figure_of_bias(evaluation.tilt), folder / BIAS_FIGURE))
    if len(evaluation.inertial.stamps_ns):
        written.append(save(figure_of_masses(evaluation.inertial), folder / MASS_FIGURE))
        written.append(save(figure_of_nis(evaluation.inertial), folder / NIS_FIGURE))
    if evaluation.payload is not None:
        written.append(save(figure_of_trunk(evaluation.payload), folder / TRUNK_FIGURE))
    return written


def figure_of_tilt(series: TiltSeries, errors: TiltErrors | None) -> Any:
    """Draw the estimated tilt and, if given, the reference and the error between them.

    The tilt is drawn as the inclination of the vertical along the base's x and y axes.
    """
    figure, axes = new_figure(3 if errors is not None else 2)
    origin = int(series.stamps_ns[0])
    names = ("along x (minus the pitch)", "along y (roll)")
    t_estimate: Array = _seconds(series.stamps_ns, origin)
    for k, (axis, name) in enumerate(zip(axes, names, strict=False)):
        if errors is not None:
            reference = np.where(errors.trusted, _inclination(errors.reference_B[:, k]), np.nan)
            t_reference = _seconds(errors.stamps_ns, origin)
            axis.plot(*thin(t_reference, reference), color=BLACK, lw=2.0, alpha=0.45, label="reference")
        estimate = _inclination(series.tilts_B[:, k])
        axis.plot(*thin(t_estimate, estimate), color=COLOURS[k], lw=0.9, label="estimate")
        _mark_flight(axis, series, origin)
        tidy(axis, ylabel="inclination [deg]", title=f"Vertical in the base frame, {name}")
    if errors is not None:
        _draw_tilt_error(axes[2], errors, origin)
    axes[-1].set_xlabel("time [s]")
    return figure


def figure_of_bias(series: TiltSeries) -> Any:
    """Draw the estimated gyroscope bias."""
    figure, (axis,) = new_figure(1, row_height=2.8)
    t = _seconds(series.stamps_ns, int(series.stamps_ns[0]))
    for k, name in enumerate("xyz"):
        values = 1e3 * series.gyro_biases_I[:, k]
        axis.plot(*thin(t, values), color=COLOURS[k], lw=1.2, label=f"{name} {values[-1]:+.2f}")
    tidy(axis, ylabel="bias [mrad/s]", title="Gyroscope bias in the IMU frame (final value in the legend)")
    axis.set_xlabel("time [s]")
    return figure


def figure_of_masses(series: InertialSeries) -> Any:
    """Draw the mass of each estimated body with its two-sigma band, and the published mass."""
    figure, axes = new_figure(len(series.links), row_height=2.6 if len(series.links) < 3 else 1.6)
    t = _seconds(series.stamps_ns, int(series.stamps_ns[0]))
    for k, (axis, link) in enumerate(zip(axes, series.links, strict=True)):
        colour = COLOURS[k % len(COLOURS)]
        band = 2.0 * link.mass_sigmas
        thin_t, low = thin(t, link.masses - band)
        axis.fill_between(thin_t, low, thin(t, link.masses + band)[1], color=colour, alpha=0.25, lw=0)
        axis.plot(*thin(t, link.published_masses), color=BLACK, lw=1.0, ls="--", label="published")
        axis.plot(*thin(t, link.masses), color=colour, lw=1.3, label="estimate, 2 sigma")
        nominal = float(link.masses[0] - link.payload_masses[0])
        axis.axhline(nominal, color=GREY, lw=1.0, ls=":", label=f"URDF {nominal:.2f} kg")
        ends = [nominal, link.masses[-1] - band[-1], link.masses[-1] + band[-1]]
        _limit_to(axis, np.concatenate([link.masses, link.published_masses, ends]))
        tidy(axis, ylabel="mass [kg]", title=f"{link.link}: {link.masses[-1]:.3f} kg at the end")
    axes[-1].set_xlabel("time [s]")
    return figure


def figure_of_nis(series: InertialSeries) -> Any:
    """Draw the normalised innovation squared per row count, with its 95 % bounds and the gate's."""
    figure, (axis,) = new_figure(1, row_height=3.2)
    t = _seconds(series.stamps_ns, int(series.stamps_ns[0]))
    rows = max(len(series.row_names), 1)
    nis = np.maximum(series.nis, 1e-3)
    taken = series.accepted
    step = max(1, len(t) // MAX_POINTS)
    axis.plot(t[taken][::step], nis[taken][::step], ".", ms=2.0, color=COLOURS[0], label="accepted")
    rejected = np.array([decision is Decision.REJECTED for decision in series.decisions])
    idle = ~taken & ~rejected
    if rejected.any():
        axis.plot(t[rejected], nis[rejected], "x", ms=3.5, mew=0.8, color=COLOURS[1], label="rejected")
    if idle.any():
        axis.plot(t[idle][::step], nis[idle][::step], ".", ms=2.0, color=GREY, label="not learning")
    low, high = float(chi2.ppf(0.025, rows)), float(chi2.ppf(0.975, rows))
    axis.axhspan(low, high, color=COLOURS[2], alpha=0.2, lw=0, label="95 % of chi-square")
    if np.isfinite(series.nis_bounds).any():
        axis.plot(*thin(t, series.nis_bounds), color=BLACK, lw=1.0, ls="--", label="gate")
    axis.set_yscale("log")
    inside = float(np.mean((series.nis >= low) & (series.nis <= high)))
    title = f"Innovation over {rows} rows: {100 * inside:.0f} % inside the 95 % bounds"
    tidy(axis, ylabel="NIS [-]", title=title)
    axis.set_xlabel("time [s]")
    return figure


def _draw_tilt_error(axis: Any, errors: TiltErrors, origin: int) -> None:
    t = _seconds(errors.stamps_ns, origin)
    degrees = np.degrees(errors.errors)
    axis.plot(*thin(t, np.where(errors.trusted, degrees, np.nan)), color=COLOURS[3], lw=0.9, label="error")
    for begin, end in spans(~errors.trusted):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=GREY, alpha=0.35, lw=0)
    if not errors.trusted.all():
        axis.plot([], [], color=GREY, lw=6, alpha=0.35, label="not trusted")
    axis.axhline(float(np.degrees(errors.summary.rms)), color=BLACK, lw=1.0, ls="--", label="rms")
    axis.set_ylim(0.0, 1.15 * float(np.degrees(errors.summary.max)))
    s = errors.summary
    mean, rms, p95, largest = (float(np.degrees(value)) for value in (s.mean, s.rms, s.p95, s.max))
    title = f"Tilt error: mean {mean:.3f}, rms {rms:.3f}, 95 % {p95:.3f}, max {largest:.2f} deg"
    tidy(axis, ylabel="error [deg]", title=title)


def _mark_flight(axis: Any, series: TiltSeries, origin: int) -> None:
    """Shade where no contact is in use."""
    t = _seconds(series.stamps_ns, origin)
    flight = np.array([not contacts for contacts in series.contacts])
    if not flight.any() or flight.all():
        return
    for begin, end in spans(flight):
        axis.axvspan(t[begin], t[min(end, len(t) - 1)], color=COLOURS[4], alpha=0.2, lw=0)
    axis.plot([], [], color=COLOURS[4], lw=6, alpha=0.2, label="no contact")


def _limit_to(axis: Any, values: Array) -> None:
    low, high = float(np.min(values)), float(np.max(values))
    margin = max(0.1 * (high - low), 0.02 * abs(high), 1e-3)
    axis.set_ylim(low - margin, high + margin)


def _seconds(stamps_ns: NDArray[np.int64], origin_ns: int) -> Array:
    elapsed: Array = seconds(stamps_ns - origin_ns)
    return elapsed


def _inclination(component: Array) -> Array:
    inclination: Array = np.degrees(np.arcsin(np.clip(component, -1.0, 1.0)))
    return inclination
