"""Design a motion that identifies a robot: a fixed arm, a leg of a robot that hangs by its trunk, or poses.

Writes trajectory.csv, trajectory (rosbag2 with a JointTrajectory), design.json and design.png into the
output folder. The parameter file is the same as for the command identify and states what is to be identified.
"""

import argparse

from inertial_estimation.commands.arguments import (
    add_names,
    add_no_figures,
    add_output,
    add_param,
    add_robot,
    add_workers,
)
from inertial_estimation.identification.excitation.excitation_config import ExcitationConfig
from inertial_estimation.parameters import ParameterSpec, iterate_parameters

EXAMPLES = (
    "--config panda --objective condition --output results/motion",
    "--config hyq --leg lf --output results/leg",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_robot(parser, "panda, hyq")
    add_output(parser)
    parser.add_argument(
        "--leg",
        default="",
        metavar="PREFIX",
        help="prefix of the leg that moves while the trunk is held, for instance lf",
    )
    add_names(parser, "--joints", "JOINT", "joints that move, by name or pattern; the others are held")
    add_names(parser, "--links", "LINK", "links whose parameters are to be identified")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the random motions; the same seed gives the same motion (0)",
    )
    parser.add_argument(
        "--compare-random",
        type=int,
        default=0,
        metavar="N",
        help="compare the result with N random motions (0)",
    )
    add_workers(parser, "random motions to compare with")
    add_param(parser, "identification.NAME=VALUE")
    add_no_figures(parser, "figure")
    for spec in iterate_parameters(ExcitationConfig):
        parser.add_argument(
            _option(spec),
            dest=spec.name,
            type=type(spec.default),
            choices=spec.choices or None,
            metavar=None if spec.choices else spec.unit.upper() or "N",
            help=f"{spec.description.rstrip('.')} (default {spec.default})",
        )


def _option(spec: ParameterSpec) -> str:
    return f"--{spec.name.replace('_', '-')}"
