"""Quality of service of inputs and outputs, which parameters ``qos_overrides...`` may change.

Each event handler of a publisher or subscription is part of the executor's wait set, which rclpy rebuilds at
every wake. Inputs that accept any offered profile and outputs that offer the strictest one need no handlers.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSDurabilityPolicy, QoSPolicyKind, QoSProfile, QoSReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription

from inertial_estimation.errors import ConfigurationError, one_line

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

NO_INPUT_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
NO_OUTPUT_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)
OVERRIDES = QoSOverridingOptions((QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY))
OVERRIDES_PREFIX = "qos_overrides."
LONGEST_STALL = 0.2  # longest time for which a node may not read without losing a message [s]
HIGHEST_RATE = 1000.0  # highest rate of messages on a sensor's topic [Hz]


def sensor_input(period: float = 0.0) -> QoSProfile:
    """Return the quality of service of sensor data: best effort, so that any publisher matches.

    The queue holds the messages of a period [s] between two readings, and of the longest stall.
    """
    depth = math.ceil(HIGHEST_RATE * (period + LONGEST_STALL))
    return QoSProfile(depth=depth, reliability=QoSReliabilityPolicy.BEST_EFFORT)


SENSOR_INPUT = sensor_input()
RELIABLE = QoSProfile(depth=50)  # for outputs, and for commands, which are sent once
# late joiners receive the last ones
EVENTS = QoSProfile(depth=10, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def create_output(node: Node, message_type: type, topic: str, qos: QoSProfile = RELIABLE) -> Publisher:
    """Create a publisher whose quality of service can be overridden.

    Raises:
        ConfigurationError: If an override has a bad value.
    """
    how = {"event_callbacks": NO_OUTPUT_EVENTS}
    return _overridden(node.create_publisher, qos, message_type, topic, **how)


def create_input(
    node: Node, message_type: type, topic: str, callback: Callable[..., Any], qos: QoSProfile, **more: Any
) -> Subscription:
    """Create a subscription to serialised messages whose quality of service can be overridden.

    Raises:
        ConfigurationError: If an override has a bad value.
    """
    if qos.durability is not QoSDurabilityPolicy.TRANSIENT_LOCAL:  # else rclpy warns of volatile publishers
        more["event_callbacks"] = NO_INPUT_EVENTS
    return _overridden(node.create_subscription, qos, message_type, topic, callback, raw=True, **more)


def _overridden(create: Callable[..., Any], qos: QoSProfile, *arguments: Any, **more: Any) -> Any:
    try:
        # rclpy writes overrides into the profile it is given
        return create(*arguments, qos_profile=copy.copy(qos), qos_overriding_options=OVERRIDES, **more)
    except (RuntimeError, ParameterException, AssertionError, ValueError, TypeError) as error:
        if type(error).__name__ == "RCLError":  # an error of the topic, not of an override
            raise
        topic = arguments[1]
        raise ConfigurationError(f"{OVERRIDES_PREFIX}... of '{topic}': {one_line(error)}") from None
