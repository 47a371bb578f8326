"""All inputs of a node, read in the order in which their messages arrived."""

import time
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from inertial_estimation.ros.diagnostics import InputCounter
from inertial_estimation.ros.node_input import NodeInput

__all__ = ["NodeInputs"]

MOST_ROUNDS = 5  # of reading in a row, so that timers and services have their turn
LONGEST_ROUND_NS = 100_000_000  # a message stamped later than this is of a wall clock that was set back


class NodeInputs:
    """Reads the queues of a node's inputs.

    The estimates depend on the order of the messages alone: they are the same whether messages are read one
    by one as they come or a period's worth of them at once.

    Attributes:
        received_ns: When the message that is being read arrived, on the machine's wall clock [ns]; 0 where
            the middleware does not say.
    """

    def __init__(self) -> None:
        self.received_ns = 0
        self._inputs: list[NodeInput] = []
        self._kept: list[tuple[int, NodeInput, Any]] = []  # received after a round of reading began

    def __iter__(self) -> Iterator[NodeInput]:
        return iter(self._inputs)

    @property
    def counters(self) -> list[InputCounter]:
        """What came in, by input."""
        return [node_input.counter for node_input in self._inputs]

    def add(self, node_input: NodeInput) -> None:
        """Add an input."""
        self._inputs.append(node_input)

    def clear(self) -> None:
        """Forget all inputs."""
        self._inputs, self._kept = [], []

    def read(self, on_message: Callable[[], None]) -> None:
        """Read what has arrived, in the order it arrived, whatever the topic.

        Args:
            on_message: Called when one message has been pushed.
        """
        for rounds_left in reversed(range(MOST_ROUNDS)):
            if not self._read_round(on_message, last=not rounds_left):
                return

    def drop(self) -> None:
        """Take what has arrived and read none of it."""
        self._take()
        self._kept = []

    def _read_round(self, on_message: Callable[[], None], *, last: bool) -> bool:
        """Read one queue after the other; return whether messages came meanwhile.

        A message that came while the queues were read may follow one in a queue that was read before. So it
        is kept for the next round, unless there is none.
        """
        begin_ns = time.time_ns()
        waiting = self._take()
        self._kept = []
        waiting.sort(key=itemgetter(0))
        for message in waiting:
            received_ns, node_input, content = message
            if begin_ns < received_ns < begin_ns + LONGEST_ROUND_NS and not last:
                self._kept.append(message)
            else:
                self.received_ns = received_ns
                node_input.read(content)
                on_message()
        return bool(self._kept)

    def _take(self) -> list[tuple[int, NodeInput, Any]]:
        """Return what was kept and what waits: time of reception [ns], input, message."""
        waiting = self._kept
        for node_input in self._inputs:
            node_input.take_into(waiting)
        return waiting
