"""Arguments of commands, declared once so that they mean the same everywhere."""

import argparse
from pathlib import Path

from inertial_estimation.commands.completion import completed_by, parameter_names, robot_names
from inertial_estimation.files.outputs import check_output_folder

__all__ = ["add_output", "add_param", "add_remap", "add_robot", "add_workers", "check_output"]


def add_robot(parser: argparse.ArgumentParser, examples: str, more: str = "") -> None:
    """Declare ``--config``, which may be repeated, and ``--urdf``.

    Args:
        parser: Parser of the command.
        examples: Robots that come with the package and suit the command.
        more: What later files usually hold.
    """
    later = "repeat it for more files, later ones override earlier ones" + (f" ({more})" if more else "")
    config = parser.add_argument(
        "--config",
        action="append",
        required=True,
        metavar="NAME|FILE",
        help=f"ROS parameter file or the name of a robot ({examples}); {later}",
    )
    completed_by(config, robot_names)
    parser.add_argument(
        "--urdf", default="", metavar="SOURCE", help="robot description; overrides the parameter 'urdf'"
    )


def add_output(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Declare ``--output`` and ``--overwrite``; `check_output` checks them.

    Args:
        parser: Parser of the command.
        required: Whether the command always writes results.
    """
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        required=required,
        help="folder the results are written to, new or empty",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the results of an earlier run in that folder"
    )


def check_output(args: argparse.Namespace) -> Path:
    """Return the folder of ``--output`` if results can be written there.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If they cannot, or the folder is not empty.
    """
    return check_output_folder(args.output, overwrite=args.overwrite)


def add_remap(parser: argparse.ArgumentParser, meaning: str = "read topic B in place of A") -> None:
    """Declare ``--remap``.

    Args:
        parser: Parser of the command.
        meaning: What ``A:=B`` does.
    """
    parser.add_argument(
        "--remap",
        action="append",
        default=[],
        metavar="A:=B",
        help=f"{meaning}; repeat it for more",
    )


def add_workers(
    parser: argparse.ArgumentParser, what: str, effect: str = "results do not depend on their number"
) -> None:
    """Declare ``--jobs`` and ``--cluster``, of which `parallel.open_workers` makes the workers.

    Args:
        parser: Parser of the command.
        what: What is repeated, for instance ``seeds``.
        effect: What their number means for the results.
    """
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help=f"processes that share the {what}; {effect} (1)",
    )
    where.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help=f"scheduler of a Dask cluster that shares the {what}, tcp://HOST:PORT (extra 'cluster')",
    )


def add_param(parser: argparse.ArgumentParser, form: str) -> None:
    """Declare ``--param``.

    Args:
        parser: Parser of the command.
        form: Form of the values, for instance ``NODE.NAME=VALUE``.
    """
    param = parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar=form,
        help="override a parameter of the files ('/**' is the section of all nodes); repeat it for more",
    )
    completed_by(param, parameter_names)
