"""Compile all functions of numbers ahead, so that the first start of a node or a command need not.

It takes one to four minutes and needs the extra `fast`. Machine code is kept in NUMBA_CACHE_DIR or the user's
cache folder, apart for each version and place of installation: in an image or an installation for several
users, set NUMBA_CACHE_DIR to a folder that all of them can read, here and for the nodes.
"""

import argparse

from inertial_estimation.errors import ConfigurationError

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """Compile all functions, print how many and where they are kept."""
    from inertial_estimation.compilation import compile_all, compiling, kept_in

    if not compiling():
        raise ConfigurationError(
            "numba is not installed or is switched off by NUMBA_DISABLE_JIT; "
            "pip install 'inertial_estimation[fast]' installs it"
        )
    folder = kept_in()
    if not folder:
        raise ConfigurationError(
            "machine code cannot be kept: neither NUMBA_CACHE_DIR nor the user's cache folder is writable"
        )
    made = compile_all()
    print(f"compiled {made} functions, kept in {folder}" if made else f"all compiled before, in {folder}")
    return 0
