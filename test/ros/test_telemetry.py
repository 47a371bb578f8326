"""Telemetry, covariances and markers: stamped, named, at the rate promised, and free while nobody listens."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from visualization_msgs.msg import Marker

from inertial_estimation.inputs.messages import set_stamp, stamp_from_msg
from inertial_estimation.recordings.marker_messages import (
    PAYLOAD_DENSITY,
    Drawn,
    link_markers,
    payload_radius,
    tilt_markers,
)
from inertial_estimation.ros.outputs import MarkerOutput, TelemetryOutput
from inertial_estimation.signals import BaseEstimate, BaseState, ContactLoad, LinkInertia
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw
from inertial_estimation.telemetry import AGE


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
    values = lambda *_: pytest.fail("figures were computed for nobody")  # noqa: E731
    telemetry = SimpleNamespace(names=("value [m]", AGE), values=values)
    output = TelemetryOutput(node, telemetry)
    output.send(1.0, 11_900_000_000)
    assert node.sent == []
    node.listeners, telemetry.values = 1, lambda estimate, age_s: [estimate, age_s]
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


def test_gravity_points_down_and_a_force_starts_at_its_contact():
    R_WB = rotation_from_roll_pitch_yaw(0.3, -0.2, 1.0)
    state = BaseState(7, [0, 0, 0, 1], np.zeros(3), np.zeros(3), np.zeros(3))
    zero = np.zeros(3)
    estimate = BaseEstimate(state, R_WB[2], zero, ("left",), zero, True, False, np.eye(3))
    loads = (
        ContactLoad("left", (0.0, 0.1, -0.9), (0.0, 0.0, 500.0), 1.0),
        ContactLoad("right", (0.0, -0.1, -0.8), (0.0, 0.0, 0.0), 0.0),
    )
    gravity, left, force, right, _none = tilt_markers(Marker, estimate, loads, "trunk")
    assert {marker.header.frame_id for marker in (gravity, left, force, right)} == {"trunk"}
    tail, tip = ((p.x, p.y, p.z) for p in gravity.points)
    np.testing.assert_allclose(R_WB @ (np.array(tip) - tail), [0, 0, -0.5], atol=1e-12)
    assert (left.pose.position.y, right.pose.position.z) == (0.1, -0.8)
    assert left.color != right.color
    assert all(0.0 <= share <= 1.0 for drawn in Drawn for share in drawn.value[2])
    tail, tip = ((p.x, p.y, p.z) for p in force.points)
    assert tail == (0.0, 0.1, -0.9)
    np.testing.assert_allclose(np.array(tip) - tail, [0.0, 0.0, 0.5])


def test_a_payload_is_a_sphere_of_its_mass_and_drawn_only_when_it_is_certain():
    body = LinkInertia("hand", 7.0, np.array([0.1, 0.0, 0.2]), np.eye(3))
    payload = LinkInertia("hand", 5.0, np.array([0.0, 0.0, 0.3]), np.eye(3))
    com, _text, sphere = link_markers(Marker, 2, 7, body, payload, 0.1, [0.01, 0.02, np.inf])
    radius = 0.5 * sphere.scale.x
    assert 4.0 / 3.0 * np.pi * radius**3 * PAYLOAD_DENSITY == pytest.approx(5.0)
    assert (sphere.action, sphere.pose.position.z) == (Marker.ADD, 0.3)
    assert (com.scale.x, com.scale.y, com.scale.z) == pytest.approx((0.04, 0.08, 0.2))  # at most
    assert com.pose.position.x == 0.1
    assert {marker.id for marker in (com, sphere)} == {2}
    *_others, unsure = link_markers(Marker, 2, 7, body, payload, 2.6, [0.01, 0.02, 0.03])
    assert unsure.action == Marker.DELETE
    *_others, unmeasured = link_markers(Marker, 2, 7, body, payload, np.inf, [0.01, 0.02, 0.03])
    assert unmeasured.action == Marker.DELETE
    assert payload_radius(-5.0) == payload_radius(5.0)
