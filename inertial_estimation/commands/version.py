"""Print the version of the package."""

import argparse
from importlib import metadata

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    try:
        print(metadata.version("inertial_estimation"))
    except metadata.PackageNotFoundError:
        print("unknown (not installed, run from its sources)")
    return 0
