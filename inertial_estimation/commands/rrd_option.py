"""The option ``--rrd``: a recording of the robot and its estimates for the viewer Rerun."""

import argparse
import importlib
from pathlib import Path

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.files.outputs import output_file


def add_rrd(parser: argparse.ArgumentParser) -> None:
    """Declare ``--rrd``; `checked_rrd` checks it."""
    parser.add_argument(
        "--rrd",
        type=Path,
        metavar="FILE",
        help="also write the moving robot with its estimates to FILE.rrd, which 'rerun FILE.rrd' shows; an "
        "existing file is replaced",
    )


def checked_rrd(args: argparse.Namespace) -> Path | None:
    """Return the file of ``--rrd`` if it can be written; None without the option.

    Raises:
        MissingDependencyError: If the viewer's package is not installed.
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
    """
    if args.rrd is None:
        return None
    try:
        importlib.import_module("rerun")
    except ImportError as error:
        raise MissingDependencyError("--rrd needs the package 'rerun-sdk': pip install rerun-sdk") from error
    return output_file(args.rrd, ".rrd", "--rrd")
