"""What nodes publish says what the estimates hold; commands there and back, what cannot be one is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, QuaternionStamped, Vector3Stamped
from hypothesis import given, settings
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import inertial_estimation as ie
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.inputs.messages import orientation_to_msg, stamp_from_msg
from inertial_estimation.ros import messages
from inertial_estimation.ros.messages import UNKNOWN_VARIANCE, base_reference_to_msg
from inertial_estimation.signals import Decision
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation

stamps = st.integers(min_value=0, max_value=2**31 * 10**9 - 1)
angles = st.floats(-1.5, 1.5)


def same(left, right):
    np.testing.assert_array_equal(left, right)


def over_the_wire(msg):
    return deserialize_message(serialize_message(msg), type(msg))


def base_estimate(R_WB, covariance_B, stamp_ns=7):
    state = ie.BaseState(
        stamp_ns, quaternion_from_rotation(R_WB), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    )
    tilt_B = R_WB.T @ [0.0, 0.0, 1.0]
    return ie.BaseEstimate(state, tilt_B, np.zeros(3), (), np.zeros(3), False, False, covariance_B)


def test_orientation_and_tilt_describe_the_same_rotation():
    R_WB = exp_so3(np.array([0.3, -0.2, 1.0]))
    estimate = base_estimate(R_WB, np.eye(3), stamp_ns=3_000_000_005)
    orientation = over_the_wire(orientation_to_msg(estimate.state, QuaternionStamped(), "odom"))
    tilt = over_the_wire(messages.tilt_to_msg(estimate, Vector3Stamped(), "base"))
    sample = messages.message_reader(QuaternionStamped)(serialize_message(orientation))
    same(sample.quaternion_xyzw, estimate.state.quaternion_xyzw)
    assert sample.stamp_ns == stamp_from_msg(tilt.header.stamp) == 3_000_000_005
    assert (orientation.header.frame_id, tilt.header.frame_id) == ("odom", "base")
    same([tilt.vector.x, tilt.vector.y, tilt.vector.z], estimate.tilt_B)


def test_covariance_is_turned_into_world_axes():
    quarter_about_z = exp_so3(np.array([0.0, 0.0, math.pi / 2]))  # base x points along world y
    estimate = base_estimate(quarter_about_z, np.diag([4.0, 1.0, 9.0]))
    msg = over_the_wire(messages.odometry_to_msg(estimate, Odometry(), "odom", "base"))
    covariance = np.array(msg.pose.covariance).reshape(6, 6)
    np.testing.assert_allclose(covariance[3:, 3:], np.diag([1.0, 4.0, 9.0]), atol=1e-12)
    for part in (msg.pose, msg.twist):
        taken_by_a_filter(part.covariance)
    assert covariance[0, 0] == msg.twist.covariance[0] == msg.twist.covariance[35] == UNKNOWN_VARIANCE


def taken_by_a_filter(covariance):
    """As robot_localization does: it inverts the block of what it fuses, and a zero is exact knowledge."""
    matrix = np.array(covariance).reshape(6, 6)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > 0.0
    assert np.isfinite(matrix).all()


def test_a_reused_message_has_the_covariances_of_its_estimate_alone():
    full = replace(
        base_estimate(np.eye(3), np.eye(3), stamp_ns=1),
        gyro_bias_variances=(0.1, 0.3),
        velocity_covariance_B=np.diag([1.0, 2.0, 3.0]),
        position_variance=0.5,
    )
    used = messages.odometry_to_msg(full, Odometry(), "w", "b")
    pose, twist = (np.reshape(part.covariance, (6, 6)) for part in (used.pose, used.twist))
    np.testing.assert_allclose(np.diag(pose), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(np.diag(twist), [1.0, 2.0, 3.0, 0.1, 0.1, 0.3])
    new = base_estimate(np.eye(3), np.zeros((3, 3)), stamp_ns=2)
    again = messages.odometry_to_msg(new, used, "odom", "base")
    assert again == messages.odometry_to_msg(new, Odometry(), "odom", "base")


def test_torque_residual_is_named_by_row():
    estimate = ie.InertialEstimate(
        5, (), ("elbow", "base fz"), np.array([0.5, -2.0]), 1.0, 9.0, True, Decision.ACCEPTED, np.ones(2), 2
    )
    msg = over_the_wire(messages.torque_residual_to_msg(estimate, JointState()))
    assert dict(zip(msg.name, msg.effort, strict=True)) == {"elbow": 0.5, "base fz": -2.0}


@pytest.mark.parametrize("level", list(ie.HealthLevel))
def test_health_keeps_level_message_and_values(level):
    health = ie.Health("imu/data", level, "too old", {"age": "0.2"})
    msg = over_the_wire(messages.health_to_msg(health, "node"))
    assert (msg.level, msg.name, msg.message) == (bytes([level]), "node: imu/data", "too old")
    assert [(item.key, item.value) for item in msg.values] == [("age", "0.2")]
    assert messages.health_from_msg(msg) == health
    msg.name = "imu/data"  # of another node, that does not say who it is
    assert messages.health_from_msg(msg) == health


@given(stamps, st.dictionaries(st.text("abc_", min_size=1), st.floats(width=64)))
@settings(max_examples=20)
def test_torque_command_there_and_back(stamp_ns, torques):
    command = ie.TorqueCommand(stamp_ns, tuple(torques), list(torques.values()))
    back = messages.torque_command_from_msg(over_the_wire(messages.torque_command_to_msg(command)))
    assert (back.stamp_ns, back.names) == (stamp_ns, tuple(torques))
    np.testing.assert_array_equal(back.tau, command.tau)
    assert stamp_from_msg(over_the_wire(messages.clock_to_msg(stamp_ns)).clock) == stamp_ns


@given(st.floats(0.0, 2.0), angles, angles)
@settings(max_examples=20)
def test_base_reference_there_and_back(height, roll, pitch):
    sent = ie.BaseReference(height, roll, pitch)
    back = messages.base_reference_from_msg(over_the_wire(base_reference_to_msg(sent, PoseStamped())))
    assert (back.height, back.roll, back.pitch) == pytest.approx((height, roll, pitch), abs=1e-9)


def pose(height, z, w):
    """A pose at a height, of a quaternion about the vertical."""
    msg = PoseStamped()
    msg.pose.position.z, msg.pose.orientation.z, msg.pose.orientation.w = height, z, w
    return msg


def test_a_base_reference_leaves_the_heading_alone_and_a_walk_command_has_steps_and_their_length():
    turned = pose(1.0, math.sin(0.4), math.cos(0.4))
    assert messages.base_reference_from_msg(turned) == ie.BaseReference(1.0, 0.0, 0.0)
    assert messages.walk_command_from_msg(Float64MultiArray(data=[3.0, 0.1])) == WalkCommand(3, 0.1)


WALKS = ([], [3.0], [2.5, 0.1], [-1.0, 0.1], [math.nan, 0.1], [2.0, math.inf])
REFUSED = [
    *((pose(z, 0.0, w), "base reference") for z, w in ((math.nan, 1.0), (1.0, 0.0), (1.0, math.nan))),
    *((Float64MultiArray(data=data), "walk command") for data in WALKS),
    (JointState(name=["knee"], effort=[1.0, 2.0]), r"expected \(1,\)"),
]
FROM_MSG = {
    PoseStamped: messages.base_reference_from_msg,
    Float64MultiArray: messages.walk_command_from_msg,
    JointState: messages.torque_command_from_msg,
}


@pytest.mark.parametrize(("msg", "said"), REFUSED)
def test_what_cannot_be_a_command_is_refused(msg, said):
    with pytest.raises(ie.MeasurementError, match=said):
        FROM_MSG[type(msg)](msg)


@pytest.mark.parametrize("good", [PoseStamped(), Float64MultiArray(data=[3.0, 0.1])])
def test_bytes_that_end_early_are_refused(good):
    read = messages.message_reader(type(good), FROM_MSG[type(good)])
    raw = serialize_message(good)
    for length in range(len(raw) - 8):
        with pytest.raises(ie.MeasurementError):
            read(raw[:length])
