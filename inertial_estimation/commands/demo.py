"""Watch both nodes weigh a payload on a synthetic Talos, live over DDS.

Makes a recording of a standing Talos that moves and is handed 12 lb (5.44 kg) on its left forearm,
starts both nodes as processes, plays the recording to them, prints what they say, and saves a figure.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from inertial_estimation.replay.config_lookup import find_config
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.errors import ConfigurationError, MissingDependencyError, RecordingError
from inertial_estimation.replay.config_file import load_config_file
from inertial_estimation.replay.live_record import LiveRecord, tilt_angles
from inertial_estimation.replay.recording import MemoryRecording, read_orientations
from inertial_estimation.replay.recording_writer import write_recording
from inertial_estimation.replay.sensor_noise import GROUND_TRUTH_TOPIC, REALISTIC, measure
from inertial_estimation.replay.synthetic import Payload, Timing, Truth
from inertial_estimation.replay.synthetic_robots import synthetic_truth
from inertial_estimation.signals import OrientationSample

__all__ = ["add_arguments", "run"]

PAYLOAD_TIME_S = 5.0
STARTUP_S = 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--duration", type=float, default=14.0, metavar="S", help="length of the recording (14)"
    )
    parser.add_argument("--rate", type=float, default=250.0, metavar="HZ", help="rate of the sensors (250)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output", type=Path, default=Path("results/demo"), metavar="DIR", help="where the figure goes"
    )
    parser.add_argument("--no-live", action="store_true", help="print only the last table")


def run(args: argparse.Namespace) -> int:
    """Simulate, start, watch, draw."""
    if args.duration <= PAYLOAD_TIME_S:
        raise ConfigurationError(
            f"--duration is {args.duration} s, expected more than {PAYLOAD_TIME_S} s, when the weight comes"
        )
    _go_private()
    monitor = _import_monitor()
    config = find_config("talos")
    links = list(load_config_file(config).values("inertial_ekf", ()).get("links", []))
    print("simulating Talos ...", flush=True)
    truth, recording = _simulate(args)
    assert truth.payload is not None
    show = _no_show if args.no_live else _Table(truth.payload, int(truth.stamps_ns[0])).show
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        bag = Path(folder) / "talos"
        write_recording(recording, bag)
        _start_nodes(processes, config)
        players: list[subprocess.Popen[bytes]] = []
        deadline = time.monotonic() + STARTUP_S + args.duration

        def done(listening: bool) -> bool:
            processes.check()
            if listening and not players:
                players.append(_start_player(processes, bag))
            ended = bool(players) and players[0].poll() is not None
            return ended or time.monotonic() > deadline

        record = monitor(links, done=done, show=show)
        complaints = processes.output()
    reference = read_orientations(recording, GROUND_TRUTH_TOPIC)
    return _report(args.output, record, truth, reference, complaints)


def _simulate(args: argparse.Namespace) -> tuple[Truth, MemoryRecording]:
    motion_rng, noise_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(args.seed).spawn(2))
    timing = Timing(duration_s=args.duration, rate_hz=args.rate)
    truth = synthetic_truth("talos", timing, motion_rng, payload_time_s=PAYLOAD_TIME_S)
    return truth, measure(truth, REALISTIC, noise_rng)


def _go_private() -> None:
    """Talk on a domain of its own, on this machine only."""
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _import_monitor() -> Callable[..., LiveRecord]:
    try:
        from inertial_estimation.ros.demo_monitor import monitor
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"the demo talks to live nodes, and '{error.name}' is not importable: source a ROS 2 "
            "installation, or pip install 'inertial_estimation[standalone,tools]'"
        ) from error
    return monitor


def _start_nodes(processes: ProcessGroup, config: Path) -> None:
    ros = ["--ros-args", "--params-file", str(config), "-p", "use_sim_time:=true", "--log-level", "warn"]
    for node in ("tilt_observer", "inertial_ekf"):
        call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
        processes.start(node, [sys.executable, "-c", call, *ros])


def _start_player(processes: ProcessGroup, bag: Path) -> "subprocess.Popen[bytes]":
    main = [sys.executable, "-m", "inertial_estimation.commands.main"]
    return processes.start("player", [*main, "play", str(bag), "--wait", "20", "--subscribers", "2"])


def _no_show(_record: LiveRecord) -> None:
    """Show nothing."""


class _Table:
    """Prints the estimates, over the last ones when on a terminal."""

    def __init__(self, payload: Payload, start_ns: int) -> None:
        self._payload = payload
        self._start_ns = start_ns
        self._lines = 0
        self._shown_ns = 0

    def show(self, record: LiveRecord) -> None:
        """Print the newest estimates."""
        if record.newest_ns == self._shown_ns:
            return
        self._shown_ns = record.newest_ns
        lines = table(record, self._payload, self._start_ns)
        if sys.stdout.isatty() and self._lines:
            print(f"\x1b[{self._lines}A\x1b[J", end="")
        print("\n".join(lines), flush=True)
        self._lines = len(lines)


def table(record: LiveRecord, payload: Payload, start_ns: int) -> list[str]:
    """Render the newest estimates as lines of text."""
    t = (record.newest_ns - start_ns) * 1e-9
    held = payload.inertia.mass if t >= payload.time_s else 0.0
    lines = [
        f"t = {t:5.2f} s   truth: {held:.2f} kg on {payload.inertia.link}",
        f"  {'link':<18}{'payload [kg]':>14}{'2 sigma':>9}{'mass [kg]':>11}   centre of mass [m]",
    ]
    for link, series in record.payloads.items():
        if not series or not record.inertias[link]:
            continue
        sigma = f"{2.0 * record.sigmas[link][-1][1]:9.2f}" if record.sigmas[link] else f"{'-':>9}"
        body = record.inertias[link][-1][1]
        com = "  ".join(f"{value:+.3f}" for value in body.com_L)
        lines.append(f"  {link:<18}{series[-1][1].mass:>14.2f}{sigma}{body.mass:>11.2f}   {com}")
    return lines


def _report(
    output: Path, record: LiveRecord, truth: Truth, reference: list[OrientationSample], complaints: str
) -> int:
    payload, start_ns = truth.payload, int(truth.stamps_ns[0])
    assert payload is not None
    if not record.newest_ns or not record.orientations:
        silent = "inertial_ekf" if record.orientations else "tilt_observer"
        said = complaints or "; ".join(f"{k}: {v}" for k, v in record.complaints.items()) or "nothing"
        raise RecordingError(f"nothing was heard from {silent}; the nodes said: {said}")
    print("\n".join(table(record, payload, start_ns)))
    stamps, angles = tilt_angles(record.orientations, reference)
    settled = angles[stamps > start_ns + 2e9]
    if len(settled):
        print(f"tilt error after 2 s: rms {np.degrees(np.sqrt(np.mean(settled**2))):.3f} deg")
    try:
        from inertial_estimation.plots.demo_figure import write_demo_figure
    except ImportError as error:
        print(f"no figure: {error} (pip install matplotlib)", file=sys.stderr)
        return 0
    try:
        output.mkdir(parents=True, exist_ok=True)
        figure = output / "demo.png"
        write_demo_figure(figure, record, start_ns=start_ns, payload=payload, truth=reference)
    except OSError as error:
        raise ConfigurationError(f"cannot write the figure into '{output}': {error}") from error
    print(f"figure: {figure}")
    return 0
