"""Watch Talos take a weight in simulation, with four live nodes over DDS.

Simulator, tilt observer, inertial filter and whole-body controller run in lockstep. Talos stands, and a
weight of 12 lb (5.44 kg) is attached to its left forearm. In one run the controller uses the inertias of the
URDF and the compliant elbow sags; in the other it uses the estimated inertias and holds. Both runs take place
at the same time, each on its own ROS domain, or one after the other on that of ROS_DOMAIN_ID. The exit code
is 1 when a run ends early, or another program publishes on its topics. The progress is shown as a live table
on a terminal, and as a line every two seconds in a pipe. Figure and numbers of both runs are written to the
output folder.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.rrd_option import add_rrd

EXAMPLES = (
    "",
    "--duration 8 --no-adaptation",
    "--viewer",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--duration",
        type=float,
        default=4.5,
        metavar="S",
        help="simulated time of a run, from the release (4.5 s)",
    )
    parser.add_argument(
        "--no-adaptation",
        action="store_true",
        help="only the run without adaptation, in which the elbow sags",
    )
    parser.add_argument(
        "--viewer",
        action="store_true",
        help="show the robot in real time, one run after the other; needs a display",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("results/demo"),
        metavar="DIR",
        help="folder figure and numbers are written to (results/demo)",
    )
    parser.add_argument("--no-live", action="store_true", help="print only the last table")
    add_rrd(parser)
