"""What differs between two runs of the referee by more than seeds or runs do."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.referee.row import Better, Row

SIGNS = {Better.LOWER: 1.0, Better.HIGHER: -1.0, Better.INFO: 0.0}


class Difference(NamedTuple):
    """A row of a part that differs: as it is in the other run, and in this one."""

    part: str
    before: Row
    after: Row

    @property
    def change(self) -> float:
        """The change over what means nothing; positive where it is worse, infinite where a figure is gone."""
        if math.isnan(self.after.value) or math.isnan(self.before.value):
            return math.inf if math.isnan(self.after.value) else -math.inf
        spread = max(self.before.spread, self.after.spread, 1e-12)
        return SIGNS[self.after.better] * (self.after.value - self.before.value) / spread

    @property
    def counts(self) -> bool:
        """Whether it is more than the spread."""
        return abs(self.after.value - self.before.value) > max(self.before.spread, self.after.spread) or (
            math.isnan(self.after.value) != math.isnan(self.before.value)
        )


def differences(before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]]) -> list[Difference]:
    """Return the rows that differ by more than their spread, the worst first."""
    found = []
    for part, rows in after.items():
        known = {row.key: row for row in before.get(part, ())}
        pairs = [Difference(part, known[row.key], row) for row in rows if row.key in known]
        found += [pair for pair in pairs if pair.counts]
    return sorted(found, key=lambda pair: -pair.change)


def comparison_text(
    before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]], name: str
) -> str:
    """Return what differs, what is new and what is gone, as lines."""
    lines = [f"differences from {name} that are larger than the spread, worse ones first"]
    for one in differences(before, after):
        word = "worse" if one.change > 0.0 else "better" if one.change < 0.0 else ""
        values = f"{number(one.before.value):>10} -> {number(one.after.value):>10} {one.after.unit:<6}"
        spread = f"(spread {number(max(one.before.spread, one.after.spread))})"
        lines.append(f"  {word:<7}{one.part + ': ' + one.after.key:<66}{values}{spread}")
    if len(lines) == 1:
        lines.append("  none")
    for word, here, there in (("only here", after, before), ("only there", before, after)):
        keys = [
            f"{part}: {row.key}"
            for part, rows in here.items()
            for row in rows
            if part in there and row.key not in {other.key for other in there[part]}
        ]
        lines += [f"  {word}: {key}" for key in keys]
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a figure with four digits."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.4g}"
