"""Serialised messages of samples, and damage to them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from benchmarks.fault_campaign.readings import MESSAGE_TYPES, RawMessage
from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.recordings.message_conversion import CONVERSIONS, bytes_reader


@cache
def _typestore() -> Any:
    return get_typestore(Stores.ROS2_JAZZY)


def serialised(sample: Any, change: Callable[[Any], None] = lambda _: None) -> RawMessage:
    """Return the serialised message of a sample.

    Args:
        sample: The sample.
        change: Changes fields of the message (of rosbags) before it is serialised.
    """
    message_type = MESSAGE_TYPES[type(sample)]
    message = empty_message(_typestore(), message_type)
    message = CONVERSIONS[message_type].to_msg(sample, message, "frame")
    change(message)
    return RawMessage(message_type, bytes(_typestore().serialize_cdr(message, message_type)))


def message_reader(message_type: str) -> Any:
    """Return the reader of a type's bytes, its deserialiser that of rosbags."""
    return bytes_reader(message_type, lambda data: _typestore().deserialize_cdr(data, message_type))


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
