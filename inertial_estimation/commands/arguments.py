"""What the options of `options` give: checked folders and files, remappings."""

import argparse
import importlib
from collections.abc import Iterable
from pathlib import Path

from inertial_estimation.errors import ConfigurationError, MissingDependencyError
from inertial_estimation.files.outputs import check_output_folder, output_file


def check_output(args: argparse.Namespace) -> Path:
    """Return the folder of ``--output`` if results can be written there.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If they cannot, or the folder is not empty.
    """
    return check_output_folder(args.output, overwrite=args.overwrite)


def parse_remappings(texts: Iterable[str]) -> dict[str, str]:
    """Read topic remappings as ROS writes them, ``from:=to``; both names are taken in the root namespace.

    Returns:
        New absolute topic name by old one.

    Raises:
        ConfigurationError: If a text is no remapping.
    """
    remappings: dict[str, str] = {}
    for text in texts:
        old, sign, new = text.partition(":=")
        if not (sign and old.strip("/") and new.strip("/")):
            raise ConfigurationError(f"'{text}' is no remapping, expected from:=to")
        remappings["/" + old.lstrip("/")] = "/" + new.lstrip("/")
    return remappings


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
        raise MissingDependencyError(
            "--rrd needs the extra 'view': pip install 'inertial_estimation[view]'"
        ) from error
    return output_file(args.rrd, ".rrd", "--rrd")
