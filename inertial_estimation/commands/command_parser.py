"""Parser of every command: errors of one line that name the nearest option or choice."""

import argparse
import sys
from collections.abc import Sequence
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
