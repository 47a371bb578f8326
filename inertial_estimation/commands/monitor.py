"""The command `monitor`: live nodes in a table."""

import argparse
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.live import Live

from inertial_estimation.commands.monitor_view import monitor_view
from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.recordings.watch_record import WatchRecord

PERIOD_S = 0.5  # between two tables
ENOUGH_S = 5 * PERIOD_S  # of listening for one table: two reports of every node, rates over many messages


def run(args: argparse.Namespace) -> int:
    """Watch until a signal or the key q; SIGINT and SIGTERM end it cleanly."""
    from inertial_estimation.ros.monitors import watched  # rclpy is missing on many a desk

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, console = WatchRecord(), Console()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    title = f"inertial_estimation   namespace {args.namespace}   ROS_DOMAIN_ID {domain}"
    times = watched(record, args.namespace)
    with suppress(KeyboardInterrupt):
        if args.once:
            console.print(monitor_view(record, _listened(times, record, args, domain), title))
        elif console.is_terminal:
            with _keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as live:
                for now_s in _due(times, pressed):
                    live.update(monitor_view(record, now_s, f"{title}   q ends"), refresh=True)
        else:
            for now_s in _due(times, lambda: ""):
                console.print(monitor_view(record, now_s, title), "\n", sep="")
    return 0


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Yield what returns the keys that have been pressed, which the terminal then does not show."""
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    try:
        yield lambda: os.read(keyboard, 64).decode() if select.select([keyboard], [], [], 0.0)[0] else ""
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _due(times: Iterator[float], pressed: Callable[[], str]) -> Iterator[float]:
    """Yield the times that are at least a period apart [s], until q is pressed."""
    next_s = 0.0
    for now_s in times:
        if "q" in pressed():
            return
        if now_s >= next_s:
            next_s = now_s + PERIOD_S
            yield now_s


def _listened(times: Iterator[float], record: WatchRecord, args: argparse.Namespace, domain: str) -> float:
    """Receive messages until every node has reported for some time, and return the time then [s]."""
    begin_s = found_s = now_s = next(times)
    known = 0
    while now_s - begin_s <= args.wait:
        if len(record.nodes) > known:  # another one may follow
            found_s, known = now_s, len(record.nodes)
        reported = known > 0 and all(node.reported_s is not None for node in record.nodes.values())
        if reported and now_s - found_s > ENOUGH_S:
            break
        now_s = next(times)
    if not record.nodes:
        raise InertialEstimationError(
            f"no node found in namespace '{args.namespace}' within {args.wait:g} s; do the nodes run with "
            f"the same ROS_DOMAIN_ID ({domain})?"
        )
    return now_s
