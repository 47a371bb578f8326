"""Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording.
"""

import argparse
import signal
import sys
import time
from types import FrameType

from inertial_estimation.commands.arguments import add_remap
from inertial_estimation.commands.remappings import parse_remappings

__all__ = ["EXAMPLES", "add_arguments", "run"]

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


def run(args: argparse.Namespace) -> int:
    """Play the recording; SIGINT and SIGTERM end it cleanly."""
    from inertial_estimation.ros.bag_player import (  # needs rclpy, the other commands do not
        PlayOptions,
        play_bag,
    )

    remap = parse_remappings(args.remap)
    options = PlayOptions(args.rate, args.loop, args.clock_rate, args.wait, args.subscribers, remap)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    start = time.monotonic()
    try:
        played = play_bag(args.bag, options)
        print(f"played {played} messages in {time.monotonic() - start:.1f} s", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
