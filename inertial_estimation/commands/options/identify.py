"""Identify inertial parameters and friction from recordings.

Writes identification.json, report.html, identified.urdf and friction.yaml (a parameter file for the nodes)
into the output folder. Parameters are those of the sections /**, inertial_ekf (rows, friction) and
identification of the parameter file.
"""

import argparse

from inertial_estimation.commands.arguments import (
    add_bags,
    add_names,
    add_no_figures,
    add_output,
    add_param,
    add_remap,
    add_robot,
)

EXAMPLES = (
    "BAG --config panda --split 14 --compare --output results/panda",
    "BAG --config panda --payload panda_link8 --unloaded EMPTY_BAG --output results/tool",
)
DEFAULT_METHOD = "consistent"
METHODS = ("least-squares", "truncated-svd", "bounded-gradient", "nullspace-prior", "ridge", DEFAULT_METHOD)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_bags(parser)
    add_robot(parser, "icub, panda", "offsets, known friction")
    add_output(parser)
    parser.add_argument("--method", default="", help=f"one of {', '.join(METHODS)}; default {DEFAULT_METHOD}")
    parser.add_argument(
        "--compare", action="store_true", help="run all methods; the result of --method is written"
    )
    parser.add_argument(
        "--validate",
        action="append",
        default=[],
        metavar="BAG",
        help="recording that validates the result; repeat it for more",
    )
    parser.add_argument(
        "--split",
        type=float,
        metavar="S",
        help="fit the first S seconds of each bag and validate with the rest",
    )
    add_names(parser, "--links", "LINK", "identify only the bodies of these links, by name or pattern")
    parser.add_argument(
        "--payload",
        default="",
        metavar="LINK",
        help="identify a load fixed to this link as a body of its own (identification.payload.link)",
    )
    parser.add_argument(
        "--unloaded",
        action="append",
        default=[],
        metavar="BAG",
        help="recording of the robot without the load of --payload; repeat it for more",
    )
    add_remap(parser)
    add_param(parser, "identification.NAME=VALUE")
    add_no_figures(parser, "report.html")
