"""`inertial-estimation monitor`: what live nodes publish, as a table in the terminal."""

import argparse
import math
import os
import signal
from types import FrameType

from rich.console import Console
from rich.live import Live

from inertial_estimation.commands.monitor_view import monitor_view
from inertial_estimation.commands.termination import prevailing_signals
from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.recordings.watch_record import WatchRecord

ENOUGH_S = 2.5  # of listening for one table: two reports of every node, rates over many messages


def run(args: argparse.Namespace) -> int:
    """Watch until interrupted; SIGINT and SIGTERM end it cleanly."""
    if not args.period > 0.0:
        raise ConfigurationError(f"--period is {args.period} s, expected more than 0 s")
    if not 0.0 < args.wait < math.inf:
        raise ConfigurationError(f"--wait is {args.wait} s, expected more than 0 s")
    with prevailing_signals():
        from inertial_estimation.ros.watch_monitor import watch  # rclpy is missing on many a desk

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    record, console = WatchRecord(), Console()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    title = f"inertial_estimation   namespace {args.namespace}   ROS_DOMAIN_ID {domain}"
    try:
        if args.once:
            return _once(args, record, console, title)
        if not console.is_terminal:
            watch(
                record,
                namespace=args.namespace,
                show=lambda now_s: console.print(monitor_view(record, now_s, title), "\n", sep=""),
                done=lambda _now_s: False,
                period_s=args.period,
            )
        with Live(console=console, screen=True, auto_refresh=False) as live:
            watch(
                record,
                namespace=args.namespace,
                show=lambda now_s: live.update(monitor_view(record, now_s, title), refresh=True),
                done=lambda _now_s: False,
                period_s=args.period,
            )
    except KeyboardInterrupt:
        pass
    return 0


def _once(args: argparse.Namespace, record: WatchRecord, console: Console, title: str) -> int:
    """Receive messages until every node has reported for some time, then print; return 1 without nodes."""
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
    console.print(monitor_view(record, last, title))
    return 0


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
