"""What determines the results of a command, so that another run can be compared with it or repeat it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.urdf_source import is_xml
from inertial_estimation.files.run_record import file_record, file_records, run_record, text_hash

BAG_ENDINGS = (".mcap", ".db3", ".zstd")
LONGEST_TEXT = 200  # of a parameter; a robot description can be one


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
