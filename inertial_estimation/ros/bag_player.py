"""Playback of a recording on its topics with /clock at a chosen speed, for machines without rosbag2."""

import time
from collections.abc import Iterator, Mapping

import rclpy
from rclpy.duration import Duration
from rclpy.exceptions import NameValidationException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock

from inertial_estimation.errors import ConfigurationError, RecordingError, did_you_mean, listing, one_line
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.ros.messages import clock_to_msg, message_class
from inertial_estimation.ros.qos import LATCHED, RELIABLE
from inertial_estimation.signals import NANOSECONDS, seconds

SETTLING_S = 1.0  # time without a new subscription after which playing starts [s]
LONGEST_WAIT_S = 60.0  # longest wait for the requested number of subscribers [s]
CLOCK_RATE = 200.0  # rate of /clock by the wall clock [Hz]
LATCHED_TOPICS = ("/robot_description", "/tf_static")


def play_bag(path: str, *, rate: float, loop: bool, subscribers: int, remap: Mapping[str, str]) -> int:
    """Play a recording with a node; return the number of messages that are published.

    The messages are not deserialised. The caller handles signals.

    Args:
        path: The recording.
        rate: Speed, as a multiple of real time.
        loop: Whether to restart at the end.
        subscribers: Number of subscribers that one of the topics must have before playing starts.
        remap: New topic names by recorded ones.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If a remapped topic is not in the recording.
        ~inertial_estimation.errors.RecordingError: If none of its message types is installed.
    """
    with BagRecording(path) as recording:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            node = rclpy.create_node("bag_player", start_parameter_services=False)
            for warning in recording.warnings:
                node.get_logger().warning(warning)
            publishers = _publishers(node, recording, remap)
            clock = node.create_publisher(Clock, "/clock", RELIABLE)
            _wait_for_subscriptions(publishers, subscribers)
            played = _play(recording, publishers, clock, rate)
            while loop:
                played += _play(recording, publishers, clock, rate)
            for publisher in publishers.values():
                publisher.wait_for_all_acked(Duration(seconds=1.0))
            return played
        finally:
            rclpy.try_shutdown()


def _publishers(node: Node, recording: BagRecording, remap: Mapping[str, str]) -> dict[str, Publisher]:
    """Create a publisher for every topic of the recording whose message type is installed."""
    for topic in remap:
        if topic not in recording.topics:
            hint = did_you_mean(topic, recording.topics, "it has")
            raise ConfigurationError(f"no topic '{topic}' to remap in '{recording.name}'{hint}")
    publishers: dict[str, Publisher] = {}
    unknown: list[str] = []
    for topic, message_type in recording.topics.items():
        if topic == "/clock":
            continue
        name = remap.get(topic, topic)
        qos = LATCHED if topic in LATCHED_TOPICS else RELIABLE
        try:
            publishers[topic] = node.create_publisher(message_class(message_type), name, qos)
        except ConfigurationError:
            unknown.append(f"{topic} [{message_type}]")
        except (NameValidationException, RuntimeError) as error:  # bad name, or topic of another type
            raise ConfigurationError(f"cannot publish '{topic}' as '{name}': {one_line(error)}") from None
    if not publishers:
        raise RecordingError(f"no topic of '{recording.name}' can be played: {listing(unknown)}")
    if unknown:
        node.get_logger().warning(f"left out, message type not installed: {listing(unknown)}")
    return publishers


def _wait_for_subscriptions(publishers: dict[str, Publisher], least: int) -> None:
    """Wait until one topic has at least `least` subscribers, and no further ones appear."""
    begin = since = time.monotonic()
    counts = [0]
    while (now := time.monotonic()) - since < SETTLING_S or (
        max(counts) < least and now - begin < LONGEST_WAIT_S
    ):
        before, counts = counts, [one.get_subscription_count() for one in publishers.values()]
        since = since if sum(counts) == sum(before) else now
        time.sleep(0.05)


def _play(recording: BagRecording, publishers: dict[str, Publisher], clock: Publisher, rate: float) -> int:
    played, start = 0, time.monotonic()
    for topic, log_ns, data in _events(recording, set(publishers), rate):
        due = start + seconds(log_ns - recording.start_ns) / rate
        time.sleep(max(due - time.monotonic(), 0.0))
        if topic is None:
            clock.publish(clock_to_msg(log_ns))
        else:
            publishers[topic].publish(data)
            played += 1
    return played


def _events(
    recording: BagRecording, topics: set[str], rate: float
) -> Iterator[tuple[str | None, int, bytes]]:
    """Yield topic, log time [ns] and bytes of the messages, with clock ticks (topic None) between them."""
    step_ns = max(1, int(NANOSECONDS * rate / CLOCK_RATE))
    next_ns = recording.start_ns
    for topic, log_ns, data in recording.unread(topics):
        while next_ns <= log_ns:
            yield None, next_ns, b""
            next_ns += step_ns
        yield topic, log_ns, bytes(data)
