"""Arguments of commands, declared once so that they mean the same everywhere."""

import argparse
from pathlib import Path

from inertial_estimation.commands.completion import completed_by, parameter_names, robot_names
from inertial_estimation.files.outputs import check_output_folder

STORAGES = ("mcap", "sqlite3")


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


def add_bag(parser: argparse.ArgumentParser) -> None:
    """Declare the recording that is read."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, or its .mcap or .db3 file")


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Declare the recordings that are read, one or more."""
    parser.add_argument("bags", nargs="+", metavar="BAG", help="rosbag2 folders, or .mcap or .db3 files")


def add_start(parser: argparse.ArgumentParser, meaning: str = "begin S seconds into the bag") -> None:
    """Declare ``--start``.

    Args:
        parser: Parser of the command.
        meaning: What the time S does.
    """
    parser.add_argument("--start", type=float, default=0.0, metavar="S", help=meaning)


def add_reference(parser: argparse.ArgumentParser, effect: str = "") -> None:
    """Declare ``--reference``.

    Args:
        parser: Parser of the command.
        effect: What it is used for, where that is not evident.
    """
    parser.add_argument(
        "--reference",
        metavar="TOPIC",
        help="topic of the true pose or orientation, PoseStamped or QuaternionStamped"
        + (f": {effect}" if effect else ""),
    )


def add_names(parser: argparse.ArgumentParser, option: str, metavar: str, meaning: str) -> None:
    """Declare a list of names, which is given in one piece or piece by piece.

    Args:
        parser: Parser of the command.
        option: The option, for instance ``--joints``.
        metavar: What one name is of, for instance ``JOINT``.
        meaning: What the names are.
    """
    parser.add_argument(option, nargs="+", action="extend", default=[], metavar=metavar, help=meaning)


def add_output(
    parser: argparse.ArgumentParser,
    meaning: str = "folder the results are written to",
    *,
    required: bool = True,
) -> None:
    """Declare ``--output`` and ``--overwrite``; `check_output` checks them.

    Args:
        parser: Parser of the command.
        meaning: What is written to the folder.
        required: Whether the command always writes results.
    """
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        required=required,
        help=f"{meaning}, new or empty",
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


def add_output_bag(parser: argparse.ArgumentParser) -> None:
    """Declare ``--output`` of a command that writes a recording."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the new rosbag2")


def add_storage(parser: argparse.ArgumentParser) -> None:
    """Declare ``--storage`` of a command that writes a recording."""
    parser.add_argument("--storage", choices=STORAGES, default="mcap", help="format of the bag (mcap)")


def add_overwrite_bag(parser: argparse.ArgumentParser) -> None:
    """Declare ``--overwrite`` of a command that writes a recording."""
    parser.add_argument("--overwrite", action="store_true", help="replace a rosbag2 that exists there")


def add_noise_free(parser: argparse.ArgumentParser) -> None:
    """Declare ``--noise-free``."""
    parser.add_argument("--noise-free", action="store_true", help="simulate sensors without noise and bias")


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Declare ``--seed``.

    Args:
        parser: Parser of the command.
        of: What is random.
    """
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=f"seed of {of} (0)")


def add_no_figures(parser: argparse.ArgumentParser, what: str = "figures") -> None:
    """Declare ``--no-figures``.

    Args:
        parser: Parser of the command.
        what: What is not written.
    """
    parser.add_argument("--no-figures", action="store_true", help=f"write no {what}")


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
