"""The inputs of a node: counted queues of messages, read in the order in which the messages arrived."""

import time
from collections.abc import Callable, Iterator
from enum import Enum
from operator import itemgetter
from typing import TypeAlias

from rclpy.node import Node
from rclpy.qos import QoSProfile

from inertial_estimation.errors import MeasurementError
from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.qos import COMMAND_INPUT, LATCHED, SENSOR_INPUT, overridable
from inertial_estimation.ros.rclpy_internals import MessageQueue
from inertial_estimation.ros.reading_delay import ReadingDelay

Take: TypeAlias = Callable[[bytes, int], None]
MOST_ROUNDS = 5  # of reading in a row, so that timers and services have their turn
LONGEST_READING_S = 0.05  # beyond which a node that polls does not begin another round: it is overloaded
LONGEST_ROUND_NS = 100_000_000  # a message stamped later than this is of a wall clock that was set back


class InputKind(Enum):
    """How an input is delivered.

    Attributes:
        SENSOR: Best effort; any publisher matches.
        COMMAND: Reliable: it is sent once.
        LATCHED: Reliable, and holds until the next one: late joiners get the last one, and only publishers
            that offer this (transient local) match.
    """

    SENSOR = "sensor"
    COMMAND = "command"
    LATCHED = "latched"


class NodeInput:
    """Reads what arrives on one topic; what cannot be converted is dropped and counted.

    Attributes:
        kind: How it is delivered.
        counter: Messages received, lost and malformed.
        subscription: The subscription.
    """

    def __init__(self, topic: str, queue: MessageQueue, take: Take, kind: InputKind) -> None:
        """Take a queue.

        Args:
            topic: Relative name of the topic.
            queue: Where the serialised messages arrive.
            take: Takes a serialised message and its arrival [ns]; may raise MeasurementError.
            kind: How it is delivered.
        """
        self.kind = kind
        self._queue, self._take = queue, take
        self.subscription = queue.subscription
        self.counter = InputCounter(topic, publishers=self.subscription.get_publisher_count)
        self._taken_ns = 0

    def take_into(self, waiting: "list[tuple[int, NodeInput, bytes]]", spacing_ns: int = 0) -> int:
        """Append the messages that have arrived, the oldest first: time of reception [ns], self, message.

        Args:
            waiting: Where they are appended.
            spacing_ns: Time between readings of a sensor, where more arrive [ns]; 0 takes all.

        Returns:
            Number of readings that were left out.
        """
        taken, before = self._queue.take(), len(waiting)
        if self.kind is not InputKind.SENSOR:
            spacing_ns = 0
        for message, info in taken:
            received_ns = info.get("received_timestamp", 0)
            if spacing_ns and 0 < received_ns - self._taken_ns < spacing_ns:
                continue
            self._taken_ns = received_ns
            waiting.append((received_ns, self, message))
        if taken:
            self.counter.count(len(taken), taken[-1][1].get("publication_sequence_number"))
        return before + len(taken) - len(waiting)

    def read(self, message: bytes, arrival_ns: int) -> None:
        """Hand a message over, with its arrival on the clock of the stamps [ns]."""
        try:
            self._take(message, arrival_ns)
        except MeasurementError as error:
            self.counter.count_malformed(str(error))


class NodeInputs:
    """Reads the queues of a node's inputs.

    The estimates depend only on the order of the messages: reading them one by one as they arrive or all of
    a period at once gives the same estimates.

    Attributes:
        received_ns: When the message that is being read arrived, on the machine's wall clock [ns]; 0 where
            the middleware does not report it.
        arrival: Returns an arrival on the clock of the stamps [ns] of one on the machine's wall clock [ns].
        sensor_qos: Quality of service of sensor data.
        woken: Called after a message that the executor brought; None: the owner polls.
        delay: How long messages wait until they are read.
    """

    def __init__(self, woken: Callable[[], None] | None) -> None:
        """Have no input yet.

        Args:
            woken: Called after a message that the executor brought; None: the owner polls.
        """
        self.received_ns = 0
        self.arrival: Callable[[int], int] = lambda received_ns: received_ns
        self.sensor_qos: QoSProfile = SENSOR_INPUT
        self.woken = woken
        self.delay = ReadingDelay()
        self._inputs: list[NodeInput] = []
        self._kept: list[tuple[int, NodeInput, bytes]] = []  # received after a round of reading began

    def __iter__(self) -> Iterator[NodeInput]:
        return iter(self._inputs)

    @property
    def counters(self) -> list[InputCounter]:
        """Counters of the received messages, by input."""
        return [node_input.counter for node_input in self._inputs]

    def add(self, node: Node, message_type: type, topic: str, take: Take, kind: InputKind) -> NodeInput:
        """Subscribe; see `RobotNode.subscribe`."""
        profiles = {
            InputKind.SENSOR: self.sensor_qos,
            InputKind.COMMAND: COMMAND_INPUT,
            InputKind.LATCHED: LATCHED,
        }
        # rclpy's own events warn of a publisher that does not match, which with a latched input is likely
        quiet = kind is not InputKind.LATCHED
        how = overridable(node, topic, profiles[kind], "subscription", quiet=quiet)
        queue = MessageQueue(node, message_type, topic, woken=self.woken, **how)
        node_input = NodeInput(topic, queue, take, kind)
        self._inputs.append(node_input)
        return node_input

    def remove(self, node_input: NodeInput) -> None:
        """Remove an input; what is kept of it is discarded."""
        self._inputs.remove(node_input)
        self._kept = [message for message in self._kept if message[1] is not node_input]

    def clear(self) -> None:
        """Remove all inputs."""
        self._inputs, self._kept = [], []

    def read(self, on_message: Callable[[], None]) -> None:
        """Read all received messages in the order of their reception, across all topics.

        Args:
            on_message: Called when one message has been pushed.
        """
        until = time.monotonic() + LONGEST_READING_S
        for rounds_left in reversed(range(MOST_ROUNDS)):
            if not self._read_round(on_message, last=not rounds_left):
                return
            if self.woken is None and time.monotonic() >= until:
                return  # what is kept is read when the owner polls next

    def drop(self) -> None:
        """Take all received messages and discard them."""
        self._take()
        self._kept = []

    def _read_round(self, on_message: Callable[[], None], *, last: bool) -> bool:
        """Read one queue after the other; return whether messages arrived during the reading.

        A message that arrives during the reading may be later than one in a queue that has already been read.
        It is therefore kept for the next round, unless there is none.
        """
        begin_ns = time.time_ns()
        waiting = self._take()
        self._kept = []
        waiting.sort(key=itemgetter(0))
        for index, message in enumerate(waiting):
            received_ns, node_input, content = message
            if begin_ns < received_ns < begin_ns + LONGEST_ROUND_NS and not last:
                self._kept.append(message)
            elif self.delay.is_backlog(received_ns):
                self._drop_backlog(waiting[index:])
                break
            else:
                self.received_ns = received_ns
                node_input.read(content, self.arrival(received_ns))
                on_message()
        if waiting:
            self.delay.note(self.received_ns)
        return bool(self._kept)

    def _drop_backlog(self, unread: "list[tuple[int, NodeInput, bytes]]") -> None:
        """Discard the sensor readings that wait, and read commands, which are sent once.

        Args:
            unread: What has been taken from the queues and not been read yet.
        """
        backlog = [*unread, *self._take()]
        self._kept = []
        commands = [message for message in backlog if message[1].kind is not InputKind.SENSOR]
        self.delay.dropped += len(backlog) - len(commands)
        self.delay.shorten()
        for received_ns, node_input, content in commands:
            node_input.read(content, self.arrival(received_ns))

    def _take(self) -> list[tuple[int, NodeInput, bytes]]:
        """Return the kept and the waiting messages: time of reception [ns], input, message."""
        waiting = self._kept
        for node_input in self._inputs:
            self.delay.dropped += node_input.take_into(waiting, self.delay.spacing_ns)
        return waiting
