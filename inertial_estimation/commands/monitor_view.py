"""The monitor's table as a renderable of rich, built from the record of the nodes."""

import math
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from inertial_estimation.payload.config import METHODS
from inertial_estimation.payload.estimate import PHASES
from inertial_estimation.recordings.watch_record import InputState, NodeRecord, WatchRecord
from inertial_estimation.signals import HealthLevel
from inertial_estimation.spatial.rotations import DEGREES
from inertial_estimation.telemetry import GATE_DECISIONS

STYLES = {
    HealthLevel.OK: "green",
    HealthLevel.WARN: "yellow",
    HealthLevel.ERROR: "bold red",
    HealthLevel.STALE: "magenta",
}
MAIN_PARTS = ("estimator", "payload", "simulation", "controller")  # what a node is, apart from its inputs
BAND_WIDTH = 20  # characters
BAND_SIGMAS = 2.0
OLD_ESTIMATE = 0.5  # [s]: older than that, a number is not of now


def monitor_view(record: WatchRecord, now_s: float, title: str) -> RenderableType:
    """Render what is known of the nodes at a time [s], below a title; parts without data are left out."""
    if not record.nodes:
        return Group(Text(title, style="bold"), Text("no nodes found yet", style="yellow"))
    parts: list[RenderableType] = [Text(title, style="bold"), _nodes(record, now_s)]
    parts += _warnings(record, now_s)
    for figure, render in (("tilt/roll [rad]", _tilt), ("nis", _gate), ("phase", _payload)):
        for name, node in record.with_figure(figure):
            parts.append(render(name, node))
    parts += _masses(record)
    parts += _inputs(record.inputs(now_s))
    return Group(*parts)


def band(mass: float, sigma: float, nominal: float, width: int = BAND_WIDTH) -> str:
    """Draw a mass and its standard deviation [kg] against nominal, from zero to twice nominal.

    Returns:
        ``|`` at nominal, ``=`` over two standard deviations, ``o`` at the estimate; ``<`` or ``>`` at the
        end where the estimate lies beyond.
    """
    if not (nominal > 0.0 and math.isfinite(mass)):
        return ""
    scale = (width - 1) / (2.0 * nominal)
    spread = BAND_SIGMAS * sigma if math.isfinite(sigma) else math.inf
    line = ["=" if abs(k / scale - mass) <= spread else "." for k in range(width)]
    line[round(nominal * scale)] = "|"
    place = round(mass * scale)
    if 0 <= place < width:
        line[place] = "o"
    else:
        line[0 if place < 0 else -1] = "<" if place < 0 else ">"
    return "".join(line)


def _nodes(record: WatchRecord, now_s: float) -> Table:
    table = _table("node", "state", "Hz>", "age [ms]>")
    for name, node in record.nodes.items():
        level, message = _state(node, now_s)
        rate, age = node.rate_hz(now_s), node.age_s(now_s)
        old = age is not None and age > OLD_ESTIMATE
        table.add_row(
            Text(name),
            Text(message, style=STYLES[level]),
            f"{rate:.0f}" if node.heard_s is not None else "-",
            Text("-" if age is None else f"{1e3 * age:.0f}", style="bold red" if old else ""),
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


def _warnings(record: WatchRecord, now_s: float) -> list[RenderableType]:
    lines = Text()
    for name, node in record.nodes.items():
        silence = node.silent_s(now_s)
        if silence:
            lines.append(f"! {name}: no report for {silence:.0f} s\n", STYLES[HealthLevel.ERROR])
            continue
        wrong = [part for part in node.health.values() if part.level != HealthLevel.OK]
        said = {f"topic {part.name}" for part in wrong}  # a missing input is said once
        for part in wrong:
            if part.name not in said and part.name not in MAIN_PARTS:  # those are in the line of the node
                lines.append(f"! {name}: {part.name}: {part.message}\n", STYLES[part.level])
    lines.rstrip()
    return [lines, Text()] if lines else []


def _tilt(name: str, node: NodeRecord) -> Text:
    f = node.figures
    roll, pitch, sigma = (DEGREES * f[f"tilt/{what} [rad]"] for what in ("roll", "pitch", "sigma"))
    used = [figure.partition("/")[2] for figure, on in f.items() if figure.startswith("contacts/") and on]
    x, y, z = (1e3 * f[f"gyro_bias/{axis} [rad s^-1]"] for axis in "xyz")
    bias_sigma = 1e3 * f["gyro_bias_sigma/horizontal [rad s^-1]"]
    return Text.assemble(
        (f"{name}\n", "bold"),
        f"  roll {roll:+7.2f}  pitch {pitch:+7.2f}  +- {sigma:.2f} deg",
        (f"   contacts {', '.join(used) or 'none'}\n", "" if used else "yellow"),
        f"  gyro bias {x:+.2f} {y:+.2f} {z:+.2f}  +- {bias_sigma:.2f} mrad/s",
        "   at rest" if f["at_rest"] else "",
    )


def _gate(name: str, node: NodeRecord) -> Text:
    f = node.figures
    decision = GATE_DECISIONS[int(f["gate/decision"])]
    return Text.assemble(
        (f"{name}\n", "bold"),
        (f"  gate {decision.value}", "green" if f["gate/accepted"] else "yellow"),
        f"   NIS {f['nis']:.1f} of at most {f['nis_bound']:.1f}",
        f"   informed {f['information/informed']:.0f} of {f['information/directions']:.0f}",
    )


def _payload(name: str, node: NodeRecord) -> Text:
    f = node.figures
    return Text.assemble(
        (f"{name}\n", "bold"),
        f"  phase {PHASES[int(f['phase'])]}   method {METHODS[int(f['method'])]}",
        "   at rest" if f["at_rest"] else "   moving",
        ("   asks to hold" if f["hold"] else "", "yellow"),
        ("   refused" if f["refused"] else "", "bold red"),
    )


def _masses(record: WatchRecord) -> list[RenderableType]:
    table = _table("link", "mass [kg]>", "2 sigma>", "nominal>", "published>", "0 .. 2 nominal")
    for _name, node in record.with_figure("age [s]"):
        f = node.figures
        for figure in f:
            if not figure.startswith("mass/"):
                continue
            what = figure.removeprefix("mass/")
            mass, sigma = f[figure], f[f"mass_sigma/{what}"]
            nominal, published = f[f"mass_nominal/{what}"], f[f"mass_published/{what}"]
            off = abs(mass - nominal) > BAND_SIGMAS * sigma
            table.add_row(
                Text(what.removesuffix(" [kg]")),
                Text(f"{mass:.2f}", style="bold" if off else ""),
                f"{BAND_SIGMAS * sigma:.2f}",
                f"{nominal:.2f}",
                f"{published:.2f}",
                Text(band(mass, sigma, nominal), style="cyan"),
            )
    return [table] if table.row_count else []


def _inputs(states: Iterable[InputState]) -> list[RenderableType]:
    table = _table("input", "Hz>", "age [ms]>", "state")
    for state in states:
        table.add_row(
            Text(state.topic),
            "-" if state.rate_hz is None else f"{state.rate_hz:.0f}",
            "-" if state.age_s is None else f"{1e3 * state.age_s:.0f}",
            Text(state.message, style=STYLES[state.level]),
        )
    return [table] if table.row_count else []


def _table(*titles: str) -> Table:
    """Return a table without rows; a title that ends in ``>`` is of a column aligned to the right."""
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
