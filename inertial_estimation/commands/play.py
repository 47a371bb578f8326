"""The command `play`: publishes a recording on its topics."""

import argparse
import signal
import sys
import time


def run(args: argparse.Namespace) -> int:
    """Play the recording; SIGINT and SIGTERM end it cleanly."""
    from inertial_estimation.ros.bag_player import play_bag

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    start = time.monotonic()
    try:
        played = play_bag(
            args.bag, rate=args.rate, loop=args.loop, subscribers=args.subscribers, remap=dict(args.remap)
        )
        print(f"played {played} messages in {time.monotonic() - start:.1f} s", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0
