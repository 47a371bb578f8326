"""Fast decoders of serialised messages (CDR), registered in `message_conversion.CONVERSIONS`.

rclpy and `rosbags` build a whole message, strings and covariances included, of which a conversion uses a few
numbers: 2 to 13 times as long as decoding at fixed offsets after the header, which matters at 1 kHz. Each
function gives exactly what the conversion gives for the deserialised message, and raises ValueError or
struct.error where the bytes end early. Only plain little-endian CDR is read.

Layout (OMG CDR, XCDR1): 4 bytes of encapsulation, then fields aligned to their size counted from there;
a string is its length with the final zero (uint32) and its bytes; a sequence its count (uint32).
"""

import struct
from collections.abc import Callable

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.message_numbers import (
    IMU_FORCE,
    IMU_LAYOUT,
    IMU_RATE,
    LENGTH,
    ODOMETRY_LAYOUT,
    WRENCH_LAYOUT,
    aligned,
    names_of,
)
from inertial_estimation.recordings.samples import StampedInertia
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
)

LITTLE_ENDIAN = b"\x00\x01"
_head = struct.Struct("<iII").unpack_from  # seconds and nanoseconds of the stamp, length of the frame's name
_ENCAPSULATION = 4  # bytes; offsets count from its end
_FRAME = 8  # offset of the frame's length
_BEHIND = _FRAME + 4
_COUNT = 8  # bytes from the end of a sequence of doubles to the next sequence: its count, aligned
_DOUBLE = np.dtype("<f8")
_ALIGNED = bool(np.frombuffer(bytes(8), _DOUBLE).flags.aligned)  # by the interpreter, of bytes as a whole


_imu_sample = made_of_checked(ImuSample)
_wrench_sample = made_of_checked(WrenchSample)
_orientation_sample = made_of_checked(OrientationSample)
_base_state = made_of_checked(BaseState)
_joint_reading = made_of_checked(JointReading)


def decode_imu(data: bytes) -> ImuSample:
    """Decode sensor_msgs/Imu."""
    body, stamp_ns, begin = _opened(data)
    values = _numbers(body, IMU_LAYOUT.doubles, aligned(begin, 8))
    return _imu_sample(stamp_ns, values[IMU_FORCE], values[IMU_RATE])


def decode_wrench(data: bytes) -> WrenchSample:
    """Decode geometry_msgs/WrenchStamped."""
    body, stamp_ns, begin = _opened(data)
    return _wrench_sample(stamp_ns, _numbers(body, WRENCH_LAYOUT.doubles, aligned(begin, 8)))


def decode_quaternion(data: bytes) -> OrientationSample:
    """Decode geometry_msgs/QuaternionStamped."""
    body, stamp_ns, begin = _opened(data)
    return _orientation_sample(stamp_ns, _numbers(body, 4, aligned(begin, 8)))


def decode_base_state(data: bytes) -> BaseState:
    """Decode nav_msgs/Odometry."""
    body, stamp_ns, begin = _opened(data)
    values = _numbers(body, ODOMETRY_LAYOUT.doubles, aligned(_behind_string(body, aligned(begin, 4)), 8))
    return _base_state(stamp_ns, *(values[part] for part in ODOMETRY_LAYOUT.parts))


def decode_link_inertia(data: bytes) -> StampedInertia:
    """Decode geometry_msgs/InertiaStamped: mass, centre (3), inertia (6) of the link that is its frame."""
    body, stamp_ns, begin = _opened(data)
    link = body[_FRAME + 4 : begin - 1].decode()
    values = _numbers(body, 10, aligned(begin, 8))
    moment = values[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    return StampedInertia(stamp_ns, LinkInertia(link, float(values[0]), values[1:4], moment))


def joint_state_decoder() -> Callable[[bytes], JointReading]:
    """Return a decoder of sensor_msgs/JointState that reads the names again only when they change."""
    block, names, end = b"", tuple[str, ...](), 0
    complete = _CompleteFields(0, 0)

    def decode(data: bytes) -> JointReading:
        nonlocal block, names, end, complete
        body, stamp_ns, begin = _opened(data)
        if not block or body[_FRAME:end] != block:
            names, end = names_of(body, begin)
            block = body[_FRAME:end]
            complete = _CompleteFields(len(names), end)
        found = complete.found(body)
        if found is not None:
            return _joint_reading(stamp_ns, names, *found)
        position, offset = _doubles(body, end)
        velocity, offset = _doubles(body, offset)
        effort, offset = _doubles(body, offset)
        if position is not None and all(
            values is None or len(values) == len(names) for values in (position, velocity, effort)
        ):
            return _joint_reading(stamp_ns, names, position, velocity, effort)
        return JointReading(stamp_ns, names, np.empty(0) if position is None else position, velocity, effort)

    return decode


class _CompleteFields:
    """Reads positions, velocities and efforts of all joints at once, where a joint state has all of them."""

    def __init__(self, joints: int, end: int) -> None:
        """Lay out the fields behind the names, which end at an offset."""
        count, size = aligned(end, 4), _DOUBLE.itemsize * joints
        first = aligned(count + 4, 8)
        self._offset, self._begin = count, first
        self._counts = struct.Struct(f"<I{first - count - 4 + size}xI{_COUNT - 4 + size}xI")
        self._expected = (joints, joints, joints)
        self._length = 3 * joints + 2  # the counts of the second and the third sequence lie between numbers
        self._velocity = slice(joints + 1, 2 * joints + 1)
        self._joints = joints

    def found(self, body: bytes) -> tuple[Array, Array, Array] | None:
        """Return positions, velocities and efforts; None where one of them is empty or of another length."""
        if len(body) < self._begin + _DOUBLE.itemsize * self._length or not self._joints:
            return None
        if self._counts.unpack_from(body, self._offset) != self._expected:
            return None
        values, n = _numbers(body, self._length, self._begin), self._joints
        return values[:n], values[self._velocity], values[-n:]


def _opened(data: bytes) -> tuple[bytes, int, int]:
    """Return the message behind its encapsulation, its stamp [ns], and the offset behind the frame's name.

    The copy puts the doubles of the message where an array of floats may lie: it is aligned to 8 bytes.
    """
    body = bytes(data[_ENCAPSULATION:])
    sec, nanosec, length = _head(body)
    return body, sec * NANOSECONDS + nanosec, _BEHIND + length


def _numbers(body: bytes, count: int, offset: int) -> Array:
    """Return doubles as an array, read-only and aligned."""
    values = np.frombuffer(body, _DOUBLE, count, offset)
    if not _ALIGNED:
        values = values.copy()
        values.setflags(write=False)
    return values


def _behind_string(body: bytes, offset: int) -> int:
    return offset + 4 + int(LENGTH.unpack_from(body, offset)[0])


def _doubles(body: bytes, offset: int) -> tuple[Array | None, int]:
    """Return a sequence of doubles, None if empty, and the offset after it."""
    offset = aligned(offset, 4)
    (count,) = LENGTH.unpack_from(body, offset)
    offset += 4
    if not count:
        return None, offset
    offset = aligned(offset, 8)
    return _numbers(body, count, offset), offset + _DOUBLE.itemsize * int(count)
