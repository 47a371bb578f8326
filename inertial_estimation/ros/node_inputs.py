"""The inputs of a node: counted queues of messages, read in the order in which the messages arrived.

For every few messages, the executor of rclpy builds a set of all entities to wait on, at a hundred times the
cost of taking a message from the middleware. A polled node keeps its inputs out of that set, and takes the
messages that have arrived by `Subscription.handle`, which rclpy has from Humble to Rolling.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from inertial_estimation.errors import MeasurementError, counted
from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.qos import SENSOR_INPUT, create_input
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, seconds

Take: TypeAlias = Callable[[bytes, int], None]
Info: TypeAlias = Mapping[str, Any]  # information of the middleware about a message
PATIENCE_S = 0.5  # longest time for which stale messages are read, to catch up after a stall [s]
CALM_S = 10.0  # time without a dropped backlog after which a node is no longer overloaded [s]
REMEDY = "the node gets too little processor time: lower 'rate', the rates of its inputs or what it estimates"
MOST_ROUNDS = 5  # most rounds of reading in a row, so that timers and services are served, too


class _Unwaited(CallbackGroup):
    """A callback group that executors ignore, because the owner of the subscription polls the messages."""

    def can_execute(self, entity: Any) -> bool:
        """Return False, so that no executor adds the entity to its wait set."""
        return False

    beginning_execution = can_execute


class ReadingDelay:
    """Measures how long messages wait until a node reads them, and detects an overloaded node.

    After a stall messages wait for a moment, and the node catches up. If even the shortest wait within a
    second is long, the node reads more slowly than messages arrive: its queues are full, and all its outputs
    are late. Such a node drops the backlog of stale messages and continues with fresh ones.

    Attributes:
        period: Time between two rounds of reading [s]; a message may wait for as long.
        timeout: Wait beyond two periods after which a message is stale [s]; infinite: never.
        dropped: Number of messages that were dropped unread.
    """

    def __init__(self) -> None:
        """Begin without a round of reading."""
        self.period, self.timeout = 0.0, math.inf
        self.dropped = self._reported = 0
        self._shortest_s = math.inf  # shortest wait of the newest message of a round
        self._stale_since_ns = self._overloaded_until_ns = 0

    def is_backlog(self, received_ns: int) -> bool:
        """Return whether a message that arrived at a wall time [ns] (0: unknown) must be dropped unread."""
        now_ns = time.time_ns()
        if not received_ns or seconds(now_ns - received_ns) <= self.timeout + 2.0 * self.period:
            self._stale_since_ns = 0
            return False
        self._stale_since_ns = self._stale_since_ns or now_ns
        patient = seconds(now_ns - self._stale_since_ns) < PATIENCE_S
        return now_ns < self._overloaded_until_ns or not patient

    def drop(self, count: int) -> None:
        """Count the messages of a backlog that is dropped."""
        self.dropped += count
        self._stale_since_ns = 0
        self._overloaded_until_ns = time.time_ns() + round(CALM_S * NANOSECONDS)

    def note(self, received_ns: int) -> None:
        """Note that all messages have been read; the newest one arrived at a wall time [ns]."""
        if received_ns:
            self._shortest_s = min(self._shortest_s, max(seconds(time.time_ns() - received_ns), 0.0))

    def health(self) -> Health:
        """Return the state since the last report; it is a warning if messages were dropped or waited long."""
        wait_s, self._shortest_s = self._shortest_s, math.inf
        wait_s = 0.0 if math.isinf(wait_s) else wait_s
        fresh, self._reported = self.dropped - self._reported, self.dropped
        values = {"dropped unread": str(self.dropped), "shortest wait [s]": f"{wait_s:.4f}"}
        level, message = HealthLevel.WARN, "in time"
        if fresh:
            message = f"{counted(fresh, 'message')} dropped unread to keep the others fresh: {REMEDY}"
        elif wait_s > self.timeout + 2.0 * self.period:
            message = f"messages wait for {wait_s:.2f} s and longer before they are read: {REMEDY}"
        else:
            level = HealthLevel.OK
        return Health("reading", level, message, values)


class NodeInput:
    """A topic that a node reads; messages that cannot be converted are dropped and counted.

    Attributes:
        counter: Numbers of messages received, lost and malformed.
        subscription: The subscription.
        delivered: Messages that the executor has delivered, with the middleware's information about them.
        is_command: Whether messages are commands, which are sent once and never dropped unread.
    """

    def __init__(self, subscription: Subscription, topic: str, take: Take, *, is_command: bool) -> None:
        """Read a subscription to serialised messages; `take` is called with each one and its arrival [ns]."""
        self.subscription, self.is_command = subscription, is_command
        self.counter = InputCounter(topic, publishers=subscription.get_publisher_count)
        self.delivered: list[tuple[bytes, Info]] = []
        self._take_message, self._type = subscription.handle.take_message, subscription.msg_type
        self._depth, self._take = subscription.qos_profile.depth, take

    def take(self) -> "list[tuple[int, NodeInput, bytes]]":
        """Return the messages that have arrived, oldest first: time of reception [ns], self, message."""
        taken, self.delivered = self.delivered, []
        while len(taken) < self._depth and (pair := self._take_message(self._type, True)) is not None:
            taken.append(pair)
        if taken:
            self.counter.count(len(taken), taken[-1][1].get("publication_sequence_number"))
        return [(info.get("received_timestamp", 0), self, message) for message, info in taken]

    def read(self, message: bytes, arrival_ns: int) -> None:
        """Pass a message on, with its arrival on the clock of the stamps [ns]."""
        try:
            self._take(message, arrival_ns)
        except MeasurementError as error:
            self.counter.count_malformed(str(error))


class NodeInputs:
    """Reads the queues of a node's inputs.

    The estimates depend only on the order of the messages: they are the same whether messages are read one by
    one as they arrive, or all messages of a period at once.

    Attributes:
        received_ns: Arrival of the message that is being read, on the machine's wall clock [ns]; 0 if the
            middleware does not report it.
        arrival: Converts an arrival from the machine's wall clock to the clock of the stamps [ns].
        sensor_qos: Quality of service of sensor data.
        woken: Called after each message that the executor delivers; None: the owner polls.
        delay: Measures how long messages wait until they are read.
    """

    def __init__(self, woken: Callable[[], None] | None) -> None:
        """Begin without inputs."""
        self.received_ns = 0
        self.arrival: Callable[[int], int] = lambda received_ns: received_ns
        self.sensor_qos: QoSProfile = SENSOR_INPUT
        self.woken = woken
        self.delay = ReadingDelay()
        self._inputs: list[NodeInput] = []
        self._kept: list[tuple[int, NodeInput, bytes]] = []  # received after a round of reading began

    def __iter__(self) -> Iterator[NodeInput]:
        return iter(self._inputs)

    def add(
        self, node: Node, message_type: type, topic: str, take: Take, qos: QoSProfile | None
    ) -> NodeInput:
        """Subscribe; see `RobotNode.subscribe`."""
        woken = self.woken

        def deliver(message: bytes, info: Info) -> None:
            node_input.delivered.append((message, info))
            if woken is not None:
                woken()

        alone = not hasattr(Subscription, "CallbackType")  # callbacks of Humble get only the message
        callback = (lambda message: deliver(message, {})) if alone else deliver
        group = _Unwaited() if woken is None else None
        profile = qos or self.sensor_qos
        subscription = create_input(node, message_type, topic, callback, profile, callback_group=group)
        node_input = NodeInput(subscription, topic, take, is_command=qos is not None)
        self._inputs.append(node_input)
        return node_input

    def remove(self, node_input: NodeInput) -> None:
        """Remove an input and discard its kept messages."""
        self._inputs.remove(node_input)
        self._kept = [message for message in self._kept if message[1] is not node_input]

    def clear(self) -> None:
        """Remove all inputs."""
        self._inputs, self._kept = [], []

    def read(self, on_message: Callable[[], None]) -> None:
        """Read all received messages in the order of their reception, across all topics.

        A message that arrives while the queues are emptied may be later than one that then arrives in a queue
        that was emptied before. It is therefore kept for the next round. `on_message` is called after each.
        """
        for rounds_left in reversed(range(MOST_ROUNDS)):
            begin_ns = time.time_ns()
            waiting = self._take()
            for index, message in enumerate(waiting):
                received_ns, node_input, content = message
                if rounds_left and received_ns > begin_ns:
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
            if not self._kept:
                return

    def drop(self) -> None:
        """Discard all received messages."""
        self._take()

    def _drop_backlog(self, unread: "list[tuple[int, NodeInput, bytes]]") -> None:
        """Discard the waiting sensor readings, but read waiting commands, which are sent once."""
        backlog = [*unread, *self._take()]
        commands = [message for message in backlog if message[1].is_command]
        self.delay.drop(len(backlog) - len(commands))
        for received_ns, node_input, content in commands:
            node_input.read(content, self.arrival(received_ns))

    def _take(self) -> list[tuple[int, NodeInput, bytes]]:
        """Return the kept and the waiting messages in order: time of reception [ns], input, message."""
        waiting, self._kept = self._kept, []
        for node_input in self._inputs:
            waiting += node_input.take()
        waiting.sort(key=itemgetter(0))
        return waiting
