"""Run a rosbag2 recording through the same estimators as the nodes, without ROS.

Writes tables of the estimates (--format csv), a bag of them with their inputs (--format mcap),
metrics.json, report.html and figures. A simulated or synthetic recording is compared with its truth. The
command compare shows results side by side.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_bag,
    add_no_figures,
    add_output,
    add_param,
    add_reference,
    add_remap,
    add_robot,
    add_start,
)
from inertial_estimation.commands.rrd_option import add_rrd
from inertial_estimation.configuration.node_names import INERTIAL_NODE, PAYLOAD_NODE, TILT_NODE

EXAMPLES = (
    "BAG --config icub --urdf robot.urdf --reference /vicon/root_link/pose --output results/icub",
    "BAG --config panda --hold-out 14 --param inertial_ekf.rate=100 --output results/panda --rrd panda.rrd",
)
NODES = (TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE)
FORMATS = ("csv", "mcap", "both")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_bag(parser)
    add_robot(parser, "icub, panda", "offsets, friction")
    add_output(parser)
    add_start(parser)
    parser.add_argument(
        "--hold-out",
        type=float,
        metavar="S",
        help="freeze the estimates S seconds after the start of the bag; torque errors are of the rest",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NODE",
        help=f"run only this estimator ({', '.join(NODES)}); repeat it for more",
    )
    _add_reference(parser)
    add_remap(parser)
    add_param(parser, "NODE.NAME=VALUE")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="write the estimates as tables (csv), as a bag of the nodes' topics with their inputs (mcap), "
        "or both (csv)",
    )
    add_no_figures(parser, "figures and no report.html")
    add_rrd(parser)


def _add_reference(parser: argparse.ArgumentParser) -> None:
    """Declare what the estimates are compared with."""
    add_reference(parser)
    parser.add_argument(
        "--trusted",
        type=Path,
        metavar="CSV",
        help="file with 0 or 1 for each sample of the reference: whether it is trusted",
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=0.0,
        metavar="S",
        help="exclude the first S seconds of estimates from the errors of the base",
    )
