"""Publishes a bag as `ros2 bag play BAG --clock HZ --rate R [--delay S] [--loop]` of rosbag2 (Jazzy) does.

Written after rosbag2_transport's player and rosbag2_cpp's TimeControllerClock, of which the tests have no
wheel: /clock comes from a wall timer, best effort with depth 1, from the start of the player on, which is
before the messages, and goes on between loops; at each beginning the clock jumps to the start of the
recording; messages keep their bytes and get the recorded quality of service; nobody is waited for.
"""

import argparse
import importlib
import signal
import threading
import time
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import (
    QoSDurabilityPolicy,
    QoSHistoryPolicy,
    QoSProfile,
    QoSReliabilityPolicy,
)
from rosbags.highlevel import AnyReader
from rosgraph_msgs.msg import Clock

CLOCK_QOS = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)  # rclcpp::ClockQoS
SECOND = 1_000_000_000


class TimeControllerClock:
    """Time of the recording: since the last jump, wall time times the rate."""

    def __init__(self, start_ns, rate):
        self._rate = rate
        self.jump(start_ns)

    def jump(self, ros_ns):
        """Set the time."""
        self._reference = (ros_ns, time.monotonic_ns())

    def now(self):
        """Return the time [ns]."""
        ros_ns, steady_ns = self._reference
        return ros_ns + int((time.monotonic_ns() - steady_ns) * self._rate)

    def sleep_until(self, ros_ns):
        """Wait for a time."""
        time.sleep(max(0.0, (ros_ns - self.now()) / self._rate / SECOND))


def recorded_qos(connection):
    """Return the quality of service a topic was offered with; without a record, rosbag2's default."""
    offered = connection.ext.offered_qos_profiles
    if not offered:
        return QoSProfile(depth=10)
    first = offered[0]
    return QoSProfile(
        depth=10,  # adapt_offer_to_recorded_offers keeps the default history
        history=QoSHistoryPolicy.KEEP_LAST,
        reliability=QoSReliabilityPolicy(first.reliability.value),
        durability=QoSDurabilityPolicy(first.durability.value),
    )


def play(node, reader, options):
    """Publish the recording once or, with `loop`, again and again."""
    publishers = {}
    for connection in reader.connections:
        package, _, name = connection.msgtype.partition("/msg/")
        message_class = getattr(importlib.import_module(f"{package}.msg"), name)
        publishers[connection.topic] = node.create_publisher(
            message_class, connection.topic, recorded_qos(connection)
        )
    clock = TimeControllerClock(reader.start_time, options.rate)
    sender = node.create_publisher(Clock, "/clock", CLOCK_QOS)

    def publish_clock():
        msg = Clock()
        msg.clock.sec, msg.clock.nanosec = divmod(clock.now(), SECOND)
        sender.publish(msg)

    node.create_timer(1.0 / options.clock, publish_clock)
    while rclpy.ok():
        time.sleep(options.delay)
        clock.jump(reader.start_time)
        for connection, log_ns, data in reader.messages():
            clock.sleep_until(log_ns)
            if not rclpy.ok():
                return
            publishers[connection.topic].publish(bytes(data))
        if not options.loop:
            return


def main():
    """Parse the arguments and play."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bag")
    parser.add_argument("--clock", type=float, required=True)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--disable-keyboard-controls", action="store_true")
    options = parser.parse_args()
    rclpy.init(args=[])
    signal.signal(signal.SIGTERM, lambda *_: rclpy.try_shutdown())
    node = rclpy.create_node("rosbag2_player")
    thread = threading.Thread(target=spin, args=(node,), daemon=True)
    thread.start()
    try:
        with AnyReader([Path(options.bag)]) as reader:
            play(node, reader, options)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise
    finally:
        rclpy.try_shutdown()
        thread.join(timeout=2.0)


def spin(node):
    """Serve the timer."""
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise


if __name__ == "__main__":
    main()
