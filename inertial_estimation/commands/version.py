"""`inertial-estimation version`: the version of the installed package."""

import argparse
from importlib import metadata


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
