"""Commands there and back; what cannot be a command is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from geometry_msgs.msg import PoseStamped
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.messages import stamp_from_msg
from inertial_estimation.recordings.estimate_messages import base_reference_to_msg
from inertial_estimation.ros import messages
from inertial_estimation.signals import BaseReference, TorqueCommand

stamps = st.integers(min_value=0, max_value=2**31 * 10**9 - 1)
angles = st.floats(-1.5, 1.5)


def over_the_wire(msg):
    return deserialize_message(serialize_message(msg), type(msg))


@given(stamps, st.dictionaries(st.text("abc_", min_size=1), st.floats(width=64)))
@settings(max_examples=50)
def test_torque_command_there_and_back(stamp_ns, torques):
    command = TorqueCommand(stamp_ns, tuple(torques), list(torques.values()))
    back = messages.torque_command_from_msg(over_the_wire(messages.torque_command_to_msg(command)))
    assert (back.stamp_ns, back.names) == (stamp_ns, tuple(torques))
    np.testing.assert_array_equal(back.tau, command.tau)


def test_torques_without_names_are_refused():
    with pytest.raises(MeasurementError, match="expected \\(1,\\)"):
        messages.torque_command_from_msg(JointState(name=["knee"], effort=[1.0, 2.0]))
    with pytest.raises(MeasurementError, match="expected \\(1,\\)"):
        messages.torque_command_from_msg(JointState(name=["knee"], position=[1.0]))


@given(st.floats(0.0, 2.0), angles, angles)
@settings(max_examples=50)
def test_base_reference_there_and_back(height, roll, pitch):
    sent = BaseReference(height, roll, pitch)
    back = messages.base_reference_from_msg(over_the_wire(base_reference_to_msg(sent, PoseStamped())))
    assert (back.height, back.roll, back.pitch) == pytest.approx((height, roll, pitch), abs=1e-9)


def test_a_base_reference_leaves_the_heading_alone():
    msg = PoseStamped()
    msg.pose.position.z = 1.0
    half = 0.4
    msg.pose.orientation.z, msg.pose.orientation.w = math.sin(half), math.cos(half)
    assert messages.base_reference_from_msg(msg) == BaseReference(1.0, 0.0, 0.0)


@pytest.mark.parametrize(("z", "w"), [(math.nan, 1.0), (1.0, 0.0), (1.0, math.nan)])
def test_a_base_reference_that_is_none_is_refused(z, w):
    msg = PoseStamped()
    msg.pose.position.z, msg.pose.orientation.w = z, w
    with pytest.raises(MeasurementError, match="base reference"):
        messages.base_reference_from_msg(msg)


def test_a_walk_command_has_steps_and_their_length():
    assert messages.walk_command_from_msg(Float64MultiArray(data=[3.0, 0.1])) == WalkCommand(3, 0.1)


@pytest.mark.parametrize("data", [[], [3.0], [2.5, 0.1], [-1.0, 0.1], [math.nan, 0.1], [2.0, math.inf]])
def test_a_walk_command_that_is_none_is_refused(data):
    with pytest.raises(MeasurementError, match="walk command"):
        messages.walk_command_from_msg(Float64MultiArray(data=data))


@given(stamps)
@settings(max_examples=20)
def test_the_clock_is_the_stamp(stamp_ns):
    assert stamp_from_msg(over_the_wire(messages.clock_to_msg(stamp_ns)).clock) == stamp_ns
