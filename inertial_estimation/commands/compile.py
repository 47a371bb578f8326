"""`inertial-estimation compile`: functions compiled ahead."""

import argparse
import importlib
import pkgutil
from contextlib import suppress
from pathlib import Path

from inertial_estimation.compilation import compiling, kept_in, warm_up
from inertial_estimation.errors import ConfigurationError


def run(args: argparse.Namespace) -> int:
    """Compile all functions, print how many and where they are kept.

    Args:
        args: Command line; the command has no options.

    Raises:
        ConfigurationError: Nothing is compiled here, or it cannot be kept.
    """
    if not compiling():
        raise ConfigurationError(
            "numba is not installed or is switched off by NUMBA_DISABLE_JIT; "
            "pip install 'inertial_estimation[fast]' installs it"
        )
    folder = kept_in()
    if not folder:
        raise ConfigurationError(
            "machine code cannot be kept: NUMBA_CACHE_DIR, or else the user's cache folder, is not writable"
        )
    made = compile_all()
    print(f"compiled {made} functions, kept in {folder}" if made else f"all compiled before, in {folder}")
    return 0


def compile_all() -> int:
    """Compile every function of the package that can be imported here, or load it from disk.

    Returns:
        How many were compiled: those that were not on disk.
    """
    package = __name__.partition(".")[0]
    for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], f"{package}."):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
    return warm_up()
