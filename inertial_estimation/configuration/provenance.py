"""Where results come from: version, command, machine, files that were read, parameters in effect."""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from inertial_estimation import __version__
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.urdf_source import is_xml

BAG_ENDINGS = (".mcap", ".db3", ".zstd")
LONGEST_TEXT = 200  # of a parameter; a robot description can be one
NUMERICAL_PACKAGES = ("numpy", "scipy", "pin")  # whose versions can change results
GIT_TIMEOUT_S = 5.0
LONGEST_LISTING = 1000  # files of a folder


def provenance(
    *,
    bags: Iterable[str | Path],
    configs: Sequence[str],
    urdf_source: str,
    urdf: str,
    overrides: Sequence[str],
    options: Mapping[str, Any],
    parameters: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the provenance of a run, for its JSON file.

    Args:
        bags: The recordings.
        configs: Parameter files, by path or by a robot's name.
        urdf_source: Where the robot description came from.
        urdf: Its text.
        overrides: Texts of ``--param``.
        options: Other options that determine the results.
        parameters: All parameters in effect, by node and dotted name.

    Returns:
        The run (``version``, ``command``, ``time``, ``machine``), ``bags`` with their files, ``config`` files
        and ``urdf``, each with its SHA-256, ``param``, ``options`` and ``parameters``.
    """
    source = "text of the parameter" if is_xml(urdf_source) else urdf_source
    return {
        **run_record(),
        "bags": [{"path": str(bag), "files": file_records(bag, BAG_ENDINGS)} for bag in bags],
        "config": [{"name": name, **file_record(find_config(name))} for name in configs],
        "urdf": {"source": source, "sha256": text_hash(urdf)},
        "param": list(overrides),
        "options": {name: _plain(value) for name, value in options.items()},
        "parameters": {
            node: {name: _plain(value) for name, value in values.items()}
            for node, values in parameters.items()
        },
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return str(value) if isinstance(value, Path) else value


def run_record() -> dict[str, Any]:
    """Return what describes a run of a command.

    Returns:
        ``version`` (``package``, and of a checkout ``commit`` and ``modified``), ``command`` (the command
        line), ``working_directory``, ``time`` (UTC, ISO 8601) and ``machine``.
    """
    return {
        "version": {"package": __version__, **_commit(Path(__file__).resolve().parents[2])},
        "command": ["inertial-estimation", *sys.argv[1:]],
        "working_directory": str(Path.cwd()),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "python": platform.python_version(),
            **{name: _version_of(name) for name in NUMERICAL_PACKAGES},
        },
    }


def file_record(path: str | Path) -> dict[str, Any]:
    """Return path, size in bytes and SHA-256 of a file, as ``sha256sum`` prints it."""
    digest, size = hashlib.sha256(), 0
    with Path(path).open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
            size += len(block)
    return {"path": str(path), "bytes": size, "sha256": digest.hexdigest()}


def file_records(path: str | Path, endings: Iterable[str]) -> list[dict[str, Any]]:
    """Return the record of a file, or those of the files with some endings in a folder, in their order."""
    place, wanted = Path(path), tuple(endings)
    if not place.is_dir():
        return [file_record(place)]
    files = sorted(item for item in place.iterdir() if item.is_file() and item.name.endswith(wanted))
    return [file_record(file) for file in files[:LONGEST_LISTING]]


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit(root: Path) -> dict[str, Any]:
    """Return the commit of a checkout and whether its files differ from it; nothing where there is none."""
    if not (root / ".git").exists():
        return {}
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(root), *arguments],
                capture_output=True,
                text=True,
                timeout=GIT_TIMEOUT_S,
                check=True,
            ).stdout.strip()
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.SubprocessError):  # no git, or a folder that it does not trust
        return {}
    return {"commit": commit, "modified": bool(changes)}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
