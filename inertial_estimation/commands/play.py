"""`inertial-estimation play`: a recording published on its topics."""

import argparse
import math
import signal
import sys
import time
from types import FrameType

from inertial_estimation.commands.remappings import parse_remappings
from inertial_estimation.commands.termination import prevailing_signals
from inertial_estimation.errors import ConfigurationError


def run(args: argparse.Namespace) -> int:
    """Play the recording; SIGINT and SIGTERM end it cleanly."""
    with prevailing_signals():  # needs rclpy, the other commands do not
        from inertial_estimation.ros.bag_player import PlayOptions, play_bag

    if not 0.0 <= args.wait < math.inf:
        raise ConfigurationError(f"--wait is {args.wait} s, expected 0 s or more")
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
