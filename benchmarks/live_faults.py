"""Faults injected into running nodes over DDS: who dies, who falls silent, how long each takes to be back.

Tilt observer, inertial filter and controller run as processes on a domain of their own and are fed from here
in real time with the sensors of a TALOS at rest. Damaged messages are published as raw bytes. Processes are
ended by their ids.

Run from the root of the project: ``python -m benchmarks.live_faults [--rate 100] [NAME ...]``. A restart
takes longer on a machine with other work; "processor" is what the restarted node has taken when it is back.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from benchmarks.fault_campaign.messages import damaged
from benchmarks.live_graph import COMMANDS, Alter, Graph, Message
from inertial_estimation.commands.ros_domains import talk_apart

NODES = ("tilt_observer", "inertial_ekf", "whole_body_controller")
BEGIN_S = 45.0  # longest wait for the first results
BACK_S = 20.0  # longest wait for results after an injection
FRESH_S = 0.25
HEADER = (
    *("injection", "dead", "back [s]: tilt, ekf, controller", "processor [s]", "tilt [deg]", "torso [%]"),
    *("diagnostics [B]", "not OK"),
)


@dataclass(frozen=True)
class Injection:
    """What is done to the running graph; returns after it is over."""

    name: str
    act: Callable[[Graph, np.random.Generator], None]


def altering(duration_s: float, make: Callable[[np.random.Generator], Alter]) -> Callable[..., None]:
    def act(graph: Graph, rng: np.random.Generator) -> None:
        graph.run(duration_s, make(rng))

    return act


def malformed(topic: str) -> Injection:
    """Damaged copies in addition to every message of a topic, for two seconds."""

    def make(rng: np.random.Generator) -> Alter:
        return lambda message, data: (data, damaged(data, rng)) if message.topic == topic else (data,)

    return Injection(f"damaged bytes, {topic}", altering(2.0, make))


def malformed_command(topic: str) -> Injection:
    def act(graph: Graph, rng: np.random.Generator) -> None:
        valid = bytes(serialize_message(COMMANDS[topic]()))

        def each() -> None:
            graph.command(topic, damaged(valid, rng))

        graph.run(1.0, each=each)

    return Injection(f"damaged bytes, {topic}", act)


def latin(rng: np.random.Generator) -> Alter:
    """A joint's name in Latin-1, as a C++ driver sends it."""
    return lambda message, data: (data.replace(b"arm_left_1", b"arm_l\xe9ft_1"),)


def not_finite(rng: np.random.Generator) -> Alter:
    nan = np.array([np.nan]).tobytes()
    return lambda message, data: (data[:-8] + nan,)


def names_changing(rng: np.random.Generator) -> Alter:
    def alter(message: Message, data: bytes) -> Sequence[bytes]:
        letters = bytes(rng.integers(97, 123, 10).tolist())
        return (data.replace(b"arm_left_1", letters),)

    return alter


def two_clocks(rng: np.random.Generator) -> Alter:
    def alter(message: Message, data: bytes) -> Sequence[bytes]:
        return data, message.stamped(time.time_ns() - 3_600_000_000_000)

    return alter


def kill(name: str) -> Injection:
    def act(graph: Graph, rng: np.random.Generator) -> None:
        kill_and_restart(graph, name)

    return Injection(f"kill -9 and restart, {name}", act)


def kill_and_restart(graph: Graph, name: str) -> None:
    process = graph.running[name]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    graph.heard[name].last_ns = 0
    graph.run(0.5)
    graph.start(name)


def publisher_killed(graph: Graph, rng: np.random.Generator) -> None:
    """A publisher of another process takes over, is killed, and this one comes back after a second."""
    other = graph.start_publisher()
    graph.run(8.0)
    graph.disconnect()
    graph.run(2.0)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    graph.run(1.0)
    graph.connect()


def silence(graph: Graph, rng: np.random.Generator) -> None:
    graph.run(2.0, lambda message, data: ())


INJECTIONS = (
    *(malformed(topic) for topic in ("imu/data", "joint_states", "left_foot/wrench", "right_foot/wrench")),
    *(malformed_command(topic) for topic in COMMANDS),
    Injection("Latin-1 joint name", altering(2.0, latin)),
    Injection("NaN as last number", altering(2.0, not_finite)),
    Injection("joint names changing", altering(3.0, names_changing)),
    Injection("two publishers, one an hour behind", altering(3.0, two_clocks)),
    Injection("silence of 2 s", silence),
    Injection("publisher killed, another", publisher_killed),
    *(kill(name) for name in NODES),
)


@contextlib.contextmanager
def running(nodes: Sequence[str], rate_hz: float) -> Iterator[Graph]:
    """Run nodes on a domain of their own, fed at a rate [Hz]."""
    domain = talk_apart()
    with tempfile.TemporaryDirectory() as folder, Graph(nodes, Path(folder), domain, rate_hz) as graph:
        yield graph


def wait_until_fresh(graph: Graph, longest_s: float) -> dict[str, float]:
    """Run on until every node has had fresh results for half a second; return when each came back [s]."""
    begin, back = time.monotonic(), dict.fromkeys(graph.nodes, np.inf)
    steady_since = None
    while time.monotonic() - begin < longest_s:
        graph.run(0.02)
        elapsed = time.monotonic() - begin
        fresh = {name: age < FRESH_S for name, age in graph.ages_s().items()}
        for name, is_fresh in fresh.items():
            if is_fresh and np.isinf(back[name]) and graph.running[name].poll() is None:
                graph.back_after_s[name] = graph.processor_s(name)
            back[name] = (elapsed if np.isinf(back[name]) else back[name]) if is_fresh else np.inf
        steady_since = (steady_since or elapsed) if all(fresh.values()) else None
        if steady_since is not None and elapsed - steady_since > 0.5:
            break
    return back


def row(graph: Graph, name: str, back: dict[str, float]) -> dict[str, Any]:
    dead = [node for node, process in graph.running.items() if process.poll() is not None]
    return {
        "injection": name,
        "dead": dead,
        "back_s": {node: round(time_s, 2) for node, time_s in back.items()},
        "not_ok": {node: sorted(heard.not_ok)[:6] for node, heard in graph.heard.items()},
        "processor_s": round(graph.back_after_s.get(name.rpartition(" ")[2], 0.0), 2),
        "tilt_deg": round(_worst(graph, "tilt_observer"), 2),
        "torso_percent": round(_worst(graph, "inertial_ekf"), 1),
        "diagnostics": max(heard.diagnostics for heard in graph.heard.values()),
        **_counted(graph),
    }


def _counted(graph: Graph) -> dict[str, dict[str, float]]:
    """Return results and those published and received late, and the largest age when published [s]."""
    heard = graph.heard.items()
    return {
        "results": {name: h.count for name, h in heard},
        "stale": {name: h.stale for name, h in heard},
        "late": {name: h.late for name, h in heard},
        "oldest_s": {name: round(h.oldest_s, 3) for name, h in heard},
    }


def _worst(graph: Graph, node: str) -> float:
    return graph.heard[node].worst if node in graph.heard else 0.0


def live_soak(duration_s: float, rate_hz: float, seed: int, output: Path | None) -> int:
    """Run nodes for a time with random restarts of nodes and publisher; counted."""
    rng, rows = np.random.default_rng(seed), []
    with running(NODES[:2], rate_hz) as graph:
        wait_until_fresh(graph, BEGIN_S)
        end, begin = time.monotonic() + duration_s, time.monotonic()
        while time.monotonic() < end:
            graph.run(float(rng.uniform(10.0, 40.0)))
            choice = str(rng.choice([*graph.nodes, "publisher"]))
            if choice == "publisher":
                graph.disconnect()
                graph.run(1.0)
                graph.connect()
            else:
                kill_and_restart(graph, choice)
            back = wait_until_fresh(graph, BEGIN_S)
            rows.append({"at_s": round(time.monotonic() - begin), **row(graph, choice, back)})
            found = {name: rows[-1][name] for name in ("results", "stale", "late", "oldest_s", "dead")}
            print(f"{rows[-1]['at_s']:6} s  {choice:20} back {rows[-1]['back_s']}  {found}", flush=True)
            _tell_of_lost(graph, rows[-1])
            graph.forget()
        counted = _counted(graph)
    print(f"{len(rows)} restarts in {duration_s:.0f} s; {counted}")
    if output:
        output.write_text(json.dumps({**counted, "restarts": rows}, indent=1) + "\n")
    failed = any(row["dead"] or np.inf in row["back_s"].values() for row in rows)
    return 1 if failed or any(counted["stale"].values()) else 0


def _tell_of_lost(graph: Graph, found: dict[str, Any]) -> None:
    """Print what nodes that are not back say, and where they are."""
    for name in (name for name, time_s in found["back_s"].items() if np.isinf(time_s)):
        if name in found["dead"]:
            print(f"  {name} has ended")
        else:
            print(f"  {name} is not back; {graph.processor_s(name):.1f} s of processor time")
        said = [*found["not_ok"][name], *graph.log_of(name).splitlines()]
        print("\n".join(f"    {line}" for line in said), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of injections; none: all")
    parser.add_argument("--rate", type=float, default=100.0, help="of every sensor [Hz]")
    parser.add_argument("--nodes", nargs="+", choices=NODES, default=list(NODES), help="default: all three")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    options = parser.parse_args(arguments)
    rng, rows = np.random.default_rng(options.seed), []
    with running(options.nodes, options.rate) as graph:
        begin = wait_until_fresh(graph, BEGIN_S)
        print(f"first results after {begin}")
        graph.run(3.0)
        print(f"| {' | '.join(HEADER)} |")
        print("|---|---|---|---|---|---|---|---|")
        for injection in INJECTIONS:
            if options.names and not any(injection.name.startswith(name) for name in options.names):
                continue
            if injection.name.startswith("kill") and injection.name.rpartition(" ")[2] not in options.nodes:
                continue
            graph.forget()
            injection.act(graph, rng)
            back = wait_until_fresh(graph, BACK_S)
            graph.run(1.2)  # for the next diagnostics
            rows.append(row(graph, injection.name, back))
            show(rows[-1])
            _tell_of_lost(graph, rows[-1])
            for node in rows[-1]["dead"]:
                graph.start(node)
                wait_until_fresh(graph, BEGIN_S)
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
    failed = [r["injection"] for r in rows if r["dead"] or np.inf in r["back_s"].values()]
    print(f"{len(rows)} injections; failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def show(found: dict[str, Any]) -> None:
    back = ", ".join(str(t) for t in found["back_s"].values())
    said = "; ".join(text for texts in found["not_ok"].values() for text in texts)[:150]
    dead = ", ".join(found["dead"]) or "-"
    print(
        f"| {found['injection']} | {dead} | {back} | {found['processor_s']} | {found['tilt_deg']} | "
        f"{found['torso_percent']} | {found['diagnostics']} | {said} |",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
