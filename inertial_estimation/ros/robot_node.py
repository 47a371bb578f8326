"""Base of all nodes: lifecycle, parameters, robot description, inputs, outputs and diagnostics."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import make_dataclass
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNodeMixin, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.timer import Timer
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from inertial_estimation.configuration.node_configs import NODE_CONFIGS, all_parameters
from inertial_estimation.configuration.urdf_source import published_urdf, read_urdf
from inertial_estimation.errors import ConfigurationError, InertialEstimationError, listing, one_line
from inertial_estimation.models.urdf import urdf_warnings
from inertial_estimation.parameters import section
from inertial_estimation.recordings.watch_record import REPORT_PERIOD
from inertial_estimation.ros.diagnostics import Diagnostics
from inertial_estimation.ros.messages import message_reader, type_name
from inertial_estimation.ros.node_inputs import NodeInput, NodeInputs, Take
from inertial_estimation.ros.parameters import NodeParameters
from inertial_estimation.ros.qos import LATCHED, RELIABLE, create_input, create_output
from inertial_estimation.signals import Health, HealthLevel

DESCRIPTION = "robot_description"
ROBOT_NAME = re.compile(r"<robot\b[^>]*?\bname\s*=\s*[\"']([^\"']*)")
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


def node_config(node: str) -> type[Any]:
    """Return a dataclass of all parameters of a node: `pipeline` of its pipeline, `options` of the node."""
    parts = zip(("pipeline", "options"), NODE_CONFIGS[node], strict=True)
    fields = [(name, part, section(part, prefix="")) for name, part in parts]
    return make_dataclass("NodeConfig", fields, frozen=True)


class ManagedNode(LifecycleNodeMixin, Node, ABC):
    """A node with lifecycle, which owns the entities that are created while it is configured.

    Attributes:
        active: Whether it may publish.
        finalized: Whether it has been shut down by its lifecycle, which is permanent.
    """

    def __init__(self, name: str, **node_arguments: Any) -> None:
        """Create the node with its default name, without lifecycle states."""
        Node.__init__(self, name, **node_arguments)
        self.active, self.finalized = True, False
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._undo: list[Callable[[], Any]] = []  # calls that destroy the entities created by `configure`

    @abstractmethod
    def configure(self) -> None:
        """Load the robot, check all names, and create publishers, services and inputs.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a name is wrong, or there is no robot
                description yet.
        """

    def clean_up(self) -> None:
        """Destroy the entities that `configure` has created."""
        while self._undo:
            self._undo.pop()()
        if self.executor is not None:
            self.executor.wake()  # it holds references to its entities until it wakes

    def _LifecycleNodeMixin__on_change_state(self, request: Any, response: Any) -> Any:
        """Refuse an invalid transition, for which rclpy would raise an error that ends the node."""
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
            return FAILURE
        return SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Start publishing."""
        self.active = True
        return SUCCESS

    def on_deactivate(self, state: Any) -> Any:
        """Stop publishing."""
        self.active = False
        return SUCCESS

    def on_cleanup(self, state: Any) -> Any:
        """Return to the unconfigured state."""
        self.clean_up()
        return SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """Stop publishing before the node is destroyed."""
        self.active, self.finalized = False, True
        self.clean_up()
        return SUCCESS

    def on_error(self, state: Any) -> Any:
        """Shut down permanently: a transition has failed with an unexpected error, which rclpy logs."""
        self.on_shutdown(state)
        return FAILURE

    def add_output(self, message_type: type, topic: str, qos: QoSProfile = RELIABLE) -> Publisher:
        """Create the publisher of an output with a message class and the relative name of its topic."""
        publisher = create_output(self, message_type, topic, qos)
        self._undo.append(partial(self.destroy_publisher, publisher))
        return publisher

    def add_timer(self, period: float, call: Callable[[], None]) -> Timer:
        """Create a timer with a period [s] on the steady clock, independent of /clock."""
        timer = self.create_timer(period, call, clock=self._steady)
        self._undo.append(partial(self.destroy_timer, timer))
        return timer

    def add_trigger(self, service: str, call: Callable[[], str]) -> None:
        """Offer a Trigger service whose call returns the message of the response."""
        self._serve(Trigger, service, lambda _request: call())

    def add_switch(self, service: str, call: Callable[[bool], str]) -> None:
        """Offer a SetBool service whose call returns the message of the response."""
        self._serve(SetBool, service, lambda request: call(bool(request.data)))

    def _serve(self, kind: type, service: str, call: Callable[[Any], str]) -> None:
        def answer(request: Any, response: Any) -> Any:
            try:
                response.message, response.success = call(request), True
            except (InertialEstimationError, OSError) as error:
                response.message, response.success = str(error), False
            return response

        self._undo.append(partial(self.destroy_service, self.create_service(kind, service, answer)))

    def send(self, publisher: Publisher, convert: Callable[[], Any]) -> None:
        """Convert and publish a value if the topic has subscribers."""
        if publisher.get_subscription_count():
            publisher.publish(convert())

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Publish a message if the node is active, also without subscribers, which may join later."""
        if self.active:
            publisher.publish(message)


class RobotNode(ManagedNode):
    """A node for one robot: it reads parameters, converts inputs, calls its estimator and publishes.

    A subclass builds its pipeline from the robot description, which comes from the parameter `urdf`, or
    otherwise from the topic `robot_description`. A node starts as soon as it has the description, and is
    always active. With the parameter `managed` it follows the transitions of its lifecycle: a configured node
    has checked all names and reads its inputs; an active node publishes.

    Attributes:
        name: Default name of the node.
        works_inactive: Whether it continues to estimate while inactive, so that its state is up to date on
            activation.
    """

    name: str
    works_inactive = True

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters; start if the description is available and the node is not managed.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a parameter or a name is wrong.
        """
        super().__init__(self.name, **node_arguments)
        self._parameters_declared = NodeParameters(
            self, node_config(self.name), all_parameters(), self._on_parameter
        )
        self._configured = False
        self._inputs = NodeInputs(self._take_inputs)
        self._diagnostics = Diagnostics(self)
        self.create_timer(REPORT_PERIOD, self._report, clock=self._steady)
        self._urdf = self.config.pipeline.robot.urdf
        self._description = DescriptionInput(self, self._on_description, subscribed=not self._urdf)
        if self.config.options.managed:
            self.active = False
            LifecycleNodeMixin.__init__(self)
            self.get_logger().info("managed: unconfigured")
        elif self._urdf:
            self.configure()

    @property
    def config(self) -> Any:
        """Current values of the parameters."""
        return self._parameters_declared.config

    @abstractmethod
    def _start(self, urdf: str) -> None:
        """Build the pipeline from the robot description; create publishers, services and inputs."""

    @abstractmethod
    def _set_parameter(self, name: str, value: Any) -> None:
        """Apply a parameter that has changed at run time."""

    @abstractmethod
    def _health(self, now_ns: int) -> list[Health]:
        """Return the health of every component, inputs by topic; STALE marks a missing required input."""

    def _on_message(self) -> None:
        """Handle the event that one input has been read."""

    def _on_inputs(self) -> None:
        """Handle the event that all waiting inputs have been read."""

    def configure(self) -> None:
        """Build the pipeline from the robot description; see `ManagedNode.configure`."""
        if not self._urdf and not self._description.text:
            topic = self._description.topic
            raise ConfigurationError(f"no robot description on {topic} yet (or set the parameter 'urdf')")
        text = read_urdf(self._urdf) if self._urdf else self._description.use()
        for sentence in urdf_warnings(text):
            self.get_logger().warning(sentence)
        name = ROBOT_NAME.search(text)
        self._diagnostics.hardware_id = name[1] if name else ""
        self._start(text)
        self._configured = True
        awaited = {part.name for part in self._health(0) if part.level == HealthLevel.STALE}
        counters = [node_input.counter for node_input in self._inputs]
        for counter in counters:
            counter.required = counter.required or counter.topic in awaited
        self.get_logger().info(f"started; reads {', '.join(counter.topic for counter in counters)}")

    def clean_up(self) -> None:
        """Destroy the entities that `configure` has created."""
        self._configured = False
        super().clean_up()
        self._inputs.clear()

    def subscribe(
        self, message_type: type, topic: str, take: Take, qos: QoSProfile | None = None
    ) -> NodeInput:
        """Subscribe to an input; `take` is called with bytes and arrival on the clock of the stamps [ns].

        `qos` is the quality of service of a command; None selects that of sensor data.
        """
        node_input = self._inputs.add(self, message_type, topic, take, qos)
        self._undo.append(partial(self.destroy_subscription, node_input.subscription))
        return node_input

    def listen(
        self,
        message_type: type,
        topic: str,
        push: Callable[[Any], None],
        qos: QoSProfile | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        """Subscribe to an input whose messages are converted to values, which are passed to `push`.

        `convert` returns the value of a message or raises MeasurementError; None selects the conversion of
        `inputs.messages` for the type.
        """
        read = message_reader(message_type, convert)
        self.subscribe(message_type, topic, lambda data, _arrival_ns: push(read(data)), qos)

    def _take_inputs(self) -> None:
        """Read the inputs that have arrived, and process them."""
        if self.active or self.works_inactive:
            self._inputs.read(self._on_message)
            self._on_inputs()
        else:
            self._inputs.drop()

    def _on_description(self) -> None:
        if not (self._configured or self.config.options.managed):
            self.configure()

    def _on_parameter(self, name: str, value: Any) -> None:
        if self._configured:
            self._set_parameter(name, value)

    def _report(self) -> None:
        self._diagnostics.publish(self._all_health(), self._waits_for())

    def _all_health(self) -> list[Health]:
        if not self._configured:
            message = "unconfigured" if self.config.options.managed else "no robot description yet"
            if self.finalized:
                message = "finalized: shut down permanently, start the node again"
            return [Health(self.name, HealthLevel.WARN, message), *self._description.health()]
        self._take_inputs()  # empties the queues after a stall before they overflow
        parts = self._health(self.get_clock().now().nanoseconds)
        if not self.active:
            parts.append(Health(self.name, HealthLevel.WARN, "inactive: nothing is published"))
        parts += [*self._description.health(), self._inputs.delay.health()]
        return [*parts, *(one.counter.health() for one in self._inputs)]

    def _waits_for(self) -> list[str]:
        if not self._configured:
            has_description = self._description.text or self._urdf or self.finalized
            return [] if has_description else [f"{self._description.topic} (or set the parameter 'urdf')"]
        missing = [
            f"{self.resolve_topic_name(one.counter.topic)}{one.counter.silent_publisher()}{self._similar_topics(one)}"
            for one in self._inputs
            if one.counter.required and not one.counter.received
        ]
        if self.get_parameter("use_sim_time").value and not self.get_clock().now().nanoseconds:
            missing.append(self.resolve_topic_name("/clock"))
        return missing

    def _similar_topics(self, missing: NodeInput) -> str:
        """Return published topics of a missing input's type as a hint; empty if its own is published."""
        if missing.counter.publishers():
            return ""
        kind, found = type_name(missing.subscription.msg_type), set[str]()
        for node, namespace in self.get_node_names_and_namespaces():
            if node not in NODE_CONFIGS:  # own nodes publish telemetry of these types, too
                with suppress(RuntimeError):  # an error of rcl if a node has ended in the meantime
                    sent = self.get_publisher_names_and_types_by_node(node, namespace)
                    found |= {topic for topic, kinds in sent if kind in kinds}
        found -= {self.resolve_topic_name(one.counter.topic) for one in self._inputs}
        return f" (topics of its type: {listing(sorted(found), limit=3)})" if found else ""


class DescriptionInput:
    """The robot description that a node receives on a topic; the newest valid one is kept.

    An estimator cannot change its robot while it runs: a description that differs from the one in use is
    reported, and applied when the node is configured the next time.

    Attributes:
        topic: Full name of the topic.
        text: The newest valid description; empty before the first one.
    """

    def __init__(self, node: Node, on_new: Callable[[], None], *, subscribed: bool) -> None:
        """Subscribe; `on_new` is called after every valid description."""
        self.topic = node.resolve_topic_name(DESCRIPTION)
        self.text = self._in_use = ""
        self._warning = ""  # that the newest description is refused, or is not the one in use
        self._logger, self._on_new = node.get_logger(), on_new
        if subscribed:
            create_input(node, String, DESCRIPTION, self._receive, LATCHED)

    def use(self) -> str:
        """Return the newest description and mark it as the one in use."""
        self._in_use, self._warning = self.text, ""
        return self.text

    def health(self) -> list[Health]:
        """Return a WARN while the newest description is refused or is not the one in use."""
        return [Health(DESCRIPTION, HealthLevel.WARN, self._warning)] if self._warning else []

    def _receive(self, data: bytes) -> None:
        try:
            self.text = published_urdf(str(deserialize_message(data, String).data), self.topic)
        except Exception as error:  # no valid URDF; for malformed bytes rclpy raises several types
            self._warning = f"refused: {one_line(error)}"
            self._logger.error(self._warning)
            return
        self._warning = ""
        if self._in_use and self.text != self._in_use:
            self._warning = (
                f"the description on {self.topic} has changed and is not used before the node is started "
                "again (a managed one: cleaned up and configured)"
            )
            self._logger.warning(self._warning)
        self._on_new()
