"""One input of a node: a counted subscription that can be read without the executor."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from inertial_estimation.errors import MeasurementError
from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.qos import COMMAND_INPUT, LATCHED, NO_INPUT_EVENTS, SENSOR_INPUT

__all__ = ["NodeInput"]

MOST_AT_ONCE = 200  # messages taken in a row, so that timers and services have their turn


class NodeInput:
    """Converts and pushes what arrives on one topic; what cannot be converted is dropped and counted.

    The executor of rclpy builds a set of all entities to wait on for every few messages, at a hundred times
    the cost of taking a message. So one that wakes the node is followed by `take_waiting` on all its inputs.

    Attributes:
        counter: Messages received and malformed.
    """

    def __init__(
        self,
        node: Node,
        message_type: type,
        topic: str,
        convert: Callable[[Any], Any],
        push: Callable[[Any], None],
        *,
        command: bool,
        latched: bool = False,
        woken: Callable[[], None],
    ) -> None:
        """Subscribe.

        Args:
            node: Node that reads.
            message_type: Message class.
            topic: Relative name of the topic.
            convert: To a value, from the serialised message or, of a command, the message; raises
                MeasurementError.
            push: Takes the value.
            command: Whether it is a command: delivered reliably; else sensor data, best effort.
            latched: Whether it is a command that holds until the next one: who comes late gets the last one,
                and only publishers that offer this (transient local) match.
            woken: Called after a message that the executor brought.
        """
        self.counter = InputCounter(topic)
        self._convert, self._push = convert, push

        def on_message(msg: Any) -> None:
            self._read(msg)
            woken()

        self._subscription = node.create_subscription(
            message_type,
            topic,
            on_message,
            LATCHED if latched else COMMAND_INPUT if command else SENSOR_INPUT,
            event_callbacks=None if latched else NO_INPUT_EVENTS,  # rclpy warns of what does not match
            raw=not (command or latched),
        )
        self._take = self._subscription.handle.take_message
        self._how = (message_type, not (command or latched))

    def take_waiting(self) -> None:
        """Read the messages that have arrived."""
        for _ in range(MOST_AT_ONCE):
            taken = self._take(*self._how)
            if taken is None:
                return
            self._read(taken[0])

    def _read(self, msg: Any) -> None:
        self.counter.received += 1
        try:
            self._push(self._convert(msg))
        except MeasurementError as error:
            self.counter.count_malformed(str(error))
