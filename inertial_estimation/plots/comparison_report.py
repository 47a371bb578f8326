"""Page of a comparison of results: values, what differs, and curves with their differences."""

from collections.abc import Iterator
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
Tables = dict[str, dict[str, Array]]  # of one file, by result


def write_comparison_report(path: Path, comparison: Comparison) -> Path:
    """Write the page.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    names, results = comparison.names, comparison.results
    differing: str | Table = (
        "Nothing: recordings, files, options, parameters, version and machine are the same."
    )
    if comparison.differences:
        found = [(d.group, d.name, *(text or NO_NUMBER for text in d.values)) for d in comparison.differences]
        differing = Table(("", "name", *names), found, range(2 + len(names)))
    folders = [
        (one.name, one.kind, str(one.provenance.get("time", NO_NUMBER)), str(one.folder)) for one in results
    ]
    said = f"Differences are from {names[0]}. Bold: the best of the results."
    sections = [
        Section("Results", [said, _results(comparison)]),
        Section("What differs", [differing]),
        *(Section(figure.title, [figure]) for figure in comparison_figures(comparison)),
        Section("The results", [Table(("result", "command", "written", "folder"), folders, range(4))]),
    ]
    if comparison.warnings:
        sections.insert(0, Section("Before you compare", [Notes(comparison.warnings, DOUBT)]))
    lead, tone = f"Against {names[0]}: {_lead(comparison)}", DOUBT if comparison.warnings else ""
    return write_page(path, Page(f"{' and '.join(names[:3])} compared", lead, tone, (), sections))


def _lead(comparison: Comparison) -> str:
    """Return how many errors each result makes smaller and larger."""
    errors = [
        row for row in comparison.rows if any(v is not None and v.smaller_is_better for v in row.values)
    ]
    said = []
    for place, name in enumerate(comparison.names[1:], start=1):
        changes = [change for row in errors if (change := row.change(place)) is not None]
        better = sum(change < 0.0 for change in changes)
        said.append(f"{name} has {better} smaller and {len(changes) - better} larger errors")
    return f"{'; '.join(said)}."


def _results(comparison: Comparison) -> Table:
    names = comparison.names
    columns = ["", "unit", names[0], *(text for name in names[1:] for text in (name, "difference"))]
    rows = []
    for row in comparison.rows:
        cells: list[str | Cell] = [row.name, row.unit]
        for place, value in enumerate(row.values):
            text = NO_NUMBER if value is None else str(value.value)
            if value is not None and not isinstance(value.value, str):
                text = with_sigma(value.value, value.sigma)
            cells.append(Cell(text, "best" if place in row.best else ""))
            if place:
                cells.append(_difference(row, place))
        rows.append(cells)
    return Table(columns, rows, (0, 1))


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


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Return the figures for which at least one result has data: curves, and their differences.

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
    angles = [
        panel
        for angle in ("roll", "pitch")
        for panel in _panels(tilt, f"tilt/{angle} [rad]", angle.capitalize(), "deg", DEGREES)
    ]
    drawn = {
        "Tilt error": _panels(errors, "tilt_error_deg", "Tilt error against the reference", "deg"),
        "Roll and pitch": angles,
        "Masses over time": list(_masses(inertial)),
        "Innovations": _panels(inertial, "nis", "Normalised innovation squared (NIS)", "-"),
        "Masses at the end": list(_final_masses(comparison)),
    }
    return [Figure(title, panels) for title, panels in drawn.items() if panels]


def _panels(
    tables: Tables, column: str, title: str, unit: str, scale: float = 1.0, sigma: str = ""
) -> list[Panel]:
    """Return the curves of one column, with two sigma, and below them those minus the first one."""
    found = {name: table for name, table in tables.items() if len(table.get(column, ()))}
    if not found:
        return []
    (first, base), lines, differences = next(iter(found.items())), list[Series](), list[Series]()
    for colour, (name, table) in enumerate(found.items()):
        t, values = table["time_s"], scale * table[column]
        spread = 2.0 * scale * table[sigma] if sigma in table else None
        low, high = (None, None) if spread is None else (values - spread, values + spread)
        lines.append(Series(name, t, values, "thin", low, high, colour))
        at = base["time_s"]
        change = np.interp(at, t, values, np.nan, np.nan) - scale * base[column]
        differences.append(Series(name, at, change, "thin", colour=colour))
    panels = [Panel(title, TIME_LABEL, f"[{unit}]", lines)]
    if len(found) > 1:
        panels.append(Panel(f"{title}: difference from {first}", TIME_LABEL, f"[{unit}]", differences[1:]))
    return panels


def _masses(tables: Tables) -> Iterator[Panel]:
    """Yield the masses of the links that differ most at the end, in their order."""
    columns = dict.fromkeys(name for table in tables.values() for name in table if name.startswith("mass/"))

    def spread(column: str) -> float:
        return float(np.ptp([table[column][-1] for table in tables.values() if column in table]))

    chosen = sorted(columns, key=spread, reverse=True)[:MOST_LINKS]
    for column in columns:
        if column in chosen:
            title = f"{column.removeprefix('mass/').removesuffix(' [kg]')}, with two sigma"
            yield from _panels(tables, column, title, "kg", sigma=column.replace("mass/", "mass_sigma/", 1))


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
