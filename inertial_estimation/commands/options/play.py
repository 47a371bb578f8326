"""Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording.
"""

import argparse

from inertial_estimation.commands.arguments import add_remap

EXAMPLES = (
    "BAG --rate 0.5",
    "BAG --remap /imu:=/imu/data --loop",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", help="folder of the bag, or its .mcap or .db3 file")
    parser.add_argument("--rate", type=float, default=1.0, help="speed as a multiple of real time (1)")
    parser.add_argument("--loop", action="store_true", help="start again at the end")
    parser.add_argument(
        "--clock-rate", type=float, default=200.0, metavar="HZ", help="rate of /clock (200 Hz); 0: no /clock"
    )
    parser.add_argument(
        "--wait", type=float, default=5.0, metavar="S", help="longest time to wait for subscribers (5 s)"
    )
    parser.add_argument(
        "--subscribers", type=int, default=1, metavar="N", help="start once a topic has N subscribers (1)"
    )
    add_remap(parser, "publish topic A under the name B")
