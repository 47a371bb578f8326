"""Show live nodes in a table: inputs with rates and ages, tilt, masses with deviations, gate, warnings.

The nodes are all those in the namespace that publish telemetry or diagnostics. Ctrl-C ends the command.
When the output is not a terminal, tables are printed one after the other without colours.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
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
    from inertial_estimation.ros.watch_monitor import watch  # rclpy is missing on many a desk

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, console = WatchRecord(), Console()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    title = f"inertial_estimation   namespace {args.namespace}   ROS_DOMAIN_ID {domain}"
    try:
        if args.once:
            console.print(monitor_view(record, _listened(args, record), title))
            return 0
        live = Live(console=console, screen=True, auto_refresh=False) if console.is_terminal else None

        def show(now_s: float) -> None:
            if live is None:
                console.print(monitor_view(record, now_s, title), "\n", sep="")
            else:
                live.update(monitor_view(record, now_s, title), refresh=True)

        with live or nullcontext():
            of, endless = args.namespace, lambda _now_s: False
            watch(record, namespace=of, show=show, done=endless, period_s=args.period)
    except KeyboardInterrupt:
        pass
    return 0


def _listened(args: argparse.Namespace, record: WatchRecord) -> float:
    """Receive messages until every node has reported for some time, and return the time then [s]."""
    from inertial_estimation.ros.watch_monitor import watch

    begun: float | None = None
    found, known, last = 0.0, 0, 0.0

    def done(now_s: float) -> bool:
        nonlocal begun, found, known, last
        last = now_s
        begun = now_s if begun is None else begun
        if len(record.nodes) > known:  # another one may follow
            found, known = now_s, len(record.nodes)
        reported = known > 0 and all(node.reported_s is not None for node in record.nodes.values())
        return (reported and now_s - found > ENOUGH_S) or now_s - begun > args.wait

    watch(record, namespace=args.namespace, show=lambda _now_s: None, done=done, period_s=args.wait)
    if not record.nodes:
        raise InertialEstimationError(
            f"no node found in namespace '{args.namespace}' within {args.wait:g} s; do the nodes run with "
            f"the same ROS_DOMAIN_ID ({os.environ.get('ROS_DOMAIN_ID', '0')})?"
        )
    return last
