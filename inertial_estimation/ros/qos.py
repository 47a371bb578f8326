"""Quality of service: sensor data in, reliable out, latched descriptions.

Each event handler of a publisher or subscription joins the executor's wait set, which rclpy builds anew
for every message; inputs that accept any offer and outputs that offer the most need none.
"""

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy

__all__ = [
    "COMMAND_INPUT",
    "EVENTS",
    "LATCHED",
    "NO_INPUT_EVENTS",
    "NO_OUTPUT_EVENTS",
    "RELIABLE_OUTPUT",
    "SENSOR_INPUT",
]

NO_INPUT_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
NO_OUTPUT_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)

SENSOR_INPUT = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=200,  # a fifth of a second at 1 kHz: a busy executor reads late, but loses nothing
    reliability=QoSReliabilityPolicy.BEST_EFFORT,
    durability=QoSDurabilityPolicy.VOLATILE,
)
COMMAND_INPUT = QoSProfile(  # a command is sent once: best effort would lose it now and then
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
EVENTS = QoSProfile(  # whoever comes late still gets the last ones
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
