"""Arguments that several commands take, declared once so that they mean the same everywhere."""

import argparse
from pathlib import Path

__all__ = ["add_output", "add_param", "add_remap", "add_robot"]


def add_robot(parser: argparse.ArgumentParser, examples: str, more: str = "") -> None:
    """Declare ``--config``, which may be repeated, and ``--urdf``.

    Args:
        parser: Where to.
        examples: Robots that come with the package and suit the command.
        more: What later files usually hold.
    """
    later = "again for files read after it" + (f" ({more})" if more else "")
    parser.add_argument(
        "--config",
        action="append",
        required=True,
        help=f"ROS parameter file, or a robot's name ({examples}); {later}",
    )
    parser.add_argument("--urdf", default="", help="robot description, over the parameter 'urdf'")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare ``--output``."""
    parser.add_argument("--output", type=Path, required=True, help="folder for the results")


def add_remap(parser: argparse.ArgumentParser) -> None:
    """Declare ``--remap``, for topics that are read."""
    parser.add_argument(
        "--remap", action="append", default=[], metavar="A:=B", help="read topic B for A; repeat for more"
    )


def add_param(parser: argparse.ArgumentParser, form: str) -> None:
    """Declare ``--param``.

    Args:
        parser: Where to.
        form: Which parameters, ``section.NAME=VALUE``.
    """
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar=form,
        help="over the value of the parameter files ('/**' is the section of all nodes); repeat for more",
    )
