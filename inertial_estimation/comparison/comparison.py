"""Comparison of several results: values, settings, recordings, versions."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from inertial_estimation.comparison.results import RunResult, Value
from inertial_estimation.errors import listing

SMALLEST_CHANGE = 5e-4  # relative change below which values count as equal
GROUPS = {  # parts of a provenance that are compared
    "version": "version",
    "bags": "recording",
    "config": "file",
    "urdf": "file",
    "options": "option",
    "parameters": "parameter",
    "machine": "machine",
}
NOT_COMPARED = ("path", "bytes")  # of a file, which its hash identifies
COUNTED_OPTIONS = ("start", "hold_out", "settle", "reference", "trusted", "split")  # select the data


class Row(NamedTuple):
    """One quantity in every result."""

    name: str  # name of the quantity
    unit: str  # unit of the quantity
    values: tuple[Value | None, ...]  # value in each result, None where it has none
    best: tuple[int, ...]  # indices of the best results; empty where the values have no order of merit

    def change(self, place: int) -> float | None:
        """Return the relative change (of errors: of magnitudes) from the first result; None for none."""
        first, value = self.values[0], self.values[place]
        if place == 0 or first is None or value is None:
            return None
        if isinstance(first.value, str) or isinstance(value.value, str) or not first.value:
            return None
        change = value.value / first.value
        change = (abs(change) if value.smaller_is_better else change) - 1.0
        return change if math.isfinite(change) and abs(change) > SMALLEST_CHANGE else None


class Difference(NamedTuple):
    """A setting, file or version that is not the same in all results."""

    group: str  # one of `GROUPS`, or "estimator" for one that did not run in all results
    name: str  # name of the setting, file or version
    values: tuple[str, ...]  # value in each result, as text; empty where it has none


class Comparison(NamedTuple):
    """Results side by side."""

    results: tuple[RunResult, ...]  # the results
    rows: tuple[Row, ...]  # values of the results, one row for each quantity
    differences: tuple[Difference, ...]  # differences between their provenances
    warnings: tuple[str, ...]  # reasons why their values may not be comparable, a sentence each

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the results."""
        return tuple(result.name for result in self.results)


def compare(results: Sequence[RunResult]) -> Comparison:
    """Compare results with the first one of them."""
    differences = tuple(_differences(results))
    names = dict.fromkeys(name for result in results for name in result.values)
    rows = tuple(_row(name, [result.values.get(name) for result in results]) for name in names)
    return Comparison(tuple(results), rows, differences, tuple(_warnings(results, differences)))


def _row(name: str, values: Sequence[Value | None]) -> Row:
    known = next(value for value in values if value is not None)
    numbers = {
        place: abs(value.value)
        for place, value in enumerate(values)
        if value is not None and not isinstance(value.value, str) and math.isfinite(value.value)
    }
    best: tuple[int, ...] = ()
    if known.smaller_is_better and len(numbers) > 1:
        least = min(numbers.values())
        best = tuple(place for place, number in numbers.items() if number == least)
    return Row(name, known.unit, tuple(values), best if len(best) < len(numbers) else ())


def _differences(results: Sequence[RunResult]) -> Iterator[Difference]:
    """Yield the differences of the provenances; parameters are compared if their estimator ran everywhere."""
    nodes = [set(result.provenance.get("parameters", {})) for result in results]
    for node in sorted(set.union(*nodes) - set.intersection(*nodes)):
        yield Difference("estimator", node, tuple("run" if node in own else "" for own in nodes))
    described = []
    for result in results:
        parts = {**result.provenance, "parameters": dict(result.provenance.get("parameters", {}))}
        for node in set.union(*nodes) - set.intersection(*nodes):
            parts["parameters"].pop(node, None)
        found = ((GROUPS[part], part, parts.get(part, {})) for part in GROUPS)
        described.append({(g, name): text for g, part, tree in found for name, text in _flat(tree, part)})
    for group, name in dict.fromkeys(key for one in described for key in one):
        values = tuple(one.get((group, name), "") for one in described)
        if len(set(values)) > 1:
            short = name if group in ("recording", "file") else name.partition(".")[2]
            yield Difference(group, short, values)


def _flat(tree: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested mappings and lists of mappings by their paths, as texts."""
    if isinstance(tree, list) and tree and isinstance(tree[0], dict):
        tree = {str(number + 1): item for number, item in enumerate(tree)}
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key not in NOT_COMPARED:
                yield from _flat(value, f"{name}.{key}")
    else:
        yield name, _text(tree)[:12] if name.endswith(("sha256", "commit")) else _text(tree)


def _warnings(results: Sequence[RunResult], differences: Sequence[Difference]) -> Iterator[str]:
    kinds = list(dict.fromkeys(result.kind for result in results))
    if len(kinds) > 1:
        yield f"the results are of different commands ({listing(kinds)}): only what both have is compared"
    if any(difference.group == "recording" for difference in differences):
        yield "the results are of different recordings: their errors are not comparable"
    options = [d.name for d in differences if d.group == "option" and d.name in COUNTED_OPTIONS]
    if options:
        flags = listing(f"--{name.replace('_', '-')}" for name in options)
        yield f"errors are over different parts of the data, or against different references ({flags})"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "none" if value is None else str(value)
