"""Decoders of serialised messages (CDR) that come at the rates of sensors.

rclpy and `rosbags` build a whole message, strings and covariances included, of which a conversion uses a few
numbers: 2 to 13 times as long as decoding at fixed offsets behind the header. Each decoder gives exactly what the
conversion gives for the deserialised message. Only plain little-endian CDR is read.

Layout (OMG CDR, XCDR1): 4 bytes of encapsulation, then fields aligned to their size counted from there; a string
is its length with the final zero (uint32) and its bytes; a sequence its count (uint32). A decoder gets the message
behind its encapsulation, its stamp [ns] and the offset behind the name of its frame.
"""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.signals import (
    Array,
    BaseState,
    ContactSample,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    StampedInertia,
    WrenchSample,
)

LITTLE_ENDIAN = b"\x00\x01"
ENCAPSULATION = 4  # bytes
FRAME = 12  # offset of the name of the frame, behind stamp and length
Decoder = Callable[[bytes, int, int], Any]
_length = struct.Struct("<I").unpack_from
_DOUBLE = np.dtype("<f8")

_imu_sample = made_of_checked(ImuSample)
_wrench_sample = made_of_checked(WrenchSample)
_orientation_sample = made_of_checked(OrientationSample)
_base_state = made_of_checked(BaseState)
_joint_reading = made_of_checked(JointReading)


def aligned(offset: int, size: int) -> int:
    """Return the first offset from one on that is a multiple of a size."""
    return -(-offset // size) * size


def decode_imu(body: bytes, stamp_ns: int, begin: int) -> ImuSample:
    """Decode sensor_msgs/Imu: orientation (4), rate (3), force (3), each with 9 of covariance."""
    values = np.frombuffer(body, _DOUBLE, 37, (begin + 7) & -8)
    return _imu_sample(stamp_ns, values[25:28], values[13:16])


def decode_wrench(body: bytes, stamp_ns: int, begin: int) -> WrenchSample:
    """Decode geometry_msgs/WrenchStamped."""
    return _wrench_sample(stamp_ns, np.frombuffer(body, _DOUBLE, 6, (begin + 7) & -8))


def decode_quaternion(body: bytes, stamp_ns: int, begin: int) -> OrientationSample:
    """Decode geometry_msgs/QuaternionStamped."""
    return _orientation_sample(stamp_ns, np.frombuffer(body, _DOUBLE, 4, (begin + 7) & -8))


def decode_base_state(body: bytes, stamp_ns: int, begin: int) -> BaseState:
    """Decode nav_msgs/Odometry: name of the child frame, pose (7), twist (6), each with 36 of covariance."""
    offset = aligned(begin, 4)
    offset += 4 + _length(body, offset)[0]
    values = np.frombuffer(body, _DOUBLE, 85, aligned(offset, 8))
    return _base_state(stamp_ns, values[3:7], values[:3], values[43:46], values[46:49])


def decode_link_inertia(body: bytes, stamp_ns: int, begin: int) -> StampedInertia:
    """Decode geometry_msgs/InertiaStamped: mass, centre (3), inertia (6) of the link that is its frame."""
    values = np.frombuffer(body, _DOUBLE, 10, (begin + 7) & -8)
    moment = values[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    link = body[FRAME : begin - 1].decode()
    return StampedInertia(stamp_ns, LinkInertia(link, float(values[0]), values[1:4], moment))


def decode_bool(body: bytes, _stamp_ns: int, _begin: int) -> ContactSample:
    """Decode std_msgs/Bool."""
    return ContactSample(0, float(body[0] != 0))


def decode_float(body: bytes, _stamp_ns: int, _begin: int) -> ContactSample:
    """Decode std_msgs/Float64."""
    return ContactSample(0, struct.unpack_from("<d", body)[0])


def joint_state_decoder() -> Decoder:
    """Return a decoder of sensor_msgs/JointState that reads the names again only when they change."""
    block, names, end = b"", tuple[str, ...](), 0

    def decode(body: bytes, stamp_ns: int, begin: int) -> JointReading:
        nonlocal block, names, end
        if not block or body[begin:end] != block:
            names, end = _names(body, begin)
            block = body[begin:end]
        position, offset = _doubles(body, end)
        velocity, offset = _doubles(body, offset)
        effort, offset = _doubles(body, offset)
        if position is None:
            position = np.empty(0)
        if not names:
            names = ("",) * len(position)
        n = len(names)
        if len(position) == n and all(values is None or len(values) == n for values in (velocity, effort)):
            return _joint_reading(stamp_ns, names, position, velocity, effort)
        return JointReading(stamp_ns, names, position, velocity, effort)

    return decode


def _names(body: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    """Return a sequence of strings and the offset behind it."""
    offset = aligned(offset, 4)
    (count,) = _length(body, offset)
    offset += 4
    names: list[str] = []
    for _ in range(count):
        offset = aligned(offset, 4)
        (length,) = _length(body, offset)
        offset += 4
        names.append(body[offset : offset + length - 1].decode())
        offset += length
    return tuple(names), offset


def _doubles(body: bytes, offset: int) -> tuple[Array | None, int]:
    """Return a sequence of doubles, None if empty, and the offset behind it."""
    offset = (offset + 3) & -4
    (count,) = _length(body, offset)
    offset += 4
    if not count:
        return None, offset
    offset = (offset + 7) & -8
    return np.frombuffer(body, _DOUBLE, count, offset), offset + 8 * int(count)
