"""Listeners of the commands `demo` and `monitor`: messages are polled at low cost, without an executor."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    INERTIAL_NODE,
    PAYLOAD_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.inputs.messages import JOINT_STATE_TYPE
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.recordings.watch_record import LiveRecord, WatchRecord
from inertial_estimation.ros.messages import health_from_msg, message_reader
from inertial_estimation.ros.qos import NO_INPUT_EVENTS, RELIABLE, SENSOR_INPUT
from inertial_estimation.signals import Health

OWN_NODES = frozenset({TILT_NODE, INERTIAL_NODE, PAYLOAD_NODE, SIMULATOR_NODE, CONTROLLER_NODE})
TELEMETRY = "/telemetry"
TAKE_PERIOD, FIND_PERIOD = 0.05, 1.0  # periods of polling messages, and of searching nodes [s]


class PolledNode(Node):
    """A node whose owner polls the messages that have arrived."""

    def __init__(self, name: str, context: Context | None = None) -> None:
        """Create the node and subscribe to `/diagnostics`."""
        super().__init__(name, context=context, start_parameter_services=False, enable_rosout=False)
        self.listen_to(DiagnosticArray, "/diagnostics", self.on_diagnostics, RELIABLE, raw=False)

    def take(self) -> None:
        """Process all messages that have arrived."""
        for subscription in self.subscriptions:
            handle = subscription.handle
            while (taken := handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                subscription.callback(taken[0])

    def listen_to(
        self, kind: type, topic: str, receive: Any, qos: QoSProfile = SENSOR_INPUT, *, raw: bool = True
    ) -> None:
        """Subscribe to a topic; `receive` is called with the bytes of a message, or with the message."""
        quiet = {"event_callbacks": NO_INPUT_EVENTS}
        self.create_subscription(kind, topic, lambda msg: receive(msg), qos, raw=raw, **quiet)

    def on_diagnostics(self, msg: DiagnosticArray) -> None:
        """Process a report of a node."""


class DemoMonitor(PolledNode):
    """Records outputs of the nodes of a demo: inertias of a link, positions of a joint, health reports."""

    def __init__(self, record: LiveRecord, link: str, joint: str, context: Context) -> None:
        super().__init__("demo_monitor", context)
        self._record, self._joint = record, joint
        self._read_inertia, self._read_joints = message_reader(InertiaStamped), message_reader(JointState)
        self.listen_to(InertiaStamped, f"link_inertias/{topic_token(link)}", self._on_inertia)
        self.listen_to(JointState, "joint_states", self._on_joints)

    def _on_inertia(self, data: bytes) -> None:
        stamp_ns, inertia = self._read_inertia(data)
        self._record.masses.append((stamp_ns, inertia.mass))

    def _on_joints(self, data: bytes) -> None:
        reading = self._read_joints(data)
        place = reading.names.index(self._joint)
        self._record.positions.append((reading.stamp_ns, float(reading.position[place])))

    def on_diagnostics(self, msg: DiagnosticArray) -> None:
        """Keep the newest report of each component."""
        self._record.reports.update({status.name: health_from_msg(status) for status in msg.status})


@contextmanager
def listen(record: LiveRecord, link: str, joint: str, domain_id: int) -> Iterator[DemoMonitor]:
    """Yield a monitor in its own context on a ROS domain; its `take` must be called often."""
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DemoMonitor(record, link, joint, context)
        yield node
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)


class WatchMonitor(PolledNode):
    """Keeps the newest telemetry and health reports of all nodes in a namespace."""

    def __init__(self, record: WatchRecord, namespace: str) -> None:
        """Watch the nodes in a namespace and below; telemetry is subscribed to when they are found."""
        super().__init__(f"inertial_estimation_monitor_{os.getpid()}")
        self._record = record
        self._inside = namespace.strip("/") + "/" if namespace.strip("/") else ""
        self._newest: dict[str, tuple[bytes, int]] = {}  # newest message, and number since the last poll
        self._known: set[str] = set()  # nodes with telemetry
        self._read = message_reader(JointState)

    def find(self) -> None:
        """Find nodes that have appeared since the last call, and subscribe to their telemetry."""
        for name, namespace in self.get_node_names_and_namespaces():
            node = f"{namespace.strip('/')}/{name}".lstrip("/")
            if name in OWN_NODES and node.startswith(self._inside):
                self._record.node(node)
        for topic, types in self.get_topic_names_and_types():
            node = topic.removesuffix(TELEMETRY).lstrip("/")
            ours = topic.endswith(TELEMETRY) and JOINT_STATE_TYPE in types and node.startswith(self._inside)
            if ours and node not in self._known:
                self._known.add(node)
                self._record.node(node)
                self.listen_to(JointState, topic, partial(self._keep, node))

    def poll(self, now_s: float) -> None:
        """Process all messages that have arrived; of a node's telemetry only the newest is decoded."""
        self._now_s = now_s
        self._newest.clear()
        self.take()
        for node, (data, count) in self._newest.items():
            reading = self._read(data)
            figures = dict(zip(reading.names, reading.position.tolist(), strict=True))
            self._record.node(node).add_telemetry(now_s, figures, count)

    def _keep(self, node: str, data: bytes) -> None:
        self._newest[node] = data, self._newest.get(node, (b"", 0))[1] + 1

    def on_diagnostics(self, msg: DiagnosticArray) -> None:
        """Keep the reports of the monitored nodes."""
        parts: dict[str, list[Health]] = {}
        for status in msg.status:
            node, separator, _part = status.name.partition(": ")
            ours = node in self._known or node.rpartition("/")[2] in OWN_NODES
            if separator and node.startswith(self._inside) and ours:
                parts.setdefault(node, []).append(health_from_msg(status))
        for node, report in parts.items():
            self._record.node(node).add_report(self._now_s, report)


def watched(record: WatchRecord, namespace: str) -> Iterator[float]:
    """Monitor the nodes of a namespace and below; yield the steady clock's time [s] after each poll."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node, next_find = WatchMonitor(record, namespace), 0.0
        while True:
            now_s = time.monotonic()
            if now_s >= next_find:
                node.find()
                next_find = now_s + FIND_PERIOD
            node.poll(now_s)
            yield now_s
            time.sleep(TAKE_PERIOD)
    finally:
        rclpy.try_shutdown()
