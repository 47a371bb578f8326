"""Conversions come in pairs: there and back is the identity; malformed messages are refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from inertial_estimation.errors import MeasurementError
from inertial_estimation.ros import messages
from inertial_estimation.signals import (
    BaseEstimate,
    BaseState,
    Decision,
    Health,
    HealthLevel,
    ImuSample,
    InertialEstimate,
    JointReading,
    LinkInertia,
    WrenchSample,
)
from inertial_estimation.spatial.rotations import exp_so3, quaternion_from_rotation

stamps = st.integers(min_value=0, max_value=2**31 * 10**9 - 1)
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


def vectors(size):
    return st.lists(numbers, min_size=size, max_size=size).map(np.array)


def same(left, right):
    np.testing.assert_array_equal(left, right)


def over_the_wire(msg):
    return deserialize_message(serialize_message(msg), type(msg))


@given(stamps, vectors(3), vectors(3))
@settings(max_examples=50)
def test_imu_there_and_back(stamp_ns, force, rate):
    sample = ImuSample(stamp_ns, force, rate)
    back = messages.imu_from_msg(over_the_wire(messages.imu_to_msg(sample, "imu")))
    assert back.stamp_ns == stamp_ns
    same(back.specific_force_I, force)
    same(back.angular_rate_I, rate)


@given(stamps, vectors(6))
@settings(max_examples=50)
def test_wrench_there_and_back(stamp_ns, wrench):
    back = messages.wrench_from_msg(
        over_the_wire(messages.wrench_to_msg(WrenchSample(stamp_ns, wrench), "f"))
    )
    assert back.stamp_ns == stamp_ns
    same(back.wrench_F, wrench)


@given(stamps, vectors(4), st.booleans(), st.booleans())
@settings(max_examples=50)
def test_joints_there_and_back(stamp_ns, values, with_velocity, with_effort):
    velocity = values + 1.0 if with_velocity else None
    effort = values - 1.0 if with_effort else None
    reading = JointReading(stamp_ns, ("d", "a", "c", "b"), values, velocity, effort)
    back = messages.joints_from_msg(over_the_wire(messages.joints_to_msg(reading)))
    assert (back.stamp_ns, back.names) == (stamp_ns, reading.names)
    for name in ("position", "velocity", "effort"):
        expected = getattr(reading, name)
        if expected is None:
            assert getattr(back, name) is None
        else:
            same(getattr(back, name), expected)


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_joint_arrays_of_another_length_than_the_names_are_refused(field):
    msg = JointState(name=["a", "b"], position=[0.0, 0.0], velocity=[0.0, 0.0], effort=[0.0, 0.0])
    setattr(msg, field, [0.0, 0.0, 0.0])
    with pytest.raises(MeasurementError, match=rf"{field}.*\(3,\).*\(2,\)"):
        messages.joints_from_msg(msg)


def test_a_joint_state_without_positions_is_refused():
    with pytest.raises(MeasurementError, match="position"):
        messages.joints_from_msg(JointState(name=["a"]))


def test_a_reading_outlives_its_message():
    msg = JointState(name=["a"], position=[1.0], velocity=[2.0])
    reading = messages.joints_from_msg(msg)
    msg.position[0] = 5.0
    assert reading.position[0] == 1.0


@given(stamps, vectors(4), vectors(3), vectors(3), vectors(3))
@settings(max_examples=50)
def test_base_state_there_and_back(stamp_ns, quaternion, p, v, w):
    state = BaseState(stamp_ns, quaternion, p, v, w)
    msg = over_the_wire(messages.base_state_to_msg(state, "odom", "base"))
    back = messages.base_state_from_msg(msg)
    assert (msg.header.frame_id, msg.child_frame_id, back.stamp_ns) == ("odom", "base", stamp_ns)
    for name in ("quaternion_xyzw", "p_WB", "v_WB_B", "w_WB_B"):
        same(getattr(back, name), getattr(state, name))


def base_estimate(R_WB, covariance_B, stamp_ns=7):
    state = BaseState(
        stamp_ns, quaternion_from_rotation(R_WB), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    )
    tilt_B = R_WB.T @ [0.0, 0.0, 1.0]
    return BaseEstimate(state, tilt_B, np.zeros(3), (), np.zeros(3), False, False, covariance_B)


def test_orientation_and_tilt_describe_the_same_rotation():
    R_WB = exp_so3(np.array([0.3, -0.2, 1.0]))
    estimate = base_estimate(R_WB, np.eye(3), stamp_ns=3_000_000_005)
    orientation = over_the_wire(messages.base_orientation_to_msg(estimate, "odom"))
    tilt = over_the_wire(messages.tilt_to_msg(estimate, "base"))
    sample = messages.orientation_from_msg(orientation)
    same(sample.quaternion_xyzw, estimate.state.quaternion_xyzw)
    assert sample.stamp_ns == messages.stamp_from_msg(tilt.header.stamp) == 3_000_000_005
    assert (orientation.header.frame_id, tilt.header.frame_id) == ("odom", "base")
    same([tilt.vector.x, tilt.vector.y, tilt.vector.z], estimate.tilt_B)


def test_covariance_is_turned_into_world_axes():
    quarter_about_z = exp_so3(np.array([0.0, 0.0, math.pi / 2]))  # base x points along world y
    estimate = base_estimate(quarter_about_z, np.diag([4.0, 1.0, 9.0]))
    msg = over_the_wire(messages.odometry_to_msg(estimate, "odom", "base"))
    covariance = np.array(msg.pose.covariance).reshape(6, 6)
    np.testing.assert_allclose(covariance[3:, 3:], np.diag([1.0, 4.0, 9.0]), atol=1e-12)
    assert not covariance[:3].any()


def test_a_reused_message_carries_nothing_over():
    old = base_estimate(exp_so3(np.array([0.3, 0.1, 0.2])), np.eye(3), stamp_ns=1)
    new = base_estimate(np.eye(3), np.zeros((3, 3)), stamp_ns=2)
    reused = messages.odometry_to_msg(new, "odom", "base", messages.odometry_to_msg(old, "w", "b"))
    assert reused == messages.odometry_to_msg(new, "odom", "base")


def test_transform_is_the_pose_of_the_odometry():
    estimate = base_estimate(exp_so3(np.array([0.1, 0.2, 0.3])), np.eye(3))
    transform = messages.base_state_to_transform(estimate.state, "odom", "base")
    pose = messages.odometry_to_msg(estimate, "odom", "base").pose.pose
    assert transform.transform.rotation == pose.orientation
    t = transform.transform.translation
    assert (t.x, t.y, t.z) == (pose.position.x, pose.position.y, pose.position.z)


@given(vectors(3), st.floats(-50.0, 50.0), st.lists(st.floats(-9, 9), min_size=6, max_size=6))
@settings(max_examples=50)
def test_link_inertia_there_and_back(com, mass, entries):
    xx, xy, xz, yy, yz, zz = entries
    moment = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    msg = over_the_wire(
        messages.link_inertia_to_msg(LinkInertia("forearm", mass, com, moment), 12_345_678_901)
    )
    stamp_ns, back = messages.link_inertia_from_msg(msg)
    assert stamp_ns == messages.stamp_from_msg(msg.header.stamp) == 12_345_678_901
    assert (back.link, back.mass) == ("forearm", mass)
    same(back.com_L, com)
    same(back.inertia_Lcm, moment)


def test_torque_residual_is_named_by_row():
    estimate = InertialEstimate(
        5, (), ("elbow", "base fz"), np.array([0.5, -2.0]), 1.0, 9.0, True, Decision.ACCEPTED, np.ones(2), 2
    )
    msg = over_the_wire(messages.torque_residual_to_msg(estimate))
    assert dict(zip(msg.name, msg.effort, strict=True)) == {"elbow": 0.5, "base fz": -2.0}


@pytest.mark.parametrize("level", list(HealthLevel))
def test_health_keeps_level_message_and_values(level):
    msg = over_the_wire(messages.health_to_msg(Health("imu/data", level, "too old", {"age": "0.2"}), "node"))
    assert (msg.level, msg.name, msg.message) == (bytes([level]), "node: imu/data", "too old")
    assert [(item.key, item.value) for item in msg.values] == [("age", "0.2")]


def test_health_levels_are_those_of_the_message():
    names = {level.name: bytes([level]) for level in HealthLevel}
    assert names == {name: getattr(DiagnosticStatus, name) for name in ("OK", "WARN", "ERROR", "STALE")}
