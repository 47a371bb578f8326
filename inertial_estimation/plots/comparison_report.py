"""Page of a comparison of results: values, what differs, and curves with their differences."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from inertial_estimation.comparison.comparison import Comparison, Row
from inertial_estimation.configuration.node_names import INERTIAL_NODE, TILT_NODE
from inertial_estimation.figures import Figure, Panel, Series
from inertial_estimation.plots.page import (
    DOUBT,
    NO_NUMBER,
    Cell,
    Notes,
    Page,
    Section,
    Table,
    number,
    with_sigma,
    write_page,
)
from inertial_estimation.plots.replay_figures import TIME_LABEL
from inertial_estimation.replay.tables import ERRORS_FILE, TELEMETRY_FILES
from inertial_estimation.signals import Array

MOST_LINKS = 8  # drawn over time: those whose masses differ most between the results
DEGREES = float(np.degrees(1.0))
Curves = dict[str, tuple[Array, Array, Array | None]]  # by result: times [s], values, standard deviations


def write_comparison_report(path: Path, comparison: Comparison) -> Path:
    """Write the page.

    Args:
        path: File to write.
        comparison: Results side by side.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    figures = comparison_figures(comparison)
    sections = [
        Section("Results", [_said(comparison), _results(comparison)]),
        Section("What differs", [_differences(comparison)]),
        *(Section(figure.title, [figure]) for figure in figures),
        Section("The results", [_folders(comparison)]),
    ]
    if comparison.warnings:
        sections.insert(0, Section("Before you compare", [Notes(comparison.warnings, DOUBT)]))
    first, *others = comparison.names
    title = f"{' and '.join(comparison.names[:3])} compared"
    lead, tone = _lead(comparison.rows, others), DOUBT if comparison.warnings else ""
    return write_page(path, Page(title, f"Against {first}: {lead}", tone, (), sections))


def _lead(rows: Sequence[Row], others: Sequence[str]) -> str:
    """Return how many errors each result makes smaller and larger."""
    said = []
    for place, name in enumerate(others, start=1):
        known = [row for row in rows if any(v is not None and v.smaller_is_better for v in row.values)]
        changes = [change for row in known if (change := row.change(place)) is not None]
        better = sum(change < 0.0 for change in changes)
        said.append(f"{name} has {better} smaller and {len(changes) - better} larger errors")
    return f"{'; '.join(said)}."


def _said(comparison: Comparison) -> str:
    return f"Differences are from {comparison.names[0]}. Bold: the best of the results."


def _results(comparison: Comparison) -> Table:
    names = comparison.names
    columns = ["", "unit", names[0], *(text for name in names[1:] for text in (name, "difference"))]
    rows = []
    for row in comparison.rows:
        cells: list[str | Cell] = [row.name, row.unit]
        for place in range(len(names)):
            text = _text(row, place)
            cells.append(Cell(text, "best") if place in row.best else text)
            if place:
                cells.append(_difference(row, place))
        rows.append(cells)
    return Table(columns, rows, (0, 1))


def _text(row: Row, place: int) -> str:
    value = row.values[place]
    if value is None:
        return NO_NUMBER
    return value.value if isinstance(value.value, str) else with_sigma(value.value, value.sigma)


def _difference(row: Row, place: int) -> str:
    """Return by how much a value differs from the first result, also in standard deviations of both."""
    first, value = row.values[0], row.values[place]
    if first is None or value is None or isinstance(first.value, str) or isinstance(value.value, str):
        return ""
    change = value.value - first.value
    if change == 0.0 or not np.isfinite(change):
        return ""
    sigma = float(np.hypot(first.sigma or 0.0, value.sigma or 0.0))
    if 0.0 < sigma < np.inf:
        return f"{number(change)} ({number(round(change / sigma, 1))} sigma)"
    relative = row.change(place)
    return number(change) + (f" ({100 * relative:+.1f} %)" if relative is not None else "")


def _differences(comparison: Comparison) -> str | Table:
    if not comparison.differences:
        return "Nothing: recordings, files, options, parameters, version and machine are the same."
    rows = [(d.group, d.name, *(text or NO_NUMBER for text in d.values)) for d in comparison.differences]
    return Table(("", "name", *comparison.names), rows, range(2 + len(comparison.names)))


def _folders(comparison: Comparison) -> Table:
    rows = [
        (one.name, one.kind, str(one.provenance.get("time", NO_NUMBER)), str(one.folder))
        for one in comparison.results
    ]
    return Table(("result", "command", "written", "folder"), rows, range(4))


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Return the figures for which at least one result has data: curves, and their differences.

    Args:
        comparison: Results side by side.

    Raises:
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    errors, tilt, inertial = (
        {result.name: result.table(file) for result in comparison.results}
        for file in (ERRORS_FILE, TELEMETRY_FILES[TILT_NODE], TELEMETRY_FILES[INERTIAL_NODE])
    )
    for table in errors.values():
        if "trusted" in table:
            table["tilt_error_deg"] = np.where(table["trusted"] > 0.0, table["tilt_error_deg"], np.nan)
    drawn = (
        ("Tilt error", _panels(errors, "tilt_error_deg", "Tilt error against the reference", "deg")),
        (
            "Roll and pitch",
            [
                panel
                for angle in ("roll", "pitch")
                for panel in _panels(tilt, f"tilt/{angle} [rad]", angle.capitalize(), "deg", DEGREES)
            ],
        ),
        ("Masses over time", list(_masses(inertial))),
        ("Innovations", _panels(inertial, "nis", "Normalised innovation squared (NIS)", "-")),
        ("Masses at the end", list(_final_masses(comparison))),
    )
    return [Figure(title, panels) for title, panels in drawn if panels]


def _panels(
    tables: dict[str, dict[str, Array]],
    column: str,
    title: str,
    unit: str,
    scale: float = 1.0,
    sigma: str = "",
) -> list[Panel]:
    """Return the curves of one column, and below them those minus the first one."""
    curves: Curves = {
        name: (table["time_s"], scale * table[column], scale * table[sigma] if sigma in table else None)
        for name, table in tables.items()
        if column in table
    }
    if not curves:
        return []
    lines = []
    for place, (name, (t, values, spread)) in enumerate(curves.items()):
        low, high = (None, None) if spread is None else (values - 2.0 * spread, values + 2.0 * spread)
        lines.append(Series(name, t, values, "thin", low, high, place))
    panels = [Panel(title, TIME_LABEL, f"[{unit}]", lines)]
    (first, (t0, values0, _spread)), *others = curves.items()
    differences = [
        Series(name, t0, np.interp(t0, t, values, np.nan, np.nan) - values0, "thin", colour=place)
        for place, (name, (t, values, _spread)) in enumerate(others, start=1)
        if len(t)
    ]
    if differences and len(t0):
        panels.append(Panel(f"{title}: difference from {first}", TIME_LABEL, f"[{unit}]", differences))
    return panels


def _masses(tables: dict[str, dict[str, Array]]) -> Iterator[Panel]:
    """Yield the masses of the links that differ most at the end, in their order."""
    columns = dict.fromkeys(name for table in tables.values() for name in table if name.startswith("mass/"))
    ends = {column: [table[column][-1] for table in tables.values() if column in table] for column in columns}
    spread = {column: float(np.ptp(values)) for column, values in ends.items()}
    chosen = sorted(columns, key=lambda column: -spread[column])[:MOST_LINKS]
    for column in columns:
        if column in chosen:
            title = f"{column.removeprefix('mass/').removesuffix(' [kg]')}, with two sigma"
            sigma = column.replace("mass/", "mass_sigma/", 1)
            yield from _panels(tables, column, title, "kg", sigma=sigma)


def _final_masses(comparison: Comparison) -> Iterator[Panel]:
    """Yield the masses at the end with two sigma, one row a link, as differences from the first result."""
    found = [
        {value.mass_of: value for value in result.values.values() if value.mass_of}
        for result in comparison.results
    ]
    links = [link for link in found[0] if any(link in other for other in found[1:])]
    if not links:
        return
    lines = []
    for place, (result, masses) in enumerate(zip(comparison.results, found, strict=True)):
        own = [link for link in links if link in masses]
        rows = np.array([links.index(link) for link in own]) + 0.3 * (place / len(found) - 0.3)
        change = np.array([float(masses[link].value) - float(found[0][link].value) for link in own])
        spread = 2.0 * np.array([masses[link].sigma or 0.0 for link in own])
        lines.append(Series(result.name, change, rows, "points", change - spread, change + spread, place))
    title = f"Masses at the end minus those of {comparison.names[0]}, with two sigma of each"
    yield Panel(title, "difference [kg]", "", lines, rows=links)
