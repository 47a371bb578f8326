"""One input of a node: a counted queue of messages that become values."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from inertial_estimation.errors import MeasurementError
from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.qos import COMMAND_INPUT, LATCHED, NO_INPUT_EVENTS
from inertial_estimation.ros.rclpy_internals import MessageQueue

__all__ = ["InputKind", "NodeInput"]


class InputKind(Enum):
    """How an input is delivered.

    Attributes:
        SENSOR: Best effort, serialised; any publisher matches.
        COMMAND: Reliable: it is sent once.
        LATCHED: Reliable, and holds until the next one: late joiners get the last one, and only publishers
            that offer this (transient local) match.
    """

    SENSOR = "sensor"
    COMMAND = "command"
    LATCHED = "latched"


class NodeInput:
    """Converts and pushes what arrives on one topic; what cannot be converted is dropped and counted.

    Attributes:
        counter: Messages received, lost and malformed.
    """

    def __init__(
        self,
        node: Node,
        message_type: type,
        topic: str,
        convert: Callable[[Any], Any],
        push: Callable[[Any], None],
        *,
        kind: InputKind,
        sensor_qos: QoSProfile,
        woken: Callable[[], None] | None,
    ) -> None:
        """Subscribe.

        Args:
            node: Node that reads.
            message_type: Message class.
            topic: Relative name of the topic.
            convert: To a value, from the serialised message of a sensor, or from the message itself of the
                other kinds; raises MeasurementError.
            push: Takes the value.
            kind: How it is delivered.
            sensor_qos: Quality of service of sensor data.
            woken: Called after a message that the executor brought; None: the owner polls.
        """
        profiles = {
            InputKind.SENSOR: sensor_qos,
            InputKind.COMMAND: COMMAND_INPUT,
            InputKind.LATCHED: LATCHED,
        }
        self._convert, self._push = convert, push
        self._queue = MessageQueue(
            node,
            message_type,
            topic,
            profiles[kind],
            raw=kind is InputKind.SENSOR,
            # rclpy's own events warn of a publisher that does not match
            events=None if kind is InputKind.LATCHED else NO_INPUT_EVENTS,
            woken=woken,
        )
        self.subscription = self._queue.subscription
        self.counter = InputCounter(topic, publishers=self.subscription.get_publisher_count)

    def take_into(self, waiting: "list[tuple[int, NodeInput, Any]]") -> None:
        """Append the messages that have arrived, the oldest first: time of reception [ns], self, message."""
        taken = self._queue.take()
        for message, info in taken:
            waiting.append((info.get("received_timestamp", 0), self, message))
        if taken:
            self.counter.count(len(taken), taken[-1][1].get("publication_sequence_number"))

    def read(self, message: Any) -> None:
        """Convert a message and push its value."""
        try:
            self._push(self._convert(message))
        except MeasurementError as error:
            self.counter.count_malformed(str(error))
