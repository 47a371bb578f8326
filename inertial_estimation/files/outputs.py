"""Result files and folders: paths are checked before any computation, and content is written atomically."""

import csv
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import ConfigurationError, listing, one_line
from inertial_estimation.files.text_file import resolved_path

PARTIAL = ".partial-"  # prefix of files and folders that are being written


def check_output_folder(
    path: str | Path,
    *,
    overwrite: bool = False,
    shared: bool = False,
    remedy: str = "replace earlier results with --overwrite",
) -> Path:
    """Check that results can be written into a folder, which need not exist; the check does not change it.

    Args:
        path: The folder.
        overwrite: Whether it may contain results of an earlier run, which are replaced later.
        shared: Whether it is meant for the results of several runs, each under names of its own.
        remedy: Another remedy for a folder that is not empty, for the message.

    Returns:
        The folder.

    Raises:
        ConfigurationError: If it is not a folder, cannot be written into, or contains something else.
    """
    folder = resolved_path(path)
    with _writing(f"into '{one_line(folder)}'"):
        there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
        if there and not (overwrite or shared):
            raise ConfigurationError(
                f"the folder '{one_line(folder)}' is not empty, it has {listing(there, limit=5)}: "
                f"name another one, or {remedy}"
            )
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        finally:
            for place in missing:
                with suppress(OSError):
                    place.rmdir()
    return folder


def output_file(path: str | Path, suffix: str, what: str) -> Path:
    """Check that a file can be written, and resolve symbolic links in the path of its folder.

    Args:
        path: The file; an existing one is replaced later.
        suffix: Ending that its name must have.
        what: The option or parameter that names the file, for messages.

    Raises:
        ConfigurationError: If the ending is another one, or the file cannot be written.
    """
    file = resolved_path(path)
    if file.suffix != suffix:
        raise ConfigurationError(f"{what} is '{one_line(path)}', expected a path that ends in '{suffix}'")
    with _writing(f"'{one_line(file)}'"):
        place = file.parent.resolve(strict=True) / file.name
        if place.is_dir():
            raise ConfigurationError(f"{what} is '{one_line(path)}', which is a folder, expected a file")
        tempfile.TemporaryFile(dir=place.parent).close()
    return place


def write_text(path: Path, text: str) -> Path:
    """Write a UTF-8 file atomically: under another name in its folder, then renamed.

    Returns:
        The path.

    Raises:
        ConfigurationError: If it cannot be written; an existing file is unchanged then.
    """
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(4)}")
    with _writing(f"'{one_line(path)}'"):
        try:
            with partial.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    return path


def write_json(path: Path, document: Any) -> Path:
    """Write a document of `json_text` atomically; errors are those of `write_text`."""
    return write_text(path, json_text(document))


def json_text(document: Any) -> str:
    """Return a document as JSON: mappings, lists, tuples, strings, numbers and None, nested.

    Dataclasses become mappings of their fields, arrays lists, members of enumerations their values. Numbers
    that are not finite, which JSON cannot represent, become null.
    """
    return json.dumps(_finite(document), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, Enum):
        value = value.value
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):  # numpy's float64 is one
        return float(value) if math.isfinite(value) else None
    return value


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write column names and rows as CSV into a result folder; the rows may be computed one by one."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


@contextmanager
def result_folder(folder: Path, own: Collection[str] = ()) -> Iterator[Path]:
    """Yield a temporary folder for results, whose content is moved into the result folder at the end.

    An exception or interrupt within the context leaves no partial results; earlier results are unchanged.

    Args:
        folder: The result folder; it is created if it does not exist.
        own: Names of all results that an earlier run may have left; those not written again are removed.

    Raises:
        ConfigurationError: If the folder cannot be written into.
    """
    with _writing(f"into '{one_line(folder)}'"):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=folder) as partial:
                yield Path(partial)
                new = [item.name for item in Path(partial).iterdir()]
                for name in {*own, *new}:
                    old = folder / name
                    if old.is_dir() and not old.is_symlink():
                        shutil.rmtree(old)
                    elif name not in new:
                        old.unlink(missing_ok=True)
                for name in new:
                    os.replace(Path(partial) / name, folder / name)
        finally:
            with suppress(OSError):  # not empty
                folder.rmdir()


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn errors of the file system within the context into a `ConfigurationError`, except broken pipes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise ConfigurationError(f"cannot write {what}: {reason or one_line(error)}") from error
