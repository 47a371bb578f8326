"""Print the version of the package."""

import argparse
from importlib import metadata

__all__ = ["EXAMPLES", "add_arguments", "package_version", "run"]

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    print(package_version())
    return 0


def package_version() -> str:
    """Return the version of the installed package."""
    try:
        return metadata.version("inertial_estimation")
    except metadata.PackageNotFoundError:
        return "unknown (not installed, run from its sources)"
