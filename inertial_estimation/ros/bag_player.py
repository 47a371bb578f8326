"""Publishes a recording on its topics with /clock at a chosen speed, for machines without rosbag2."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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

SETTLING_S = 1.0  # without a new subscription, after which playing starts [s]
LONGEST_WAIT_S = 60.0  # for subscribers that are asked for
CLOCK_RATE = 200.0  # of /clock by the wall clock [Hz]
LATCHED_TOPICS = ("/robot_description", "/tf_static")


@dataclass(frozen=True)
class PlayOptions:
    """Options of playing a recording."""

    rate: float = 1.0  # speed, as a multiple of real time
    loop: bool = False  # whether to restart at the end
    subscribers: int = 0  # that one of the topics needs before playing starts
    remap: Mapping[str, str] = field(default_factory=dict)  # new topic names by recorded ones


class BagPlayer:
    """Plays one recording through a node's publishers, without deserialising the messages."""

    def __init__(self, node: Node, recording: BagRecording, options: PlayOptions) -> None:
        """Create a publisher for every topic of the open recording.

        Raises:
            ~inertial_estimation.errors.ConfigurationError: If a remapped topic is not in the recording.
            ~inertial_estimation.errors.RecordingError: If none of its message types is installed.
        """
        for topic in options.remap:
            if topic not in recording.topics:
                hint = did_you_mean(topic, recording.topics, "it has")
                raise ConfigurationError(f"no topic '{topic}' to remap in '{recording.name}'{hint}")
        self._node, self._recording, self._options = node, recording, options
        self._publishers = self._create_publishers()
        self._clock = node.create_publisher(Clock, "/clock", RELIABLE)

    def play(self) -> int:
        """Play to the end, or endlessly when looping; return the number of messages published."""
        self._wait_for_subscriptions()
        played = self._play_once()
        while self._options.loop:
            played += self._play_once()
        for publisher in self._publishers.values():
            publisher.wait_for_all_acked(Duration(seconds=1.0))
        return played

    def _create_publishers(self) -> dict[str, Publisher]:
        publishers: dict[str, Publisher] = {}
        unknown: list[str] = []
        for topic, message_type in self._recording.topics.items():
            if topic == "/clock":
                continue
            name = self._options.remap.get(topic, topic)
            qos = LATCHED if topic in LATCHED_TOPICS else RELIABLE
            try:
                publishers[topic] = self._node.create_publisher(message_class(message_type), name, qos)
            except ConfigurationError:
                unknown.append(f"{topic} [{message_type}]")
            except (NameValidationException, RuntimeError) as error:  # or of a topic of another type
                raise ConfigurationError(f"cannot publish '{topic}' as '{name}': {one_line(error)}") from None
        if unknown:
            self._node.get_logger().warning(f"left out, message type not installed: {listing(unknown)}")
        if not publishers:
            raise RecordingError(f"no topic of '{self._recording.name}' can be played: {listing(unknown)}")
        return publishers

    def _wait_for_subscriptions(self) -> None:
        """Wait until there are the subscribers that are asked for, and no new ones appear."""
        begin = since = time.monotonic()
        counts = [0]
        while (now := time.monotonic()) - since < SETTLING_S or (
            max(counts) < self._options.subscribers and now - begin < LONGEST_WAIT_S
        ):
            before, counts = counts, [one.get_subscription_count() for one in self._publishers.values()]
            if sum(counts) != sum(before):
                since = now
            time.sleep(0.05)

    def _play_once(self) -> int:
        played = 0
        start_ns, start = self._recording.start_ns, time.monotonic()
        for topic, log_ns, data in self._events():
            pause = start + seconds(log_ns - start_ns) / self._options.rate - time.monotonic()
            if pause > 0.0:
                time.sleep(pause)
            if topic is None:
                self._clock.publish(clock_to_msg(log_ns))
            else:
                self._publishers[topic].publish(data)
                played += 1
        return played

    def _events(self) -> Iterator[tuple[str | None, int, bytes]]:
        """Yield the messages in order, with the ticks of the clock (topic None) between them."""
        step_ns = max(1, int(NANOSECONDS * self._options.rate / CLOCK_RATE))
        next_ns = self._recording.start_ns
        for topic, log_ns, data in self._recording.unread(set(self._publishers)):
            while next_ns <= log_ns:
                yield None, next_ns, b""
                next_ns += step_ns
            yield topic, log_ns, bytes(data)


def play_bag(path: str, options: PlayOptions) -> int:
    """Play a rosbag2, a folder or file, through a node of its own; return the number of messages published.

    Signals are left to the caller; errors are those of `BagPlayer`.
    """
    with BagRecording(path) as recording:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            node = rclpy.create_node("bag_player", start_parameter_services=False)
            for warning in recording.warnings:
                node.get_logger().warning(warning)
            return BagPlayer(node, recording, options).play()
        finally:
            rclpy.try_shutdown()
