"""Figures of one replay: base, contacts, inertias, innovations, torques and the trunk over time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from inertial_estimation.figures import GREY, INK, Figure, Level, Mark, Panel, Series, spans_of
from inertial_estimation.plots.page import with_sigma
from inertial_estimation.recordings.truth_file import TrueInertias
from inertial_estimation.replay.base_errors import BaseErrors, yaws
from inertial_estimation.replay.estimate_series import InertialSeries, LinkSeries, PayloadSeries, TiltSeries
from inertial_estimation.replay.metrics import FILTER_CUTOFF, TiltErrors
from inertial_estimation.replay.replay_metrics import ReplayResults
from inertial_estimation.replay.time_axis import TimeAxis
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import Array, Decision

TIME_LABEL = "time since the start of the recording [s]"
AXES = ("x", "y", "z")
DIAGONAL = [4, 7, 9]  # places of xx, yy and zz among the ten parameters
MOST_ROWS = 12  # torques drawn: those with the largest errors
MOST_SIGMA = 10.0  # times the largest error up to which the tilt's standard deviation is shown

Forces = Mapping[str, tuple[NDArray[np.int64], Array]]


class Panels:
    """Panels of one replay: one time axis, and the begin of the hold-out in each."""

    def __init__(self, time: TimeAxis) -> None:
        begin, end = time.at(time.begin_ns), time.at(time.end_ns)
        self.limits = (begin, max(end, begin + 1e-3))
        held = time.hold_out_ns
        self.marks = () if held is None else (Mark(time.at(held), "hold-out"),)

    def of(
        self, title: str, y_label: str, series: Sequence[Series], *, marks: Sequence[Mark] = (), **more: Any
    ) -> Panel:
        """Return a panel over time; further arguments are those of `Panel`."""
        limits, marks = self.limits, (*self.marks, *marks)
        return Panel(title, TIME_LABEL, y_label, series, x_limits=limits, marks=marks, **more)


def replay_figures(results: ReplayResults) -> list[Figure]:
    """Return the figures for which there are estimates.

    Args:
        results: Series and metrics of the replay.
    """
    time, tilt, inertial, truth = results.time, results.tilt, results.inertial, results.truth
    panels, found = Panels(time), []
    if len(tilt.stamps_ns):
        found.append(figure_of_tilt(tilt, results.tilt_errors, time, results.forces))
        found.append(figure_of_base(tilt, results.base_errors, time))
        t = time.of(tilt.stamps_ns)
        biases = 1e3 * tilt.gyro_biases_I
        lines = [Series(f"{axis} {biases[-1, k]:+.2f}", t, biases[:, k]) for k, axis in enumerate(AXES)]
        title = "Gyroscope bias in the IMU frame, with its final value"
        found.append(Figure("Gyroscope bias", [panels.of(title, "bias [mrad/s]", lines)]))
    if results.torques is not None:
        found.append(figure_of_torques(results.torques, time))
    if len(inertial.stamps_ns):
        found.append(figure_of_masses(inertial, time, truth))
        found += [figure_of_coms(inertial, time, truth), figure_of_inertias(inertial, time, truth)]
        found.append(figure_of_nis(inertial, time))
    if results.payload is not None:
        found.append(figure_of_trunk(results.payload, time, truth))
    return found


def figure_of_tilt(
    series: TiltSeries, errors: TiltErrors | None, time: TimeAxis, forces: Forces | None = None
) -> Figure:
    """Draw the inclination of the vertical along the base's axes, its error, contact forces and contacts.

    Args:
        series: Base estimates.
        errors: Against a reference, None without one.
        time: The time axis.
        forces: Magnitude of the contact forces by contact: stamps [ns] and values [N].
    """
    panels, t = Panels(time), time.of(series.stamps_ns)
    flight = np.array([not contacts for contacts in series.contacts])
    air = spans_of(t, flight, "no contact") if not flight.all() else []
    drawn = []
    for k, name in enumerate(("along x (minus the pitch)", "along y (roll)")):
        lines = [Series("estimate", t, _inclination(series.tilts_B[:, k]), colour=k)]
        if errors is not None:
            reference = np.where(errors.trusted, _inclination(errors.reference_B[:, k]), np.nan)
            lines.insert(0, Series("reference", time.of(errors.stamps_ns), reference, "reference"))
        title = f"Vertical in the base frame, {name}"
        drawn.append(panels.of(title, "inclination [deg]", lines, spans=air))
    drawn.append(_tilt_error(panels, errors, series, time))
    if forces:
        lines = [Series(name, time.of(stamps), values, "thin") for name, (stamps, values) in forces.items()]
        drawn.append(panels.of("Measured contact forces, magnitude", "force [N]", lines))
    contacts = sorted({contact for contacts in series.contacts for contact in contacts})
    if contacts:
        used = [np.array([contact in now for now in series.contacts]) for contact in contacts]
        drawn.append(
            panels.of("Contacts in use by the observer", "", list(_bars(t, used, contacts)), rows=contacts)
        )
    return Figure("Tilt and contacts", drawn)


def _bars(t: Array, flags: Sequence[NDArray[np.bool_]], names: Sequence[str]) -> Iterator[Series]:
    """Yield a bar in the row of each name, where its flag is set."""
    for row, used in enumerate(flags):
        ends = [(span.start, span.end, np.nan) for span in spans_of(t, used)]
        x = np.array(ends).ravel() if ends else np.zeros(0)
        yield Series("", np.nan_to_num(x, nan=t[-1]), np.where(np.isnan(x), np.nan, row), "bars", colour=row)


def _tilt_error(panels: Panels, errors: TiltErrors | None, series: TiltSeries, time: TimeAxis) -> Panel:
    sigma = np.degrees(series.tilt_sigmas)
    own = Series(
        f"the estimate's sigma, median {np.median(sigma):.3g} deg", time.of(series.stamps_ns), sigma, colour=5
    )
    if errors is None:
        limits = (0.0, 1.3 * float(np.quantile(sigma, 0.9)) + 1e-6)  # the initial one is far larger
        return panels.of("Standard deviation of the tilt", "sigma [deg]", [own], y_limits=limits)
    t, degrees = time.of(errors.stamps_ns), np.degrees(errors.errors)
    error = Series("error", t, np.where(errors.trusted, degrees, np.nan), "thin", colour=3)
    mean, rms, p95, largest = (float(np.degrees(value)) for value in vars(errors.summary).values())
    top = max(largest, min(float(np.quantile(sigma, 0.9)), MOST_SIGMA * largest), 1e-6)
    return panels.of(
        f"Tilt error: mean {mean:.3f}, rms {rms:.3f}, 95 % {p95:.3f}, max {largest:.2f} deg",
        "error [deg]",
        [error, own],
        levels=[Level(rms, "rms")],
        spans=spans_of(t, ~errors.trusted, "not trusted"),
        y_limits=(0.0, 1.15 * top),
    )


def _inclination(component: Array) -> Array:
    inclination: Array = np.degrees(np.arcsin(np.clip(component, -1.0, 1.0)))
    return inclination


def figure_of_base(series: TiltSeries, errors: BaseErrors | None, time: TimeAxis) -> Figure:
    """Draw yaw, position and velocity of the base, and the aligned reference.

    Args:
        series: Base estimates.
        errors: Against a reference, None without one.
        time: The time axis.
    """
    panels, t = Panels(time), time.of(series.stamps_ns)
    drawn = (
        (np.degrees(yaws(series.quaternions_xyzw))[:, None], "yaw [deg]", "Yaw (its origin is arbitrary)"),
        (series.positions_W, "position [m]", "Position in the world (drifts)"),
        (series.velocities_B, "velocity [m/s]", "Velocity in the base frame"),
    )
    references = list(_base_references(errors, time)) or [None] * 3
    found = []
    for (values, label, title), reference in zip(drawn, references, strict=True):
        names = AXES if values.shape[1] == 3 else ("estimate",)
        lines = [Series(name, t, values[:, k], colour=k) for k, name in enumerate(names)]
        if reference is not None:
            said = ("reference", "", "")
            lines = [
                Series(said[k], reference[0], y, "reference") for k, y in enumerate(reference[1].T)
            ] + lines
        found.append(panels.of(title, label, lines))
    return Figure(
        "Yaw, position and velocity of the base",
        found,
        "Yaw and position are not observable from joints, IMU and contacts: they drift, and their origin is "
        "arbitrary. A reference is aligned by a translation and a yaw before the comparison.",
    )


def _base_references(errors: BaseErrors | None, time: TimeAxis) -> Iterator[tuple[Array, Array] | None]:
    """Yield times and values of the reference's yaw, position and velocity; None where it has none."""
    if errors is None:
        return
    t, used = time.of(errors.stamps_ns), errors.used[:, None]
    yield t, np.where(used, np.degrees(errors.reference_yaws)[:, None], np.nan)
    positions = errors.reference_positions_W
    yield None if positions is None else (t, np.where(used, positions, np.nan))
    if errors.reference_velocities_B is None or errors.velocity_stamps_ns is None:
        yield None
    else:
        known = np.asarray(errors.velocity_used)[:, None]
        yield time.of(errors.velocity_stamps_ns), np.where(known, errors.reference_velocities_B, np.nan)


def figure_of_masses(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Figure:
    """Draw the mass of each measured body with two sigma, the published mass, and the truth.

    Args:
        series: Inertial estimates.
        time: The time axis.
        truth: True inertias, None where they are not known.
    """
    panels, t = Panels(time), time.of(series.stamps_ns)
    drawn = []
    for link in series.links:
        if not link.informed[0]:
            continue
        nominal = float(link.masses[0] - link.payload_masses[0])
        lines = [
            _banded("estimate, 2 sigma", t, link.masses, link.mass_sigmas, 0),
            Series("published", t, link.published_masses, "dashed", colour=INK),
        ]
        if truth is not None and link.link in truth.steps:
            true = truth.masses(link.link, t)
            lines.insert(0, Series(f"truth {true[-1]:.3f} kg", t, true, "reference"))
        title = f"{link.link}: {with_sigma(link.masses[-1], link.mass_sigmas[-1])} kg at the end"
        level = Level(nominal, f"description {nominal:.2f} kg")
        drawn.append(panels.of(title, "mass [kg]", lines, levels=[level]))
    left = [link.link for link in series.links if not link.informed[0]]
    return Figure("Masses", drawn, _not_measured(left))


def _not_measured(links: Sequence[str]) -> str:
    if not links:
        return ""
    return f"Not measured by this recording, so that the description's value stays: {', '.join(links)}."


def _banded(label: str, t: Array, values: Array, sigmas: Array, colour: int) -> Series:
    return Series(label, t, values, "line", values - 2.0 * sigmas, values + 2.0 * sigmas, colour)


def figure_of_coms(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Figure:
    """Draw the change of the centre of mass of each measured body in its link's frame."""

    def com(link: LinkSeries) -> tuple[Array, Array, NDArray[np.bool_], Array | None]:
        true = truth.at_end(link.link) if truth is not None else None
        known = None if true is None else 1e3 * true.com_L
        return 1e3 * link.coms_L, 1e3 * link.sigmas[:, 1:4], link.informed[1:4], known

    parts = {link.link: com(link) for link in series.links}
    return _figure_of_triples("Centres of mass", series, time, parts, ("mm", AXES))


def figure_of_inertias(series: InertialSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Figure:
    """Draw the change of the moments of inertia of each measured body about its centre of mass."""

    def moments(link: LinkSeries) -> tuple[Array, Array, NDArray[np.bool_], Array | None]:
        true = truth.at_end(link.link) if truth is not None else None
        known = None if true is None else np.diagonal(true.inertia_Lcm)
        values = np.diagonal(link.inertias_Lcm, axis1=1, axis2=2)
        return values, link.sigmas[:, DIAGONAL], link.informed[DIAGONAL], known

    parts = {link.link: moments(link) for link in series.links}
    return _figure_of_triples("Moments of inertia", series, time, parts, ("kg m²", ("xx", "yy", "zz")))


def _figure_of_triples(
    title: str,
    series: InertialSeries,
    time: TimeAxis,
    parts: Mapping[str, tuple[Array, Array, NDArray[np.bool_], Array | None]],
    texts: tuple[str, Sequence[str]],
) -> Figure:
    """Draw three quantities of each body as changes from their first values.

    Args:
        title: Title of the figure.
        series: Inertial estimates.
        time: The time axis.
        parts: By body: values, standard deviations, shape (n, 3) each, which are informed, and true values
            at the end, shape (3,), or None.
        texts: Unit, and names of the quantities.
    """
    unit, names = texts
    panels, t = Panels(time), time.of(series.stamps_ns)
    drawn = []
    for link, (values, sigmas, informed, true) in parts.items():
        lines, levels = [], []
        for k, name in enumerate(names):
            change = values[:, k] - values[0, k]
            if not informed[k]:
                lines.append(Series(f"{name} not measured", t, change, "dotted", colour=GREY))
                continue
            label = f"{name} {with_sigma(values[-1, k], sigmas[-1, k])} {unit}"
            lines.append(_banded(label, t, change, sigmas[:, k], k))
            if true is not None:
                levels.append(Level(float(true[k] - values[0, k]), f"true {name} at the end"))
        if informed.any():
            drawn.append(panels.of(link, f"change from start [{unit}]", lines, levels=levels))
    left = [link for link, (_values, _sigmas, informed, _true) in parts.items() if not informed.any()]
    note = (
        "As change from the first estimate, which is the description's value after one measurement, with two "
        "sigma, in the axes of the link. Grey and dotted: the recording does not measure the quantity. "
    )
    return Figure(title, drawn, (note if drawn else "") + _not_measured(left))


def figure_of_nis(series: InertialSeries, time: TimeAxis) -> Figure:
    """Draw the normalised innovation squared, its 95 % bounds and the gate's, and the gate's decisions."""
    panels, t = Panels(time), time.of(series.stamps_ns)
    rows, nis = max(len(series.row_names), 1), np.maximum(series.nis, 1e-3)
    rejected = np.array([decision is Decision.REJECTED for decision in series.decisions])
    drawn = [
        Series(label, t[chosen], nis[chosen], style, colour=colour)
        for label, chosen, style, colour in (
            ("accepted", series.accepted, "points", 0),
            ("rejected", rejected, "crosses", 1),
            ("not learning", ~series.accepted & ~rejected, "points", GREY),
        )
        if chosen.any()
    ]
    if np.isfinite(series.nis_bounds).any():
        bounds = np.where(np.isfinite(series.nis_bounds), series.nis_bounds, np.nan)
        drawn.append(Series("gate", t, bounds, "dashed", colour=INK))
    low, high = (float(value) for value in chi2.interval(0.95, rows))
    levels = [Level(low, "95 % of chi-square"), Level(high)]
    found = [decision for decision in Decision if decision in series.decisions]
    flags = [np.array([one is decision for one in series.decisions]) for decision in found]
    names = [f"{d.value} ({100 * flag.mean():.1f} %)" for d, flag in zip(found, flags, strict=True)]
    return Figure(
        "Innovations and the gate",
        [
            panels.of(
                f"Normalised innovation squared (NIS) over {rows} rows",
                "NIS [-]",
                drawn,
                levels=levels,
                log=True,
            ),
            panels.of("Decisions of the gate", "", list(_bars(t, flags, names)), rows=names),
        ],
    )


def figure_of_torques(series: TorqueSeries, time: TimeAxis) -> Figure:
    """Draw rows as measured and as predicted; of rows that are no measured torque the residual alone.

    Of more than `MOST_ROWS` rows those with the largest innovations are drawn. Measurements and predictions
    went through one low-pass without delay.

    Args:
        series: Rows of the measurement.
        time: The time axis.
    """
    panels, t = Panels(time), time.of(series.stamps_ns)
    worst = np.argsort(-np.mean(series.innovations**2, axis=0))[:MOST_ROWS]
    drawn = []
    for row in np.sort(worst).tolist():
        measured, innovation = series.measured[:, row], series.innovations[:, row]
        lines = [Series("measured minus predicted", t, innovation, "thin", colour=3)]
        if np.isfinite(measured).all():
            predicted = Series("predicted", t, measured - innovation, "thin", colour=0)
            lines = [Series("measured", t, measured, "reference"), predicted]
        unit = series.unit(row)
        title = f"{row_title(series.row_names[row])}: {_error_text(series, row, time, unit)}"
        drawn.append(panels.of(title, f"[{unit}]", lines))
    count = len(series.row_names)
    some = f" The {MOST_ROWS} of {count} rows with the largest errors." if count > MOST_ROWS else ""
    return Figure(
        "Measured and predicted torques",
        drawn,
        "The prediction that each measurement was compared with, before it corrected the estimates; "
        f"low-passed at {FILTER_CUTOFF:g} Hz without delay. For rows of the base, which are no measured "
        f"torque, the residual is drawn.{some}",
    )


def row_title(name: str) -> str:
    """Return what a row of the measurement is: a joint, a row of the base, or a combination of them.

    Args:
        name: Name of the row.
    """
    if name.startswith("projected_"):
        place = int(name.removeprefix("projected_")) + 1
        return f"combination {place} of joints and base that no contact force enters"
    return name.replace("base_force_", "force on the base, ").replace("base_moment_", "moment on the base, ")


def _error_text(series: TorqueSeries, row: int, time: TimeAxis, unit: str) -> str:
    """Return the rms error of a row, after the hold-out where there is one."""
    chosen = np.ones(len(series.stamps_ns), dtype=bool)
    where = ""
    if time.hold_out_ns is not None and (series.stamps_ns >= time.hold_out_ns).any():
        chosen, where = series.stamps_ns >= time.hold_out_ns, " after the hold-out"
    error = float(np.sqrt(np.mean(series.innovations[chosen, row] ** 2)))
    size = float(np.sqrt(np.mean(series.measured[chosen, row] ** 2)))
    of = f", measured {size:.3g}" if np.isfinite(size) else ""
    return f"rms error{where} {error:.3g} {unit}{of}"


def figure_of_trunk(series: PayloadSeries, time: TimeAxis, truth: TrueInertias | None = None) -> Figure:
    """Draw mass and centre of mass of the trunk, the published values, and the events.

    Times with a request to hold still are shaded; load changes, results and refusals are vertical lines. A
    quantity is grey and dotted, the value of the description, until it is measured.

    Args:
        series: Estimates of the trunk.
        time: The time axis.
        truth: True inertias, None where they are not known.
    """
    panels, t = Panels(time), time.of(series.stamps_ns)
    known = truth if truth is not None and series.link in truth.steps else None
    holds = spans_of(t, series.holds, "asked to hold")
    marks = [Mark(time.at(event.stamp_ns), event.kind) for event in series.events]
    true = None if known is None else known.masses(series.link, t)
    lines = _trunk_lines(t, series.masses, series.mass_sigmas, series.published_masses, true)
    measured = np.isfinite(series.mass_sigmas[-1])
    end = f"{series.masses[-1]:.3f} kg at the end" if measured else "mass not measured"
    drawn = [panels.of(f"{series.link}: {end}", "mass [kg]", lines, spans=holds, marks=marks)]
    true_coms = None if known is None else 1e3 * known.coms(series.link, t)
    for k, name in enumerate(AXES):
        parts = (series.coms_L, series.com_sigmas, series.published_coms_L)
        values, sigmas, published = (1e3 * part[:, k] for part in parts)
        true = None if true_coms is None else true_coms[:, k]
        end = f"{values[-1]:.1f} mm at the end" if np.isfinite(sigmas[-1]) else "not measured"
        lines = _trunk_lines(t, values, sigmas, published, true)
        drawn.append(
            panels.of(f"Centre of mass, {name}: {end}", f"{name} [mm]", lines, spans=holds, marks=marks)
        )
    return Figure("The trunk", drawn, "Grey and dotted: not measured, the value of the description.")


def _trunk_lines(
    t: Array, values: Array, sigmas: Array, published: Array, true: Array | None
) -> list[Series]:
    measured = np.isfinite(sigmas)
    known = np.where(measured, values, np.nan)
    lines = [] if true is None else [Series("truth", t, true, "reference")]
    if not measured.all():
        before = np.where(measured, np.nan, values)
        lines.append(Series("description, not measured", t, before, "dotted", colour=GREY))
    if measured.any():
        lines.append(_banded("identified, 2 sigma", t, known, np.where(measured, sigmas, np.nan), 0))
    return [*lines, Series("published", t, published, "dashed", colour=INK)]
