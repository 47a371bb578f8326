"""Show live nodes in a table: inputs with rates and ages, tilt, masses with deviations, gate, warnings.

The nodes are all those in the namespace that publish telemetry or diagnostics. Ctrl-C ends the command.
When the output is not a terminal, tables are printed one after the other without colours.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

from inertial_estimation.commands import arguments
from inertial_estimation.errors import ConfigurationError, InertialEstimationError

if TYPE_CHECKING:
    from inertial_estimation.recordings.watch_record import WatchRecord

EXAMPLES = ("", "--once --namespace /robot1")
ENOUGH_S = 2.5  # of listening for one table: two reports of every node, rates over many messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    namespace = "show the nodes in this namespace and below (/)"
    parser.add_argument("--namespace", default="/", metavar="NS", help=namespace)
    arguments.add_switch(parser, "--once", "print one table and exit")
    arguments.add_number(parser, "--period", 0.5, "S", "time between two tables (0.5 s)")
    arguments.add_number(parser, "--wait", 10.0, "S", "longest time that --once waits for nodes (10 s)")


def run(args: argparse.Namespace) -> int:
    """Watch until interrupted; SIGINT and SIGTERM end it cleanly."""
    if not args.period > 0.0:
        raise ConfigurationError(f"--period is {args.period} s, expected more than 0 s")
    if not 0.0 < args.wait < math.inf:
        raise ConfigurationError(f"--wait is {args.wait} s, expected more than 0 s")
    from rich.console import Console
    from rich.live import Live

    from inertial_estimation.commands.monitor_view import monitor_view
    from inertial_estimation.recordings.watch_record import WatchRecord
    from inertial_estimation.ros.monitors import watched  # rclpy is missing on many a desk

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, console = WatchRecord(), Console()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    title = f"inertial_estimation   namespace {args.namespace}   ROS_DOMAIN_ID {domain}"
    on_screen = console.is_terminal and not args.once
    live = Live(console=console, screen=True, auto_refresh=False) if on_screen else None
    times = watched(record, args.namespace)
    try:
        if args.once:
            console.print(monitor_view(record, _listened(times, record, args), title))
            return 0
        next_s = 0.0
        with live or nullcontext():
            for now_s in times:
                if now_s < next_s:
                    continue
                next_s = now_s + args.period
                if live is None:
                    console.print(monitor_view(record, now_s, title), "\n", sep="")
                else:
                    live.update(monitor_view(record, now_s, title), refresh=True)
    except KeyboardInterrupt:
        pass
    return 0


def _listened(times: Iterator[float], record: WatchRecord, args: argparse.Namespace) -> float:
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
            f"the same ROS_DOMAIN_ID ({os.environ.get('ROS_DOMAIN_ID', '0')})?"
        )
    return now_s
