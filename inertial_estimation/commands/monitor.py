"""The command `monitor`: live nodes in a table."""

import argparse
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.payload.config import METHODS
from inertial_estimation.payload.estimate import PHASES
from inertial_estimation.recordings.watch_record import NodeRecord, WatchRecord
from inertial_estimation.signals import HealthLevel
from inertial_estimation.spatial.rotations import DEGREES
from inertial_estimation.telemetry import DECISIONS

PERIOD_S = 0.5  # time between two tables [s]
ENOUGH_S = 5 * PERIOD_S  # listening time for one table [s]: two reports of every node, rates of many messages
STYLES = {
    HealthLevel.OK: "green",
    HealthLevel.WARN: "yellow",
    HealthLevel.ERROR: "bold red",
    HealthLevel.STALE: "magenta",
}
MAIN_PARTS = ("estimator", "payload", "simulation", "controller")  # main component of a node
OLD_ESTIMATE = 0.5  # age from which an estimate is marked as old [s]


def run(args: argparse.Namespace) -> int:
    """Watch until a signal or the key q; SIGINT and SIGTERM end it cleanly."""
    from inertial_estimation.ros.monitors import watched  # needs rclpy, which is often not installed

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    record, console = WatchRecord(), Console()
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    title = f"inertial_estimation   namespace {args.namespace}   ROS_DOMAIN_ID {domain}"
    times = watched(record, args.namespace)
    with suppress(KeyboardInterrupt):
        if args.once:
            console.print(monitor_view(record, _find_nodes(times, record, args, domain), title))
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
    """Yield a function that returns the keys pressed since its last call; the terminal does not echo them."""
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
    """Yield times that are at least `PERIOD_S` apart [s], until q is pressed."""
    next_s = 0.0
    for now_s in times:
        if "q" in pressed():
            return
        if now_s >= next_s:
            next_s = now_s + PERIOD_S
            yield now_s


def _find_nodes(times: Iterator[float], record: WatchRecord, args: argparse.Namespace, domain: str) -> float:
    """Receive messages until no further node has appeared for `ENOUGH_S`; return the time then [s]."""
    begin_s = found_s = now_s = next(times)
    known = 0
    while now_s - (found_s if known else begin_s) <= (ENOUGH_S if known else args.wait):
        if len(record.nodes) > known:
            found_s, known = now_s, len(record.nodes)
        now_s = next(times)
    if not known:
        raise InertialEstimationError(
            f"no node found in namespace '{args.namespace}' within {args.wait:g} s; do the nodes run with "
            f"the same ROS_DOMAIN_ID ({domain})?"
        )
    return now_s


def monitor_view(record: WatchRecord, now_s: float, title: str) -> RenderableType:
    """Render the state of the nodes at a time [s] below a title; parts without data are left out."""
    if not record.nodes:
        return Group(Text(title, style="bold"), Text("no nodes found yet", style="yellow"))
    parts: list[RenderableType] = [Text(title, style="bold"), _nodes(record, now_s)]
    warnings = list(_warnings(record, now_s))
    parts += [*warnings, Text()] if warnings else []
    for figure, render in (("tilt/roll [rad]", _tilt), ("nis", _learning), ("phase", _payload)):
        for name, node in record.with_figure(figure):
            parts += [Text(name, style="bold"), render(node.figures)]
    return Group(*parts, *(table for table in (_masses(record), _inputs(record, now_s)) if table.row_count))


def _nodes(record: WatchRecord, now_s: float) -> Table:
    table = _table("node", "state", "Hz>", "age [ms]>")
    for name, node in record.nodes.items():
        level, message = _state(node, now_s)
        age = node.age_s(now_s)
        table.add_row(
            Text(name),
            Text(message, style=STYLES[level]),
            f"{node.rate_hz(now_s):.0f}" if node.telemetry_s is not None else "-",
            Text(_ms(age), style="bold red" if age is not None and age > OLD_ESTIMATE else ""),
        )
    return table


def _state(node: NodeRecord, now_s: float) -> tuple[HealthLevel, str]:
    """Return the state of a node: that of its main component, unless its reports are overdue."""
    silence = node.silent_s(now_s)
    if silence:
        return HealthLevel.STALE, f"silent for {silence:.0f} s"
    if node.reported_s is None:
        return HealthLevel.WARN, "no report yet"
    main = [node.health[part] for part in MAIN_PARTS if part in node.health]
    worst = max(main or node.health.values(), key=lambda part: part.level)
    return worst.level, worst.message


def _warnings(record: WatchRecord, now_s: float) -> Iterator[Text]:
    for name, node in record.nodes.items():
        silence = node.silent_s(now_s)
        if silence:
            yield Text(f"! {name}: no report for {silence:.0f} s", STYLES[HealthLevel.ERROR])
            continue
        wrong = [part for part in node.health.values() if part.level != HealthLevel.OK]
        shown = {*MAIN_PARTS, *(f"topic {part.name}" for part in wrong)}  # a missing input is named once
        for part in wrong:
            if part.name not in shown:
                yield Text(f"! {name}: {part.name}: {part.message}", STYLES[part.level])


def _tilt(f: Mapping[str, float]) -> Text:
    roll, pitch, sigma = (DEGREES * f[f"tilt/{what} [rad]"] for what in ("roll", "pitch", "sigma"))
    used = [figure.partition("/")[2] for figure, on in f.items() if figure.startswith("contacts/") and on]
    x, y, z = (1e3 * f[f"gyro_bias/{axis} [rad s^-1]"] for axis in "xyz")
    bias_sigma = 1e3 * f["gyro_bias_sigma/horizontal [rad s^-1]"]
    return Text.assemble(
        f"  roll {roll:+7.2f}  pitch {pitch:+7.2f}  +- {sigma:.2f} deg",
        (f"   contacts {', '.join(used) or 'none'}\n", "" if used else "yellow"),
        f"  gyro bias {x:+.2f} {y:+.2f} {z:+.2f}  +- {bias_sigma:.2f} mrad/s",
        "   at rest" if f["at_rest"] else "",
    )


def _learning(f: Mapping[str, float]) -> Text:
    decision = DECISIONS[int(f["learning/decision"])]
    return Text.assemble(
        (f"  measurement {decision.value}", "green" if f["learning/accepted"] else "yellow"),
        f"   NIS {f['nis']:.1f} of at most {f['nis_bound']:.1f}",
        f"   informed {f['information/informed']:.0f} of {f['information/directions']:.0f}",
    )


def _payload(f: Mapping[str, float]) -> Text:
    return Text.assemble(
        f"  phase {PHASES[int(f['phase'])]}   method {METHODS[int(f['method'])]}",
        "   at rest" if f["at_rest"] else "   moving",
        ("   asks to hold" if f["hold"] else "", "yellow"),
        ("   refused" if f["refused"] else "", "bold red"),
    )


def _masses(record: WatchRecord) -> Table:
    table = _table("link", "mass [kg]>", "2 sigma>", "nominal>", "published>")
    for _name, node in record.with_figure("age [s]"):
        f = node.figures
        for what in (figure.removeprefix("mass/") for figure in f if figure.startswith("mass/")):
            mass, sigma, nominal, published = (
                f[f"{kind}/{what}"] for kind in ("mass", "mass_sigma", "mass_nominal", "mass_published")
            )
            table.add_row(
                Text(what.removesuffix(" [kg]")),
                Text(f"{mass:.2f}", style="bold" if abs(mass - nominal) > 2.0 * sigma else ""),
                *(f"{number:.2f}" for number in (2.0 * sigma, nominal, published)),
            )
    return table


def _inputs(record: WatchRecord, now_s: float) -> Table:
    table = _table("input", "Hz>", "age [ms]>", "state")
    for state in record.inputs(now_s):
        rate = "-" if state.rate_hz is None else f"{state.rate_hz:.0f}"
        table.add_row(
            Text(state.topic), rate, _ms(state.age_s), Text(state.message, style=STYLES[state.level])
        )
    return table


def _ms(age_s: float | None) -> str:
    return "-" if age_s is None else f"{1e3 * age_s:.0f}"


def _table(*titles: str) -> Table:
    """Return a table without rows; the column of a title that ends in ``>`` is aligned to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for k, title in enumerate(titles):
        wraps = title == "state"
        table.add_column(
            Text(title.removesuffix(">")),  # a plain text would lose its [unit] as markup
            justify="right" if title.endswith(">") else "left",
            no_wrap=not wraps,
            overflow="fold" if wraps else "ellipsis",
            min_width=12 if k == 0 else None,
        )
    return table
