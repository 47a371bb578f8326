"""`inertial-estimation compile`: functions compiled ahead."""

import argparse

from inertial_estimation.compilation import compile_all, compiling, kept_in
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
            "machine code cannot be kept: neither NUMBA_CACHE_DIR nor the user's cache folder is writable"
        )
    made = compile_all()
    print(f"compiled {made} functions, kept in {folder}" if made else f"all compiled before, in {folder}")
    return 0
