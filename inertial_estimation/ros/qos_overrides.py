"""Quality of service that a user overrides: the parameters ``qos_overrides.<topic>.<entity>.<policy>``.

`<entity>` is ``publisher`` or ``subscription``, `<topic>` the name after remapping. rclpy declares the
parameters when it creates the entity, and ignores undeclared ones. Here a policy that cannot be overridden or
a bad value stops the node, and a topic that the node does not have is logged.
"""

import copy
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.ros.qos import NO_INPUT_EVENTS, NO_OUTPUT_EVENTS
from inertial_estimation.ros.rclpy_internals import given_parameters

PREFIX = "qos_overrides."
POLICIES = (QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY)
CHOICES = {"reliability": ("reliable", "best_effort"), "durability": ("volatile", "transient_local")}
LONGEST_QUEUE = 100_000


def overridable_publisher(node: Node, topic: str, qos: QoSProfile) -> dict[str, Any]:
    """Return the arguments of `create_publisher` that let a user override a profile.

    Args:
        node: Node that publishes.
        topic: Name of the topic.
        qos: The profile without overrides.

    Raises:
        ConfigurationError: If an override names a policy that cannot be overridden, or a bad value.
    """
    given = _given(node, topic, "publisher")
    events = {} if given else {"event_callbacks": NO_OUTPUT_EVENTS}
    return {"qos_profile": copy.copy(qos), "qos_overriding_options": QoSOverridingOptions(POLICIES), **events}


def overridable_subscription(
    node: Node, topic: str, qos: QoSProfile, *, quiet: bool = True
) -> dict[str, Any]:
    """Return the arguments of `create_subscription` that let a user override a profile.

    Args:
        node: Node that reads.
        topic: Name of the topic.
        qos: The profile without overrides.
        quiet: Whether rclpy's warning of a publisher that does not match is left out, unless a profile is
            overridden.

    Raises:
        ConfigurationError: If an override names a policy that cannot be overridden, or a bad value.
    """
    given = _given(node, topic, "subscription")
    events = {"event_callbacks": NO_INPUT_EVENTS} if quiet and not given else {}
    return {"qos_profile": copy.copy(qos), "qos_overriding_options": QoSOverridingOptions(POLICIES), **events}


def unused_overrides(node: Node) -> list[str]:
    """Return the names of the given overrides that no publisher or subscription of a node has taken."""
    given = given_parameters(node) or {}
    return [name for name in given if name.startswith(PREFIX) and not node.has_parameter(name)]


def _given(node: Node, topic: str, entity: str) -> Mapping[str, Any]:
    """Return the overrides of one publisher or subscription by policy, checked."""
    prefix = f"{PREFIX}{node.resolve_topic_name(topic)}.{entity}."
    given = given_parameters(node) or {}
    found = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    for policy, value in found.items():
        expected = _expected(policy, value)
        if expected:
            raise ConfigurationError(f"'{prefix}{policy}' is {value!r}: {expected}")
    return found


def _expected(policy: str, value: Any) -> str:
    """Return the expected value of an invalid override; empty for a valid one."""
    if policy == "depth":
        good = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST_QUEUE
        return "" if good else f"expected a whole number from 1 to {LONGEST_QUEUE}"
    if policy in CHOICES:
        return "" if value in CHOICES[policy] else f"expected one of {listing(CHOICES[policy])}"
    return f"this policy cannot be overridden; expected one of {listing(('depth', *CHOICES))}"
