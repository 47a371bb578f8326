"""Base of nodes with an optional lifecycle, and the executor that spins them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.timer import Timer
from std_srvs.srv import SetBool, Trigger

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.ros.qos import RELIABLE_OUTPUT, create_output


class NodeExecutor(SingleThreadedExecutor):
    """Logs the error that a parameter service of rclpy raises at a value of an unknown type, for instance."""

    def _take_service(self, srv: Any) -> Any:
        execute = super()._take_service(srv)
        if not callable(execute):  # nothing has come
            return execute

        async def execute_or_log() -> None:
            try:
                await execute()
            except (ValueError, TypeError, OverflowError) as error:
                get_logger(srv.srv_name).error(f"a request is not answered: {error}")

        return execute_or_log


class ManagedNode(LifecycleNodeMixin, Node, ABC):
    """A node that has lifecycle states after a call of `begin_lifecycle`; otherwise it is always active.

    It owns the outputs, timers and services created while it is configured, until `clean_up`.

    Attributes:
        active: Whether it may publish.
        managed: Whether it has lifecycle states.
        finalized: Whether it has been shut down by its lifecycle, for good.
    """

    def __init__(self, name: str, **node_arguments: Any) -> None:
        """Create the node.

        Args:
            name: Its default name.
            **node_arguments: Passed on to rclpy's Node.
        """
        Node.__init__(self, name, **node_arguments)
        self.active = True
        self.managed = self.finalized = False
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._outputs: list[Publisher] = []  # that no other node should publish
        self._undo: list[Callable[[], Any]] = []  # destroy the entities created since the node was configured

    @abstractmethod
    def configure(self) -> None:
        """Load, check, and create publishers, services and inputs.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a name or the robot description is wrong
                or missing.
        """

    def clean_up(self) -> None:
        """Destroy the entities that `configure` has created."""
        self._outputs = []
        while self._undo:
            self._undo.pop()()
        if self.executor is not None:
            self.executor.wake()  # it holds references to its entities until it wakes

    def activated(self) -> None:
        """Called when the node may publish."""

    def begin_lifecycle(self) -> None:
        """Become an unconfigured lifecycle node."""
        self.active, self.managed = False, True
        LifecycleNodeMixin.__init__(self)
        self.get_logger().info("managed: unconfigured")

    def _LifecycleNodeMixin__on_change_state(self, request: Any, response: Any) -> Any:
        """Refuse an invalid transition, of which rclpy raises an error that ends the node."""
        try:
            return super()._LifecycleNodeMixin__on_change_state(request, response)
        except RuntimeError:  # rclpy's RCLError
            response.success = False
            return response

    def on_configure(self, state: Any) -> Any:
        """Configure; on failure the error is logged, for example a missing name or robot description."""
        try:
            self.configure()
        except InertialEstimationError as error:
            self.clean_up()
            self.get_logger().error(f"not configured: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Start publishing."""
        self.active = True
        self.activated()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: Any) -> Any:
        """Stop publishing."""
        self.active = False
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: Any) -> Any:
        """Return to the unconfigured state."""
        self.clean_up()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """Stop publishing before the node is destroyed."""
        self.active, self.finalized = False, True
        self.clean_up()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: Any) -> Any:
        """End for good: a transition has failed with an unexpected error, which rclpy logs."""
        self.on_shutdown(state)
        return TransitionCallbackReturn.FAILURE

    def add_output(
        self, message_type: type, topic: str, qos: QoSProfile = RELIABLE_OUTPUT, *, shared: bool = False
    ) -> Publisher:
        """Create the publisher of an output.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            qos: Quality of service.
            shared: Whether others may publish it as well, as a command; else diagnostics warn of them.
        """
        publisher = create_output(self, message_type, topic, qos)
        if not shared:
            self._outputs.append(publisher)
        self._undo.append(partial(self.destroy_publisher, publisher))
        return publisher

    def add_timer(self, period: float, call: Callable[[], None]) -> Timer:
        """Create a timer on the steady clock, which neither /clock nor a corrected wall clock disturbs.

        Args:
            period: Its period [s].
            call: Callback of the timer.
        """
        timer = self.create_timer(period, call, clock=self._steady)
        self._undo.append(partial(self.destroy_timer, timer))
        return timer

    def add_trigger(self, service: str, call: Callable[[], str]) -> None:
        """Offer a Trigger service; an exception of the call is returned as the message of a failure.

        Args:
            service: Relative name (``~/reset``).
            call: Executes the request and returns the message of the response.
        """
        made = self.create_service(Trigger, service, _answering(lambda _request: call()))
        self._undo.append(partial(self.destroy_service, made))

    def add_switch(self, service: str, call: Callable[[bool], str]) -> None:
        """Offer a SetBool service; an exception of the call is returned as the message of a failure."""
        made = self.create_service(SetBool, service, _answering(lambda request: call(bool(request.data))))
        self._undo.append(partial(self.destroy_service, made))

    def send(self, publisher: Publisher, convert: Callable[[], Any]) -> None:
        """Convert and publish a value if the topic has subscribers."""
        if publisher.get_subscription_count():
            publisher.publish(convert())

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Publish, if the node is active; also to latched topics, whose subscribers may join later."""
        if self.active:
            publisher.publish(message)


def _answering(call: Callable[[Any], str]) -> Callable[[Any, Any], Any]:
    """Return the callback of a service whose response is a message and whether the request succeeded."""

    def answer(request: Any, response: Any) -> Any:
        try:
            response.message, response.success = call(request), True
        except (InertialEstimationError, OSError) as error:
            response.message, response.success = str(error), False
        return response

    return answer
