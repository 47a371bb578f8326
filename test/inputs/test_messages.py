import struct

import numpy as np
import pytest
from support.input_scenes import empty, store  # noqa: F401

from inertial_estimation.errors import DamagedMessageError, MeasurementError
from inertial_estimation.inputs.messages import CONVERSIONS, INERTIA_TYPE, JOINT_STATE_TYPE, MessageReader
from inertial_estimation.signals import (
    BaseState,
    ContactSample,
    ImuSample,
    JointReading,
    OrientationSample,
    PoseSample,
    WrenchSample,
)

pytest.importorskip("rosbags.typesys")
STAMP = 1_700_000_000_123_456_789
RNG = np.random.default_rng(0)
JOINTS = ("a", "joint_b", "c")
VALUES = {
    "sensor_msgs/msg/Imu": ImuSample(STAMP, RNG.normal(size=3), RNG.normal(size=3)),
    "sensor_msgs/msg/JointState": JointReading(STAMP, JOINTS, *RNG.normal(size=(3, 3))),
    "geometry_msgs/msg/WrenchStamped": WrenchSample(STAMP, RNG.normal(size=6)),
    "geometry_msgs/msg/Wrench": WrenchSample(0, RNG.normal(size=6)),
    "geometry_msgs/msg/QuaternionStamped": OrientationSample(STAMP, RNG.normal(size=4)),
    "geometry_msgs/msg/PoseStamped": PoseSample(STAMP, RNG.normal(size=4), RNG.normal(size=3)),
    "nav_msgs/msg/Odometry": BaseState(STAMP, RNG.normal(size=4), *RNG.normal(size=(3, 3))),
    "std_msgs/msg/Bool": ContactSample(0, 1.0),
    "std_msgs/msg/Float64": ContactSample(0, 0.25),
    "std_msgs/msg/Float32": ContactSample(0, 0.25),
    "std_msgs/msg/Int32": ContactSample(0, -70000.0),
    "std_msgs/msg/Int16": ContactSample(0, -179.0),
    "std_msgs/msg/UInt16": ContactSample(0, 40000.0),
    "std_msgs/msg/UInt8": ContactSample(0, 200.0),
}


def same(a, b):
    names = getattr(a, "_fields", None) or type(a).__dataclass_fields__
    for name in names:
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y)
        else:
            assert x == y


def test_every_type_is_tested():
    assert set(VALUES) == set(CONVERSIONS) - {INERTIA_TYPE}


@pytest.mark.parametrize("frame", ["", "f", "a_frame"])
@pytest.mark.parametrize("name", VALUES)
def test_values_come_back_from_messages_and_from_their_bytes(store, name, frame):  # noqa: F811
    value = VALUES[name]
    msg = CONVERSIONS[name].to_msg(value, empty(store, name), frame)
    if name == "std_msgs/msg/Bool":
        assert msg.data is True
    data = bytes(store.serialize_cdr(msg, name))
    for message in (msg, data):
        reader = MessageReader(name, lambda d: store.deserialize_cdr(d, name))
        same(value, reader.read(message))
        if reader.stamped:
            assert reader.frame_id == frame
    big = bytes(store.serialize_cdr(msg, name, little_endian=False))
    same(value, MessageReader(name, lambda d: store.deserialize_cdr(d, name)).read(big))


@pytest.mark.parametrize("name", [n for n in VALUES if CONVERSIONS[n].decoder is not None])
def test_bytes_that_end_early_are_damaged_and_never_something_else(store, name):  # noqa: F811
    data = bytes(
        store.serialize_cdr(CONVERSIONS[name].to_msg(VALUES[name], empty(store, name), "frame"), name)
    )
    reader = MessageReader(name)
    for end in range(len(data) - 8):
        try:
            reader.read(data[:end])
        except MeasurementError:
            continue
        assert end >= len(data) - 8 or name in (
            JOINT_STATE_TYPE,
            "nav_msgs/msg/Odometry",
            "sensor_msgs/msg/Imu",
        )


def test_joint_states_of_changing_names_and_lengths(store):  # noqa: F811
    reader = MessageReader(JOINT_STATE_TYPE)
    for names, fields in [(JOINTS, 3), (JOINTS[:1], 2), (("x", "y"), 1), (JOINTS, 3), ((), 3)]:
        n = len(names) or 2
        given = [RNG.normal(size=n) if k < fields else None for k in range(3)]
        reading = JointReading(STAMP, names or ("", ""), *given)
        msg = CONVERSIONS[JOINT_STATE_TYPE].to_msg(reading, empty(store, JOINT_STATE_TYPE), "")
        msg.name = list(names)
        same(reading, reader.read(bytes(store.serialize_cdr(msg, JOINT_STATE_TYPE))))
        same(reading, reader.read(msg))


def test_lengths_that_do_not_fit_and_unknown_types_are_refused(store):  # noqa: F811
    msg = empty(store, JOINT_STATE_TYPE)
    msg.name, msg.position, msg.velocity = ["a", "b"], np.zeros(2), np.zeros(3)
    for message in (msg, bytes(store.serialize_cdr(msg, JOINT_STATE_TYPE))):
        with pytest.raises(MeasurementError, match=r"velocity has shape \(3,\)"):
            MessageReader(JOINT_STATE_TYPE).read(message)
    with pytest.raises(MeasurementError, match="no input has the type"):
        MessageReader("std_msgs/msg/String")
    with pytest.raises(DamagedMessageError, match="cannot be read here"):
        MessageReader("sensor_msgs/msg/Imu").read(struct.pack(">HH", 0, 0) + bytes(400))


def test_a_frame_whose_name_is_no_text_loses_no_reading(store):  # noqa: F811
    name = "sensor_msgs/msg/Imu"
    data = bytes(
        store.serialize_cdr(CONVERSIONS[name].to_msg(VALUES[name], empty(store, name), "frame"), name)
    )
    reader = MessageReader(name)
    same(VALUES[name], reader.read(data.replace(b"frame", b"fr\xe4me")))
    assert reader.frame_id == "fr\ufffdme"
