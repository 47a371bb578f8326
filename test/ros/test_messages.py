"""What nodes publish says what the estimates hold."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import QuaternionStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from inertial_estimation.inputs.messages import (
    CONVERSIONS,
    QUATERNION_TYPE,
    orientation_to_msg,
    stamp_from_msg,
)
from inertial_estimation.recordings import estimate_messages
from inertial_estimation.recordings.estimate_messages import UNKNOWN_VARIANCE
from inertial_estimation.ros import messages
from inertial_estimation.signals import (
    BaseEstimate,
    BaseState,
    Decision,
    Health,
    HealthLevel,
    InertialEstimate,
)
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation


def same(left, right):
    np.testing.assert_array_equal(left, right)


def over_the_wire(msg):
    return deserialize_message(serialize_message(msg), type(msg))


def base_estimate(R_WB, covariance_B, stamp_ns=7):
    state = BaseState(
        stamp_ns, quaternion_from_rotation(R_WB), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    )
    tilt_B = R_WB.T @ [0.0, 0.0, 1.0]
    return BaseEstimate(state, tilt_B, np.zeros(3), (), np.zeros(3), False, False, covariance_B)


def test_orientation_and_tilt_describe_the_same_rotation():
    R_WB = exp_so3(np.array([0.3, -0.2, 1.0]))
    estimate = base_estimate(R_WB, np.eye(3), stamp_ns=3_000_000_005)
    orientation = over_the_wire(orientation_to_msg(estimate.state, QuaternionStamped(), "odom"))
    tilt = over_the_wire(estimate_messages.tilt_to_msg(estimate, Vector3Stamped(), "base"))
    sample = CONVERSIONS[QUATERNION_TYPE].from_msg(orientation)
    same(sample.quaternion_xyzw, estimate.state.quaternion_xyzw)
    assert sample.stamp_ns == stamp_from_msg(tilt.header.stamp) == 3_000_000_005
    assert (orientation.header.frame_id, tilt.header.frame_id) == ("odom", "base")
    same([tilt.vector.x, tilt.vector.y, tilt.vector.z], estimate.tilt_B)


def test_covariance_is_turned_into_world_axes():
    quarter_about_z = exp_so3(np.array([0.0, 0.0, math.pi / 2]))  # base x points along world y
    estimate = base_estimate(quarter_about_z, np.diag([4.0, 1.0, 9.0]))
    msg = over_the_wire(estimate_messages.odometry_to_msg(estimate, Odometry(), "odom", "base"))
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


def with_all_covariances(estimate):
    return replace(
        estimate,
        gyro_bias_variances=(0.1, 0.3),
        velocity_covariance_B=np.diag([1.0, 2.0, 3.0]),
        position_variance=0.5,
    )


def test_covariances_of_position_and_twist_are_those_of_the_estimate():
    estimate = with_all_covariances(base_estimate(np.eye(3), np.eye(3)))
    msg = over_the_wire(estimate_messages.odometry_to_msg(estimate, Odometry(), "odom", "base"))
    pose, twist = (np.array(part.covariance).reshape(6, 6) for part in (msg.pose, msg.twist))
    np.testing.assert_allclose(np.diag(pose), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(np.diag(twist), [1.0, 2.0, 3.0, 0.1, 0.1, 0.3])


def test_a_reused_message_carries_nothing_over():
    old = with_all_covariances(base_estimate(exp_so3(np.array([0.3, 0.1, 0.2])), np.eye(3), stamp_ns=1))
    new = base_estimate(np.eye(3), np.zeros((3, 3)), stamp_ns=2)
    used = estimate_messages.odometry_to_msg(old, Odometry(), "w", "b")
    again = estimate_messages.odometry_to_msg(new, used, "odom", "base")
    assert again == estimate_messages.odometry_to_msg(new, Odometry(), "odom", "base")


def test_transform_is_the_pose_of_the_odometry():
    estimate = base_estimate(exp_so3(np.array([0.1, 0.2, 0.3])), np.eye(3))
    transform = messages.base_state_to_transform(estimate.state, "odom", "base")
    pose = estimate_messages.odometry_to_msg(estimate, Odometry(), "odom", "base").pose.pose
    assert transform.transform.rotation == pose.orientation
    t = transform.transform.translation
    assert (t.x, t.y, t.z) == (pose.position.x, pose.position.y, pose.position.z)


def test_torque_residual_is_named_by_row():
    estimate = InertialEstimate(
        5, (), ("elbow", "base fz"), np.array([0.5, -2.0]), 1.0, 9.0, True, Decision.ACCEPTED, np.ones(2), 2
    )
    msg = over_the_wire(estimate_messages.torque_residual_to_msg(estimate, JointState()))
    assert dict(zip(msg.name, msg.effort, strict=True)) == {"elbow": 0.5, "base fz": -2.0}


@pytest.mark.parametrize("level", list(HealthLevel))
def test_health_keeps_level_message_and_values(level):
    health = Health("imu/data", level, "too old", {"age": "0.2"})
    msg = over_the_wire(estimate_messages.health_to_msg(health, "node", DiagnosticStatus(), KeyValue))
    assert (msg.level, msg.name, msg.message) == (bytes([level]), "node: imu/data", "too old")
    assert [(item.key, item.value) for item in msg.values] == [("age", "0.2")]
    assert estimate_messages.health_from_msg(msg) == (
        "node",
        Health("imu/data", level, "too old", {"age": "0.2"}),
    )


def test_health_levels_are_those_of_the_message():
    names = {level.name: bytes([level]) for level in HealthLevel}
    assert names == {name: getattr(DiagnosticStatus, name) for name in ("OK", "WARN", "ERROR", "STALE")}
