"""Reading serialised messages gives what deserialising them gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.errors import MeasurementError
from inertial_estimation.ros import messages, serialized

numbers = st.floats(width=64)
texts = st.text(st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=9)


def fill(values, draw):
    for slot in values.get_fields_and_field_types():
        value = getattr(values, slot)
        if isinstance(value, float):
            setattr(values, slot, draw(numbers))
        elif isinstance(value, np.ndarray):
            setattr(values, slot, np.array(draw(st.lists(numbers, min_size=value.size, max_size=value.size))))
        elif isinstance(value, str):
            setattr(values, slot, draw(texts))
        elif slot == "stamp":
            value.sec = draw(st.integers(0, 2**31 - 1))
            value.nanosec = draw(st.integers(0, 10**9 - 1))
        elif hasattr(value, "get_fields_and_field_types"):
            fill(value, draw)


def assert_same(left, right):
    assert type(left) is type(right)
    if isinstance(left, tuple):  # a stamp and a value without one
        assert left[0] == right[0]
        left, right = left[1], right[1]
    for name in left.__slots__:
        one, other = getattr(left, name), getattr(right, name)
        if isinstance(one, np.ndarray | float):
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other


@pytest.mark.parametrize(
    ("message_type", "name"),
    [
        (Imu, "imu"),
        (WrenchStamped, "wrench"),
        (Odometry, "base_state"),
        (QuaternionStamped, "orientation"),
        (InertiaStamped, "link_inertia"),
    ],
)
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_same_as_the_deserialised_message(message_type, name, data):
    msg = message_type()
    fill(msg, data.draw)
    raw = serialize_message(msg)
    from_msg = getattr(messages, f"{name}_from_msg")
    from_bytes = getattr(serialized, f"{name}_from_bytes")
    assert_same(from_bytes(raw), from_msg(deserialize_message(raw, message_type)))


@given(st.data(), texts, st.lists(texts, max_size=6), st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_joint_states_of_any_names_and_lengths(data, frame, names, with_velocity, with_effort):
    array = st.lists(numbers, min_size=len(names), max_size=len(names))
    msg = JointState(name=names, position=data.draw(array))
    msg.header.frame_id = frame
    msg.header.stamp.sec = data.draw(st.integers(0, 2**31 - 1))
    msg.velocity = data.draw(array) if with_velocity else []
    msg.effort = data.draw(array) if with_effort else []
    raw = serialize_message(msg)
    expected = messages.joints_from_msg(deserialize_message(raw, JointState))
    assert_same(serialized.joints_from_bytes(raw), expected)
    assert_same(serialized.joints_from_bytes(raw), expected)


def test_names_that_change_are_noticed():
    for names in (["a", "b"], ["b", "a"], ["a", "b", "c"], ["a"], ["a", "b"], []):
        raw = serialize_message(JointState(name=names, position=[1.0] * len(names)))
        assert serialized.joints_from_bytes(raw).names == tuple(names)


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_arrays_of_another_length_than_the_names_are_refused(field):
    msg = JointState(name=["a", "b"], position=[0.0, 0.0])
    setattr(msg, field, [0.0, 0.0, 0.0])
    with pytest.raises(MeasurementError, match=field):
        serialized.joints_from_bytes(serialize_message(msg))


def test_a_truncated_message_is_refused():
    raw = serialize_message(Imu())
    with pytest.raises((ValueError, MeasurementError)):
        serialized.imu_from_bytes(raw[:100])
