"""Publishes the markers of a node, for RViz and Foxglove, at 10 Hz of the stamps of its estimates."""

from collections.abc import Callable, Sequence
from typing import Any

from geometry_msgs.msg import Point

from inertial_estimation.recordings.marker_messages import MarkerPace, MarkerTypes
from inertial_estimation.ros.robot_node import RobotNode

MARKERS = "~/markers"


class MarkerOutput:
    """Publishes the markers of one node; without visualization_msgs it logs this once and does nothing."""

    def __init__(self, node: RobotNode[Any]) -> None:
        """Create the publisher."""
        self._pace = MarkerPace()
        self._publisher = None
        try:
            from visualization_msgs.msg import Marker, MarkerArray
        except ImportError:
            node.get_logger().info("visualization_msgs is missing: no markers are published")
            return
        self._publisher = node.add_output(MarkerArray, MARKERS)
        self._array, self._new = MarkerArray(), MarkerTypes(Marker, Point)

    def send(self, stamp_ns: int, markers: Callable[[MarkerTypes], Sequence[Any]]) -> None:
        """Publish if the topic has subscribers and the last markers are at least 0.1 s older.

        Args:
            stamp_ns: Stamp of the measurement [ns].
            markers: Builds the markers from empty messages.
        """
        if self._publisher is None or not self._pace.due(stamp_ns):
            return
        if self._publisher.get_subscription_count():
            self._array.markers = list(markers(self._new))
            self._publisher.publish(self._array)
