"""Finds nodes that were started twice: another publisher of an output, another node of the same name."""

from collections.abc import Sequence

from rclpy.node import Node
from rclpy.publisher import Publisher

from inertial_estimation.errors import listing
from inertial_estimation.signals import Health, HealthLevel

EVERY = 2  # reports; the graph is read in some tens of microseconds
MOST_NAMED = 3  # topics in one message


class Rivals:
    """Looks at the graph of nodes, every other report.

    A node that was killed stays in the graph for up to 20 s, so that its successor reports it for as long.
    """

    def __init__(self, node: Node) -> None:
        """Take a node whose diagnostics report."""
        self._node = node
        self._reports = 0
        self._found = ""

    def health(self, outputs: Sequence[Publisher]) -> Health:
        """Return a warning while another node has the name of this one, or publishes one of its outputs.

        Args:
            outputs: Publishers of the topics that no other node should publish.
        """
        if self._reports % EVERY == 0:
            self._found = self._look([publisher.topic_name for publisher in outputs])
        self._reports += 1
        if self._found:
            return Health("graph", HealthLevel.WARN, self._found)
        return Health("graph", HealthLevel.OK, "no other node has its name or publishes its outputs")

    def _look(self, topics: Sequence[str]) -> str:
        node = self._node
        own = (node.get_name(), node.get_namespace())
        alike = node.get_node_names_and_namespaces().count(own)
        contested = [topic for topic in topics if node.count_publishers(topic) > topics.count(topic)]
        found = []
        if alike > 1:
            found.append(f"{alike} nodes are named {node.get_fully_qualified_name()}")
        if contested:
            found.append(f"another publisher sends {listing(contested, limit=MOST_NAMED)}, too")
        return f"{' and '.join(found)}: was a node started twice?" if found else ""
