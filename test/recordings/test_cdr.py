"""The lean decoder agrees with `rosbags` bit by bit, whatever the lengths of strings and sequences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inertial_estimation.recordings import recording as reading
from inertial_estimation.recordings.cdr import (
    decode_imu,
    decode_quaternion,
    decode_wrench,
    joint_state_decoder,
)
from inertial_estimation.recordings.recording_writer import _BUILDERS
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample

pytest.importorskip("rosbags")
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
TEXT = st.text("abc_é", max_size=11)


def serialised(message_type: str, stamp_ns: int, frame: str, sample: object) -> bytes:
    stamp = STORE.types["builtin_interfaces/msg/Time"](*divmod(stamp_ns, 10**9))
    header = STORE.types["std_msgs/msg/Header"](stamp, frame)
    message = _BUILDERS[message_type](STORE.types, header, sample)
    return bytes(STORE.serialize_cdr(message, message_type))


def by_rosbags(message_type: str, data: bytes) -> object:
    return reading._CONVERTERS[message_type](STORE.deserialize_cdr(data, message_type))


@settings(max_examples=50, deadline=None)
@given(STAMPS, TEXT, st.lists(NUMBERS, min_size=6, max_size=6))
def test_fixed_messages(stamp: int, frame: str, x: list[float]) -> None:
    cases = (
        (
            reading.IMU_TYPE,
            decode_imu,
            ImuSample(stamp, x[:3], x[3:]),
            ("specific_force_I", "angular_rate_I"),
        ),
        (reading.WRENCH_TYPE, decode_wrench, WrenchSample(stamp, x), ("wrench_F",)),
        (reading.QUATERNION_TYPE, decode_quaternion, OrientationSample(stamp, x[:4]), ("quaternion_xyzw",)),
    )
    for kind, decode, sample, names in cases:
        data = serialised(kind, stamp, frame, sample)
        got, expected = decode(data), by_rosbags(kind, data)
        assert got.stamp_ns == expected.stamp_ns == stamp
        for name in names:
            np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
            np.testing.assert_array_equal(getattr(got, name), getattr(sample, name))


JOINTS = st.lists(TEXT, max_size=5).flatmap(
    lambda names: st.tuples(
        st.just(tuple(names)),
        *[st.lists(NUMBERS, min_size=len(names), max_size=len(names))] * 3,
        st.booleans(),
        st.booleans(),
    )
)


@settings(max_examples=50, deadline=None)
@given(STAMPS, TEXT, st.lists(JOINTS, min_size=1, max_size=4))
def test_joint_states_whose_names_change(stamp: int, frame: str, cases: list[tuple]) -> None:
    decode = joint_state_decoder()
    for names, q, v, tau, with_v, with_tau in cases:
        sample = JointReading(stamp, names, q, v if with_v else None, tau if with_tau else None)
        data = serialised(reading.JOINT_STATE_TYPE, stamp, frame, sample)
        for _ in range(2):  # the second time the names are known
            got, expected = decode(data), by_rosbags(reading.JOINT_STATE_TYPE, data)
            assert (got.stamp_ns, got.names) == (expected.stamp_ns, expected.names) == (stamp, names)
            for name in ("position", "velocity", "effort"):
                a, b = getattr(got, name), getattr(expected, name)
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_array_equal(a, b)
