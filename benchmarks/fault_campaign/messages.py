"""What arrives at a pipeline: values with their times, or serialised bytes, and their fields as vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.recordings import message_conversion as conversion
from inertial_estimation.recordings.bag_writer import empty_message
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


class StampedInertia(NamedTuple):
    """The inertia of a link, and the stamp of the measurement that it follows from [ns]."""

    stamp_ns: int
    inertia: LinkInertia


class Serialised(NamedTuple):
    """Bytes as a subscription receives them, with the type of the topic, ``package/msg/Name``."""

    message_type: str
    data: bytes


MESSAGE_TYPES: dict[type, str] = {
    ImuSample: conversion.IMU_TYPE,
    JointReading: conversion.JOINT_STATE_TYPE,
    WrenchSample: conversion.WRENCH_TYPE,
    OrientationSample: conversion.QUATERNION_TYPE,
    BaseState: conversion.ODOMETRY_TYPE,
    StampedInertia: conversion.INERTIA_TYPE,
}


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One arrival.

    Attributes:
        arrival_ns: When it arrives; never decreases in a list of messages [ns].
        stream: "imu", "joints", "wrench:<contact>", "base_state", "orientation", "inertia:<link>",
            "walk_command", "base_reference" or "joint_reference".
        sample: The value, or the bytes of a message.
        clock_ns: The receiver's time when it arrives [ns]; equals the arrival unless the clock itself jumps.
    """

    arrival_ns: int
    stream: str
    sample: Any
    clock_ns: int

    def delayed(self, by_ns: int) -> "Message":
        """Return the message arriving later by a time [ns], with the stamp it had."""
        return replace(self, arrival_ns=self.arrival_ns + by_ns, clock_ns=self.clock_ns + by_ns)

    def stamped(self, stamp_ns: int) -> "Message":
        """Return the message with another stamp [ns]."""
        change = self.sample._replace if isinstance(self.sample, StampedInertia) else _replacing(self.sample)
        return replace(self, sample=change(stamp_ns=stamp_ns))

    def carrying(self, other: "Message") -> "Message":
        """Return the message with the values of another one, at its own stamp."""
        return replace(self, sample=other.stamped(self.sample.stamp_ns).sample)

    def with_values(self, change: Callable[[str, Array], Array], *vectors: str) -> "Message":
        """Return the message with some of its vectors changed, by name; none named: all that were sent."""
        found = self.sample
        for name, vector in VECTORS[type(found)].items():
            value = vector.get(found) if not vectors or name in vectors else None
            if value is not None:
                with np.errstate(all="ignore"):
                    found = vector.put(found, change(name, np.array(value, dtype=float)))
        return replace(self, sample=found)


def _replacing(sample: Any) -> Callable[..., Any]:
    return lambda **fields: replace(sample, **fields)


class Vector(NamedTuple):
    """One group of numbers in a sample: how it is read, and how a copy with other numbers is made."""

    get: Callable[[Any], Array | None]
    put: Callable[[Any, Array], Any]


def _field(name: str) -> Vector:
    return Vector(lambda s: getattr(s, name), lambda s, value: replace(s, **{name: value}))


def _part_of_wrench(begin: int) -> Vector:
    rows = range(begin, begin + 3)
    return Vector(
        lambda s: s.wrench_F[begin : begin + 3],
        lambda s, value: replace(
            s, wrench_F=[value[i - begin] if i in rows else s.wrench_F[i] for i in range(6)]
        ),
    )


def _of_inertia(name: str) -> Vector:
    def put(sample: StampedInertia, value: Array) -> StampedInertia:
        shaped = value.reshape(np.shape(getattr(sample.inertia, name)))
        return sample._replace(
            inertia=replace(sample.inertia, **{name: shaped if shaped.ndim else float(shaped)})
        )

    return Vector(lambda sample: np.ravel(getattr(sample.inertia, name)), put)


VECTORS: dict[type, dict[str, Vector]] = {
    ImuSample: {"specific force": _field("specific_force_I"), "angular rate": _field("angular_rate_I")},
    JointReading: {name: _field(name) for name in ("position", "velocity", "effort")},
    WrenchSample: {"force": _part_of_wrench(0), "torque": _part_of_wrench(3)},
    BaseState: {
        "quaternion": _field("quaternion_xyzw"),
        "velocity": _field("v_WB_B"),
        "angular rate": _field("w_WB_B"),
    },
    OrientationSample: {"quaternion": _field("quaternion_xyzw")},
    StampedInertia: {
        "mass": _of_inertia("mass"),
        "com": _of_inertia("com_L"),
        "inertia": _of_inertia("inertia_Lcm"),
    },
}
"""Vectors of each type of sample, by a name for people."""


def joint_columns(sample: JointReading, columns: Sequence[int]) -> JointReading:
    """Return a joint state with some of its columns, in their order."""
    order = np.array(columns, int)
    values = {n: None if (v := getattr(sample, n)) is None else v[order] for n in VECTORS[JointReading]}
    return replace(sample, names=tuple(sample.names[i] for i in columns), **values)


def nanoseconds(duration_s: float) -> int:
    """Return a duration given in seconds in whole nanoseconds."""
    return round(duration_s * NANOSECONDS)


@cache
def _typestore() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


def serialised(sample: Any, change: Callable[[Any], None] = lambda _: None) -> Serialised:
    """Return the serialised message of a sample, after a change of the fields of the message (of rosbags)."""
    message_type = MESSAGE_TYPES[type(sample)]
    message = empty_message(_typestore(), message_type)
    message = conversion.CONVERSIONS[message_type].to_msg(sample, message, "frame")
    change(message)
    return Serialised(message_type, bytes(_typestore().serialize_cdr(message, message_type)))


@cache
def message_reader(message_type: str) -> Any:
    """Return the reader of a type's bytes, its deserialiser that of rosbags."""
    return conversion.bytes_reader(
        message_type, lambda data: _typestore().deserialize_cdr(data, message_type)
    )


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with one kind of damage: flipped, overwritten, inserted, removed, cut, or all random."""
    found = bytearray(data)
    kind, n = int(rng.integers(7)), len(data)
    at = int(rng.integers(n))
    length = int(rng.integers(1, 17))
    noise = rng.bytes(length)
    if kind == 0:
        for place in rng.integers(0, n, int(rng.integers(1, 9))):
            found[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        found[at : at + length] = noise[: max(0, min(length, n - at))]
    elif kind == 2:
        found[at:at] = noise
    elif kind == 3:
        del found[at : at + length]
    elif kind == 4:
        del found[at:]
    elif kind == 5:
        where = 4 * int(rng.integers(n // 4))  # lengths of texts and sequences are aligned to four bytes
        found[where : where + 4] = int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, n])).to_bytes(4, "little")
    else:
        found = bytearray(rng.bytes(int(rng.integers(0, 2 * n))))
    return bytes(found)
