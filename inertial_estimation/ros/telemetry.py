"""Named numbers as sensor_msgs/JointState, which common tools plot by name and stamp."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from inertial_estimation.inertial.link_estimates import parameter_covariance
from inertial_estimation.recordings.estimate_messages import figures_to_msg
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.robot_node import RobotNode
from inertial_estimation.ros.serialised_numbers import SerialisedNumbers
from inertial_estimation.signals import InertialEstimate, seconds
from inertial_estimation.spatial.parameter_covariance import COVARIANCE_NAMES, upper_triangle
from inertial_estimation.telemetry import Telemetry

TELEMETRY = "~/telemetry"
COVARIANCES = "link_covariances"
ASK_PERIOD_NS = 100_000_000

EstimateT = TypeVar("EstimateT")


def figure_message(names: Sequence[str], frame_id: str = "") -> SerialisedNumbers:
    """Return a serialised message of named figures.

    Args:
        names: Of the figures.
        frame_id: Frame of the message.
    """

    def message(stamp_ns: int, values: list[float]) -> JointState:
        msg: JointState = figures_to_msg(stamp_ns, values, JointState(name=list(names)))
        msg.header.frame_id = frame_id
        return msg

    return SerialisedNumbers(message, len(names))


class Listeners:
    """Whether a publisher has subscribers, queried ten times per second of the stamps.

    The query is too expensive for each of a thousand steps per second. The first figures are therefore up to
    0.1 s late, and figures are computed for up to 0.1 s after the last subscriber has left.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._asked_ns: int | None = None
        self._any = False

    def any(self, stamp_ns: int) -> bool:
        """Return whether there were subscribers at the last query.

        Args:
            stamp_ns: Stamp of the measurement [ns].
        """
        if self._asked_ns is None or not 0 <= stamp_ns - self._asked_ns < ASK_PERIOD_NS:
            self._asked_ns = stamp_ns
            self._any = self._publisher.get_subscription_count() > 0
        return self._any


class TelemetryOutput(Generic[EstimateT]):
    """The telemetry of one node, computed only while it has subscribers."""

    def __init__(self, node: RobotNode[Any], telemetry: Telemetry[EstimateT]) -> None:
        """Create the publisher.

        Args:
            node: Node that publishes.
            telemetry: Converts estimates to named figures.
        """
        self._telemetry = telemetry
        self._clock = node.get_clock()
        self._publisher = node.add_output(JointState, TELEMETRY)
        self._listeners = Listeners(self._publisher)
        self._msg = figure_message(telemetry.names)

    def send(self, estimate: EstimateT, stamp_ns: int) -> None:
        """Publish an estimate if the topic has subscribers.

        Args:
            estimate: The estimate.
            stamp_ns: Its stamp [ns]; the age is the time since then on the node's clock.
        """
        if self._listeners.any(stamp_ns):
            age_s = seconds(self._clock.now().nanoseconds - stamp_ns)
            self._publisher.publish(self._msg.filled(stamp_ns, self._telemetry.values(estimate, age_s)))


class CovarianceOutputs:
    """Publishes the covariance of the ten parameters of every estimated link, one topic per link."""

    def __init__(self, node: RobotNode[Any], links: Sequence[str]) -> None:
        """Create the publishers.

        Args:
            node: Node that publishes.
            links: Estimated links, in the order of the estimates.
        """
        publishers = [node.add_output(JointState, f"{COVARIANCES}/{topic_token(link)}") for link in links]
        self._outputs = [
            (publisher, Listeners(publisher), figure_message(COVARIANCE_NAMES, link))
            for publisher, link in zip(publishers, links, strict=True)
        ]

    def send(self, estimate: InertialEstimate) -> None:
        """Publish the covariances whose topics have subscribers."""
        stamp_ns = estimate.stamp_ns
        for (publisher, listeners, msg), link in zip(self._outputs, estimate.links, strict=True):
            if listeners.any(stamp_ns):
                upper = upper_triangle(parameter_covariance(link))
                publisher.publish(msg.filled(stamp_ns, upper.tolist()))
