"""What arrives at a pipeline: values with their times, or serialised bytes, and their fields as vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from rosbags.typesys import Stores, get_typestore

import inertial_estimation as ie
from inertial_estimation.inputs import messages as conversion
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.signals import NANOSECONDS, Array


@dataclass(frozen=True)
class StampedInertia:
    """The inertia of a link, and the stamp of the measurement that it follows from [ns]."""

    stamp_ns: int
    link: str
    mass: float
    com_L: Array
    inertia_Lcm: Array

    @property
    def inertia(self) -> ie.LinkInertia:
        """The inertia without the stamp."""
        return ie.LinkInertia(self.link, self.mass, self.com_L, self.inertia_Lcm)


class Serialised(NamedTuple):
    """Bytes as a subscription receives them, with the type of the topic, ``package/msg/Name``."""

    message_type: str
    data: bytes


TYPESTORE = get_typestore(Stores.ROS2_JAZZY)
MESSAGE_TYPES: dict[type, str] = {
    ie.ImuSample: conversion.IMU_TYPE,
    ie.JointReading: conversion.JOINT_STATE_TYPE,
    ie.WrenchSample: conversion.WRENCH_TYPE,
    ie.OrientationSample: conversion.QUATERNION_TYPE,
    ie.BaseState: conversion.ODOMETRY_TYPE,
    StampedInertia: conversion.INERTIA_TYPE,
}


# fields that are vectors, with large values that a healthy sensor may report [SI units]
IN_RANGE = {"specific_force_I": 30.0, "angular_rate_I": 8.0, "wrench_F": np.repeat([800.0, 50.0], 3)}
IN_RANGE |= {"position": 1.0, "velocity": 4.0, "effort": 80.0}
IN_RANGE |= {"quaternion_xyzw": 0.5, "v_WB_B": 4.0, "w_WB_B": 8.0}
IN_RANGE |= {"mass": 20.0, "com_L": 0.2, "inertia_Lcm": 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One arrival."""

    arrival_ns: int  # never decreases in a list of messages
    stream: str  # "imu", "joints", "wrench:<contact>", "inertia:<link>" and others, as in a pipeline's push_*
    sample: Any  # the value, or the bytes of a message
    clock_ns: int  # the receiver's time then; equals the arrival unless the clock itself jumps

    def delayed(self, by_ns: int) -> "Message":
        """Return the message arriving later by a time [ns], with the stamp it had."""
        return replace(self, arrival_ns=self.arrival_ns + by_ns, clock_ns=self.clock_ns + by_ns)

    def stamped(self, stamp_ns: int) -> "Message":
        """Return the message with another stamp [ns]."""
        return replace(self, sample=replace(self.sample, stamp_ns=stamp_ns))

    def carrying(self, other: "Message") -> "Message":
        """Return the message with the values of another one, at its own stamp."""
        return replace(self, sample=replace(other.sample, stamp_ns=self.sample.stamp_ns))

    @property
    def vectors(self) -> dict[str, Array]:
        """Its vectors by the names of their fields, those that were sent."""
        fields = {name: getattr(self.sample, name, None) for name in IN_RANGE}
        return {name: np.array(value, float).ravel() for name, value in fields.items() if value is not None}

    def with_values(self, change: Callable[[str, Array], Array], *vectors: str) -> "Message":
        """Return the message with some of its vectors changed, by name; none named: all that were sent."""
        with np.errstate(all="ignore"):
            changed = {n: change(n, v) for n, v in self.vectors.items() if not vectors or n in vectors}
        shapes = {name: np.shape(getattr(self.sample, name)) for name in changed}
        fields = {n: v.reshape(shapes[n]) if shapes[n] else float(v[0]) for n, v in changed.items()}
        return replace(self, sample=replace(self.sample, **fields))


def joint_columns(sample: ie.JointReading, columns: Sequence[int]) -> ie.JointReading:
    """Return a joint state with some of its columns, in their order."""
    sent = {name: getattr(sample, name) for name in ("position", "velocity", "effort")}
    values = {n: v if v is None else v[np.array(columns, int)] for n, v in sent.items()}
    return replace(sample, names=tuple(sample.names[i] for i in columns), **values)


def nanoseconds(duration_s: float) -> int:
    """Return a duration given in seconds in whole nanoseconds."""
    return round(duration_s * NANOSECONDS)


def serialised(sample: Any, change: Callable[[Any], None] = lambda _: None) -> Serialised:
    """Return the serialised message of a sample, after a change of the fields of the message (of rosbags)."""
    message_type = MESSAGE_TYPES[type(sample)]
    message = empty_message(TYPESTORE, message_type)
    message = conversion.CONVERSIONS[message_type].to_msg(sample, message, "frame")
    change(message)
    return Serialised(message_type, bytes(TYPESTORE.serialize_cdr(message, message_type)))


@cache
def message_reader(message_type: str) -> Any:
    """Return the reader of a type's bytes, its deserialiser that of rosbags."""
    deserialize = lambda data: TYPESTORE.deserialize_cdr(data, message_type)  # noqa: E731
    return conversion.MessageReader(message_type, deserialize).read


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with one kind of damage: flipped, overwritten, inserted, removed, cut, or all random."""
    kind, n = int(rng.integers(7)), len(data)
    at, length = int(rng.integers(n)), int(rng.integers(1, 17))
    before, after, noise = data[:at], data[at + length :], rng.bytes(length)
    if kind == 0:
        found = bytearray(data)
        for place in rng.integers(0, n, int(rng.integers(1, 9))):
            found[place] ^= 1 << int(rng.integers(8))
        return bytes(found)
    if kind == 1:
        at = 4 * int(rng.integers(n // 4))  # lengths of texts and sequences are aligned to four bytes
        size = int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, n])).to_bytes(4, "little")
        return data[:at] + size + data[at + 4 :]
    every = (before + noise + after, before + noise + data[at:], before + after, before)
    return every[kind - 2] if kind < 6 else rng.bytes(int(rng.integers(0, 2 * n)))
