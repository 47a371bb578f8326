"""Decoders of serialised messages (CDR) that come at the rates of sensors.

rclpy and `rosbags` build a whole message, strings and covariances included, of which a conversion uses a few numbers:
2 to 13 times as long as decoding at fixed offsets behind the header. Each decoder gives exactly what the conversion
gives for the deserialised message. Only plain little-endian CDR is read.

Layout (OMG CDR, XCDR1): 4 bytes of encapsulation, then fields aligned to their size counted from there; a string is its
length with the final zero (uint32) and its bytes; a sequence its count (uint32). A decoder gets the message behind its
encapsulation, its stamp [ns] and the offset behind the name of its frame.
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
_joint_reading = made_of_checked(JointReading)


def vectors_decoder(kind: type, doubles: int, *parts: slice, strings: int = 0) -> Callable[[], Decoder]:
    """Return what makes a decoder of messages of doubles behind the header.

    Args:
        kind: Class of the values: a stamp and arrays.
        doubles: Number of the doubles.
        parts: Those of each array.
        strings: Number of strings before them.
    """
    make = made_of_checked(kind)

    def decode(body: bytes, stamp_ns: int, begin: int) -> Any:
        for _ in range(strings):
            begin = (begin + 3) & -4
            begin += 4 + _length(body, begin)[0]
        values = np.frombuffer(body, "<f8", doubles, (begin + 7) & -8)
        return make(stamp_ns, *[values[part] for part in parts])

    return lambda: decode


# Imu: orientation (4), rate (3), force (3), each with 9 of covariance; Odometry: pose (7), twist (6), each with 36.
imu_decoder = vectors_decoder(ImuSample, 37, slice(25, 28), slice(13, 16))
wrench_decoder = vectors_decoder(WrenchSample, 6, slice(0, 6))
quaternion_decoder = vectors_decoder(OrientationSample, 4, slice(0, 4))
base_state_decoder = vectors_decoder(
    BaseState, 85, slice(3, 7), slice(0, 3), slice(43, 46), slice(46, 49), strings=1
)


def link_inertia_decoder() -> Decoder:
    """Return a decoder of geometry_msgs/InertiaStamped: mass, centre, inertia of the link that is its frame."""

    def decode(body: bytes, stamp_ns: int, begin: int) -> StampedInertia:
        values = np.frombuffer(body, "<f8", 10, (begin + 7) & -8)
        moment = values[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
        link = body[FRAME : begin - 1].decode()
        return StampedInertia(stamp_ns, LinkInertia(link, float(values[0]), values[1:4], moment))

    return decode


def number_decoder(layout: str) -> Callable[[], Decoder]:
    """Return what makes a decoder of a message of one number, without a stamp, by its layout for `struct`."""
    unpack = struct.Struct(layout).unpack_from
    return lambda: lambda body, _stamp_ns, _begin: ContactSample(0, float(unpack(body)[0]))


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
        of_all = names or ("",) * len(position)
        n = len(of_all)
        if len(position) == n and all(values is None or len(values) == n for values in (velocity, effort)):
            return _joint_reading(stamp_ns, of_all, position, velocity, effort)
        return JointReading(stamp_ns, of_all, position, velocity, effort)

    return decode


def _names(body: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    """Return a sequence of strings and the offset behind it."""
    offset = (offset + 3) & -4
    names: list[str] = []
    count, offset = _length(body, offset)[0], offset + 4
    for _ in range(count):
        offset = (offset + 3) & -4
        length, offset = _length(body, offset)[0], offset + 4
        names.append(body[offset : offset + length - 1].decode())
        offset += length
    return tuple(names), offset


def _doubles(body: bytes, offset: int) -> tuple[Array | None, int]:
    """Return a sequence of doubles, None if empty, and the offset behind it."""
    offset = (offset + 3) & -4
    count, offset = _length(body, offset)[0], offset + 4
    if not count:
        return None, offset
    offset = (offset + 7) & -8
    return np.frombuffer(body, "<f8", count, offset), offset + 8 * int(count)
