"""One result folder of replay or identify, read back."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.comparison.result_values import Value, identified_values, replayed_values
from inertial_estimation.errors import RecordingError, listing, one_line
from inertial_estimation.files.text_file import LARGEST_TABLE, read_text
from inertial_estimation.offline.identification_files import JSON_FILE
from inertial_estimation.replay.result_files import METRICS_FILE
from inertial_estimation.signals import Array

READERS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Value]]]] = {
    METRICS_FILE: ("replay", replayed_values),
    JSON_FILE: ("identify", identified_values),
}


@dataclass(frozen=True, eq=False)
class RunResult:
    """A result folder.

    Attributes:
        name: What to call it.
        folder: The folder.
        kind: Command that wrote it: ``replay`` or ``identify``.
        values: What is compared, by name.
        provenance: Where it came from.
    """

    name: str
    folder: Path
    kind: str
    values: Mapping[str, Value]
    provenance: Mapping[str, Any]

    @property
    def has_curves(self) -> bool:
        """Whether there are tables over time; `replay --format mcap` alone writes none."""
        return self.kind != "replay" or any(self.folder.glob("*.csv"))

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
        rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        names = next(rows, [])
        try:
            numbers = np.array([[float(text or "nan") for text in row] for row in rows], dtype=np.float64)
            columns = numbers.reshape(-1, len(names)).T
        except ValueError as error:
            raise RecordingError(f"'{path}' is no table of numbers: {one_line(error)}") from error
        return dict(zip(names, columns, strict=True))


def read_results(folders: Sequence[Path]) -> list[RunResult]:
    """Read result folders.

    Args:
        folders: Folders of replay or identify.

    Returns:
        The results, with names that differ.

    Raises:
        RecordingError: If a folder holds no result.
    """
    names = _short_names(folders)
    return [_read(folder, name) for folder, name in zip(folders, names, strict=True)]


def _read(folder: Path, name: str) -> RunResult:
    for file, (kind, values_of) in READERS.items():
        path = folder / file
        if not path.is_file():
            continue
        text = read_text(path, "result", limit=LARGEST_TABLE, error_class=RecordingError)
        try:
            content = json.loads(text)
            return RunResult(name, folder, kind, values_of(content), dict(content["provenance"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RecordingError(f"'{path}' is no result of {kind}: {one_line(repr(error))}") from error
    there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    raise RecordingError(
        f"'{folder}' is no result of replay or identify: expected {' or '.join(READERS)} in it, "
        f"it has {listing(there, limit=5)}"
    )


def _short_names(folders: Sequence[Path]) -> list[str]:
    """Return the last parts of paths, as many of them as it takes to tell the paths apart."""
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
