"""Base of all nodes: parameters, robot description, inputs and diagnostics."""

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from rclpy.node import Node

from inertial_estimation.configuration.node_configs import all_parameters
from inertial_estimation.configuration.node_options import NodeOptions
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.models.robot_config import RobotDescriptionConfig
from inertial_estimation.models.urdf import urdf_warnings
from inertial_estimation.ros.description_input import DescriptionInput
from inertial_estimation.ros.diagnostics import Diagnostics
from inertial_estimation.ros.managed_node import ManagedNode
from inertial_estimation.ros.messages import message_reader
from inertial_estimation.ros.node_inputs import InputKind, NodeInput, NodeInputs, Take
from inertial_estimation.ros.parameters import NodeParameters
from inertial_estimation.ros.real_time import apply_real_time
from inertial_estimation.signals import Health, HealthLevel

MOST_NAMED = 3  # topics in one message
ROBOT_NAME = re.compile(r"<robot\b[^>]*?\bname\s*=\s*[\"']([^\"']*)")


@dataclass(frozen=True)
class NodeConfig:
    """All parameters of a node.

    Attributes:
        options: Options of the node.
    """

    options: NodeOptions


ConfigT = TypeVar("ConfigT", bound=NodeConfig)


class RobotNode(ManagedNode, Generic[ConfigT]):
    """A node for one robot: it reads parameters, converts inputs, calls its estimator and publishes.

    A subclass builds its pipeline from the robot description, which comes from the parameter `urdf`, or
    otherwise from the topic `robot_description`. A node starts as soon as it has the description or, with
    the parameter `managed`, by the transitions of its lifecycle: a configured node has checked all names and
    reads its inputs; an active node publishes.

    Attributes:
        name: Default name of the node.
        config_class: Dataclass of all its parameters.
        works_inactive: Whether it continues to estimate while inactive, so that its state is up to date on
            activation.
        housekeeping: Called after a result is published, when time is free.
    """

    name: str
    config_class: type[Any]
    works_inactive = True
    housekeeping: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters; start if the description is available and the node is not managed.

        Args:
            **node_arguments: Passed on to rclpy's Node.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a parameter or a name is wrong.
        """
        super().__init__(self.name, **node_arguments)
        self._parameters_declared: NodeParameters[ConfigT] = NodeParameters(
            self, self.config_class, all_parameters()
        )
        self._parameters_declared.on_change(self._on_parameter)
        self._configured = False
        self._description = DescriptionInput(self)
        self._inputs = NodeInputs(self._take_inputs)
        self._diagnostics = Diagnostics(self, self._all_health, self._waits_for, self._on_report_due)
        urdf = self._robot_config(self.config).urdf
        if not urdf:
            self._description.subscribe(self._on_description)
        if self.config.options.managed:
            self.begin_lifecycle()
        elif urdf:
            self.configure()

    @property
    def config(self) -> ConfigT:
        """Current values of the parameters."""
        return self._parameters_declared.config

    @abstractmethod
    def _robot_config(self, config: ConfigT) -> RobotDescriptionConfig:
        """Return the part of the parameters that describes the robot."""

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

    def subscribe(
        self, message_type: type, topic: str, take: Take, kind: InputKind = InputKind.SENSOR
    ) -> NodeInput:
        """Subscribe to an input.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            take: Called with every serialised message and its arrival on the clock of the stamps [ns].
            kind: Kind of delivery.
        """
        node_input = self._inputs.add(self, message_type, topic, take, kind)
        self._undo.append(partial(self.destroy_subscription, node_input.subscription))
        return node_input

    def listen(
        self,
        message_type: type,
        topic: str,
        push: Callable[[Any], None],
        *,
        convert: Callable[[Any], Any] | None = None,
        kind: InputKind = InputKind.SENSOR,
    ) -> None:
        """Subscribe to an input that is taken as values.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            push: Called with the value of every message.
            convert: Converts a message to a value or raises MeasurementError; None selects the conversion
                that `inputs.messages` registers for the type.
            kind: Kind of delivery.
        """
        read = message_reader(message_type, convert)
        self.subscribe(message_type, topic, lambda data, _arrival_ns: push(read(data)), kind)

    def configure(self) -> None:
        """Load, check, and create publishers, services and inputs.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a name is wrong, or there is no robot
                description yet.
        """
        urdf = self._robot_config(self.config).urdf
        if not urdf and not self._description.text:
            topic = self._description.topic
            raise ConfigurationError(f"no robot description on {topic} yet (or set the parameter 'urdf')")
        text = read_urdf(urdf) if urdf else self._description.take()
        for sentence in urdf_warnings(text):
            self.get_logger().warning(sentence)
        name = ROBOT_NAME.search(text)
        self._diagnostics.hardware_id = name[1] if name else ""
        self._start(text)
        self._configured = True
        for sentence in apply_real_time(self.config.options.realtime_priority):
            self.get_logger().warning(sentence)
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

    def _take_inputs(self) -> None:
        """Read the inputs that have arrived, and process them."""
        if self.active or self.works_inactive:
            self._inputs.read(self._on_message)
            self._on_inputs()
        else:
            self._inputs.drop()
        self.housekeeping()

    def _on_description(self) -> None:
        if not (self._configured or self.managed):
            self.configure()

    def _on_parameter(self, name: str, value: Any) -> None:
        if self._configured:
            self._set_parameter(name, value)

    def _on_report_due(self) -> None:
        self._diagnostics.publish()
        self.housekeeping()

    def _all_health(self) -> list[Health]:
        graph = _graph_health(self, [publisher.topic_name for publisher in self._outputs])
        if not self._configured:
            message = "unconfigured" if self.managed else "no robot description yet"
            if self.finalized:
                message = "finalized: shut down for good, start the node anew"
            state = Health(self.name, HealthLevel.WARN, message)
            return [state, *self._description.health(), graph]
        self._take_inputs()  # empties the queues after a stall before they overflow
        parts = self._health(self.get_clock().now().nanoseconds)
        if not self.active:
            parts.append(Health(self.name, HealthLevel.WARN, "inactive: nothing is published"))
        parts += [*self._description.health(), self._inputs.delay.health()]
        return [*parts, graph, *(one.counter.health() for one in self._inputs)]

    def _waits_for(self) -> list[str]:
        if self.finalized:
            return []
        if not self._configured:
            if self._description.text or self._robot_config(self.config).urdf:
                return []
            return [f"{self._description.topic} (or set the parameter 'urdf')"]
        missing = [
            f"{self.resolve_topic_name(one.counter.topic)}{one.counter.waited_in_vain()}"
            for one in self._inputs
            if one.counter.required and not one.counter.received
        ]
        if self.get_parameter("use_sim_time").value and not self.get_clock().now().nanoseconds:
            missing.append(self.resolve_topic_name("/clock"))
        return missing


def _graph_health(node: Node, topics: list[str]) -> Health:
    """Return a warning while another publisher, as of the same node started twice, sends a node's outputs.

    A node that was killed stays in the graph for up to 20 s, so that its successor warns for as long.
    """
    contested = [topic for topic in topics if node.count_publishers(topic) > topics.count(topic)]
    if not contested:
        return Health("graph", HealthLevel.OK, "no other node publishes its outputs")
    said = f"another publisher sends {listing(contested, limit=MOST_NAMED)}, too: was a node started twice?"
    return Health("graph", HealthLevel.WARN, said)
