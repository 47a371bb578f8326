"""Quality of service: sensor data in, reliable out, latched descriptions, and overrides by parameters.

Each event handler of a publisher or subscription is part of the executor's wait set, which rclpy rebuilds
for every message. Inputs that accept any offered profile and outputs that offer the strictest one need no
handler.
"""

import copy
import math
from collections.abc import Collection, Mapping
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSPolicyKind, QoSProfile, QoSReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.ros.rclpy_internals import (
    PublisherEventCallbacks,
    SubscriptionEventCallbacks,
    given_parameters,
)

NO_INPUT_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
NO_OUTPUT_EVENTS = PublisherEventCallbacks(use_default_callbacks=False)

LONGEST_STALL = 0.2  # time for which a node may be unable to read without losing a message [s]
PREFIX = "qos_overrides."
POLICIES = (QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)
SHORTEST_QUEUE, LONGEST_QUEUE = 10, 100_000
CHOICES: Mapping[str, Collection[Any]] = {
    "depth": range(1, LONGEST_QUEUE + 1),
    "reliability": ("reliable", "best_effort"),
    "durability": ("volatile", "transient_local"),
}
WHOLE = f"a whole number from 1 to {LONGEST_QUEUE}"


def sensor_input(rate: float = 1000.0, period: float = 0.0) -> QoSProfile:
    """Return the quality of service of sensor data: best effort, so any publisher matches.

    Args:
        rate: Highest rate of the messages [Hz].
        period: Time between two readings of the queue [s].

    Returns:
        Profile with a queue for the messages of a period and the longest stall.
    """
    depth = max(SHORTEST_QUEUE, math.ceil(rate * (period + LONGEST_STALL)))
    return _kept_last(depth, QoSReliabilityPolicy.BEST_EFFORT)


def _kept_last(
    depth: int,
    reliability: QoSReliabilityPolicy = QoSReliabilityPolicy.RELIABLE,
    durability: QoSDurabilityPolicy = QoSDurabilityPolicy.VOLATILE,
) -> QoSProfile:
    history = QoSHistoryPolicy.KEEP_LAST
    return QoSProfile(history=history, depth=depth, reliability=reliability, durability=durability)


SENSOR_INPUT = sensor_input()
COMMAND_INPUT = _kept_last(50)  # a command is sent only once, so it must be delivered reliably
RELIABLE_OUTPUT = _kept_last(50)
EVENTS = _kept_last(10, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)  # late joiners receive the last ones
LATCHED = _kept_last(1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def overridable(
    node: Node, topic: str, qos: QoSProfile, entity: str = "publisher", *, quiet: bool = True
) -> dict[str, Any]:
    """Return the arguments of `create_publisher` or `create_subscription` that let a user override a profile.

    rclpy declares and reads the parameters; a bad value, which it answers with a traceback, is refused here.

    Args:
        node: Node that publishes or reads.
        topic: Name of the topic.
        qos: The profile without overrides.
        entity: ``publisher`` or ``subscription``.
        quiet: Whether rclpy's warning of a partner that does not match is left out, unless a profile is
            overridden.

    Raises:
        ConfigurationError: If an override names a policy that cannot be overridden, or a bad value.
    """
    prefix = f"{PREFIX}{node.resolve_topic_name(topic)}.{entity}."
    given = {name: v for name, v in (given_parameters(node) or {}).items() if name.startswith(prefix)}
    for name, value in given.items():
        policy = name.removeprefix(prefix)
        if policy not in CHOICES:
            known = f"this policy cannot be overridden; expected one of {listing(CHOICES)}"
            raise ConfigurationError(f"'{name}' is {value!r}: {known}")
        if isinstance(value, bool) or value not in CHOICES[policy]:
            expected = WHOLE if policy == "depth" else f"one of {listing(CHOICES[policy])}"
            raise ConfigurationError(f"'{name}' is {value!r}: expected {expected}")
    events = NO_OUTPUT_EVENTS if entity == "publisher" else NO_INPUT_EVENTS
    return {
        "qos_profile": copy.copy(qos),
        "qos_overriding_options": QoSOverridingOptions(POLICIES),
        **({"event_callbacks": events} if quiet and not given else {}),
    }


def unused_overrides(node: Node) -> list[str]:
    """Return the names of the given overrides that no publisher or subscription of a node has taken."""
    given = given_parameters(node) or {}
    return [name for name in given if name.startswith(PREFIX) and not node.has_parameter(name)]
