"""Uses of rclpy beyond its documented interface, each with a documented fallback.

rclpy documents no way to read a subscription without its executor, nor to list all given parameters. Both
exist internally, from Humble to Rolling. Where a release lacks them, messages are received through the
executor (slower, with the same results), and a misspelt parameter is not reported.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription

try:
    from rclpy.event_handler import PublisherEventCallbacks as PublisherEventCallbacks
    from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks as PublisherEventCallbacks
    from rclpy.qos_event import SubscriptionEventCallbacks as SubscriptionEventCallbacks

try:
    from rclpy.lifecycle import LifecycleNodeMixin
    from rclpy.lifecycle import TransitionCallbackReturn as TransitionCallbackReturn

    HAS_LIFECYCLE = True
except ImportError:  # no lifecycle_msgs
    HAS_LIFECYCLE = False

    class LifecycleNodeMixin:  # type: ignore[no-redef]
        """Placeholder for an rclpy without lifecycle nodes."""


class LifecycleStates(LifecycleNodeMixin):
    """The states of a managed node; a transition that is invalid in the current state is rejected.

    rclpy's own implementation raises from the service callback in that case, which ends the node.
    """

    def _LifecycleNodeMixin__on_change_state(self, request: Any, response: Any) -> Any:
        try:
            return super()._LifecycleNodeMixin__on_change_state(request, response)
        except RuntimeError:  # rclpy's RCLError
            response.success = False
            return response


class _Unwaited(CallbackGroup):
    """A callback group that executors ignore, since the owner of the subscription reads the messages."""

    def can_execute(self, entity: Any) -> bool:
        """No executor adds such an entity to its wait set."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never begun by an executor."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Never ended by an executor."""


class NodeExecutor(SingleThreadedExecutor):
    """The executor of rclpy, which is not ended by a request that rclpy cannot read.

    Its parameter services raise an error at a value of an unknown type, for instance.
    """

    def _take_service(self, srv: Any) -> Any:
        execute = super()._take_service(srv)
        if not callable(execute):  # nothing has come, or an rclpy with other internals
            return execute

        async def execute_or_log() -> None:
            try:
                await execute()
            except (ValueError, TypeError, OverflowError) as error:
                get_logger(srv.srv_name).error(f"a request is not answered: {error}")

        return execute_or_log


class MessageQueue:
    """A subscription that its owner reads by polling.

    For every few messages, the executor of rclpy builds a set of all entities to wait on, at a hundred times
    the cost of taking a message from the middleware. A queue with `woken` is in that set, and its owner is
    called after each message that the executor delivers. A queue without `woken` is not in the set and has no
    cost until it is read.
    """

    def __init__(
        self,
        node: Node,
        message_type: type,
        topic: str,
        *,
        woken: Callable[[], None] | None = None,
        **subscription_arguments: Any,
    ) -> None:
        """Subscribe; messages stay serialised.

        Args:
            node: Node that reads.
            message_type: Message class.
            topic: Name of the topic.
            woken: Called after a message that the executor delivers; None if the owner polls.
            **subscription_arguments: Passed on to `create_subscription`; the depth of the quality of service
                is the length of the queue.
        """
        self._woken = woken
        self.subscription: Subscription = node.create_subscription(
            message_type,
            topic,
            self._on_message if hasattr(Subscription, "CallbackType") else self._on_message_alone,
            callback_group=_Unwaited() if woken is None and _can_take() else None,
            raw=True,
            **subscription_arguments,
        )
        self._depth = self.subscription.qos_profile.depth
        self._brought: deque[tuple[bytes, Mapping[str, Any]]] = deque(maxlen=self._depth)
        self._message_type = message_type
        self._take = self.subscription.handle.take_message if _can_take() else None

    def take(self) -> list[tuple[bytes, Mapping[str, Any]]]:
        """Return the waiting messages, the oldest first, at most as many as the length of the queue.

        Returns:
            Pairs of the serialised message and its information from the middleware: ``received_timestamp`` by
                the machine's wall clock [ns] and, except on Humble, ``publication_sequence_number`` among the
                messages of its publisher.
        """
        taken = list(self._brought)
        self._brought.clear()
        if self._take is not None:
            for _ in range(self._depth):
                pair = self._take(self._message_type, True)
                if pair is None:
                    break
                taken.append(pair)
        return taken

    def _on_message(self, message: bytes, info: Any) -> None:
        self._brought.append((message, info))
        if self._woken is not None:
            self._woken()

    def _on_message_alone(self, message: bytes) -> None:
        """Replace `_on_message` where callbacks get only the message (Humble)."""
        self._on_message(message, {})


def take_clock(node: Node) -> None:
    """Take the messages of ``/clock`` that wait: the executor brings them after a due timer, or a message.

    A process that was stopped and goes on would take an old time for now.
    """
    source: Any = getattr(node, "_time_source", None)
    subscription = getattr(source, "_clock_sub", None)  # None without use_sim_time
    if subscription is None or not _can_take():
        return
    while (taken := subscription.handle.take_message(subscription.msg_type, False)) is not None:
        source.clock_callback(taken[0])


def given_parameters(node: Node) -> dict[str, Any] | None:
    """Return the parameters that the command line and parameter files give a node, declared or not.

    Args:
        node: The node.

    Returns:
        Values by name; None where this rclpy does not provide them.
    """
    overrides: Mapping[str, Parameter] | None = getattr(node, "_parameter_overrides", None)
    return None if overrides is None else {name: value.value for name, value in overrides.items()}


def _can_take() -> bool:
    """Whether a subscription of this rclpy can be read without an executor."""
    return hasattr(Subscription, "handle") and hasattr(CallbackGroup, "can_execute")
