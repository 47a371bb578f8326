"""Uses of rclpy beyond its documented interface, each with a documented fallback.

rclpy documents no way to read a subscription without its executor, nor to list all given parameters. Both
exist internally, from Humble to Rolling. Where a release lacks them, messages are received through the
executor (slower, with the same results), and a misspelt parameter is not reported.
"""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from rclpy.waitable import NumberOfEntities

from inertial_estimation.signals import NANOSECONDS

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


MOST_IN_A_ROW = 20  # consecutive callbacks of rclpy's executor, before timers are served again
POLL_PERIOD_S = 0.05  # between two looks at services and events, while a timer is due sooner


class CachingExecutor(SingleThreadedExecutor):
    """An executor that rebuilds its wait set only when the entities have changed, not at every wait.

    The executor of rclpy filters all entities of all nodes and builds a wait set at every wait. This takes a
    fifth of a millisecond for a node of this package, more than a step of an estimator and three times the
    necessary time. This executor keeps both until it is woken, which rclpy does when an entity is created. It
    serves timers and subscriptions itself and leaves all other entities (services, parameters, events) to the
    executor of rclpy; with an rclpy of other internals it leaves all entities to it.

    While a timer is due soon and there is no subscription, it does not wait for entities either, but sleeps:
    the middleware attaches itself to every service at every wait, which takes three times as long. All other
    entities are then polled twenty times per second.
    """

    def spin(self) -> None:
        """Execute callbacks until the context is shut down."""
        try:
            with _Entities(self) as entities:
                entities.poll()
        except (AttributeError, TypeError):  # an rclpy with other internals
            super().spin()
            return
        while self._context.ok() and not self._is_shutdown:
            with _Entities(self) as entities:
                self._spin_cached(entities)
            self._serve_others()

    def _serve_others(self) -> None:
        """Let the executor of rclpy serve ready entities, and the callbacks of futures they complete.

        The parameter services of rclpy raise an error at a request that they cannot read.
        """
        for _ in range(MOST_IN_A_ROW):
            try:
                self.spin_once(timeout_sec=0.0)
            except (ValueError, TypeError, OverflowError) as error:
                for node in self.get_nodes():
                    node.get_logger().error(f"a request is not answered: {error}")
            if all(task.done() for task, *_ in self._tasks):
                return

    def _spin_cached(self, entities: "_Entities") -> None:
        """Serve timers and subscriptions until the executor of rclpy must serve others."""
        other, poll_s = False, -math.inf
        while not other:
            delay_s = entities.until_timer()
            if delay_s < POLL_PERIOD_S and time.monotonic() < poll_s:
                entities.sleep(delay_s)
            else:
                other = entities.wait(0.0 if delay_s < POLL_PERIOD_S else None)
                poll_s = time.monotonic() + POLL_PERIOD_S
            if not self._context.ok():
                raise ExternalShutdownException
            for timer in entities.ready_timers():
                _run(self._take_timer(timer))
            for subscription in entities.ready_subscriptions():
                _run(self._take_subscription(subscription))


class _Entities:
    """The entities of an executor, protected from destruction while the context lasts, and its wait set."""

    def __init__(self, executor: SingleThreadedExecutor) -> None:
        nodes = executor.get_nodes()

        def served(kind: str) -> list[Any]:
            return [one for node in nodes for one in getattr(node, kind) if executor.can_execute(one)]

        self._context = executor._context
        self._timers, self._subscriptions = served("timers"), served("subscriptions")
        self._clients, self._services = served("clients"), served("services")
        self._guards = served("guards")
        self._waitables = served("waitables")
        self._own_guards = [executor._guard, executor._sigint_gc]
        self._ready_timers: list[Any] = []
        self._ready_subscriptions: list[Any] = []  # their pointers

    def __enter__(self) -> "_Entities":
        self._stack = ExitStack()
        counts = NumberOfEntities(
            len(self._subscriptions),
            len(self._guards) + len(self._own_guards),
            len(self._timers),
            len(self._clients),
            len(self._services),
        )
        entities = (self._timers, self._subscriptions, self._clients, self._services, self._guards)
        for entity in (*itertools.chain(*entities), *self._own_guards):
            self._stack.enter_context(entity.handle)
        for waitable in self._waitables:
            self._stack.enter_context(waitable)
            counts += waitable.get_num_entities()
        self._stack.enter_context(self._context.handle)
        self._set = rclpy_implementation.WaitSet(
            counts.num_subscriptions,
            counts.num_guard_conditions,
            counts.num_timers,
            counts.num_clients,
            counts.num_services,
            counts.num_events,
            self._context.handle,
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def poll(self) -> None:
        """Poll the wait set once, to check that the internals of rclpy are as expected."""
        self.until_timer()
        self._fill()
        self._set.wait(0)

    def until_timer(self) -> float:
        """Return the time until a timer is due [s]; infinite where a subscription has to be waited for."""
        if self._subscriptions:
            return math.inf
        going = [timer.handle for timer in self._timers if not timer.handle.is_timer_canceled()]
        return 1e-9 * min((handle.time_until_next_call() for handle in going), default=math.inf)

    def sleep(self, delay_s: float) -> None:
        """Wait for a time, after which timers may be due, and look at nothing else."""
        if delay_s > 0.0:
            time.sleep(delay_s)
        self._ready_timers, self._ready_subscriptions = self._timers, []

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until something is ready; return whether that is more than timers and subscriptions.

        Args:
            timeout_s: Longest time to wait [s]; None waits for ever.
        """
        self._fill()
        self._set.wait(-1 if timeout_s is None else round(NANOSECONDS * timeout_s))
        ready = self._set.get_ready_entities
        due, self._ready_subscriptions = ready("timer"), ready("subscription")
        self._ready_timers = [timer for timer in self._timers if timer.handle.pointer in due]
        triggered = ready("guard_condition")
        for guard in self._guards:
            if guard.handle.pointer in triggered:
                guard._executor_triggered = True  # the wait resets the trigger; rclpy reads this flag
        return bool(
            triggered
            or ready("service")
            or ready("client")
            or any(waitable.is_ready(self._set) for waitable in self._waitables)
        )

    def ready_timers(self) -> list[Any]:
        """Return the timers that are due."""
        return [timer for timer in self._ready_timers if timer.handle.is_timer_ready()]

    def ready_subscriptions(self) -> list[Any]:
        """Return the subscriptions with a message."""
        ready = self._ready_subscriptions
        return [s for s in self._subscriptions if s.handle.pointer in ready] if ready else []

    def _fill(self) -> None:
        wait_set = self._set
        wait_set.clear_entities()
        for subscription in self._subscriptions:
            wait_set.add_subscription(subscription.handle)
        for client in self._clients:
            wait_set.add_client(client.handle)
        for service in self._services:
            wait_set.add_service(service.handle)
        for timer in self._timers:
            wait_set.add_timer(timer.handle)
        for guard in (*self._guards, *self._own_guards):
            wait_set.add_guard_condition(guard.handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(wait_set)


def _run(taken: Any) -> None:
    """Run the coroutine function an executor has taken, which must not wait; None is ignored."""
    if taken is None:
        return
    coroutine = taken()
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("a callback of a timer or a subscription waits, which this executor cannot do")


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
