"""Write a synthetic recording with known truth as a rosbag2; joint torques come from inverse dynamics.

The robot rests, then moves smoothly or along a trajectory of the command excite. At a given time a weight is
attached to one of its links. With --config the robot has the friction of the parameter files, and its
readings have their joint offsets and drive gains. With --mass-sigma and --com-sigma its inertias differ from
its description at random. Noise, bias, delay and losses of the sensors come from a seeded generator: the same
seed writes the same recording. The folder of the bag also holds truth.json, with the true mass, payload,
sensor errors and inertias over time (replay compares with them), and truth.urdf, the true robot.
"""

import argparse
from pathlib import Path

from inertial_estimation.commands.arguments import (
    add_noise_free,
    add_output_bag,
    add_overwrite_bag,
    add_seed,
    add_storage,
)

EXAMPLES = (
    "talos --output bag",
    "arm --config panda --trajectory trajectory.csv --payload-mass 2 --output bag",
)
ROBOTS = ("arm", "panda", "talos")
PAYLOAD_KG = 5.44  # 12 lb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "robot",
        choices=ROBOTS,
        help="the robot; arm is any robot with a fixed base, with --urdf or --config",
    )
    add_output_bag(parser)
    parser.add_argument(
        "--urdf", default="", metavar="SOURCE", help="robot description in place of the robot's own"
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        help="ROS parameter file or the name of a robot, for its description, friction and joint offsets; "
        "repeat it for more files",
    )
    parser.add_argument(
        "--trajectory",
        type=Path,
        metavar="CSV",
        help="trajectory an arm follows, as the command excite writes it",
    )
    parser.add_argument(
        "--mass-sigma",
        type=float,
        default=0.0,
        help="standard deviation of the logarithm of the true masses over those of the description (0)",
    )
    parser.add_argument(
        "--com-sigma",
        type=float,
        default=0.0,
        metavar="M",
        help="standard deviation of the true centres of mass from those of the description (0 m)",
    )
    _add_payload(parser)
    _add_recording(parser)


def _add_recording(parser: argparse.ArgumentParser) -> None:
    """Declare rate, length and sensor errors of the recording."""
    add_storage(parser)
    parser.add_argument(
        "--duration", type=float, default=12.0, metavar="S", help="length of the recording (12 s)"
    )
    parser.add_argument(
        "--rate", type=float, default=250.0, metavar="HZ", help="rate of the samples (250 Hz)"
    )
    add_seed(parser, "motion, noise and true robot")
    add_noise_free(parser)
    parser.add_argument(
        "--delay",
        type=float,
        default=0.0,
        metavar="S",
        help="delay of the stamps of joint states and wrenches (0 s)",
    )
    parser.add_argument(
        "--dropped", type=float, default=0.0, metavar="SHARE", help="share of the messages that are lost (0)"
    )
    add_overwrite_bag(parser)


def _add_payload(parser: argparse.ArgumentParser) -> None:
    """Declare the attached weight."""
    parser.add_argument(
        "--payload-mass",
        type=float,
        default=PAYLOAD_KG,
        metavar="KG",
        help=f"mass of the weight ({PAYLOAD_KG:g} kg)",
    )
    parser.add_argument(
        "--payload-link", default="", metavar="LINK", help="link the weight is attached to (by robot)"
    )
    parser.add_argument(
        "--payload-time",
        type=float,
        default=5.0,
        metavar="S",
        help="when the weight is attached (5 s); negative: never",
    )
