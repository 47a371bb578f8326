"""Provenance of results: version, command, machine, files that were read, parameters in effect."""

import argparse
import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from inertial_estimation import __version__
from inertial_estimation.configuration.config_file import find_config
from inertial_estimation.configuration.urdf_source import is_xml

BAG_ENDINGS = (".mcap", ".db3", ".zstd")
LONGEST_TEXT = 200  # characters of a text parameter that are kept; one can be a whole robot description


def provenance(
    args: argparse.Namespace,
    options: Iterable[str],
    *,
    bags: Iterable[str | Path],
    urdf: tuple[str, str],
    parameters: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the provenance of a command's results, for their JSON file.

    Args:
        args: Arguments of the command.
        options: Names of the arguments that determine the results, besides files and parameters.
        bags: Recordings that were read.
        urdf: Source of the robot description, unless ``--urdf`` replaces it, and its text.
        parameters: All parameters in effect, by node and dotted name.

    Returns:
        ``version`` (``package``, and of a checkout ``commit`` and ``modified``), ``command``, ``time`` (UTC),
        ``machine``, ``bags`` with their files, ``config`` files and ``urdf``, each with its SHA-256,
        ``param``, ``options`` and ``parameters``.
    """
    source = args.urdf or urdf[0]
    return {
        "version": {"package": __version__, **_commit(Path(__file__).resolve().parents[2])},
        "command": ["inertial-estimation", *sys.argv[1:]],
        "working_directory": str(Path.cwd()),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "python": platform.python_version(),
            **versions_of("numpy", "scipy", "pin"),
        },
        "bags": [{"path": str(bag), "files": _bag_files(Path(bag))} for bag in bags],
        "config": [{"name": name, **_file_record(find_config(name))} for name in args.config],
        "urdf": {
            "source": "text of the parameter" if is_xml(source) else source,
            "sha256": hashlib.sha256(urdf[1].encode()).hexdigest(),
        },
        "param": list(args.param),
        "options": _plain({name: getattr(args, name) for name in options}),
        "parameters": _plain(parameters),
    }


def versions_of(*packages: str) -> dict[str, str]:
    """Return the versions of the installed ones among some packages."""
    versions = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent: lists, mappings, numbers and texts of bounded length."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value)[:LONGEST_TEXT] if isinstance(value, str | Path) else value


def _file_record(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and SHA-256 (hexadecimal) of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
            size += len(block)
    return {"path": str(path), "bytes": size, "sha256": digest.hexdigest()}


def _bag_files(bag: Path) -> list[dict[str, Any]]:
    """Return the records of the files of a bag, in their order."""
    files = sorted(bag.iterdir()) if bag.is_dir() else []
    return [_file_record(file) for file in files if file.name.endswith(BAG_ENDINGS)] or [_file_record(bag)]


def _commit(root: Path) -> dict[str, Any]:
    """Return the commit of a checkout and whether its files are modified; empty if it is no checkout."""
    if not (root / ".git").exists():
        return {}
    git = ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--match=", "--dirty"]
    with suppress(OSError, subprocess.SubprocessError):  # no git, or a folder that it does not trust
        name = subprocess.check_output(git, stderr=subprocess.DEVNULL, text=True, timeout=5.0).strip()
        return {"commit": name.removesuffix("-dirty"), "modified": name.endswith("-dirty")}
    return {}
