"""CPU of the live estimators at 1 kHz inputs and 333 Hz outputs, over that of empty nodes on the same topics.

    python -m benchmarks.node_cpu [--seconds 10] [--rate 1000]

One process publishes the sensors of a standing TALOS (32 joints, IMU, two ankle wrenches), and the base state
at a third of their rate. The nodes and their empty twins run one after
another under the same load; the CPU time is that of the process, from /proc. An empty node has the
subscriptions and quality of service of the node, and callbacks of rclpy's executor that do nothing.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.fault_campaign.messages import MESSAGE_TYPES, Serialised, serialised
from benchmarks.referee.synthetic import standing_talos
from inertial_estimation import BaseState
from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.commands.ros_domains import lock_domain

RATE = 333.0  # of the estimates [Hz]
NODES = ("tilt_observer", "inertial_ekf")
CONFIG = Path(__file__).resolve().parents[1] / "config" / "talos.yaml"
STARTUP_S = 12.0  # imports, machine code from disk, first messages
LONGEST_S = 300.0  # a publisher left behind ends by itself


def main() -> int:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of one measurement")
    parser.add_argument("--rate", type=float, default=1000.0, help="rate of every sensor [Hz]")
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        return publish(args.rate) if args.role == "publisher" else run_empty(args.role)
    _lock, domain = lock_domain()  # held while this function runs
    os.environ |= {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": str(domain)}
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = []
    for name in NODES:
        empty = cpu_share([sys.executable, "-m", "benchmarks.node_cpu", "--role", name], args)
        node = node_command(name, "-p", f"{name}:rate:={RATE}", "--log-level", "error")
        found.append((empty, cpu_share(node, args)))
    for name, (empty, share) in zip((*NODES, "both"), (*found, np.sum(found, axis=0)), strict=True):
        print(f"{name:>22}  empty {empty:.1%}  node {share:.1%} ({share / empty:.2f} x)")
    return 0


def node_command(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a node on TALOS."""
    code = f"import sys; from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
    return [sys.executable, "-c", code, "--ros-args", "--params-file", str(CONFIG), *arguments]


def cpu_share(command: list[str], args: argparse.Namespace) -> float:
    """Run a process under load and return the share of one core it takes."""
    publisher = [sys.executable, "-m", "benchmarks.node_cpu", "--role", "publisher", "--rate", str(args.rate)]
    with tempfile.TemporaryDirectory() as folder, ProcessGroup(Path(folder)) as processes:
        node = processes.start("node", command)
        processes.start("publisher", publisher)
        time.sleep(STARTUP_S)
        processes.check()
        before, start = cpu_seconds(node.pid), time.monotonic()
        time.sleep(args.seconds)
        share = (cpu_seconds(node.pid) - before) / (time.monotonic() - start)
        processes.check()
    return share


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_empty(name: str) -> int:
    """Run a node with callbacks that do nothing, as one that knows nothing better."""
    from rclpy.node import Node

    from inertial_estimation.ros.messages import message_class
    from inertial_estimation.ros.node_runner import run_node
    from inertial_estimation.ros.qos import SENSOR_INPUT

    def build() -> Node:
        node = Node(f"empty_{name}")
        for topic, message in sensors().items():
            if not (topic == "base_state" and name == "tilt_observer"):
                kind = message_class(message.message_type)
                node.create_subscription(kind, topic, lambda _msg: None, SENSOR_INPUT)
        return node

    return run_node(build, [])


def publish(rate: float) -> int:
    """Publish the sensors of a standing TALOS until a signal, stamped when they are due, as by a driver."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from inertial_estimation.ros.messages import message_class

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node, messages = rclpy.create_node("publisher"), sensors()
    raw = {topic: bytearray(message.data) for topic, message in messages.items()}
    publishers = {
        topic: node.create_publisher(message_class(message.message_type), topic, 50)
        for topic, message in messages.items()
    }
    start, begin_ns, count = time.monotonic(), time.time_ns(), 0
    try:
        while time.monotonic() < start + LONGEST_S:
            time.sleep(max(0.0, start + count / rate - time.monotonic()))
            sec, nanosec = divmod(begin_ns + round(1e9 * count / rate), 10**9)
            for topic, data in raw.items():
                if count % 3 and topic == "base_state":
                    continue
                data[4:12] = sec.to_bytes(4, "little") + nanosec.to_bytes(4, "little")
                publishers[topic].publish(bytes(data))
            count += 1
    except KeyboardInterrupt:
        rclpy.try_shutdown()
    return 0


def sensors() -> dict[str, Serialised]:
    """Return one message of every input: TALOS stands half sitting, upright, everything in balance."""
    entries = standing_talos(0)[1].messages[:100]  # at rest
    found = {e.topic.strip("/"): serialised(e.sample) for e in entries if type(e.sample) in MESSAGE_TYPES}
    state = BaseState(0, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0), 3 * (0.0,), 3 * (0.0,))
    return {**found, "base_state": serialised(state)}


if __name__ == "__main__":
    sys.exit(main())
