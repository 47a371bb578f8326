"""Rows of the referee's table, one figure each, and differences of two runs that exceed their spread."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np


class Better(str, Enum):
    """Which values of a row are good."""

    LOWER = "lower"
    HIGHER = "higher"
    INFO = "info"


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        key: Name of the figure, the same in every run.
        value: The figure; NaN if there is none, which `note` explains.
        unit: Unit of the figure.
        better: Which values are good.
        spread: Differences up to it are not significant: range over seeds or runs, or a stated tolerance.
        note: Remark for the interpretation; empty: none.
    """

    key: str
    value: float
    unit: str = ""
    better: Better = Better.LOWER
    spread: float = 0.0
    note: str = ""

    @property
    def as_dict(self) -> dict[str, Any]:
        """The row as it is stored."""
        return {**asdict(self), "better": self.better.value}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Row":
        """Return a row from its stored form."""
        return cls(**{**stored, "better": Better(stored["better"])})


def figure(
    key: str,
    values: float | Sequence[float],
    unit: str = "",
    better: Better = Better.LOWER,
    *,
    least: float = 0.0,
    tolerance: float = 0.0,
    note: str = "",
) -> Row:
    """Return a row with the median of values, whose spread is their range.

    Args:
        key: Name of the row.
        values: One value, or one for each seed or run.
        unit: Unit of the values.
        better: Which values are good.
        least: Smallest spread.
        tolerance: Smallest spread as a share of the value.
        note: Remark for the interpretation.
    """
    found = np.atleast_1d(np.asarray(values, dtype=float))
    value = float(np.median(found))
    spread = max(float(np.ptp(found)), least, tolerance * abs(value))
    return Row(key, value, unit, better, spread, note)


def share(key: str, hits: Sequence[bool], better: Better = Better.HIGHER, note: str | None = None) -> Row:
    """Return a percentage of cases, with the standard deviation of a binomial share as its spread."""
    n = max(len(hits), 1)
    p = (sum(hits) + 1.0) / (n + 2.0)  # Laplace's rule of succession: never 0 or 1
    spread = 100.0 * float(np.sqrt(p * (1.0 - p) / n))
    return Row(key, 100.0 * sum(hits) / n, "%", better, spread, f"of {len(hits)}" if note is None else note)


class Difference(NamedTuple):
    """A row of a part in the other run and in this one."""

    part: str
    before: Row
    after: Row

    @property
    def change(self) -> float:
        """The change over the spread; positive if it is worse, infinite if the figure is missing now."""
        sign = {Better.LOWER: 1.0, Better.HIGHER: -1.0, Better.INFO: 0.0}[self.after.better]
        if math.isnan(self.after.value) or math.isnan(self.before.value):
            return math.inf if math.isnan(self.after.value) else -math.inf
        return sign * (self.after.value - self.before.value) / max(self.spread, 1e-12)

    @property
    def spread(self) -> float:
        """The larger spread of the two rows."""
        return max(self.before.spread, self.after.spread)

    @property
    def counts(self) -> bool:
        """Whether the change exceeds the spread."""
        gone = math.isnan(self.after.value) != math.isnan(self.before.value)
        return gone or abs(self.after.value - self.before.value) > self.spread


Rows = Mapping[str, Sequence[Row]]  # by part


def differences(before: Rows, after: Rows) -> list[Difference]:
    """Return the rows that differ by more than their spread, the worst first."""
    known = {(part, row.key): row for part, rows in before.items() for row in rows}
    pairs = [
        Difference(part, known[part, row.key], row)
        for part, rows in after.items()
        for row in rows
        if (part, row.key) in known
    ]
    return sorted((pair for pair in pairs if pair.counts), key=lambda pair: -pair.change)


def comparison_text(before: Rows, after: Rows, name: str) -> str:
    """Return the differing, new and missing rows as lines of text."""
    lines = []
    for one in differences(before, after):
        word = "worse" if one.change > 0.0 else "better" if one.change < 0.0 else ""
        values = f"{number(one.before.value):>10} -> {number(one.after.value):>10} {one.after.unit:<6}"
        key = f"{one.part}: {one.after.key}"
        lines.append(f"  {word:<7}{key:<66}{values}(spread {number(one.spread)})")
    lines = lines or ["  none"]
    for word, here, there in (("only here", after, before), ("only there", before, after)):
        others = {(part, row.key) for part, rows in there.items() for row in rows}
        keys = [(part, row.key) for part, rows in here.items() if part in there for row in rows]
        lines += [f"  {word}: {part}: {key}" for part, key in keys if (part, key) not in others]
    return "\n".join([f"differences from {name} that are larger than the spread, worse ones first", *lines])


def table(found: Rows, failures: Mapping[str, str]) -> str:
    """Return the rows by part, and the tasks that failed, as lines of text."""
    lines = []
    for part, rows in found.items():
        lines.append(f"{part:<66}{'value':>10} {'unit':<8}{'+-':>9}  better")
        for row in rows:
            spread = number(row.spread) if row.spread else ""
            figures = f"{row.key:<64}{number(row.value):>10} {row.unit:<8}{spread:>9}"
            lines.append(f"  {figures}  {row.better.value}  {row.note}".rstrip())
    return "\n".join([*lines, *(f"not measured: {name}: {why}" for name, why in failures.items())])


def number(value: float) -> str:
    """Return a number as text with four digits."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.4g}"
