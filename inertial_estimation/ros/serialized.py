"""Reads the inputs that come a thousand times a second straight from their serialised form (CDR).

Building a message object with all its fields, strings and covariances costs more than what is read from it.
Each function gives exactly what the one of the same name in `messages` gives for the deserialised message;
forms it does not know (big-endian, say) it leaves to that one. CDR aligns each number to its size, counted
from the end of the 4-byte encapsulation header.
"""

import struct
from functools import lru_cache

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.ros import messages
from inertial_estimation.signals import Array, BaseState, ImuSample, JointReading, WrenchSample

__all__ = ["base_state_from_bytes", "imu_from_bytes", "joints_from_bytes", "wrench_from_bytes"]

LITTLE_ENDIAN_CDR = b"\x00\x01"
_STAMP_AND_LENGTH = struct.Struct("<iII")  # seconds, nanoseconds, length of frame_id
_LENGTH = struct.Struct("<I")
_ENCAPSULATION = 4
_AFTER_LENGTH = _ENCAPSULATION + 12
NANOSECONDS = 1_000_000_000


def imu_from_bytes(data: bytes) -> ImuSample:
    """Read a serialised sensor_msgs/Imu; see `messages.imu_from_msg`."""
    if data[:2] != LITTLE_ENDIAN_CDR:
        return messages.imu_from_msg(deserialize_message(data, Imu))
    stamp_ns, end = _header(data)
    numbers = np.frombuffer(data, "<f8", 28, _aligned(end))  # orientation 4, covariance 9, rate 3, 9, force 3
    return ImuSample(stamp_ns, numbers[25:28], numbers[13:16])


def wrench_from_bytes(data: bytes) -> WrenchSample:
    """Read a serialised geometry_msgs/WrenchStamped; see `messages.wrench_from_msg`."""
    if data[:2] != LITTLE_ENDIAN_CDR:
        return messages.wrench_from_msg(deserialize_message(data, WrenchStamped))
    stamp_ns, end = _header(data)
    return WrenchSample(stamp_ns, np.frombuffer(data, "<f8", 6, _aligned(end)))


def joints_from_bytes(data: bytes) -> JointReading:
    """Read a serialised sensor_msgs/JointState; see `messages.joints_from_msg`.

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    if data[:2] != LITTLE_ENDIAN_CDR:
        return messages.joints_from_msg(deserialize_message(data, JointState))
    stamp_ns, end = _header(data)
    start = _aligned(end, 4)
    end = _end_of_strings(data, start)
    names = _names(data[start:end])
    position, end = _doubles(data, end)
    velocity, end = _doubles(data, end)
    effort, end = _doubles(data, end)
    return JointReading(
        stamp_ns, names, position, velocity if len(velocity) else None, effort if len(effort) else None
    )


def base_state_from_bytes(data: bytes) -> BaseState:
    """Read a serialised nav_msgs/Odometry; see `messages.base_state_from_msg`."""
    if data[:2] != LITTLE_ENDIAN_CDR:
        return messages.base_state_from_msg(deserialize_message(data, Odometry))
    stamp_ns, end = _header(data)
    start = _aligned(end, 4)
    (length,) = _LENGTH.unpack_from(data, start)  # child_frame_id
    numbers = np.frombuffer(data, "<f8", 49, _aligned(start + 4 + length))  # pose 7, covariance 36, twist 6
    return BaseState(stamp_ns, numbers[3:7], numbers[0:3], numbers[43:46], numbers[46:49])


def _aligned(offset: int, size: int = 8) -> int:
    return offset + (_ENCAPSULATION - offset) % size


def _header(data: bytes) -> tuple[int, int]:
    """Return the stamp [ns] and where the header ends."""
    sec, nanosec, length = _STAMP_AND_LENGTH.unpack_from(data, _ENCAPSULATION)
    return sec * NANOSECONDS + nanosec, _AFTER_LENGTH + length


_last_strings: list[tuple[bytes, int]] = []


def _end_of_strings(data: bytes, start: int) -> int:
    """Return where a sequence of strings ends; the last one seen is recognised by its bytes."""
    for known, length in _last_strings:
        if data.startswith(known, start):
            return start + length
    offset = start + 4
    for _ in range(_LENGTH.unpack_from(data, start)[0]):
        offset = _aligned(offset, 4)
        offset += 4 + int(_LENGTH.unpack_from(data, offset)[0])
    _last_strings[:] = [(data[start:offset], offset - start)]
    return offset


@lru_cache(maxsize=64)
def _names(strings: bytes) -> tuple[str, ...]:
    """Decode a sequence of strings that begins on a multiple of four bytes."""
    names: list[str] = []
    offset = 4
    for _ in range(_LENGTH.unpack_from(strings, 0)[0]):
        offset += -offset % 4
        (length,) = _LENGTH.unpack_from(strings, offset)
        names.append(strings[offset + 4 : offset + 3 + length].decode())
        offset += 4 + length
    return tuple(names)


def _doubles(data: bytes, offset: int) -> tuple[Array, int]:
    """Return a sequence of doubles and where it ends."""
    start = _aligned(offset, 4)
    (count,) = _LENGTH.unpack_from(data, start)
    if count == 0:
        return np.empty(0), start + 4
    start = _aligned(start + 4)
    return np.frombuffer(data, "<f8", count, start), start + 8 * count
