"""Result folders of replay and identify, read back: their values by names that both share."""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import RecordingError, listing, one_line, with_sigma
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


def value_text(value: Value | None) -> str:
    """Return a value with its standard deviation as text; a hyphen for none."""
    if value is None or isinstance(value.value, str):
        return "-" if value is None else str(value.value)
    return with_sigma(value.value, value.sigma)


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
