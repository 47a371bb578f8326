"""Arguments of commands, declared once so that they mean the same everywhere, and what they give."""

import argparse
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from inertial_estimation.errors import ConfigurationError, MissingDependencyError
from inertial_estimation.files.outputs import check_output_folder, output_file

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
    urdf = "robot description; overrides the parameter 'urdf'"
    parser.add_argument("--urdf", default="", metavar="SOURCE", help=urdf)


def add_number(
    parser: argparse.ArgumentParser, option: str, default: float, metavar: str, meaning: str
) -> None:
    """Declare an option with a number, an integer where its default is one; `metavar` is its unit."""
    parser.add_argument(option, type=type(default), default=default, metavar=metavar, help=meaning)


def add_switch(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(option, action="store_true", help=meaning)


def add_bag(parser: argparse.ArgumentParser) -> None:
    """Declare the recording that is read."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, its .mcap or .db3 file, or a .bag of ROS 1")


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Declare the recordings that are read, one or more."""
    parser.add_argument(
        "bags", nargs="+", metavar="BAG", help="rosbag2 folders, .mcap or .db3 files, or .bag files of ROS 1"
    )


def add_start(parser: argparse.ArgumentParser, meaning: str = "begin S seconds into the bag") -> None:
    """Declare ``--start`` with what its time S does."""
    add_number(parser, "--start", 0.0, "S", meaning)


def add_reference(parser: argparse.ArgumentParser, effect: str = "") -> None:
    """Declare ``--reference``, with what it is used for where that is not evident."""
    reference = "topic of the true pose or orientation, PoseStamped or QuaternionStamped" + (
        f": {effect}" if effect else ""
    )
    parser.add_argument("--reference", metavar="TOPIC", help=reference)


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
    output = f"{meaning}, new or empty"
    parser.add_argument("--output", type=Path, metavar="DIR", required=required, help=output)
    add_switch(parser, "--overwrite", "replace the results of an earlier run in that folder")


def check_output(args: argparse.Namespace) -> Path:
    """Return the folder of ``--output`` if results can be written there.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If they cannot, or the folder is not empty.
    """
    return check_output_folder(args.output, overwrite=args.overwrite)


def add_output_bag(parser: argparse.ArgumentParser) -> None:
    """Declare ``--output``, ``--storage`` and ``--overwrite`` of a command that writes a recording."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the new rosbag2")
    parser.add_argument("--storage", choices=STORAGES, default="mcap", help="format of the bag (mcap)")
    add_switch(parser, "--overwrite", "replace a rosbag2 that exists there")


def add_noise_free(parser: argparse.ArgumentParser) -> None:
    """Declare ``--noise-free``."""
    add_switch(parser, "--noise-free", "simulate sensors without noise and bias")


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Declare ``--seed`` of what is random."""
    add_number(parser, "--seed", 0, "N", f"seed of {of} (0)")


def add_no_figures(parser: argparse.ArgumentParser, what: str = "figures") -> None:
    """Declare ``--no-figures`` with what is not written."""
    add_switch(parser, "--no-figures", f"write no {what}")


def add_remap(parser: argparse.ArgumentParser, meaning: str = "read topic B in place of A") -> None:
    """Declare ``--remap`` with what ``A:=B`` does; `parse_remappings` reads it."""
    remap = f"{meaning}; repeat it for more"
    parser.add_argument("--remap", action="append", default=[], metavar="A:=B", help=remap)


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
    jobs = f"processes that share the {what}; {effect} (1)"
    where.add_argument("--jobs", type=int, default=1, metavar="N", help=jobs)
    cluster = f"scheduler of a Dask cluster that shares the {what}, tcp://HOST:PORT (extra 'cluster')"
    where.add_argument("--cluster", default="", metavar="ADDRESS", help=cluster)


def add_param(parser: argparse.ArgumentParser, form: str = "NODE.NAME=VALUE") -> None:
    """Declare ``--param`` with the form of its values."""
    param = parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar=form,
        help="override a parameter of the files ('/**' is the section of all nodes); repeat it for more",
    )
    completed_by(param, parameter_names)


def add_rrd(parser: argparse.ArgumentParser) -> None:
    """Declare ``--rrd``; `checked_rrd` checks it."""
    rrd = (
        "also write the moving robot with its estimates to FILE.rrd, which 'rerun FILE.rrd' shows; an "
        "existing file is replaced"
    )
    parser.add_argument("--rrd", type=Path, metavar="FILE", help=rrd)


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


def provenance_of(
    args: argparse.Namespace,
    options: Iterable[str],
    *,
    bags: Iterable[str | Path],
    urdf: tuple[str, str],
    parameters: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the provenance of a command's results; see `configuration.provenance`.

    Args:
        args: Arguments of the command.
        options: Names of those that determine the results, besides files and parameters.
        bags: Recordings that were read.
        urdf: Where the robot description came from unless ``--urdf`` says so, and its text.
        parameters: All parameters in effect, by node and dotted name.
    """
    from inertial_estimation.configuration.provenance import provenance

    return provenance(
        bags=bags,
        configs=args.config,
        urdf_source=args.urdf or urdf[0],
        urdf=urdf[1],
        overrides=args.param,
        options={name: getattr(args, name) for name in options},
        parameters=parameters,
    )


def completed_by(action: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Let the shell complete the value of an option by names and by the files of the working directory."""

    def completer(prefix: str, **_asked: Any) -> list[str]:
        files = [str(path) for path in Path().glob(f"{prefix}*")] if prefix else []
        return [*names(), *files]

    action.completer = completer  # type: ignore[attr-defined]


def robot_names() -> list[str]:
    """Return the names of the robots whose parameter files come with the package."""
    from inertial_estimation.configuration.config_lookup import config_folders

    return sorted({path.stem for folder in config_folders() for path in folder.glob("*.yaml")})


def parameter_names() -> list[str]:
    """Return ``NODE.NAME=`` of every parameter."""
    from inertial_estimation.configuration.node_configs import NODE_CONFIGS, parameters_of

    return [f"{node}.{name}=" for node in NODE_CONFIGS for name in sorted(parameters_of(node))]
