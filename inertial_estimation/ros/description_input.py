"""The robot description that a node receives on a topic."""

from collections.abc import Callable

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from inertial_estimation.configuration.urdf_source import published_urdf
from inertial_estimation.errors import ModelError, one_line
from inertial_estimation.models.urdf import urdf_changes
from inertial_estimation.ros.qos import LATCHED, create_input
from inertial_estimation.signals import Health, HealthLevel

DESCRIPTION = "robot_description"


class DescriptionInput:
    """Checks every description that arrives, and keeps the newest good one.

    An estimator cannot change its robot while it runs: a description that differs from the one in use is
    reported, and applied when the node is configured the next time.

    Attributes:
        topic: Full name of the topic.
        text: The newest description that can be used; empty before the first.
    """

    def __init__(self, node: Node) -> None:
        """Prepare for the topic of a node, which is subscribed by `subscribe`."""
        self._node = node
        self.topic = node.resolve_topic_name(DESCRIPTION)
        self.text = self._in_use = ""
        self._warning = ""  # the newest description is refused, or not the one in use

    def subscribe(self, on_new: Callable[[], None]) -> None:
        """Subscribe to the topic.

        Args:
            on_new: Called after every description that can be used.
        """

        def receive(data: bytes) -> None:
            if self._receive(data):
                on_new()

        create_input(self._node, String, DESCRIPTION, receive, LATCHED)

    def take(self) -> str:
        """Return the newest description, which is in use from now on."""
        self._in_use, self._warning = self.text, ""
        return self.text

    def health(self) -> list[Health]:
        """Return a WARN while the newest description is refused or is not the one in use."""
        return [Health(DESCRIPTION, HealthLevel.WARN, self._warning)] if self._warning else []

    def _receive(self, data: bytes) -> bool:
        """Check one message; return whether it can be used."""
        try:
            text = published_urdf(_content(data), self.topic)
            changes = urdf_changes(self._in_use, text) if self._in_use and text != self._in_use else ""
        except ModelError as error:
            self._warning = f"refused: {error}"
            self._node.get_logger().error(self._warning)
            return False
        self.text, self._warning = text, ""
        if changes:
            self._warning = (
                f"the description on {self.topic} has changed and is not used before the node is started "
                f"again (a managed one: cleaned up and configured): {changes}"
            )
            self._node.get_logger().warning(self._warning)
        return True


def _content(data: bytes) -> str:
    try:
        return str(deserialize_message(data, String).data)
    except Exception as error:  # rclpy raises several types for bytes that are no message
        raise ModelError(f"the message is damaged: {one_line(error)}") from error
