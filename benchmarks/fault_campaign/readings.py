"""What arrives at a pipeline: readings and raw messages with their times, and their fields as vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inertial_estimation.recordings.message_conversion import (
    IMU_TYPE,
    INERTIA_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
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


@dataclass(frozen=True, slots=True)
class RawMessage:
    """Serialised bytes as a subscription receives them.

    Attributes:
        message_type: Type of the topic, ``package/msg/Name``.
        data: The bytes.
    """

    message_type: str
    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One arrival.

    Attributes:
        arrival_ns: When it arrives; never decreases in a list of readings [ns].
        stream: "imu", "joints", "wrench:<contact>", "base_state", "orientation", "inertia:<link>",
            "base_reference" or "joint_reference".
        sample: The value, or the bytes of a message.
        clock_ns: The receiver's time when it arrives [ns]; equals the arrival unless the clock itself jumps.
    """

    arrival_ns: int
    stream: str
    sample: Any
    clock_ns: int


MESSAGE_TYPES: dict[type, str] = {
    ImuSample: IMU_TYPE,
    JointReading: JOINT_STATE_TYPE,
    WrenchSample: WRENCH_TYPE,
    OrientationSample: QUATERNION_TYPE,
    BaseState: ODOMETRY_TYPE,
    StampedInertia: INERTIA_TYPE,
}


@dataclass(frozen=True)
class Channel:
    """One group of numbers in a sample: how it is read, and how a copy with other numbers is made."""

    get: Callable[[Any], Array | None]
    put: Callable[[Any, Array], Any]


def _field(name: str) -> Channel:
    return Channel(
        lambda sample: getattr(sample, name), lambda sample, value: replace(sample, **{name: value})
    )


def _part_of_wrench(where: slice) -> Channel:
    def put(sample: WrenchSample, value: Array) -> WrenchSample:
        wrench = sample.wrench_F.copy()
        wrench[where] = value
        return replace(sample, wrench_F=wrench)

    return Channel(lambda sample: sample.wrench_F[where], put)


def _inertia(get: Callable[[LinkInertia], Array], put: Callable[[Array], dict[str, Any]]) -> Channel:
    def put_into(sample: StampedInertia, value: Array) -> StampedInertia:
        return sample._replace(inertia=replace(sample.inertia, **put(value)))

    return Channel(lambda sample: get(sample.inertia), put_into)


CHANNELS: dict[type, dict[str, Channel]] = {
    ImuSample: {
        "specific force": _field("specific_force_I"),
        "angular rate": _field("angular_rate_I"),
    },
    JointReading: {
        "position": _field("position"),
        "velocity": _field("velocity"),
        "effort": _field("effort"),
    },
    WrenchSample: {
        "force": _part_of_wrench(slice(0, 3)),
        "torque": _part_of_wrench(slice(3, 6)),
    },
    BaseState: {
        "quaternion": _field("quaternion_xyzw"),
        "velocity": _field("v_WB_B"),
        "angular rate": _field("w_WB_B"),
    },
    OrientationSample: {"quaternion": _field("quaternion_xyzw")},
    StampedInertia: {
        "mass": _inertia(lambda i: np.array([i.mass]), lambda value: {"mass": float(value[0])}),
        "com": _inertia(lambda i: i.com_L, lambda value: {"com_L": value}),
        "inertia": _inertia(
            lambda i: i.inertia_Lcm.reshape(-1), lambda value: {"inertia_Lcm": value.reshape(3, 3)}
        ),
    },
}
"""Vectors of each type of sample, by a name for people."""


def with_channel(reading: Reading, channel: str, change: Callable[[Array], Array]) -> Reading:
    """Return a reading with one of its vectors changed; unchanged where that was not sent."""
    field = CHANNELS[type(reading.sample)][channel]
    value = field.get(reading.sample)
    if value is None:
        return reading
    with np.errstate(all="ignore"):
        return replace(reading, sample=field.put(reading.sample, change(np.array(value, dtype=float))))


def joint_columns(sample: JointReading, names: tuple[str, ...], order: Sequence[int]) -> JointReading:
    """Return a joint state with some of its columns in an order, under some names."""
    fields = CHANNELS[JointReading]
    values = {name: None if (v := getattr(sample, name)) is None else v[order] for name in fields}
    return JointReading(sample.stamp_ns, names, **values)


def nanoseconds(duration_s: float) -> int:
    """Return a duration given in seconds in whole nanoseconds."""
    return round(duration_s * NANOSECONDS)


def delayed(reading: Reading, by_ns: int) -> Reading:
    """Return a reading that arrives later by a time [ns], with the stamp it had."""
    return replace(reading, arrival_ns=reading.arrival_ns + by_ns, clock_ns=reading.clock_ns + by_ns)


def restamped(reading: Reading, stamp_ns: int) -> Reading:
    """Return a reading with another stamp [ns]."""
    sample = reading.sample
    if isinstance(sample, StampedInertia):
        return replace(reading, sample=sample._replace(stamp_ns=stamp_ns))
    return replace(reading, sample=replace(sample, stamp_ns=stamp_ns))
