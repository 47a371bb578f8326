"""Messages of rosbags and rclpy are written, and read from their bytes."""

import dataclasses
import importlib
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rosbags", reason="needs rosbags")

from rosbags.typesys import Stores, get_typestore

import inertial_estimation as ie
from inertial_estimation.inputs.messages import (
    CONVERSIONS,
    IMU_TYPE,
    INERTIA_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
    MessageReader,
    stamp_from_msg,
)
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.signals import ContactSample, PoseSample, StampedInertia

STORE = get_typestore(Stores.ROS2_JAZZY)
NUMBERS = st.floats(width=64)  # infinite and NaN as well: a pipeline drops and counts them
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
TEXT = st.text(st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=9)
KINDS = [kind for kind, conversion in CONVERSIONS.items() if conversion.stamped]


def reader_of(*arguments):
    return MessageReader(*arguments).read


Rosbags = SimpleNamespace(
    empty=partial(empty_message, STORE),
    serialize=lambda msg, kind: bytes(STORE.serialize_cdr(msg, kind)),
)


class Rclpy:
    """The message classes of rclpy."""

    @staticmethod
    def empty(kind):
        package, _, name = kind.partition("/msg/")
        return getattr(importlib.import_module(f"{package}.msg"), name)()

    @staticmethod
    def serialize(msg, _kind):
        return importlib.import_module("rclpy.serialization").serialize_message(msg)


@pytest.fixture(scope="module", params=["rosbags", "rclpy"])
def family(request):
    """Message classes of one library."""
    if request.param == "rosbags":
        return Rosbags
    pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")
    return Rclpy


def vectors(size):
    return st.lists(NUMBERS, min_size=size, max_size=size).map(np.array)


JOINTS = st.lists(TEXT, max_size=5).flatmap(
    lambda names: st.builds(
        ie.JointReading,
        STAMPS,
        st.just(tuple(names)),
        vectors(len(names)),
        *[st.none() | vectors(len(names)) if names else st.none()] * 2,
    )
)
INERTIAS = st.builds(
    ie.LinkInertia, TEXT.filter(bool), NUMBERS, vectors(3), vectors(9).map(lambda x: np.diag(x[:3]) + x[4])
)
VALUES = {
    IMU_TYPE: st.builds(ie.ImuSample, STAMPS, vectors(3), vectors(3)),
    JOINT_STATE_TYPE: JOINTS,
    WRENCH_TYPE: st.builds(ie.WrenchSample, STAMPS, vectors(6)),
    POSE_TYPE: st.builds(PoseSample, STAMPS, vectors(4), vectors(3)),
    QUATERNION_TYPE: st.builds(ie.OrientationSample, STAMPS, vectors(4)),
    ODOMETRY_TYPE: st.builds(ie.BaseState, STAMPS, vectors(4), vectors(3), vectors(3), vectors(3)),
    INERTIA_TYPE: st.builds(StampedInertia, STAMPS, INERTIAS),
}

UNSTAMPED = {
    "geometry_msgs/msg/Wrench": ie.WrenchSample(0, np.arange(6.0)),
    "std_msgs/msg/Bool": ContactSample(0, 1.0),
    "std_msgs/msg/Float64": ContactSample(0, 0.25),
    "std_msgs/msg/Float32": ContactSample(0, 0.25),
    "std_msgs/msg/Int32": ContactSample(0, -70000.0),
    "std_msgs/msg/Int16": ContactSample(0, -179.0),
    "std_msgs/msg/UInt16": ContactSample(0, 40000.0),
    "std_msgs/msg/UInt8": ContactSample(0, 200.0),
}


def assert_same(left, right):
    assert type(left) is type(right)
    if isinstance(left, StampedInertia):
        assert left.stamp_ns == right.stamp_ns
        left, right = left.inertia, right.inertia
    for item in dataclasses.fields(left):
        one, other = getattr(left, item.name), getattr(right, item.name)
        assert type(one) is type(other)
        if isinstance(one, np.ndarray | float):
            np.testing.assert_array_equal(one, other)
        else:
            assert one == other


@pytest.mark.parametrize("kind", UNSTAMPED)
def test_types_without_a_stamp_are_there_and_back(kind):
    value = UNSTAMPED[kind]
    msg = CONVERSIONS[kind].to_msg(value, Rosbags.empty(kind), "")
    assert_same(reader_of(kind)(Rosbags.serialize(msg, kind)), value)
    with pytest.raises(ie.DamagedMessageError, match="they begin with 0000, little-endian CDR with 0001"):
        reader_of(kind)(bytes(STORE.serialize_cdr(msg, kind, little_endian=False)))


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_there_and_back_over_the_wire(family, kind, data):
    value = data.draw(VALUES[kind])
    conversion = CONVERSIONS[kind]
    msg = conversion.to_msg(value, family.empty(kind), "frame" if kind != INERTIA_TYPE else "")
    assert_same(reader_of(kind)(family.serialize(msg, kind)), value)
    assert stamp_from_msg(msg.header.stamp) == value.stamp_ns
    assert msg.header.frame_id == ("frame" if kind != INERTIA_TYPE else value.inertia.link)
    assert kind != IMU_TYPE or msg.orientation_covariance[0] == -1.0, "by its definition: no orientation"


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=5, deadline=None)
def test_bytes_are_read_and_refused_where_they_end_early(kind, data):
    reader = MessageReader(kind)
    for _ in range(2):  # a decoder may keep what it knows of the message before
        frames = [""] if kind == INERTIA_TYPE else ["", "f", "a_frame"]  # that of an inertia is its link
        value, frame = data.draw(VALUES[kind]), data.draw(st.sampled_from(frames))
        raw = Rosbags.serialize(CONVERSIONS[kind].to_msg(value, empty_message(STORE, kind), frame), kind)
        for _ in range(2):
            assert_same(reader.read(raw), value)
        assert reader.frame_id == frame or kind == INERTIA_TYPE
    for length in range(2, len(raw)):
        with pytest.raises(ie.DamagedMessageError, match=rf"{length} bytes are no {kind}"):
            reader.read(raw[:length])


def test_a_frame_whose_name_is_no_text_loses_no_reading():
    value = ie.ImuSample(5, [1, 2, 3], [4, 5, 6])
    raw = Rosbags.serialize(CONVERSIONS[IMU_TYPE].to_msg(value, Rosbags.empty(IMU_TYPE), "frame"), IMU_TYPE)
    reader = MessageReader(IMU_TYPE)
    assert_same(reader.read(raw), value)
    assert reader.frame_id == "frame"
    assert_same(reader.read(raw.replace(b"frame", b"fr\xe4me")), value)
    assert reader.frame_id == "fr\ufffdme"


@pytest.mark.parametrize("field", ["position", "velocity", "effort"])
def test_joint_arrays_of_another_length_than_the_names_are_refused(family, field):
    msg = CONVERSIONS[JOINT_STATE_TYPE].to_msg(
        ie.JointReading(0, ("a", "b"), [0, 0], [0, 0], [0, 0]), family.empty(JOINT_STATE_TYPE), ""
    )
    three = np.zeros(3)
    setattr(msg, field, three if family is Rosbags else three.tolist())
    raw = family.serialize(msg, JOINT_STATE_TYPE)
    with pytest.raises(ie.MeasurementError, match=rf"{field}.*\(3,\).*\(2,\)") as caught:
        reader_of(JOINT_STATE_TYPE)(raw)
    assert not isinstance(caught.value, ie.DamagedMessageError)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_changed_bytes_are_read_or_refused_and_nothing_else(kind, data):
    """A driver may send any bytes: names that are not UTF-8, lengths beyond the end."""
    read, value = reader_of(kind), data.draw(VALUES[kind])
    raw = bytearray(Rosbags.serialize(CONVERSIONS[kind].to_msg(value, empty_message(STORE, kind), "f"), kind))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.booleans()) else raw
    try:
        assert type(read(bytes(raw))) is type(value)
    except ie.MeasurementError:
        return
