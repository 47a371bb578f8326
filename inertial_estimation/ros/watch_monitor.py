"""Finds the nodes of a namespace and monitors them at low cost, by polling without an executor."""

import os
import time
from collections.abc import Callable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from inertial_estimation.recordings.estimate_messages import health_from_msg
from inertial_estimation.recordings.watch_record import WatchRecord
from inertial_estimation.ros.messages import message_reader
from inertial_estimation.ros.qos import NO_INPUT_EVENTS, RELIABLE_OUTPUT, SENSOR_INPUT
from inertial_estimation.signals import Health

OWN_NODES = frozenset(
    {"tilt_observer", "inertial_ekf", "trunk_payload", "simulator", "whole_body_controller"}
)
JOINT_STATE = "sensor_msgs/msg/JointState"
SUFFIX = "/telemetry"
TAKE_PERIOD = 0.05  # [s]
FIND_PERIOD = 1.0  # [s]


class WatchMonitor(Node):
    """Keeps the newest telemetry and reports of all nodes in a namespace.

    Attributes:
        record: The newest telemetry and reports.
    """

    def __init__(self, record: WatchRecord, namespace: str = "/") -> None:
        """Subscribe to `/diagnostics`; telemetry is subscribed to when nodes are found.

        Args:
            record: Where to keep what is heard.
            namespace: Nodes in it and below are watched.
        """
        name = f"inertial_estimation_monitor_{os.getpid()}"
        super().__init__(name, start_parameter_services=False, enable_rosout=False)
        self.record = record
        self._inside = namespace.strip("/") + "/" if namespace.strip("/") else ""
        self._telemetry: dict[str, Any] = {}
        self._read = message_reader(JointState)
        events = {"event_callbacks": NO_INPUT_EVENTS}
        self._reports = self.create_subscription(
            DiagnosticArray, "/diagnostics", _ignore, RELIABLE_OUTPUT, **events
        )

    def find(self) -> None:
        """Find nodes that have appeared since the last call, and subscribe to their telemetry."""
        for name, namespace in self.get_node_names_and_namespaces():
            node = f"{namespace.strip('/')}/{name}".lstrip("/")
            if name in OWN_NODES and node.startswith(self._inside):
                self.record.node(node)
        for topic, types in self.get_topic_names_and_types():
            node = topic.removesuffix(SUFFIX).lstrip("/")
            if node == topic.lstrip("/") or JOINT_STATE not in types or node in self._telemetry:
                continue
            if node.startswith(self._inside):
                self.record.node(node)
                self._telemetry[node] = self.create_subscription(
                    JointState, topic, _ignore, SENSOR_INPUT, event_callbacks=NO_INPUT_EVENTS, raw=True
                )

    def take(self, now_s: float) -> None:
        """Take all messages that have arrived; of the telemetry only the newest is read."""
        for node, subscription in self._telemetry.items():
            newest, count = None, 0
            while (taken := subscription.handle.take_message(JointState, True)) is not None:
                newest, count = taken[0], count + 1
            if newest is not None:
                reading = self._read(newest)
                figures = dict(zip(reading.names, reading.position.tolist(), strict=True))
                self.record.node(node).hear_figures(now_s, figures, count)
        while (taken := self._reports.handle.take_message(DiagnosticArray, False)) is not None:
            self._report(now_s, taken[0])

    def _report(self, now_s: float, msg: DiagnosticArray) -> None:
        parts: dict[str, list[Health]] = {}
        for status in msg.status:
            node, separator, _part = status.name.partition(": ")
            if separator and node.startswith(self._inside) and self._is_ours(node):
                parts.setdefault(node, []).append(health_from_msg(status)[1])
        for node, report in parts.items():
            self.record.node(node).hear_report(now_s, report)

    def _is_ours(self, node: str) -> bool:
        return node in self._telemetry or node.rpartition("/")[2] in OWN_NODES


def watch(
    record: WatchRecord,
    *,
    namespace: str,
    show: Callable[[float], None],
    done: Callable[[float], bool],
    period_s: float,
) -> None:
    """Monitor the nodes until a condition holds.

    Args:
        record: Where to keep what is heard.
        namespace: Nodes in it and below are watched.
        show: Called once per period with the current time of the steady clock [s].
        done: Called after every poll with that time; returns whether to stop.
        period_s: Time between two calls of `show` [s].
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = WatchMonitor(record, namespace)
        now_s = next_show = next_find = time.monotonic()
        while not done(now_s):
            if now_s >= next_find:
                node.find()
                next_find = now_s + FIND_PERIOD
            node.take(now_s)
            if now_s >= next_show:
                show(now_s)
                next_show = now_s + period_s
            time.sleep(TAKE_PERIOD)
            now_s = time.monotonic()
    finally:
        rclpy.try_shutdown()


def _ignore(_data: bytes) -> None:
    """Do nothing; messages taken by polling need no callback."""
