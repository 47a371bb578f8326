"""Print the version of the package."""

import argparse

from inertial_estimation import __version__

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    print(__version__)
    return 0
