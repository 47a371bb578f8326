"""A result as text: a table with the paper's values, and which bounds are met."""

import math

from inertial_estimation.experiments.experiment_result import Bound, ExperimentResult, TableRow
from inertial_estimation.experiments.registry import RegisteredExperiment

HEADER = ("quantity", "paper", "ours", "+-", "unit", "bound", "aim")


def result_lines(
    experiment: RegisteredExperiment, result: ExperimentResult, *, quick: bool = False
) -> list[str]:
    """Render a result.

    Args:
        experiment: What was run.
        result: What it gave.
        quick: Whether it was the shortened version.

    Returns:
        Lines of text: title, table, verdict, facts.
    """
    count = len(result.seeds)
    lines = [
        f"{experiment.name}: {experiment.summary}",
        f"  {experiment.source}; {count} seed{'s' if count != 1 else ''}",
        *(f"  {line}" for line in _table(result.rows)),
        f"  {verdict(result)}",
        *(f"  - {fact}" for fact in result.facts),
    ]
    if quick:
        lines.insert(2, "  QUICK: shortened; exercises everything, proves nothing")
    return lines


def verdict(result: ExperimentResult) -> str:
    """Say in one line which bounds are met, the missed ones by name, and what they do not count."""
    said = _bounds_met(result)
    return f"{said}; BUT {result.caveat}" if result.caveat else said


def _bounds_met(result: ExperimentResult) -> str:
    bounded = [row for row in result.rows if row.bound is not None]
    if not bounded:
        return "no bounds"
    missed = result.missed
    if not missed:
        return f"all {len(bounded)} bounds met"
    names = "; ".join(row.quantity for row in missed)
    return f"*** {len(missed)} of {len(bounded)} bounds NOT MET: {names} ***"


def _table(rows: tuple[TableRow, ...]) -> list[str]:
    cells = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(HEADER))]
    rendered = []
    for line in cells:
        parts = [
            text.rjust(width) if 1 <= k <= 3 else text.ljust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        rendered.append("  ".join(parts).rstrip())
    return [rendered[0], "-" * len(rendered[0]), *rendered[1:]]


def _cells(row: TableRow) -> tuple[str, ...]:
    return (
        row.quantity,
        _number(row.paper),
        _number(row.ours),
        _number(row.spread, digits=2),
        row.unit or "-",
        _judged(row.bound, row.bound_met),
        _judged(row.aim, row.aim_met),
    )


def _number(value: float | None, *, digits: int = 4) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if math.isfinite(value) else "none"


def _judged(bound: Bound | None, met: bool | None) -> str:
    if bound is None:
        return "-"
    return f"{bound} {'met' if met else 'NOT MET'}"
