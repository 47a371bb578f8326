"""Serialised messages of TALOS in motion, some of them faulty."""

from functools import partial

import numpy as np
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.messages import (
    CONVERSIONS,
    IMU_TYPE,
    JOINT_STATE_TYPE,
    WRENCH_TYPE,
    MessageReader,
)
from inertial_estimation.message_numbers import meant_bytes
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

STORE = get_typestore(Stores.ROS2_JAZZY)
MS = 1_000_000


def readings():
    """Return readings of TALOS in motion, in the order of their reception."""
    rng = np.random.default_rng(4)
    truth = synthetic_truth("talos", Timing(duration_s=2.0, rate_hz=250.0), rng, payload_time_s=1.0)
    kinds = (IMU_TYPE, JOINT_STATE_TYPE, WRENCH_TYPE)
    measured = measure(truth, REALISTIC, rng)
    topics = [topic for topic, kind in measured.topics.items() if kind in kinds]
    return [(e.topic, measured.topics[e.topic], e.log_ns, e.sample) for e in measured.entries(topics)]


def message_of(kind, sample, frame="frame"):
    return CONVERSIONS[kind].to_msg(sample, empty_message(STORE, kind), frame)


def serialized(kind, message):
    return bytes(STORE.serialize_cdr(message, kind))


def first_vector(kind, message):
    return message.linear_acceleration if kind == IMU_TYPE else message.wrench.force


def with_number(kind, message, value):
    if kind == JOINT_STATE_TYPE:
        message.position[3] = value
    else:
        first_vector(kind, message).y = value
    return serialized(kind, message)


def with_stamp(kind, message, step_ns):
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(stamp.sec * 10**9 + stamp.nanosec + step_ns, 10**9)
    return serialized(kind, message)


def with_frame(kind, message, rng):
    message.header.frame_id = "f" * int(rng.integers(0, 12))
    return serialized(kind, message)


def in_another_order(kind, message):
    if kind == JOINT_STATE_TYPE:
        message.name = [*message.name[1:], message.name[0]]
        for field in (message.position, message.velocity, message.effort):
            field[:] = np.roll(field, -1)
    return serialized(kind, message)


def without(kind, message, field):
    if kind == JOINT_STATE_TYPE:
        setattr(message, field, np.empty(0))
    return serialized(kind, message)


def still(kind, message):
    if kind == JOINT_STATE_TYPE:
        message.velocity[:] = 0.0
    return serialized(kind, message)


def with_padding(kind, message):
    """Fill what lies between the strings of a joint state, which senders leave as it was in memory."""
    data = bytearray(serialized(kind, message))
    if kind == JOINT_STATE_TYPE:
        meant = meant_bytes(bytes(data[4:]))
        for k in range(meant.rindex(b"\xff")):
            if not meant[k] and k >= 8:
                data[4 + k] = 0xA5
    return bytes(data)


FAULTS = (
    lambda kind, message, rng: serialized(kind, message)[: int(rng.integers(0, 200))],
    lambda kind, message, rng: serialized(kind, message) + bytes(int(rng.integers(1, 9))),
    lambda kind, message, rng: b"\x00\x00" + serialized(kind, message)[2:],  # as if it were big-endian
    lambda kind, message, rng: with_number(kind, message, float("nan")),
    lambda kind, message, rng: with_number(kind, message, 1e9),
    lambda kind, message, rng: with_number(kind, message, 0.7),
    lambda kind, message, rng: with_stamp(kind, message, int(rng.choice([-(5 * 10**9), -8 * MS, 300 * MS]))),
    lambda kind, message, rng: with_frame(kind, message, rng),
    lambda kind, message, rng: in_another_order(kind, message),
    lambda kind, message, rng: without(kind, message, "effort"),
    lambda kind, message, rng: without(kind, message, "velocity"),
    lambda kind, message, rng: still(kind, message),
    lambda kind, message, rng: with_padding(kind, message),
)


def messages(entries, seed):
    """Yield topic, type, time of reception and bytes, some of them faulty for a while."""
    rng = np.random.default_rng(seed)
    begin, topics = entries[0][2], sorted({entry[0] for entry in entries})
    spans = [
        (begin + int(rng.integers(200, 1900)) * MS, int(rng.choice([4, 30, 200])) * MS, rng.choice(topics), k)
        for k in rng.permutation(len(FAULTS))[:5]
    ]
    for topic, kind, log_ns, sample in entries:
        found = [k for at, length, which, k in spans if which == topic and at <= log_ns < at + length]
        message = message_of(kind, sample)
        yield (
            topic,
            kind,
            log_ns,
            FAULTS[found[0]](kind, message, rng) if found else serialized(kind, message),
        )


def read(kind, data, counts):
    try:
        return MessageReader(kind, partial(STORE.deserialize_cdr, typename=kind)).read(data)
    except MeasurementError as error:
        counts.append(str(error))
        return None
