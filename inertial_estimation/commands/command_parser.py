"""Parser of every command: errors of one line that name the nearest option or choice, and completion."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from inertial_estimation.errors import did_you_mean

WRONG_USE = 2  # exit code


class CommandParser(argparse.ArgumentParser):
    """An `ArgumentParser` whose description keeps its lines, and which never prints a wall of names."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Build a parser as `ArgumentParser` does."""
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        print(f"{self.prog}: {message} ('{self.prog} --help' describes it)", file=sys.stderr)
        sys.exit(WRONG_USE)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as `ArgumentParser` does, after a look for options that do not exist.

        A misspelt option is named before a required one that is missing because of it.
        """
        given = sys.argv[1:] if args is None else list(args)
        if self._subparsers is None:
            self._check_options(given)
        return super().parse_known_args(given, namespace)

    def _check_options(self, given: Sequence[str]) -> None:
        known = list(self._option_string_actions)
        for text in given:
            if text == "--":
                return
            name = text.partition("=")[0]
            if text.startswith("--") and not any(option.startswith(name) for option in known):
                self.error(f"no option '{name}'{did_you_mean(name, known, 'there are')}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            raise argparse.ArgumentError(
                action, f"'{value}' is no choice{did_you_mean(str(value), known, 'expected one of')}"
            )


def complete(
    commands: Mapping[str, str], add_arguments: Callable[[str, argparse.ArgumentParser], None]
) -> None:
    """Answer a shell that asks for completions (package argcomplete), and exit; unasked nothing happens.

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
