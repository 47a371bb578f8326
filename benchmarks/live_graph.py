"""Nodes as processes, their sensors published in real time from here, and what they publish watched."""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import geometry_msgs.msg
import numpy as np
import rclpy
import sensor_msgs.msg
from diagnostic_msgs.msg import DiagnosticArray
from rclpy._rclpy_pybind11 import RCLError
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Bool, Float64MultiArray

from inertial_estimation.commands.processes import ProcessGroup
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.recordings.estimate_messages import health_from_msg
from inertial_estimation.recordings.message_conversion import CONVERSIONS, stamp_from_msg
from inertial_estimation.ros.bag_player import message_class
from inertial_estimation.ros.qos import COMMAND_INPUT, LATCHED, RELIABLE_OUTPUT, SENSOR_INPUT
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import GROUND_TRUTH_TOPIC, measure
from inertial_estimation.synthetic.synthetic_truth import Timing

PERIOD_S = 4.0  # of the readings of a robot at rest, played again and again
TORSO_KG = 17.56011  # mass of torso_2_link in the URDF
STALE_NS = 300_000_000
STACK_S = 0.5  # in which a node prints where its threads are
OUTPUTS: Mapping[str, tuple[str, type]] = {
    "tilt_observer": ("base_orientation", geometry_msgs.msg.QuaternionStamped),
    "inertial_ekf": ("link_inertias/torso_2_link", geometry_msgs.msg.InertiaStamped),
    "whole_body_controller": ("joint_torque_commands", sensor_msgs.msg.JointState),
}
COMMANDS: Mapping[str, type] = {
    "joint_reference": sensor_msgs.msg.JointState,
    "base_reference": geometry_msgs.msg.PoseStamped,
    "walk_command": Float64MultiArray,
    "hold": Bool,
    "yaw_reference": geometry_msgs.msg.QuaternionStamped,
}


@dataclass(frozen=True, slots=True)
class Message:
    """A serialised message of one topic, without a valid stamp."""

    topic: str
    message_type: type
    data: bytes

    def stamped(self, stamp_ns: int) -> bytes:
        """Return its bytes with a stamp [ns]."""
        stamp = struct.pack("<iI", *divmod(stamp_ns, 10**9))
        return self.data[:4] + stamp + self.data[12:]


def standing_talos(rate_hz: float) -> list[list[Message]]:
    """Return the messages of a TALOS at rest on noisy sensors, by instant, to be played again and again."""
    rng = np.random.default_rng(0)
    timing = Timing(duration_s=PERIOD_S, rate_hz=min(rate_hz, 100.0), rest_s=2.0 * PERIOD_S)
    truth = synthetic_truth("talos", timing, rng, payload_time_s=None)
    still = measure(truth, replace(REALISTIC, angular_rate_bias=(0.0, 0.0, 0.0)), rng)
    instants: dict[int, list[Message]] = {}
    for entry in still.messages:
        if entry.topic == GROUND_TRUTH_TOPIC:
            continue
        kind = still.topics[entry.topic]
        found = message_class(kind)
        data = serialize_message(CONVERSIONS[kind].to_msg(entry.sample, found(), "frame"))
        instants.setdefault(entry.sample.stamp_ns, []).append(Message(entry.topic[1:], found, bytes(data)))
    return list(instants.values())


@dataclass
class Heard:
    """What one node has published.

    Attributes:
        last_ns: When the last result came [ns of the wall clock].
        count: Results.
        stale: Results stamped more than 0.3 s before their node published them, or ahead.
        late: Results stamped more than 0.3 s before they came here: stale, or held up on their way.
        oldest_s: Largest age of a result when its node published it [s].
        worst: Largest deviation of the output since it was last forgotten.
        not_ok: What its health said when it was not OK, since it was last forgotten.
        diagnostics: Largest size of its report [bytes].
    """

    last_ns: int = 0
    count: int = 0
    stale: int = 0
    late: int = 0
    oldest_s: float = 0.0
    worst: float = 0.0
    not_ok: set[str] = field(default_factory=set)
    diagnostics: int = 0


Alter = Callable[[Message, bytes], Sequence[bytes]]


class Graph(AbstractContextManager["Graph"]):
    """Nodes on a domain of their own, fed from this process.

    Attributes:
        heard: What each node has published.
        nodes: Names of the nodes.
        back_after_s: Processor time that each node had taken when its results were last back [s].
    """

    def __init__(self, nodes: Sequence[str], folder: Path, domain: int, rate_hz: float) -> None:
        """Start the nodes and the publishers."""
        self.nodes, self.rate_hz = tuple(nodes), rate_hz
        self.heard = {node: Heard() for node in nodes}
        self.back_after_s: dict[str, float] = {}
        self._environment = {"ROS_DOMAIN_ID": str(domain), "OMP_NUM_THREADS": "1"}
        os.environ.update(self._environment)
        self._processes, self._folder = ProcessGroup(folder), folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._instants = standing_talos(rate_hz)
        rclpy.init(args=[], domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("injector", start_parameter_services=False, enable_rosout=False)
        self._publishers: dict[str, Any] = {}
        self.connect()
        self._listen()
        for name in nodes:
            self.start(name)
        self._count, self._begin = 0, time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._node.destroy_node()
        rclpy.try_shutdown()
        self._processes.__exit__(kind, error, trace)

    def start(self, name: str) -> None:
        """Start one node."""
        code = "import faulthandler, signal, sys; faulthandler.register(signal.SIGUSR1)\n"
        code += f"from inertial_estimation.ros.node_runner import {name}; sys.exit({name}())"
        arguments = ["--ros-args", "--params-file", str(find_config("talos")), "--log-level", "warn"]
        arguments += ["-p", "await_inertias:=false"]
        command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
        self.running[name] = self._processes.start(name, command, environment=self._environment)

    def processor_s(self, name: str) -> float:
        """Return the processor time that a running node has taken since its start [s]."""
        fields = Path(f"/proc/{self.running[name].pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log_of(self, name: str) -> str:
        """Return the last lines that a node has printed, and where each of its threads is."""
        if self.running[name].poll() is None:
            self.running[name].send_signal(signal.SIGUSR1)
            time.sleep(STACK_S)
        return (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-6000:].strip()

    def start_publisher(self) -> "subprocess.Popen[bytes]":
        """Start a second process that publishes the same sensors."""
        code = f"from benchmarks.live_graph import publish_for_ever; publish_for_ever({self.rate_hz})"
        return self._processes.start("publisher", [sys.executable, "-c", code], environment=self._environment)

    def connect(self) -> None:
        """Make the publishers of the sensors."""
        for message in self._instants[0]:
            publisher = self._node.create_publisher(message.message_type, message.topic, SENSOR_INPUT)
            self._publishers[message.topic] = publisher

    def disconnect(self) -> None:
        """Remove them again."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers.clear()

    def command(self, topic: str, data: bytes) -> None:
        """Publish bytes on a topic of the commands."""
        if topic not in self._publishers:
            qos = {"hold": LATCHED, "yaw_reference": SENSOR_INPUT}.get(topic, COMMAND_INPUT)
            self._publishers[topic] = self._node.create_publisher(COMMANDS[topic], topic, qos)
        self._publish(topic, data)

    def _publish(self, topic: str, data: bytes) -> None:
        with contextlib.suppress(RCLError):  # the middleware itself refuses bytes that it cannot measure
            self._publishers[topic].publish(data)

    def run(
        self, duration_s: float, alter: Alter | None = None, each: Callable[[], None] | None = None
    ) -> None:
        """Publish and listen for a time.

        Args:
            duration_s: How long [s].
            alter: Returns what is published in the place of a message's bytes; None: the bytes.
            each: Called once every instant.
        """
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            due = self._begin + self._count / self.rate_hz
            time.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() - due > 1.0:  # the machine was busy elsewhere: no hurry afterwards
                self._begin = time.monotonic() - self._count / self.rate_hz
            stamp = time.time_ns()
            for message in self._instants[self._count % len(self._instants)] if self._publishers else ():
                data = message.stamped(stamp)
                for sent in (data,) if alter is None else alter(message, data):
                    self._publish(message.topic, sent)
            self._count += 1
            if each is not None:
                each()
            self._take()

    def forget(self) -> None:
        """Forget what was worst, and what health said."""
        for heard in self.heard.values():
            heard.worst, heard.diagnostics = 0.0, 0
            heard.not_ok.clear()

    def ages_s(self) -> dict[str, float]:
        """Return the time since each node's last result [s]; infinite before the first."""
        now = time.time_ns()
        return {
            name: 1e-9 * (now - heard.last_ns) if heard.last_ns else np.inf
            for name, heard in self.heard.items()
        }

    def _listen(self) -> None:
        self._subscriptions = {
            name: self._node.create_subscription(OUTPUTS[name][1], OUTPUTS[name][0], _nothing, SENSOR_INPUT)
            for name in self.nodes
        }
        self._diagnostics = self._node.create_subscription(
            DiagnosticArray, "/diagnostics", _nothing, RELIABLE_OUTPUT
        )

    def _take(self) -> None:
        for name, subscription in self._subscriptions.items():
            while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
                self._note(name, taken[0], taken[1]["source_timestamp"], taken[1]["received_timestamp"])
        while (taken := self._diagnostics.handle.take_message(DiagnosticArray, False)) is not None:
            self._note_health(taken[0])

    def _note(self, name: str, message: Any, sent: int, received: int) -> None:
        """Note a result, by when the node published it and the middleware here received it [ns].

        Neither depends on what this process was doing.
        """
        heard = self.heard[name]
        stamp = stamp_from_msg(message.header.stamp)
        heard.last_ns, heard.count = received, heard.count + 1
        heard.stale += not -STALE_NS // 10 < sent - stamp < STALE_NS
        heard.late += not received - stamp < STALE_NS
        heard.oldest_s = max(heard.oldest_s, 1e-9 * (sent - stamp))
        if name == "tilt_observer":
            q = message.quaternion
            heard.worst = max(heard.worst, float(np.degrees(2.0 * np.arcsin(min(1.0, np.hypot(q.x, q.y))))))
        elif name == "inertial_ekf":
            heard.worst = max(heard.worst, abs(message.inertia.m / TORSO_KG - 1.0) * 100.0)

    def _note_health(self, message: DiagnosticArray) -> None:
        size = len(serialize_message(message))
        for status in message.status:
            node, health = health_from_msg(status)
            heard = self.heard.get(node.rpartition("/")[2])
            if heard is not None:
                heard.diagnostics = max(heard.diagnostics, size)
                if health.level:
                    heard.not_ok.add(f"{health.name}: {health.message}")


def _nothing(_message: Any) -> None:
    """Leave messages to be taken by hand."""


def publish_for_ever(rate_hz: float) -> None:
    """Publish the sensors of a standing TALOS until the process is ended."""
    rclpy.init(args=[])
    node = rclpy.create_node("second_publisher")
    instants, begin, count = standing_talos(rate_hz), time.monotonic(), 0
    publishers = {m.topic: node.create_publisher(m.message_type, m.topic, SENSOR_INPUT) for m in instants[0]}
    while True:
        time.sleep(max(0.0, begin + count / rate_hz - time.monotonic()))
        stamp = time.time_ns()
        for message in instants[count % len(instants)]:
            publishers[message.topic].publish(message.stamped(stamp))
        count += 1
