"""Completion of commands, options and names of robots in a shell, by the package argcomplete."""

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any


def complete(
    commands: Mapping[str, str], add_arguments: Callable[[str, argparse.ArgumentParser], None]
) -> None:
    """Answer a shell that asks for completions, and exit; without such a question nothing happens.

    Only the module of the command in the line is imported.

    Args:
        commands: Names and descriptions of the commands.
        add_arguments: Declares the arguments of one of them.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    words = os.environ.get("COMP_LINE", "").split()
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", action="store_true", help="print the version")
    parsers = parser.add_subparsers()
    for name, text in commands.items():
        command = parsers.add_parser(name, help=text)
        if name in words:
            add_arguments(name, command)
    argcomplete.autocomplete(parser)


def completed_by(action: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Let the shell complete the value of an option by names and by the files of the working directory."""

    def completer(prefix: str, **_asked: Any) -> list[str]:
        files = [str(path) for path in Path().glob(f"{prefix}*")] if prefix else []
        return [*names(), *files]

    action.completer = completer  # type: ignore[attr-defined]


def robot_names() -> list[str]:
    """Return the names of the robots whose parameter files come with the package."""
    from inertial_estimation.configuration.config_lookup import config_folders

    return sorted({path.stem for folder in config_folders() for path in folder.glob("*.yaml")})


def parameter_names() -> list[str]:
    """Return ``NODE.NAME=`` of every parameter."""
    from inertial_estimation.configuration.node_configs import NODE_CONFIGS, parameters_of

    return [f"{node}.{name}=" for node in NODE_CONFIGS for name in sorted(parameters_of(node))]
