"""The command `play`: a recording on its topics."""

import argparse
import math
import signal
import sys
import time

from inertial_estimation.commands import arguments
from inertial_estimation.errors import ConfigurationError


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
