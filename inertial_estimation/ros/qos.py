"""Quality of service: sensor data in, reliable out, latched descriptions."""

from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy

__all__ = ["LATCHED", "RELIABLE_OUTPUT", "SENSOR_INPUT"]

SENSOR_INPUT = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=200,  # a fifth of a second at 1 kHz: a busy executor reads late, but loses nothing
    reliability=QoSReliabilityPolicy.BEST_EFFORT,
    durability=QoSDurabilityPolicy.VOLATILE,
)
RELIABLE_OUTPUT = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=50,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.VOLATILE,
)
LATCHED = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)
