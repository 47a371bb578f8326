"""Compile all functions of numbers ahead, so that the first start of a node or a command need not.

It takes one to four minutes and needs the extra `fast`. Machine code is kept in NUMBA_CACHE_DIR, or else the
user's cache folder, apart for each version and kind of processor. In an image, or for several users, set
NUMBA_CACHE_DIR to a folder that all of them can read, here and for the nodes.
"""

import argparse

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""
