"""`inertial-estimation version`: the version of the package."""

import argparse

from inertial_estimation import __version__


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    print(__version__)
    return 0
