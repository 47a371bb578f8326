"""Named numbers as sensor_msgs/JointState: stamped, and plotted by name by every tool that knows joints."""

from array import array
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from sensor_msgs.msg import JointState

from inertial_estimation.estimators.link_estimates import parameter_covariance
from inertial_estimation.estimators.telemetry import Telemetry
from inertial_estimation.ros.messages import set_stamp, stamp_from_msg
from inertial_estimation.ros.robot_node import RobotNode, topic_token
from inertial_estimation.signals import InertialEstimate, LinkEstimate, seconds
from inertial_estimation.spatial.parameter_covariance import COVARIANCE_NAMES, upper_triangle

__all__ = [
    "COVARIANCES",
    "TELEMETRY",
    "CovarianceOutputs",
    "TelemetryOutput",
    "figures_from_msg",
    "figures_to_msg",
]

TELEMETRY = "~/telemetry"
COVARIANCES = "link_covariances"

EstimateT = TypeVar("EstimateT")


def figures_to_msg(stamp_ns: int, values: Iterable[float], msg: JointState) -> JointState:
    """Write figures into a message that has their names.

    Args:
        stamp_ns: Stamp of the measurement they follow from [ns].
        values: One per name.
        msg: Message to write into.

    Returns:
        The message; `position` holds the figures, `velocity` and `effort` are empty.
    """
    set_stamp(msg.header.stamp, stamp_ns)
    msg.position = array("d", values)  # what rclpy takes over without a look at every number
    return msg


def figures_from_msg(msg: JointState) -> tuple[int, dict[str, float]]:
    """Return the stamp [ns] and the figures by name."""
    return stamp_from_msg(msg.header.stamp), dict(zip(msg.name, msg.position, strict=True))


class TelemetryOutput(Generic[EstimateT]):
    """The telemetry of one node: nothing is computed while nobody listens."""

    def __init__(self, node: RobotNode[Any], telemetry: Telemetry[EstimateT]) -> None:
        """Create the publisher.

        Args:
            node: Node that publishes.
            telemetry: Names the figures.
        """
        self._telemetry = telemetry
        self._clock = node.get_clock()
        self._publisher = node.add_output(JointState, TELEMETRY)
        self._msg = JointState(name=list(telemetry.names))

    def send(self, estimate: EstimateT, stamp_ns: int) -> None:
        """Publish an estimate, if anybody listens.

        Args:
            estimate: The estimate.
            stamp_ns: Its stamp [ns]; the age is the time since then on the node's clock.
        """
        RobotNode.send(self._publisher, partial(self._message, estimate, stamp_ns))

    def _message(self, estimate: EstimateT, stamp_ns: int) -> JointState:
        age_s = seconds(self._clock.now().nanoseconds - stamp_ns)
        return figures_to_msg(stamp_ns, self._telemetry.values(estimate, age_s), self._msg)


class CovarianceOutputs:
    """The covariance of the ten parameters of every estimated link, a topic each."""

    def __init__(self, node: RobotNode[Any], links: Sequence[str]) -> None:
        """Create the publishers.

        Args:
            node: Node that publishes.
            links: Estimated links, in the order of the estimates.
        """
        self._publishers = [
            node.add_output(JointState, f"{COVARIANCES}/{topic_token(link)}") for link in links
        ]
        self._msg = JointState(name=list(COVARIANCE_NAMES))

    def send(self, estimate: InertialEstimate) -> None:
        """Publish those somebody listens to."""
        for publisher, link in zip(self._publishers, estimate.links, strict=True):
            RobotNode.send(publisher, partial(self._message, link, estimate.stamp_ns))

    def _message(self, link: LinkEstimate, stamp_ns: int) -> JointState:
        self._msg.header.frame_id = link.estimate.link
        return figures_to_msg(stamp_ns, upper_triangle(parameter_covariance(link)), self._msg)
