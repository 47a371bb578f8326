"""What several results have in common and what differs: values, settings, recordings, versions."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inertial_estimation.comparison.results import RunResult, Value
from inertial_estimation.errors import listing

SMALLEST_CHANGE = 5e-4  # relative, below which a value is called the same
# Options that decide which data count.
COUNTED_OPTIONS = ("--start", "--hold-out", "--settle", "--reference", "--trusted", "--split")


@dataclass(frozen=True)
class Row:
    """A value of every result.

    Attributes:
        name: What it is.
        unit: Its unit.
        values: Of each result, None where it has none.
        best: Places of the best results; empty where there is no better or worse.
    """

    name: str
    unit: str
    values: tuple[Value | None, ...]
    best: tuple[int, ...]

    def change(self, place: int) -> float | None:
        """Return the relative change from the first result, of errors in magnitude; None for none."""
        first, value = self.values[0], self.values[place]
        if place == 0 or first is None or value is None:
            return None
        if isinstance(first.value, str) or isinstance(value.value, str) or not first.value:
            return None
        change = value.value / first.value
        change = (abs(change) if value.smaller_is_better else change) - 1.0
        return change if math.isfinite(change) and abs(change) > SMALLEST_CHANGE else None


@dataclass(frozen=True)
class Difference:
    """A setting, file or version that is not the same in all results.

    Attributes:
        group: What it belongs to: recording, version, file, option, estimator, parameter or machine.
        name: What it is.
        values: Of each result, as text; empty where it has none.
    """

    group: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results side by side.

    Attributes:
        results: The results.
        rows: Their values.
        differences: What differs in where they come from.
        warnings: Why their values may not be comparable, or curves are missing, a sentence each.
    """

    results: tuple[RunResult, ...]
    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the results."""
        return tuple(result.name for result in self.results)


def compare(results: Sequence[RunResult]) -> Comparison:
    """Compare results; the first one is what the others are compared with."""
    differences = tuple(_differences(results))
    names = dict.fromkeys(name for result in results for name in result.values)
    rows = tuple(_row(name, [result.values.get(name) for result in results]) for name in names)
    return Comparison(tuple(results), rows, differences, tuple(_warnings(results, differences)))


def _row(name: str, values: Sequence[Value | None]) -> Row:
    known = [value for value in values if value is not None]
    numbers = {
        place: abs(value.value)
        for place, value in enumerate(values)
        if value is not None and not isinstance(value.value, str) and math.isfinite(value.value)
    }
    best: tuple[int, ...] = ()
    if known[0].smaller_is_better and len(numbers) > 1:
        least = min(numbers.values())
        best = tuple(place for place, number in numbers.items() if number == least)
    return Row(name, known[0].unit, tuple(values), best if len(best) < len(numbers) else ())


def _differences(results: Sequence[RunResult]) -> Iterator[Difference]:
    nodes = [set(result.provenance.get("parameters", {})) for result in results]
    everywhere = set.intersection(*nodes)
    described = [dict(_described(result.provenance, everywhere)) for result in results]
    for group, name in dict.fromkeys(key for one in described for key in one):
        values = tuple(one.get((group, name), "") for one in described)
        if len(set(values)) > 1:
            yield Difference(group, name, values)


def _described(
    provenance: Mapping[str, Any], everywhere: Collection[str]
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield a provenance as texts by group and name; parameters of nodes that not all have only by name."""
    version = provenance.get("version", {})
    for name in ("package", "commit", "modified"):
        if name in version:
            yield ("version", name), _text(version[name])[:12]
    for number, bag in enumerate(provenance.get("bags", [])):
        hashes = " ".join(file["sha256"][:12] for file in bag["files"])
        yield ("recording", f"recording {number + 1}"), hashes
    for number, file in enumerate(provenance.get("config", [])):
        yield ("file", f"parameter file {number + 1}"), f"{file['name']} ({file['sha256'][:12]})"
    if "urdf" in provenance:
        urdf = provenance["urdf"]
        yield ("file", "robot description"), f"{urdf['source']} ({urdf['sha256'][:12]})"
    for name, value in provenance.get("options", {}).items():
        yield ("option", f"--{name.replace('_', '-')}"), _text(value)
    for node, values in provenance.get("parameters", {}).items():
        if node not in everywhere:
            yield ("estimator", node), "run"
            continue
        for name, value in values.items():
            yield ("parameter", f"{node}.{name}"), _text(value)
    for name, value in provenance.get("machine", {}).items():
        yield ("machine", name), _text(value)


def _warnings(results: Sequence[RunResult], differences: Sequence[Difference]) -> Iterator[str]:
    kinds = list(dict.fromkeys(result.kind for result in results))
    if len(kinds) > 1:
        yield f"the results are of different commands ({listing(kinds)}): only what both have is compared"
    bare = [result.name for result in results if not result.has_curves]
    if bare:
        yield f"{listing(bare)}: no curves, as it was replayed with --format mcap (csv or both has them)"
    if any(difference.group == "recording" for difference in differences):
        yield "the results are of different recordings: their errors are not comparable"
    options = [
        difference.name
        for difference in differences
        if difference.group == "option" and difference.name in COUNTED_OPTIONS
    ]
    if options:
        said = "errors are over different parts of the data, or against different references"
        yield f"{said} ({listing(options)})"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)
