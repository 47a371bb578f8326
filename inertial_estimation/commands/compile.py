"""Compile all functions of numbers ahead, so that the first start of a node or a command need not.

It takes one to four minutes and needs the extra `fast`. Machine code is kept in NUMBA_CACHE_DIR, or else the
user's cache folder, apart for each version and kind of processor. In an image, or for several users, set
NUMBA_CACHE_DIR to a folder that all of them can read, here and for the nodes.
"""

import argparse
import importlib
import pkgutil
from contextlib import suppress
from pathlib import Path

from inertial_estimation.errors import ConfigurationError

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """Compile all functions, print how many and where they are kept."""
    from inertial_estimation.compilation import compiling, kept_in

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
    from inertial_estimation.compilation import warm_up

    package = __name__.partition(".")[0]
    for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], f"{package}."):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
    return warm_up()
