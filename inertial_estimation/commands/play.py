"""Publish a rosbag2 recording (mcap or sqlite3) on its topics, with /clock, at its own pace.

Start the nodes with `use_sim_time:=true`, so that they follow the clock of the recording.
"""

import argparse
import math
import signal
import sys
import time

from inertial_estimation.commands import arguments
from inertial_estimation.errors import ConfigurationError

EXAMPLES = ("BAG --rate 0.5", "BAG --remap /imu:=/imu/data --loop")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", help="folder of the bag, or its .mcap or .db3 file")
    parser.add_argument("--rate", type=float, default=1.0, help="speed as a multiple of real time (1)")
    arguments.add_switch(parser, "--loop", "start again at the end")
    arguments.add_number(parser, "--clock-rate", 200.0, "HZ", "rate of /clock (200 Hz); 0: no /clock")
    arguments.add_number(parser, "--wait", 5.0, "S", "longest time to wait for subscribers (5 s)")
    arguments.add_number(parser, "--subscribers", 1, "N", "start once a topic has N subscribers (1)")
    arguments.add_remap(parser, "publish topic A under the name B")


def run(args: argparse.Namespace) -> int:
    """Play the recording; SIGINT and SIGTERM end it cleanly."""
    from inertial_estimation.ros.bag_player import PlayOptions, play_bag

    if not 0.0 <= args.wait < math.inf:
        raise ConfigurationError(f"--wait is {args.wait} s, expected 0 s or more")
    remap = arguments.parse_remappings(args.remap)
    options = PlayOptions(args.rate, args.loop, args.clock_rate, args.wait, args.subscribers, remap)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    start = time.monotonic()
    try:
        played = play_bag(args.bag, options)
        print(f"played {played} messages in {time.monotonic() - start:.1f} s", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0
