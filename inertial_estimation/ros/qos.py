"""Quality of service: sensor data in, reliable out, latched descriptions.

Each event handler of a publisher or subscription is part of the executor's wait set, which rclpy rebuilds
for every message. Inputs that accept any offered profile and outputs that offer the strictest one need no
handler. Overrides by parameters are in `qos_overrides`.
"""

import math

from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy

from inertial_estimation.ros.rclpy_internals import PublisherEventCallbacks, SubscriptionEventCallbacks

NO_INPUT_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
NO_OUTPUT_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)

LONGEST_STALL = 0.2  # time for which a node may be unable to read without losing a message [s]


def sensor_input(rate: float = 1000.0, period: float = 0.0) -> QoSProfile:
    """Return the quality of service of sensor data: best effort, so any publisher matches.

    Args:
        rate: Highest rate of the messages [Hz].
        period: Time between two readings of the queue [s].

    Returns:
        Profile with a queue for the messages of a period and the longest stall.
    """
    return QoSProfile(
        history=QoSHistoryPolicy.KEEP_LAST,
        depth=max(SHORTEST_QUEUE, math.ceil(rate * (period + LONGEST_STALL))),
        reliability=QoSReliabilityPolicy.BEST_EFFORT,
        durability=QoSDurabilityPolicy.VOLATILE,
    )


SHORTEST_QUEUE = 10
SENSOR_INPUT = sensor_input()
COMMAND_INPUT = QoSProfile(  # a command is sent only once, so it must be delivered reliably
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=50,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.VOLATILE,
)
RELIABLE_OUTPUT = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=50,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.VOLATILE,
)
EVENTS = QoSProfile(  # late joiners receive the last events
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)
LATCHED = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)
