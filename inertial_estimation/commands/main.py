"""The program `inertial-estimation <command>`: parsing, exit codes, signals."""

import argparse
import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from inertial_estimation import __version__
from inertial_estimation.commands import command_lines
from inertial_estimation.errors import InertialEstimationError, did_you_mean, one_line

PROGRAM = "inertial-estimation"
COMMANDS = (
    *("init", "replay", "check", "tune", "compare", "convert", "view", "play"),
    *("identify", "export", "excite", "calibrate", "synthesize", "simulate", "experiment", "demo", "monitor"),
)
WRONG_USE = 2  # exit code of a wrong command line


class Terminated(SystemExit):
    """Raised by a signal that ends the process; the exit code is 128 plus its number, as in a shell."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Command line without the program's name; None takes the process's own.

    Returns:
        Exit code: 0 success; 1 the command has failed (a line on stderr says why), or its answer is no; 2 the
        command line is wrong; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = given[0] if given and given[0] in COMMANDS else None
    if chosen is None:
        parser = _parser()
        parser.parse_args(given)
        parser.print_help()
        return WRONG_USE
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices; read when numpy is imported
    try:
        with unwound_by_signals():
            args = command_parser(chosen).parse_args(given[1:])
            command = importlib.import_module(f"inertial_estimation.commands.{chosen}")
            code = int(command.run(args))
            sys.stdout.flush()  # raises the error of a broken pipe here, not when the interpreter ends
            return code
    except (InertialEstimationError, OSError, ModuleNotFoundError) as error:
        if not isinstance(error, BrokenPipeError):
            print(f"{PROGRAM} {chosen}: {_in_one_line(chosen, error)}", file=sys.stderr)
        if isinstance(error, OSError):  # a folder without rights, a full disk, a file deleted meanwhile
            _discard_output()
        return int(getattr(sys.modules.get(f"inertial_estimation.commands.{chosen}"), "FAILED", 1))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except Terminated as ended:
        return int(ended.code or 0)


class CommandParser(argparse.ArgumentParser):
    """An `ArgumentParser` that keeps the lines of its description and suggests similar names."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Build a parser as `ArgumentParser` does."""
        super().__init__(*args, **{"formatter_class": argparse.RawDescriptionHelpFormatter, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        print(f"{self.prog}: {message} ('{self.prog} --help' describes it)", file=sys.stderr)
        sys.exit(WRONG_USE)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; a misspelt option is reported before a required one that is therefore missing."""
        known = list(self._option_string_actions)
        for text in [] if self._subparsers else args:
            name = text.partition("=")[0]
            if text == "--":
                break
            if text.startswith("--") and not any(option.startswith(name) for option in known):
                self.error(f"no option '{name}'{did_you_mean(name, known, 'there are')}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), map(str, action.choices), "expected one of")
            raise argparse.ArgumentError(action, f"'{value}' is no choice{hint}")


def command_parser(command: str) -> CommandParser:
    """Return the parser of one of `COMMANDS`, without importing the command's own module."""
    declare = getattr(command_lines, command)
    parser = CommandParser(prog=f"{PROGRAM} {command}", description=inspect.getdoc(declare))
    declare(parser)
    return parser


def _parser() -> CommandParser:
    texts = [inspect.getdoc(getattr(command_lines, name)) or "" for name in COMMANDS]
    first = [text.partition("\n")[0] for text in texts]
    lines = "\n".join(f"  {name:<12}{text}" for name, text in zip(COMMANDS, first, strict=True))
    parser = CommandParser(
        prog=PROGRAM,
        description=f"commands:\n{lines}\n\n'{PROGRAM} COMMAND --help' describes a command.",
        epilog="Exit codes: 0 done; 1 not done, a line on stderr says why, or the answer is no; 2 wrong use.",
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("--version", action="version", version=__version__, help="print the version and exit")
    return parser


def _in_one_line(command: str, error: Exception) -> str:
    """Return the error as one line; for a missing package, with the command that installs it."""
    if not isinstance(error, ModuleNotFoundError):
        return one_line(error, limit=4000)
    return (
        f"the command '{command}' needs the Python package '{error.name or ''}'; "
        f"pip install 'inertial_estimation[standalone,sim,tools]' has all of them"
    )


def _discard_output() -> None:
    """Redirect stdout to /dev/null if its reader is gone, so that the interpreter ends without an error."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM and SIGHUP (a closed terminal), so that resources are released.

    The exception of a signal (also of Ctrl-C) leaves the context even if code in it converts or discards the
    exception, as a compiler or an import may do. A signal that is ignored on entry (nohup) stays ignored.
    Python delivers signals to the main thread only; in another thread nothing is changed.
    """
    default = (signal.SIG_DFL, signal.default_int_handler)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in signals}
    raised: list[BaseException] = []

    def unwind(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT and raised:
            return  # a second signal must not interrupt the clean-up
        raised.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated(128 + number))
        raise raised[-1]

    changed = [number for number, handler in before.items() if handler in default]
    if threading.current_thread() is not threading.main_thread():
        changed = []
    for number in changed:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])
        if raised:
            raise raised[-1]


if __name__ == "__main__":
    sys.exit(main())
