"""Options that several commands take, declared once so that they mean the same everywhere."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

STORAGES = ("mcap", "sqlite3")


def robot(parser: argparse.ArgumentParser, examples: str, more: str = "") -> None:
    """Declare ``--config`` with examples of robots and what later files usually hold, and ``--urdf``."""
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


def number(parser: argparse.ArgumentParser, option: str, default: float, metavar: str, meaning: str) -> None:
    """Declare an option with a number, an integer where its default is one; `metavar` is its unit."""
    parser.add_argument(option, type=type(default), default=default, metavar=metavar, help=meaning)


def switch(parser: argparse.ArgumentParser, option: str, meaning: str) -> None:
    """Declare an option without a value."""
    parser.add_argument(option, action="store_true", help=meaning)


def text(parser: argparse.ArgumentParser, option: str, metavar: str, meaning: str) -> None:
    """Declare an option with a text, empty by default."""
    parser.add_argument(option, default="", metavar=metavar, help=meaning)


def file(parser: argparse.ArgumentParser, option: str, metavar: str, meaning: str) -> None:
    """Declare an option with the path of a file, none by default."""
    parser.add_argument(option, type=Path, metavar=metavar, help=meaning)


def names(parser: argparse.ArgumentParser, option: str, metavar: str, meaning: str) -> None:
    """Declare a list of names, which is given in one piece or piece by piece."""
    parser.add_argument(option, nargs="+", action="extend", default=[], metavar=metavar, help=meaning)


def repeated(parser: argparse.ArgumentParser, option: str, metavar: str, meaning: str) -> argparse.Action:
    """Declare an option with one value, which may be repeated."""
    meaning += "; repeat it for more"
    return parser.add_argument(option, action="append", default=[], metavar=metavar, help=meaning)


def bag(parser: argparse.ArgumentParser) -> None:
    """Declare the recording that is read."""
    parser.add_argument("bag", type=Path, help="rosbag2 folder, its .mcap or .db3 file, or a .bag of ROS 1")


def bags(parser: argparse.ArgumentParser) -> None:
    """Declare the recordings that are read, one or more."""
    bags = "rosbag2 folders, .mcap or .db3 files, or .bag files of ROS 1"
    parser.add_argument("bags", nargs="+", metavar="BAG", help=bags)


def reference(parser: argparse.ArgumentParser, effect: str = "") -> None:
    """Declare ``--reference``, with what it is used for where that is not evident."""
    reference = "topic of the true pose or orientation, PoseStamped or QuaternionStamped"
    parser.add_argument("--reference", metavar="TOPIC", help=f"{reference}{effect}")


def output(
    parser: argparse.ArgumentParser, meaning: str = "folder the results are written to", required: bool = True
) -> None:
    """Declare ``--output`` and ``--overwrite``; `arguments.check_output` checks them."""
    output = f"{meaning}, new or empty"
    parser.add_argument("--output", type=Path, metavar="DIR", required=required, help=output)
    switch(parser, "--overwrite", "replace the results of an earlier run in that folder")


def output_bag(parser: argparse.ArgumentParser) -> None:
    """Declare ``--output``, ``--storage`` and ``--overwrite`` of a command that writes a recording."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the new rosbag2")
    parser.add_argument("--storage", choices=STORAGES, default="mcap", help="format of the bag (mcap)")
    switch(parser, "--overwrite", "replace a rosbag2 that exists there")


def sensors(parser: argparse.ArgumentParser, of_seed: str) -> None:
    """Declare ``--noise-free`` and ``--seed`` of what is random."""
    switch(parser, "--noise-free", "simulate sensors without noise and bias")
    number(parser, "--seed", 0, "N", f"seed of {of_seed} (0)")


def no_figures(parser: argparse.ArgumentParser, what: str = "figures") -> None:
    """Declare ``--no-figures`` with what is not written."""
    switch(parser, "--no-figures", f"write no {what}")


def remap(parser: argparse.ArgumentParser, meaning: str = "read topic B in place of A") -> None:
    """Declare ``--remap`` with what ``A:=B`` does; `arguments.parse_remappings` reads it."""
    repeated(parser, "--remap", "A:=B", meaning)


def workers(
    parser: argparse.ArgumentParser, what: str, effect: str = "results do not depend on their number"
) -> None:
    """Declare ``--jobs`` and ``--cluster`` with what is repeated, for `parallel.open_workers`."""
    where = parser.add_mutually_exclusive_group()
    jobs = f"processes that share the {what}; {effect} (1)"
    where.add_argument("--jobs", type=int, default=1, metavar="N", help=jobs)
    cluster = f"scheduler of a Dask cluster that shares the {what}, tcp://HOST:PORT (extra 'cluster')"
    where.add_argument("--cluster", default="", metavar="ADDRESS", help=cluster)


def param(parser: argparse.ArgumentParser, form: str = "NODE.NAME=VALUE") -> None:
    """Declare ``--param`` with the form of its values."""
    meaning = "override a parameter of the files ('/**' is the section of all nodes)"
    completed_by(repeated(parser, "--param", form, meaning), parameter_names)


def rrd(parser: argparse.ArgumentParser) -> None:
    """Declare ``--rrd``; `arguments.checked_rrd` checks it."""
    rrd = "also write the moving robot with its estimates to FILE.rrd, which 'rerun FILE.rrd' shows"
    file(parser, "--rrd", "FILE", rrd)


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
