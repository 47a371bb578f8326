"""Page of a comparison of results: values, differences of their sources, and curves over time."""

from collections.abc import Iterator

import numpy as np

from inertial_estimation.comparison.comparison import Comparison, Row
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.errors import to_sigma
from inertial_estimation.figures import MOST_ROWS, Figure, Panel, Series
from inertial_estimation.plots.page import (
    CAUTION,
    MINUS,
    NO_NUMBER,
    Cell,
    Notes,
    Page,
    Section,
    Table,
    number,
    with_sigma,
)
from inertial_estimation.plots.replay_figures import TIME_LABEL
from inertial_estimation.replay.tables import ERRORS_FILE, TELEMETRY_FILES
from inertial_estimation.signals import Array

Tables = dict[str, dict[str, Array]]  # tables of one file, by result


def comparison_page(comparison: Comparison, *, drawn: bool) -> Page:
    """Return the page, with the curves over time if they are to be drawn.

    Raises:
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    names, results = comparison.names, comparison.results
    same = "Nothing: recordings, files, options, parameters, version and machine are the same."
    differing: Notes | Table = Notes([same])
    if comparison.differences:
        found = [(d.group, d.name, *(text or NO_NUMBER for text in d.values)) for d in comparison.differences]
        differing = Table(("", "name", *names), found, range(2 + len(names)))
    folders = [(r.name, r.kind, str(r.provenance.get("time", NO_NUMBER)), str(r.folder)) for r in results]
    explanation = f"Differences are from {names[0]}. Bold: the best of the results."
    sections = [
        Section("Values", [explanation, _results(comparison)], printed=True),
        Section("What differs", [differing], printed=True),
        *(Section(figure.title, [figure]) for figure in (comparison_figures(comparison) if drawn else ())),
        Section("The results", [Table(("result", "command", "written", "folder"), folders, range(4))]),
    ]
    if comparison.warnings:
        sections.insert(0, Section("Before you compare", [Notes(comparison.warnings, CAUTION)]))
    lead, tone = f"Against {names[0]}: {_lead(comparison)}", CAUTION if comparison.warnings else ""
    return Page(f"{' and '.join(names[:3])} compared", lead, tone, (), sections)


def _lead(comparison: Comparison) -> str:
    """Return in words how many errors are smaller and larger in each result."""
    errors = [row for row in comparison.rows if any(v and v.smaller_is_better for v in row.values)]
    counts = []
    for place, name in enumerate(comparison.names[1:], start=1):
        changes = [change for row in errors if (change := row.change(place)) is not None]
        better = sum(change < 0.0 for change in changes)
        counts.append(f"errors that {name} makes smaller: {better}, larger: {len(changes) - better}")
    return f"{'; '.join(counts)}."


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
    """Return the difference of a value from the first result, also in standard deviations of both."""
    first, value = row.values[0], row.values[place]
    if first is None or value is None or isinstance(first.value, str) or isinstance(value.value, str):
        return ""
    change = value.value - first.value
    if change == 0.0 or not np.isfinite(change):
        return ""
    sigma = float(np.hypot(first.sigma or 0.0, value.sigma or 0.0))
    if 0.0 < sigma < np.inf:
        return f"{to_sigma(change, sigma)} ({to_sigma(change / sigma, 1.0)} sigma)".replace("-", MINUS)
    relative = row.change(place)
    return number(change) if relative is None else f"{100 * relative:+.1f} %".replace("-", MINUS)


def comparison_figures(comparison: Comparison) -> list[Figure]:
    """Return the figures for which at least two results have data: tilt errors and masses over time.

    Raises:
        ~inertial_estimation.errors.RecordingError: If a table of a result is damaged.
    """
    errors, inertial = (
        {result.name: result.table(file) for result in comparison.results}
        for file in (ERRORS_FILE, TELEMETRY_FILES[INERTIAL_NODE])
    )
    for table in errors.values():
        if "trusted" in table:
            table["tilt_error_deg"] = np.where(table["trusted"] > 0.0, table["tilt_error_deg"], np.nan)
    drawn = {
        "Tilt error": [_panel(errors, "tilt_error_deg", "Tilt error against the reference [deg]")],
        "Masses over time": list(_masses(inertial)),
    }
    shown = {title: [panel for panel in panels if len(panel.series) > 1] for title, panels in drawn.items()}
    return [Figure(title, panels) for title, panels in shown.items() if panels]


def _panel(tables: Tables, column: str, title: str, sigma: str = "") -> Panel:
    """Return a panel with the curves of one column in all results, with two sigma."""
    lines = []
    for colour, (name, table) in enumerate(tables.items()):
        if len(values := table.get(column, np.zeros(0))):
            spread = 2.0 * table[sigma] if sigma in table else None
            low, high = (None, None) if spread is None else (values - spread, values + spread)
            lines.append(Series(name, table["time_s"], values, "thin", low, high, colour))
    return Panel(title, TIME_LABEL, "", lines)


def _masses(tables: Tables) -> Iterator[Panel]:
    """Yield the masses of the links that differ most at the end, in their order."""
    columns = dict.fromkeys(name for table in tables.values() for name in table if name.startswith("mass/"))

    def spread(column: str) -> float:
        return float(np.ptp([table[column][-1] for table in tables.values() if column in table]))

    chosen = sorted(columns, key=spread, reverse=True)[:MOST_ROWS]
    for column in columns:
        if column in chosen:
            title = f"{column.removeprefix('mass/')}, with two sigma"
            yield _panel(tables, column, title, column.replace("mass/", "mass_sigma/", 1))
