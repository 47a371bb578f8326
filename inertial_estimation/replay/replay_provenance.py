"""What determines the results of a replay, so that another one can be compared with it or repeat it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import Pipelines
from inertial_estimation.configuration.urdf_source import is_xml
from inertial_estimation.files.provenance import file_record, file_records, run_record, text_hash

__all__ = ["bag_records", "config_records", "replay_provenance", "urdf_record"]

BAG_ENDINGS = (".mcap", ".db3", ".zstd")
LONGEST_TEXT = 200  # of a parameter; a robot description can be one


def replay_provenance(
    pipelines: Pipelines,
    *,
    bag: Path,
    configs: Sequence[str],
    urdf: str,
    overrides: Sequence[str],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the provenance of a replay for `metrics.json`.

    Args:
        pipelines: What was replayed.
        bag: The recording.
        configs: Parameter files, as given.
        urdf: Robot description, as given; empty: that of the parameter files.
        overrides: Texts of ``--param``.
        options: Other options that determine the results.

    Returns:
        The run (version, command, machine), ``bags`` with their files, ``config`` files and ``urdf``, each
        with its SHA-256, ``param``, ``options``, and ``parameters``: all values in effect by node.
    """
    return {
        **run_record(),
        "bags": bag_records([bag]),
        "config": config_records(configs),
        "urdf": urdf_record(urdf or str(pipelines.values["urdf"]), pipelines.urdf),
        "param": list(overrides),
        "options": {name: _plain(value) for name, value in options.items()},
        "parameters": {
            node: {name: _plain(value) for name, value in values.items()}
            for node, values in pipelines.parameters.items()
        },
    }


def bag_records(bags: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return the paths of recordings with the records of their files."""
    return [{"path": str(bag), "files": file_records(bag, BAG_ENDINGS)} for bag in bags]


def config_records(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the records of parameter files, given by path or by a robot's name."""
    return [{"name": name, **file_record(find_config(name))} for name in names]


def urdf_record(source: str, text: str) -> dict[str, Any]:
    """Return where a robot description came from and the SHA-256 of its text."""
    return {"source": "text of the parameter" if is_xml(source) else source, "sha256": text_hash(text)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return str(value) if isinstance(value, Path) else value
