"""Time to read one serialised message: by its decoder, and by deserialising and converting it.

    python benchmarks/message_decoding.py [--count 3000]

For every type of `message_conversion.CONVERSIONS`: the decoder of plain CDR where there is one, rclpy with
the conversion, and rosbags with the conversion; the best of five rounds. A decoder is worth its lines where a
node reads the type at the rate of a controller.
"""

import argparse
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from rosbags.typesys import Stores, get_typestore

from inertial_estimation.recordings.bag_writer import empty_message
from inertial_estimation.recordings.message_conversion import CONVERSIONS, JOINT_STATE_TYPE, bytes_reader
from inertial_estimation.ros.bag_player import message_class

JOINTS = 32


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=3000, help="messages of a round")
    count = parser.parse_args().count
    store = get_typestore(Stores.ROS2_JAZZY)
    print(f"{'us a message':<36}{'decoder':>9}{'rclpy':>9}{'rosbags':>9}{'saved':>8}")
    for kind, conversion in CONVERSIONS.items():
        data = bytes(store.serialize_cdr(message(store, kind), kind))
        by_rclpy = partial(deserialize_message, message_type=message_class(kind))
        by_rosbags = partial(store.deserialize_cdr, typename=kind)
        ways = [bytes_reader(kind, way, conversion.from_msg) for way in (by_rclpy, by_rosbags)]
        rclpy_us, rosbags_us = (microseconds(way, data, count) for way in ways)
        if conversion.make_decoder is None:
            print(f"{kind:<36}{'-':>9}{rclpy_us:>9.1f}{rosbags_us:>9.1f}{'-':>8}")
            continue
        decoder_us = microseconds(bytes_reader(kind, by_rclpy), data, count)
        saved = rclpy_us / decoder_us
        print(f"{kind:<36}{decoder_us:>9.1f}{rclpy_us:>9.1f}{rosbags_us:>9.1f}{saved:>7.1f}x")


def message(store: Any, kind: str) -> Any:
    """Return a message of a robot with 32 joints."""
    made = empty_message(store, kind)
    made.header.frame_id = "some_frame"
    if kind == JOINT_STATE_TYPE:
        made.name = [f"leg_left_{number}_joint" for number in range(JOINTS)]
        made.position = made.velocity = made.effort = np.linspace(-1.0, 1.0, JOINTS)
    return made


def microseconds(read: Callable[[bytes], Any], data: bytes, count: int) -> float:
    """Return the time of one call [us], the best of five rounds."""
    return 1e6 * min(timeit.repeat(lambda: read(data), number=count, repeat=5)) / count


if __name__ == "__main__":
    main()
