"""Latency of the estimates over DDS, and how regularly they come.

    python benchmarks/node_latency.py [--seconds 20] [--rate 1000] [--nodes tilt_observer inertial_ekf]
                                      [--variants timer arrival] [--load]

One process publishes the sensors of a standing TALOS, each message stamped when it is sent; a node estimates
at 333 Hz; this process receives. Latency is the time from the send of the sensor reading an estimate carries
the stamp of to the receipt of the estimate, as the middleware notes it, less the half window by which the
inertial filter is behind by design. Period is the time between the receipts of two estimates. Variants:

  timer, arrival     the node with that trigger
  python-gc          timer, with Python searching for reference cycles when it likes
  real-time          timer, with realtime.priority 50 and realtime.lock_memory (as far as the system permits)

--load keeps every core busy with processes of normal priority meanwhile.
"""

import argparse
import json
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import node_cpu  # type: ignore[import-not-found]  # of the same folder, which is on the path of a script
import numpy as np

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import talk_apart

OUTPUTS = {"tilt_observer": "base_orientation", "inertial_ekf": "link_inertias/torso_2_link"}
VARIANTS = ("timer", "arrival", "python-gc", "real-time")
TAKE_PERIOD = 0.05  # [s]
DISCOVERY = 20.0  # longest wait for the first estimate [s]
SETTLING = 2.0  # left out at the beginning [s]


def main() -> int:
    """Measure and print percentiles."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of one measurement")
    parser.add_argument("--rate", type=float, default=1000.0, help="rate of every input [Hz]")
    parser.add_argument("--nodes", nargs="+", choices=list(OUTPUTS), default=list(OUTPUTS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["timer", "arrival"])
    parser.add_argument("--load", action="store_true", help="keep every core busy")
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    args, rest = parser.parse_known_args()
    if args.role == "python-gc":
        return run_with_python_gc(rest)
    talk_apart()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    heading = f"{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}"
    print(f"{'[ms]':<28}{'latency':>8}{'':<24}{'deviation from the period':>32}{'lost':>8}")
    print(f"{'':<28}{heading}{heading}", flush=True)
    results = []
    for name in args.nodes:
        for variant in args.variants:
            latency, period, missing = measure(name, variant, args)
            columns = "".join(f"{1e3 * value:>8.3f}" for value in (*latency, *period))
            print(f"{name:<16}{variant:<12}{columns}{missing:>8}", flush=True)
            results.append({"node": name, "variant": variant, "latency_s": latency, "period_s": period})
    print(json.dumps(results))
    return 0


def command(name: str, variant: str) -> list[str]:
    if variant == "real-time":
        return node_cpu.node_command(
            name, "timer", **{"realtime.priority": 50, "realtime.lock_memory": "true"}
        )
    if variant == "python-gc":
        ros = node_cpu.ros_arguments(name, "timer")
        return [sys.executable, __file__, "--role", "python-gc", name, *ros]
    return node_cpu.node_command(name, variant)


def run_with_python_gc(arguments: list[str]) -> int:
    """Run a node without the collector of its own."""
    from inertial_estimation.ros import node_runner, real_time

    class Nothing:
        def collect_when_due(self) -> None:
            pass

    real_time.CycleCollector = Nothing  # type: ignore[assignment, misc]
    return node_runner.run_node(node_cpu.node_class(arguments[0]), ["node", *arguments[1:]])


def measure(name: str, variant: str, args: argparse.Namespace) -> tuple[list[float], list[float], int]:
    """Return percentiles of latency and of the deviation from the period [s], and estimates lost."""
    publisher = [sys.executable, node_cpu.__file__, "--role", "publisher", "--rate", str(args.rate)]
    publisher += ["--stamped-when-sent"]
    remapped = ["-r", f"{OUTPUTS[name]}:=measured/{OUTPUTS[name]}"]
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        processes.start("node", [*command(name, variant), *remapped])
        processes.start("publisher", publisher)
        for core in range(os.cpu_count() or 1) if args.load else ():
            processes.start(f"busy {core}", [sys.executable, "-c", "while True: pass"])
        heard = listen(name, args.seconds)
        processes.check()
    stamps, received, sequence = (np.array(column, dtype=np.int64) for column in zip(*heard, strict=True))
    latency = 1e-9 * (received - stamps) - delay(name)
    nominal = np.median(np.diff(stamps)) * 1e-9
    deviation = np.abs(1e-9 * np.diff(received) - nominal)
    missing = int(sequence[-1] - sequence[0] + 1 - len(sequence))
    return percentiles(latency), percentiles(deviation), missing


def percentiles(values: Any) -> list[float]:
    return [float(v) for v in (*np.percentile(values, (50.0, 99.0, 99.9)), values.max())]


def delay(name: str) -> float:
    """Return by how much an estimate is behind by design: half the window of the inertial filter [s]."""
    if name != "inertial_ekf":
        return 0.0
    from inertial_estimation.configuration.config_file import load_config_file
    from inertial_estimation.configuration.pipelines import build_pipelines

    inertial = build_pipelines(load_config_file(node_cpu.CONFIG)).inertial
    assert inertial is not None
    return 0.5 * inertial.config.window


def listen(name: str, seconds: float) -> list[tuple[int, int, int]]:
    """Return stamp, time of receipt [ns] and number of each estimate, in order."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from inertial_estimation.ros.qos import sensor_input
    from inertial_estimation.ros.rclpy_internals import MessageQueue

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("listener", start_parameter_services=False)
        types = node_cpu.inputs("whole_body_controller")
        topic = OUTPUTS[name]
        # the load publishes on the topics of the estimates, too: the node's own are remapped
        queue = MessageQueue(node, types[topic], f"measured/{topic}", qos_profile=sensor_input())
        heard: list[tuple[int, int, int]] = []
        deadline, end = time.monotonic() + DISCOVERY, None
        while end is None or time.monotonic() < end:
            time.sleep(TAKE_PERIOD)
            for data, info in queue.take():
                if end is None:
                    end = time.monotonic() + SETTLING + seconds
                if time.monotonic() > end - seconds:
                    sec, nanosec = struct.unpack_from("<iI", data, 4)
                    number = info["publication_sequence_number"]
                    heard.append((sec * 10**9 + nanosec, info["received_timestamp"], number))
            if end is None and time.monotonic() > deadline:
                raise SystemExit(f"{name} published nothing on measured/{topic} for {DISCOVERY:g} s")
        return heard
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
