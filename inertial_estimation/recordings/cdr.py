"""Fast decoders of serialised messages (CDR), registered in `message_conversion.CONVERSIONS`.

rclpy and `rosbags` build a whole message, strings and covariances included, of which a conversion uses a few
numbers: 2 to 13 times as long as decoding at fixed offsets after the header, which matters at 1 kHz
(`benchmarks/message_decoding.py`). Each function gives exactly what the conversion gives for the
deserialised message, and raises ValueError or struct.error where the bytes end early. Only plain
little-endian CDR is read.

Layout (OMG CDR, XCDR1): 4 bytes of encapsulation, then fields aligned to their size counted from there;
a string is its length with the final zero (uint32) and its bytes; a sequence its count (uint32).
"""

import struct
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from inertial_estimation.recordings.samples import StampedInertia
from inertial_estimation.signals import (
    NANOSECONDS,
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
)

__all__ = [
    "LITTLE_ENDIAN",
    "decode_base_state",
    "decode_imu",
    "decode_link_inertia",
    "decode_quaternion",
    "decode_wrench",
    "joint_state_decoder",
]

LITTLE_ENDIAN = b"\x00\x01"
_STAMP = struct.Struct("<iI")
_LENGTH = struct.Struct("<I")
_HEADER = 4  # bytes of encapsulation
_FRAME = _HEADER + 8  # offset of the frame's length
_DOUBLE = np.dtype("<f8")


def decode_imu(data: bytes) -> ImuSample:
    """Decode sensor_msgs/Imu: orientation (4), rate (3), acceleration (3), each with 9 of covariance."""
    values = np.frombuffer(data, _DOUBLE, 37, _after_header(data))
    return ImuSample(_stamp_ns(data), values[25:28], values[13:16])


def decode_wrench(data: bytes) -> WrenchSample:
    """Decode geometry_msgs/WrenchStamped."""
    return WrenchSample(_stamp_ns(data), np.frombuffer(data, _DOUBLE, 6, _after_header(data)))


def decode_quaternion(data: bytes) -> OrientationSample:
    """Decode geometry_msgs/QuaternionStamped."""
    return OrientationSample(_stamp_ns(data), np.frombuffer(data, _DOUBLE, 4, _after_header(data)))


def decode_base_state(data: bytes) -> BaseState:
    """Decode nav_msgs/Odometry: pose (7), twist (6), each with 36 of covariance, after the child's frame."""
    child = _aligned(_behind_string(data, _FRAME), 4)
    values = np.frombuffer(data, _DOUBLE, 85, _aligned(_behind_string(data, child), 8))
    return BaseState(_stamp_ns(data), values[3:7], values[0:3], values[43:46], values[46:49])


def decode_link_inertia(data: bytes) -> StampedInertia:
    """Decode geometry_msgs/InertiaStamped: mass, centre (3), inertia (6) of the link that is its frame."""
    end = _behind_string(data, _FRAME)
    link = bytes(data[_FRAME + 4 : end - 1]).decode()
    values = np.frombuffer(data, _DOUBLE, 10, _aligned(end, 8))
    moment = values[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    return StampedInertia(_stamp_ns(data), LinkInertia(link, float(values[0]), values[1:4], moment))


def joint_state_decoder() -> Callable[[bytes], JointReading]:
    """Return a decoder of sensor_msgs/JointState that reads the names again only when they change."""
    block, names, end = b"", tuple[str, ...](), 0

    def decode(data: bytes) -> JointReading:
        nonlocal block, names, end
        if not block or data[_FRAME:end] != block:
            names, end = _names(data)
            block = bytes(data[_FRAME:end])
        position, offset = _doubles(data, end)
        velocity, offset = _doubles(data, offset)
        effort, offset = _doubles(data, offset)
        return JointReading(
            _stamp_ns(data), names, np.empty(0) if position is None else position, velocity, effort
        )

    return decode


def _stamp_ns(data: bytes) -> int:
    sec, nanosec = _STAMP.unpack_from(data, _HEADER)
    return int(sec) * NANOSECONDS + int(nanosec)


def _after_header(data: bytes) -> int:
    """Offset of the first double after the header."""
    return _aligned_behind(int(_LENGTH.unpack_from(data, _FRAME)[0]))


@lru_cache(maxsize=256)
def _aligned_behind(length: int) -> int:
    """Return the offset of the first double after a frame name of a given length."""
    return _aligned(_FRAME + 4 + length, 8)


def _behind_string(data: bytes, offset: int) -> int:
    return offset + 4 + int(_LENGTH.unpack_from(data, offset)[0])


def _aligned(offset: int, size: int) -> int:
    return _HEADER + -(-(offset - _HEADER) // size) * size


def _names(data: bytes) -> tuple[tuple[str, ...], int]:
    """Return the names, and the offset after them."""
    offset = _aligned(_behind_string(data, _FRAME), 4)
    (count,) = _LENGTH.unpack_from(data, offset)
    offset += 4
    names: list[str] = []
    for _ in range(count):
        offset = _aligned(offset, 4)
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += 4
        names.append(bytes(data[offset : offset + length - 1]).decode())
        offset += length
    return tuple(names), offset


def _doubles(data: bytes, offset: int) -> "tuple[np.ndarray | None, int]":
    """Return a sequence of doubles, None if empty, and the offset after it."""
    offset = _aligned(offset, 4)
    (count,) = _LENGTH.unpack_from(data, offset)
    offset += 4
    if not count:
        return None, offset
    offset = _aligned(offset, 8)
    return np.frombuffer(data, _DOUBLE, count, offset), offset + 8 * int(count)
