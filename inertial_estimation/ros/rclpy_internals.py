"""What the nodes use of rclpy beyond its documented interface, each with a plain fall-back.

rclpy offers no way to read a subscription without its executor, and none to see all given parameters.
Both exist inside it, from Humble to Rolling. Where a release lacks one, the documented way is taken: messages
come through the executor (slower, same results), and a misspelt parameter goes unnoticed.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

try:
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks, SubscriptionEventCallbacks

try:
    from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn

    HAS_LIFECYCLE = True
except ImportError:  # no lifecycle_msgs
    HAS_LIFECYCLE = False

    class LifecycleNodeMixin:  # type: ignore[no-redef]
        """Stands for the states that this rclpy does not have."""


__all__ = [
    "HAS_LIFECYCLE",
    "LifecycleStates",
    "MessageQueue",
    "PublisherEventCallbacks",
    "SubscriptionEventCallbacks",
    "TransitionCallbackReturn",
    "given_parameters",
]


class LifecycleStates(LifecycleNodeMixin):
    """The states of a managed node; a transition that its state does not have is refused.

    rclpy's own raises from the service's callback there, which ends the node.
    """

    def _LifecycleNodeMixin__on_change_state(self, request: Any, response: Any) -> Any:
        try:
            return super()._LifecycleNodeMixin__on_change_state(request, response)
        except RuntimeError:  # rclpy's RCLError
            response.success = False
            return response


class _Unwaited(CallbackGroup):
    """A group whose members no executor waits for: they are read by whoever holds the subscription."""

    def can_execute(self, entity: Any) -> bool:
        """No executor adds such an entity to its wait set."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never begun by an executor."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Never ended by an executor."""


class MessageQueue:
    """A subscription that is read when its owner likes.

    The executor of rclpy builds a set of all entities to wait on for every few messages, at a hundred times
    the cost of taking a message from the middleware. A queue with `woken` is in that set, and its owner is
    called after each message the executor brings; one without is not, and costs nothing until it is read.
    """

    def __init__(
        self,
        node: Node,
        message_type: type,
        topic: str,
        qos: QoSProfile,
        *,
        raw: bool,
        events: Any = None,
        woken: Callable[[], None] | None = None,
    ) -> None:
        """Subscribe.

        Args:
            node: Node that reads.
            message_type: Message class.
            topic: Name of the topic.
            qos: Quality of service; its depth is the length of the queue.
            raw: Whether messages stay serialised.
            events: Event callbacks of the subscription; None: those of rclpy.
            woken: Called after a message that the executor brought; None: the owner polls.
        """
        self._depth = qos.depth
        self._brought: deque[tuple[Any, Mapping[str, Any]]] = deque(maxlen=qos.depth)
        self._woken = woken
        self.subscription: Subscription = node.create_subscription(
            message_type,
            topic,
            self._on_message if hasattr(Subscription, "CallbackType") else self._on_message_alone,
            qos,
            callback_group=_Unwaited() if woken is None and _can_take() else None,
            event_callbacks=events,
            raw=raw,
        )
        self._how = (message_type, raw)
        self._take = self.subscription.handle.take_message if _can_take() else None

    def take(self) -> list[tuple[Any, Mapping[str, Any]]]:
        """Return the messages that wait, the oldest first, at most as many as the queue is long.

        Returns:
            Pairs of the message (serialised where the subscription is raw) and what the middleware says of
            it: ``received_timestamp`` by the machine's wall clock [ns], and, but on Humble,
            ``publication_sequence_number`` among the messages of its publisher.
        """
        taken = list(self._brought)
        self._brought.clear()
        if self._take is not None:
            for _ in range(self._depth):
                pair = self._take(*self._how)
                if pair is None:
                    break
                taken.append(pair)
        return taken

    def _on_message(self, message: Any, info: Any) -> None:
        self._brought.append((message, info))
        if self._woken is not None:
            self._woken()

    def _on_message_alone(self, message: Any) -> None:
        """Stand for `_on_message` where callbacks get the message alone (Humble)."""
        self._on_message(message, {})


def given_parameters(node: Node) -> dict[str, Any] | None:
    """Return the parameters that the command line and parameter files give a node, declared or not.

    Args:
        node: The node.

    Returns:
        Values by name; None where this rclpy does not say.
    """
    overrides: Mapping[str, Parameter] | None = getattr(node, "_parameter_overrides", None)
    return None if overrides is None else {name: value.value for name, value in overrides.items()}


def _can_take() -> bool:
    """Whether a subscription of this rclpy can be read without an executor."""
    return hasattr(Subscription, "handle") and hasattr(CallbackGroup, "can_execute")
