"""Disturbances that a command was given, as YAML texts and in a YAML file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inertial_estimation.files.safe_yaml import read_yaml, yaml_line
from inertial_estimation.simulation.disturbance_yaml import disturbances_from_list, parse_disturbance
from inertial_estimation.simulation.disturbances import Disturbance


def given_disturbances(args: argparse.Namespace) -> list[Disturbance]:
    """Return the disturbances of ``--disturbance``, then those of ``--disturbances``.

    Raises:
        ConfigurationError: If a text or the file is wrong.
    """
    texts: Sequence[str] = args.disturbance
    in_file = _file_content(args.disturbances)
    return [*map(parse_disturbance, texts), *disturbances_from_list(in_file, f"'{args.disturbances}'")]


def disturbance_texts(args: argparse.Namespace) -> list[str]:
    """Return each disturbance as text, in the order of `given_disturbances`."""
    in_file = _file_content(args.disturbances)
    return [*args.disturbance, *map(yaml_line, in_file)]


def _file_content(path: Path | None) -> Any:
    if path is None:
        return []
    return read_yaml(path, "list of disturbances")
