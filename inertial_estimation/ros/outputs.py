"""Outputs for plots and viewers: named figures as sensor_msgs/JointState, and markers."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from inertial_estimation.recordings.marker_messages import MarkerPace, NewMarker
from inertial_estimation.ros.messages import figures_to_msg
from inertial_estimation.ros.robot_node import RobotNode
from inertial_estimation.signals import seconds
from inertial_estimation.telemetry import AGE, Figures

TELEMETRY, MARKERS = "~/telemetry", "~/markers"

EstimateT = TypeVar("EstimateT")


class FigureTopic:
    """A topic of named figures, which are computed only while it has subscribers.

    The query for subscribers is too expensive for each of a thousand steps per second. It runs ten times per
    second of the stamps: the first figures are up to 0.1 s late, and figures are computed for up to 0.1 s
    after the last subscriber has left.
    """

    def __init__(self, publisher: Publisher, names: Sequence[str], frame_id: str = "") -> None:
        """Publish with a publisher of sensor_msgs/JointState; all messages have these names and the frame."""
        self._publisher, self._msg = publisher, JointState(name=list(names))
        self._msg.header.frame_id = frame_id
        self._pace, self._subscribed = MarkerPace(), False

    def send(self, stamp_ns: int, values: Callable[[], list[float]]) -> None:
        """Compute and publish the figures of a stamp [ns] if there were subscribers at the last query."""
        if self._pace.due(stamp_ns):
            self._subscribed = self._publisher.get_subscription_count() > 0
        if self._subscribed:
            self._publisher.publish(figures_to_msg(stamp_ns, values(), self._msg))


class TelemetryOutput(Generic[EstimateT]):
    """The telemetry of one node, computed only while it has subscribers."""

    def __init__(self, node: RobotNode, figures: Figures[EstimateT]) -> None:
        """Create the publisher of some figures of the node's estimates."""
        self._figures, self._clock = figures, node.get_clock()
        self._output = FigureTopic(node.add_output(JointState, TELEMETRY), (*figures.names, AGE))

    def send(self, estimate: EstimateT, stamp_ns: int) -> None:
        """Publish an estimate of a stamp [ns], with its age by the node's clock, if there are subscribers."""

        def values() -> list[float]:
            age_s = seconds(self._clock.now().nanoseconds - stamp_ns)
            return [*self._figures.values(estimate), age_s]

        self._output.send(stamp_ns, values)


class MarkerOutput:
    """The markers of one node, for RViz and Foxglove, at 10 Hz of the stamps of its estimates."""

    def __init__(self, node: RobotNode) -> None:
        """Create the publisher."""
        self._pace, self._publisher = MarkerPace(), node.add_output(MarkerArray, MARKERS)
        self._array = MarkerArray()

    def send(self, stamp_ns: int, markers: Callable[[NewMarker], Sequence[Any]]) -> None:
        """Publish the result of `markers` if there are subscribers and the last one is 0.1 s older."""
        if self._pace.due(stamp_ns) and self._publisher.get_subscription_count():
            self._array.markers = list(markers(Marker))
            self._publisher.publish(self._array)
