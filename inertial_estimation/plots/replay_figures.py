"""Figures of one replay: base, contacts, inertias, innovations, torques and the trunk over time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2

from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.figures import GREY, INK, MOST_ROWS, Figure, Level, Mark, Panel, Series, spans_of
from inertial_estimation.payload.report import KIND
from inertial_estimation.plots.page import with_sigma
from inertial_estimation.replay.metrics import FILTER_CUTOFF
from inertial_estimation.replay.results import ReplayResults
from inertial_estimation.replay.tables import (
    BASE_FILE,
    STATE_FILE,
    TELEMETRY_FILES,
    TRUNK_FILE,
    TimeAxis,
    vectors,
    xyz,
)
from inertial_estimation.replay.torque_errors import TorqueSeries
from inertial_estimation.signals import Array, Decision, LinkInertia
from inertial_estimation.spatial.linear_algebra import rms
from inertial_estimation.telemetry import DECISIONS

TIME_LABEL = "time since the start of the recording [s]"


def replay_figures(results: ReplayResults) -> list[Figure]:
    """Return the figures for which there are estimates.

    Args:
        results: Tables and metrics of the replay.
    """
    found = []
    if BASE_FILE in results.tables:
        found += [figure_of_tilt(results), figure_of_base(results)]
    if results.torques is not None:
        found.append(figure_of_torques(results.torques, results.time))
    if results.links:
        found += [figure_of_masses(results), figure_of_coms(results), figure_of_moments(results)]
        found.append(figure_of_nis(results))
    if TRUNK_FILE in results.tables:
        found.append(figure_of_trunk(results))
    return found


def _panel(time: TimeAxis, title: str, y_label: str, series: Sequence[Series], **more: Any) -> Panel:
    """Return a panel over the time of the replay, with a mark at the start of the hold-out."""
    begin, end = time.at(time.begin_ns), time.at(time.end_ns)
    held = [] if time.hold_out_ns is None else [Mark(time.at(time.hold_out_ns), "hold-out")]
    marks, limits = (*held, *more.pop("marks", ())), (begin, max(end, begin + 1e-3))
    return Panel(title, TIME_LABEL, y_label, series, x_limits=limits, marks=marks, **more)


def _bars(t: Array, flags: Mapping[str, Any]) -> Iterator[Series]:
    """Yield a bar in the row of each name, where its flag is set."""
    for row, used in enumerate(flags.values()):
        x = np.array([(span.start, span.end, np.nan) for span in spans_of(t, used)]).ravel()
        yield Series("", np.nan_to_num(x, nan=t[-1]), np.where(np.isnan(x), np.nan, row), "bars", colour=row)


def _banded(label: str, t: Array, values: Array, sigmas: Array, colour: int) -> Series:
    return Series(label, t, values, "line", values - 2.0 * sigmas, values + 2.0 * sigmas, colour)


def figure_of_tilt(results: ReplayResults) -> Figure:
    """Draw the inclination of the vertical along the base's axes, its error, contact forces and contacts."""
    time, base, errors = results.time, results.tables[BASE_FILE], results.errors.get("tilt")
    t, used = time.of(base["stamp_ns"]), [names.split() for names in base["contacts"]]
    figures = results.tables[TELEMETRY_FILES[TILT_NODE]]
    contacts = sorted({name for names in used for name in names})
    air = spans_of(t, np.array([not names for names in used]), "no contact") if contacts else []
    drawn = []
    for k, (axis, name) in enumerate((("x", "x (minus the pitch)"), ("y", "y (roll)"))):
        lines = [Series("estimate", t, _inclination(base[f"tilt_{axis}"]), colour=k)]
        if errors is not None:
            reference = np.where(errors.trusted, _inclination(errors.reference[:, k]), np.nan)
            lines.insert(0, Series("reference", time.of(errors.stamps_ns), reference, "reference"))
        title = f"Vertical in the base frame, along {name}"
        drawn.append(_panel(time, title, "inclination [deg]", lines, spans=air))
    drawn.append(_tilt_error(results, t))
    forces = {name: values for name, values in figures.items() if name.startswith("contact_force/")}
    if any(np.isfinite(values).any() for values in forces.values()):
        lines = [Series(name[14:-4], t, values, "thin") for name, values in forces.items()]
        drawn.append(_panel(time, "Vertical contact forces", "force [N]", lines))
    if contacts:
        flags = {name: np.array([name in names for names in used]) for name in contacts}
        title = "Contacts in use by the observer"
        drawn.append(_panel(time, title, "", list(_bars(t, flags)), rows=contacts))
    return Figure("Tilt and contacts", drawn)


def _tilt_error(results: ReplayResults, t: Array) -> Panel:
    """Return the error of the tilt and its sigma; the limits leave out the far larger initial sigma."""
    time, errors = results.time, results.errors.get("tilt")
    sigma = np.degrees(results.tables[TELEMETRY_FILES[TILT_NODE]]["tilt/sigma [rad]"])
    own = Series(f"the estimate's sigma, median {np.median(sigma):.3g} deg", t, sigma, colour=5)
    high = 1.3 * float(np.quantile(sigma, 0.9))
    if errors is None:
        return _panel(time, "Standard deviation of the tilt", "sigma [deg]", [own], y_limits=(0.0, high))
    at, degrees = time.of(errors.stamps_ns), np.where(errors.trusted, np.degrees(errors.errors), np.nan)
    mean, rms, p95, largest = np.degrees(errors.summary).tolist()
    return _panel(
        time,
        f"Tilt error: mean {mean:.3f}, rms {rms:.3f}, 95 % {p95:.3f}, max {largest:.2f} deg",
        "error [deg]",
        [Series("error", at, degrees, "thin", colour=3), own],
        levels=[Level(rms, "rms")],
        spans=spans_of(at, ~errors.trusted, "not trusted"),
        y_limits=(0.0, max(1.15 * largest, high)),
    )


def _inclination(component: Array) -> Array:
    return np.degrees(np.arcsin(np.clip(component, -1.0, 1.0)))


def figure_of_base(results: ReplayResults) -> Figure:
    """Draw yaw, position and velocity of the base, the aligned reference, and the bias of the gyroscope."""
    time, state, base = results.time, results.tables[STATE_FILE], results.tables[BASE_FILE]
    t, drawn = time.of(state["stamp_ns"]), []
    for quantity, names, title, unit in (
        ("yaw", ("yaw",), "Yaw (its origin is arbitrary)", "deg"),
        ("position", "xyz", "Position in the world (drifts)", "m"),
        ("velocity", ("vx", "vy", "vz"), "Velocity in the base frame", "m/s"),
    ):
        scale = float(np.degrees(1.0)) if unit == "deg" else 1.0
        lines = []
        if quantity in results.errors:
            errors = results.errors[quantity]
            reference = np.where(errors.trusted[:, None], scale * errors.reference, np.nan)
            at = time.of(errors.stamps_ns)
            lines = [Series("" if k else "reference", at, y, "reference") for k, y in enumerate(reference.T)]
        for k, name in enumerate(names):
            label = "estimate" if quantity == "yaw" else name[-1]
            lines.append(Series(label, t, scale * state[name], colour=k))
        drawn.append(_panel(time, title, f"{quantity} [{unit}]", lines))
    biases = 1e3 * vectors(base, xyz("gyro_bias"))
    lines = [
        Series(f"{axis} {biases[-1, k]:+.2f}", t, biases[:, k], colour=k) for k, axis in enumerate("xyz")
    ]
    title = "Gyroscope bias in the IMU frame, with its final value"
    drawn.append(_panel(time, title, "bias [mrad/s]", lines))
    return Figure(
        "Yaw, position, velocity and gyroscope bias",
        drawn,
        "Yaw and position are not observable from joints, IMU and contacts: they drift, and their origin is "
        "arbitrary. A reference is aligned by a translation and a yaw before the comparison.",
    )


def _not_informed(results: ReplayResults, link: str) -> list[str]:
    names: list[str] = results.metrics["links"][link]["not_informed"]
    return names


def _not_measured(links: Sequence[str]) -> str:
    if not links:
        return ""
    return f"Not measured by this recording, so that the description's value stays: {', '.join(links)}."


def figure_of_masses(results: ReplayResults) -> Figure:
    """Draw the mass of each measured body with two sigma, the published mass, and the truth."""
    left = [link for link in results.links if "mass" in _not_informed(results, link)]
    drawn = []
    for link, table in results.links.items():
        if link in left:
            continue
        t, mass, sigma = results.time.of(table["stamp_ns"]), table["identified_mass"], table["mass_sigma"]
        lines = [
            _banded("estimate, 2 sigma", t, mass, sigma, 0),
            Series("published", t, table["mass"], "dashed", colour=INK),
        ]
        if results.truth is not None and link in results.truth.steps:
            true = results.truth.over_time(link, t)[:, 0]
            lines.insert(0, Series(f"truth {true[-1]:.3f} kg", t, true, "reference"))
        nominal = float(mass[0] - table["payload_mass"][0])
        levels = [Level(nominal, f"description {nominal:.2f} kg")]
        title = f"{link}: {with_sigma(mass[-1], sigma[-1])} kg at the end"
        drawn.append(_panel(results.time, title, "mass [kg]", lines, levels=levels))
    note = (
        "Published: the description, changed only in the combinations that the data inform. " if drawn else ""
    )
    return Figure("Masses", drawn, note + _not_measured(left))


def figure_of_coms(results: ReplayResults) -> Figure:
    """Draw the change of the centre of mass of each measured body in its link's frame."""
    columns = {axis: (f"com_{axis}", f"com_sigma_{axis}") for axis in "xyz"}
    return _figure_of_triples("Centres of mass", results, columns, "mm", lambda body: 1e3 * body.com_L)


def figure_of_moments(results: ReplayResults) -> Figure:
    """Draw the change of the moments of inertia of each measured body about its centre of mass."""
    columns = {axes: (f"i{axes}", f"i{axes}_sigma") for axes in ("xx", "yy", "zz")}
    title, unit = "Moments of inertia", "kg m²"
    return _figure_of_triples(title, results, columns, unit, lambda body: body.inertia_Lcm.diagonal())


def _figure_of_triples(
    title: str,
    results: ReplayResults,
    columns: Mapping[str, tuple[str, str]],
    unit: str,
    true_of: Callable[[LinkInertia], Array],
) -> Figure:
    """Draw three quantities of each body as changes from their first values.

    Args:
        title: Title of the figure.
        results: Tables and metrics of the replay.
        columns: Columns of each quantity and of its standard deviation.
        unit: Unit of the quantities.
        true_of: Returns the three true values of a body, shape (3,).
    """
    drawn, left, scale = [], [], 1e3 if unit == "mm" else 1.0
    for link, table in results.links.items():
        t, unknown = results.time.of(table["stamp_ns"]), _not_informed(results, link)
        true = None if results.truth is None else results.truth.at_end(link)
        lines, levels = [], []
        for k, (name, (column, sigma_column)) in enumerate(columns.items()):
            values, sigmas = scale * table[f"identified_{column}"], scale * table[sigma_column]
            change = values - values[0]
            if column in unknown:
                lines.append(Series(f"{name} not measured", t, change, "dotted", colour=GREY))
                continue
            label = f"{name} {with_sigma(values[-1], sigmas[-1])} {unit}"
            lines.append(_banded(label, t, change, sigmas, k))
            if true is not None:
                levels.append(Level(float(true_of(true)[k] - values[0]), f"true {name} at the end"))
        if all(column in unknown for column, _sigma in columns.values()):
            left.append(link)
        else:
            drawn.append(_panel(results.time, link, f"change from start [{unit}]", lines, levels=levels))
    note = (
        "As change from the first estimate, which is the description's value after one measurement, with two "
        "sigma, in the axes of the link. Dotted: the recording does not measure the quantity. "
    )
    return Figure(title, drawn, (note if drawn else "") + _not_measured(left))


def figure_of_nis(results: ReplayResults) -> Figure:
    """Draw the normalised innovation squared with its quantiles, and the outcomes of the measurements."""
    table = results.tables[TELEMETRY_FILES[INERTIAL_NODE]]
    t, nis = results.time.of(table["stamp_ns"]), np.maximum(table["nis"], 1e-3)
    flags = {decision: table["learning/decision"] == place for place, decision in enumerate(DECISIONS)}
    accepted, rejected = table["learning/accepted"] > 0.0, flags[Decision.REJECTED]
    drawn = [
        Series(label, t[chosen], nis[chosen], style, colour=colour)
        for label, chosen, style, colour in (
            ("accepted", accepted, "points", 0),
            ("rejected", rejected, "crosses", 1),
            ("not learning", ~accepted & ~rejected, "points", GREY),
        )
        if chosen.any()
    ]
    bounds = np.where(np.isfinite(table["nis_bound"]), table["nis_bound"], np.nan)
    if np.isfinite(bounds).any():
        drawn.append(Series("99.9 % quantile", t, bounds, "dashed", colour=INK))
    rows = results.metrics["nis"]["expected"] if "nis" in results.metrics else 1
    low, high = chi2.interval(0.95, rows)
    levels = [Level(float(low), "95 % of chi-square"), Level(float(high))]
    title = f"Normalised innovation squared (NIS) over {rows} rows"
    named = {f"{d.value} ({100 * flag.mean():.1f} %)": flag for d, flag in flags.items() if flag.any()}
    return Figure(
        "Innovations and decisions",
        [
            _panel(results.time, title, "NIS [-]", drawn, levels=levels, log=True),
            _panel(results.time, "Decisions", "", list(_bars(t, named)), rows=list(named)),
        ],
    )


def figure_of_torques(series: TorqueSeries, time: TimeAxis) -> Figure:
    """Draw measured and predicted rows; of rows that are no measured torque only the residual.

    At most `MOST_ROWS` rows are drawn, those with the largest innovations.

    Args:
        series: Rows of the measurement, low-passed without delay.
        time: The time axis.
    """
    t, drawn = time.of(series.stamps_ns), []
    held = np.inf if time.hold_out_ns is None else time.hold_out_ns
    later = series.stamps_ns >= held
    chosen, where = (later, " after the hold-out") if later.any() else (~later, "")
    worst = np.argsort(-np.mean(series.innovations**2, axis=0))[:MOST_ROWS]
    for row in np.sort(worst).tolist():
        measured, innovation = series.measured[:, row], series.innovations[:, row]
        unit = row_unit(series.row_names[row])
        title = f"{row_title(series.row_names[row])}: rms error{where} {rms(innovation[chosen]):.3g} {unit}"
        lines = [Series("measured minus predicted", t, innovation, "thin", colour=3)]
        if np.isfinite(measured).all():
            title += f", measured {rms(measured[chosen]):.3g}"
            predicted = Series("predicted", t, measured - innovation, "thin", colour=0)
            lines = [Series("measured", t, measured, "reference"), predicted]
        drawn.append(_panel(time, title, f"[{unit}]", lines))
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
    """Return the title of a row of the measurement: a joint, a row of the base, or a combination of them."""
    if name.startswith("projected_"):
        place = int(name.removeprefix("projected_")) + 1
        return f"combination {place} of joints and base that no contact force enters"
    return name.replace("base_force_", "force on the base, ").replace("base_moment_", "moment on the base, ")


def row_unit(name: str) -> str:
    """Return the unit of a row of the measurement."""
    return "N" if name.startswith("base_force_") else "Nm"


def figure_of_trunk(results: ReplayResults) -> Figure:
    """Draw mass and centre of mass of the trunk, the published values, and the events.

    Times with a request to hold still are shaded; load changes, results and refusals are vertical lines. A
    quantity is dotted, the value of the description, until it is measured.
    """
    time, table, truth = results.time, results.tables[TRUNK_FILE], results.truth
    t, link, true = time.of(table["stamp_ns"]), table["link"][0], {}
    if truth is not None and link in truth.steps:
        true = dict(zip(("mass", *xyz("com")), truth.over_time(link, t).T, strict=True))
    spans = spans_of(t, table["hold"], "requested to hold")
    marks = [Mark(time.at(stamp_ns), event.values[KIND]) for stamp_ns, event in results.events]
    drawn = []
    for name, sigma, title, unit in (
        ("mass", "mass_sigma", link, "kg"),
        *((f"com_{axis}", f"com_sigma_{axis}", f"Centre of mass, {axis}", "mm") for axis in "xyz"),
    ):
        scale = 1e3 if unit == "mm" else 1.0
        values, sigmas = scale * table[f"identified_{name}"], scale * table[sigma]
        measured = np.isfinite(sigmas)
        lines = [Series("truth", t, scale * true[name], "reference")] if name in true else []
        if not measured.all():
            before = np.where(measured, np.nan, values)
            lines.append(Series("description, not measured", t, before, "dotted", colour=GREY))
        if measured.any():
            found, spread = (np.where(measured, one, np.nan) for one in (values, sigmas))
            lines.append(_banded("identified, 2 sigma", t, found, spread, 0))
        lines.append(Series("published", t, scale * table[name], "dashed", colour=INK))
        end = f"{with_sigma(values[-1], sigmas[-1])} {unit} at the end" if measured[-1] else "not measured"
        label = f"{name.replace('com_', '')} [{unit}]"
        drawn.append(_panel(time, f"{title}: {end}", label, lines, spans=spans, marks=marks))
    return Figure("The trunk", drawn, "Dotted: not measured, the value of the description.")
