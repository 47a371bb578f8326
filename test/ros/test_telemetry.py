"""Telemetry and markers: stamped, named, at the rate promised, and free while nobody listens."""

import pytest
from rclpy.serialization import deserialize_message, serialize_message
from visualization_msgs.msg import Marker

from inertial_estimation.inputs.messages import set_stamp, stamp_from_msg
from inertial_estimation.ros.outputs import MarkerOutput, TelemetryOutput
from inertial_estimation.telemetry import AGE, Figures


class Node:
    """Stands in for a node, whose clock shows 12.5 s, and its publisher, which may have listeners."""

    nanoseconds = 12_500_000_000

    def __init__(self, listeners):
        self.listeners, self.sent = listeners, []

    def add_output(self, message_type, _topic):
        self.message_type = message_type
        return self

    def get_subscription_count(self):
        return self.listeners

    def publish(self, msg):
        self.sent.append(deserialize_message(serialize_message(msg), self.message_type))

    def get_clock(self):
        return self

    def now(self):
        return self


def test_nothing_is_computed_while_nobody_listens():
    node = Node(listeners=0)
    MarkerOutput(node).send(0, lambda: pytest.fail("markers were made for nobody"))
    asked = []
    figures = Figures((("value [m]",), lambda estimate: asked.append(estimate) or [estimate]))
    output = TelemetryOutput(node, figures)
    output.send(1.0, 11_900_000_000)
    assert node.sent == asked == [], "figures were computed for nobody"
    node.listeners = 1
    output.send(1.5, 12_000_000_000)
    (msg,) = node.sent
    assert stamp_from_msg(msg.header.stamp) == 12_000_000_000
    assert dict(zip(msg.name, msg.position, strict=True)) == {"value [m]": 1.5, AGE: 0.5}
    assert (len(msg.velocity), len(msg.effort)) == (0, 0)


def test_markers_come_ten_times_a_second_and_again_after_a_jump_back():
    node = Node(listeners=1)
    output = MarkerOutput(node)
    stamps = [k * 2_000_000 for k in range(500)]  # a second at 500 Hz
    for stamp_ns in stamps:
        output.send(stamp_ns, lambda _new, stamp_ns=stamp_ns: [marker_at(stamp_ns)])
    sent = [stamp_from_msg(msg.markers[0].header.stamp) for msg in node.sent]
    assert sent == [k * 100_000_000 for k in range(10)]
    output.send(3, lambda _new: [marker_at(3)])
    assert len(node.sent) == 11


def marker_at(stamp_ns):
    marker = Marker()
    set_stamp(marker.header.stamp, stamp_ns)
    return marker
