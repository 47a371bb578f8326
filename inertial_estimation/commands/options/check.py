"""Examine a recording of a robot: what is wrong with its data or its description, and what mends it.

Some 20 s are enough, standing or moving: streams, stamps and clocks; stuck and saturated sensors; joint
positions, velocities and efforts; unit, time offset and mounting of the IMU; contact wrenches; masses of the
description, which link is most likely wrong, friction, and which links the recording can inform.

With --output, report.html and check.json are written; with --fix, a parameter file of what can be set.
The exit code is 0 if nothing is wrong (warnings allowed), 1 if something is wrong, 2 if the recording, the
description or the parameter file cannot be used.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_bag,
    add_output,
    add_param,
    add_remap,
    add_robot,
    add_start,
)

EXAMPLES = (
    "BAG --config icub --urdf robot.urdf --output results/check",
    "BAG --config my_robot.yaml --start 5 --duration 20 --fix fixes.yaml",
)
DEFAULT_S = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_bag(parser)
    add_robot(parser, "icub, panda", "earlier fixes, offsets")
    add_output(parser, required=False)
    parser.add_argument(
        "--fix", type=Path, metavar="FILE", help="write a parameter file (.yaml) of what can be set"
    )
    add_start(parser, "begin S seconds into the bag (0)")
    parser.add_argument(
        "--duration",
        type=float,
        default=DEFAULT_S,
        metavar="S",
        help=f"examine S seconds of it ({DEFAULT_S:g})",
    )
    add_remap(parser)
    add_param(parser, "NODE.NAME=VALUE")
