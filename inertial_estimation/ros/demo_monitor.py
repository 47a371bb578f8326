"""Monitors nodes at low cost: messages are polled twenty times per second, without an executor."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from inertial_estimation.recordings.estimate_messages import health_from_msg
from inertial_estimation.recordings.live_record import HeardRobot, LiveRecord
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.messages import message_reader
from inertial_estimation.ros.qos import NO_INPUT_EVENTS, RELIABLE_OUTPUT, SENSOR_INPUT
from inertial_estimation.signals import JointReading

SIGMA_KEY = "mass sigma "


class DemoMonitor(Node):
    """Records the messages that the nodes publish.

    Attributes:
        record: The messages received so far.
    """

    def __init__(
        self,
        record: LiveRecord,
        links: Sequence[str],
        *,
        orientation: bool,
        joints: Sequence[str],
        context: Context | None = None,
    ) -> None:
        super().__init__("demo_monitor", context=context, start_parameter_services=False, enable_rosout=False)
        self.record = record
        self._awaited: list[str] = []
        for link in links:
            for topic, store in (
                ("payloads", self.record.payloads),
                ("link_inertias", self.record.inertias),
            ):
                series = store.setdefault(link, [])
                self._listen(InertiaStamped, f"{topic}/{topic_token(link)}", series.append)
            self.record.sigmas[link] = []
        if orientation:
            self._listen(QuaternionStamped, "base_orientation", self.record.orientations.append)
        if joints:
            self.record.joints = {joint: [] for joint in joints}
            self._listen(JointState, "joint_states", self._on_joints)
        if record.robot is not None:
            self._listen_to_robot(record.robot)
        self.create_subscription(
            DiagnosticArray,
            "/diagnostics",
            self._on_diagnostics,
            RELIABLE_OUTPUT,
            event_callbacks=NO_INPUT_EVENTS,
        )

    @property
    def listening(self) -> bool:
        """Whether the nodes have been found, so that nothing they publish from now on is missed."""
        return all(self.count_publishers(topic) for topic in self._awaited)

    def contested(self) -> list[str]:
        """Return the topics that more than one node publishes: another program talks in this domain."""
        topics = dict.fromkeys([*self._awaited, "/clock", "joint_torque_commands"])
        return [topic for topic in topics if self.count_publishers(topic) > 1]

    def take(self) -> None:
        """Take all messages that have arrived."""
        for subscription in self.subscriptions:
            handle = subscription.handle
            while (taken := handle.take_message(subscription.msg_type, subscription.raw)) is not None:
                subscription.callback(taken[0])

    def _listen_to_robot(self, robot: HeardRobot) -> None:
        self._listen(Odometry, "base_state", robot.bases.append)
        for contact in robot.contacts:
            topic = f"{topic_token(contact)}/wrench"
            self._listen(WrenchStamped, topic, partial(robot.wrenches.__setitem__, contact))

    def _listen(self, message_type: type, topic: str, heard: Callable[[Any], None]) -> None:
        self._awaited.append(topic)
        read = message_reader(message_type)
        self.create_subscription(
            message_type,
            topic,
            lambda data: heard(read(data)),
            SENSOR_INPUT,
            event_callbacks=NO_INPUT_EVENTS,
            raw=True,
        )

    def _on_joints(self, reading: JointReading) -> None:
        if self.record.robot is not None:
            self.record.robot.joints.append(reading)
        for joint, series in self.record.joints.items():
            if joint in reading.names:
                series.append((reading.stamp_ns, float(reading.position[reading.names.index(joint)])))

    def _on_diagnostics(self, msg: DiagnosticArray) -> None:
        self.record.reports.update({status.name.partition(":")[0] for status in msg.status})
        for status in msg.status:
            _node, health = health_from_msg(status)
            if health.level:
                self.record.complaints[status.name] = status.message
            else:
                self.record.complaints.pop(status.name, None)
            for item in status.values:
                self.record.facts[status.name, item.key] = item.value
                self._keep_sigma(item)

    def _keep_sigma(self, item: Any) -> None:
        if item.key.startswith(SIGMA_KEY) and self.record.newest_ns:
            link = item.key[len(SIGMA_KEY) :].split(" ")[0]
            if link in self.record.sigmas:
                self.record.sigmas[link].append((self.record.newest_ns, float(item.value)))


@contextmanager
def listen(
    record: LiveRecord,
    links: Sequence[str],
    *,
    orientation: bool = True,
    joints: Sequence[str] = (),
    domain_id: int | None = None,
) -> Iterator[DemoMonitor]:
    """Create a monitor in a separate context, so that several can monitor different domains.

    Args:
        record: Record of the messages.
        links: Estimated links.
        orientation: Whether the tilt observer is among the nodes.
        joints: Joints whose position is kept.
        domain_id: ROS domain; None takes that of the environment.

    Yields:
        The monitor; call its `take` often.
    """
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = DemoMonitor(record, links, orientation=orientation, joints=joints, context=context)
        yield node
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
