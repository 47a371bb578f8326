"""Write the first parameter file of a robot from its URDF, complete, commented and scaled to the robot.

The URDF tells whether the robot is a humanoid, a quadruped or an arm, which joints never carry a load, where
IMU, soles and force sensors are, how it stands, and how large noise and thresholds should be. Contact frames
that it lacks are placed at the lowest points of the feet. What was found is shown; what could not be found is
marked by CHECK, also in the file. At the end the file is tried: every node's parameters are read, and the
robot stands (an arm: holds its posture) in simulation for a second.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import add_names

EXAMPLES = (
    "g1 --output g1.yaml",
    "robot.urdf --imu imu_torso --soles l_sole,r_sole --output my_robot.yaml",
    "package://my_description/urdf/arm.urdf --kind arm --links tool0 --output arm.yaml",
)
KINDS = ("humanoid", "quadruped", "arm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "urdf",
        help="robot description: a file, package://PACKAGE/FILE, or the name of a robot of "
        "example-robot-data (g1, ur5, anymal)",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="parameter file to write; without it nothing is written"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists there")
    parser.add_argument("--kind", choices=KINDS, default="", help="kind of the robot (found out)")
    parser.add_argument("--imu", default="", metavar="LINK", help="link of the IMU (found by its name)")
    for name, what in (
        ("--soles", "contact frames, one a leg, left before right and front before rear"),
        ("--links", "links to estimate"),
        ("--lock", "joints to lock, also shell patterns, besides those that are found"),
    ):
        add_names(parser, name, "A,B", what)
    parser.add_argument("--no-trial", action="store_true", help="do not try the file in simulation")
