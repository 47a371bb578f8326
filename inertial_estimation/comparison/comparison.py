"""Result folders of replay and identify side by side: values, settings, recordings, versions."""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import RecordingError, listing, one_line
from inertial_estimation.files.text_file import read_text
from inertial_estimation.offline.identification_run import JSON_FILE
from inertial_estimation.replay.results import BASE_ERRORS
from inertial_estimation.replay.tables import METRICS_FILE
from inertial_estimation.signals import Array

COMMANDS = {METRICS_FILE: "replay", JSON_FILE: "identify"}


class Value(NamedTuple):
    """A value of a result."""

    value: float | str  # the number, or a word
    unit: str = ""  # unit of the value
    sigma: float | None = None  # standard deviation of the value, None where there is none
    smaller_is_better: bool = False  # whether a smaller magnitude is a better result


@dataclass(frozen=True, eq=False)
class RunResult:
    """A result folder."""

    name: str  # name of the result in the comparison
    folder: Path  # the folder
    kind: str  # command that wrote it: ``replay`` or ``identify``
    values: Mapping[str, Value]  # the compared values by name
    provenance: Mapping[str, Any]  # recordings, files, options and versions that it comes from

    def table(self, file: str) -> dict[str, Array]:
        """Return a table of numbers by the names of its columns.

        Args:
            file: Name of the file.

        Returns:
            Columns, shape (n,) each, NaN where a field is empty; no column if there is no such file.

        Raises:
            RecordingError: If the file is no table of numbers.
        """
        path = self.folder / file
        if not path.is_file():
            return {}
        names, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        try:
            columns = np.array([[float(text or "nan") for text in row] for row in rows]).T
            return dict(zip(names, columns, strict=True))
        except ValueError as error:
            raise RecordingError(f"'{path}' is no table of numbers: {one_line(error)}") from error


def read_results(folders: Sequence[Path]) -> list[RunResult]:
    """Read result folders of replay or identify; each gets a unique name.

    Raises:
        RecordingError: If a folder holds no result.
    """
    parts = [folder.resolve().parts for folder in folders]
    names = [str(folder) for folder in folders]
    for count in range(max(map(len, parts), default=0), 0, -1):  # the fewest last parts that are unique
        shorter = ["/".join(part[-count:]) for part in parts]
        names = shorter if len(set(shorter)) == len(shorter) else names
    return [_read(folder, name) for folder, name in zip(folders, names, strict=True)]


def _read(folder: Path, name: str) -> RunResult:
    for file, kind in COMMANDS.items():
        path = folder / file
        if not path.is_file():
            continue
        text = read_text(path, "result", RecordingError)
        try:
            content = json.loads(text)
            values = dict(_replayed(content) if kind == "replay" else _identified(content))
            return RunResult(name, folder, kind, values, dict(content["provenance"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RecordingError(f"'{path}' is no result of {kind}: {one_line(repr(error))}") from error
    there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    raise RecordingError(
        f"'{folder}' is no result of replay or identify: expected {' or '.join(COMMANDS)} in it, "
        f"it has {listing(there, limit=5)}"
    )


def _replayed(metrics: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Yield the values of `metrics.json`."""
    truth = metrics.get("truth", {})
    for name, quantity, unit in BASE_ERRORS:
        if name in metrics:
            yield f"{quantity} error, rms", _error(metrics[name]["rms"], unit)
    if truth.get("tilt_error_deg"):
        yield "tilt error against the truth, rms", _error(truth["tilt_error_deg"]["rms"], "deg")
    if "tilt_sigma_deg" in metrics:
        yield "tilt's own sigma, median", Value(metrics["tilt_sigma_deg"], "deg")
    if "total_mass_kg" in metrics:
        yield "total mass", Value(metrics["total_mass_kg"], "kg")
    masses = [
        (link, found, truth.get("links", {}).get(link)) for link, found in metrics.get("links", {}).items()
    ]
    if "trunk" in metrics:
        masses.append((f"{metrics['trunk']['link']} (at rest)", metrics["trunk"], truth.get("trunk")))
    for link, found, true in masses:
        yield f"mass of {link}", Value(found["mass_kg"], "kg", found["mass_sigma_kg"])
        if true:
            yield f"mass error of {link}", _error(true["mass_error_kg"], "kg", found["mass_sigma_kg"])
    if "torque_error_relative" in metrics:
        yield "torque error on other data", _error(100.0 * metrics["torque_error_relative"], "%")
    if "nis" in metrics:
        yield "innovations", Value(str(metrics["nis"]["verdict"]))
        yield "NIS, median over expected", Value(metrics["nis"]["median"] / metrics["nis"]["expected"])
    if "accepted_fraction" in metrics:
        yield "measurements accepted", Value(100.0 * metrics["accepted_fraction"], "%")
    for name, title in (("loads", "loads located"), ("external_wrenches", "pushes located")):
        if name in metrics:
            yield title, Value(float(len(metrics[name])))
    if metrics.get("checks"):
        failed = sum(check["verdict"] != "ok" for check in metrics["checks"])
        yield "data checks not ok", Value(float(failed))


def _identified(report: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Yield the values of `identification.json`: those of the method that was chosen."""
    result = report["methods"][report["chosen"]]
    yield "method", Value(str(report["chosen"]))
    yield "rank", Value(float(report["rank"]))
    yield "condition number", Value(report["condition"])
    for name, data in (("relative_error", "fitted"), ("relative_error_validation", "other")):
        if result.get(name) is not None:
            yield f"torque error on {data} data", _error(100.0 * result[name], "%")
    for link, body in result["bodies"].items():
        sigma = result["parameters"].get(f"{link}/m", {}).get("sigma")
        yield f"mass of {link}", Value(body["inertia"]["mass"], "kg", sigma)
    load = result.get("payload")
    if load:
        yield f"mass of {load['name']}", Value(load["mass"], "kg", load["mass_sigma"])


def _error(value: float | None, unit: str, sigma: float | None = None) -> Value:
    return Value(math.nan if value is None else value, unit, sigma, smaller_is_better=True)


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
