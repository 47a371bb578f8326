"""What all nodes share: parameters, the robot description, counted inputs, outputs, services, diagnostics."""

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from inertial_estimation.errors import InertialEstimationError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.replay.node_configs import all_parameters
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.ros.diagnostics import Diagnostics
from inertial_estimation.ros.node_input import NodeInput
from inertial_estimation.ros.parameter_sources import warn_of_lost
from inertial_estimation.ros.parameters import NodeParameters
from inertial_estimation.ros.qos import (
    LATCHED,
    NO_OUTPUT_EVENTS,
    RELIABLE_OUTPUT,
)
from inertial_estimation.signals import Health, HealthLevel

__all__ = ["RobotNode", "topic_token"]

ConfigT = TypeVar("ConfigT")


class RobotNode(Node, ABC, Generic[ConfigT]):
    """A node that works on one robot: parameters, conversion, call, publish.

    A subclass says what is made of the robot description, which comes from the parameter `urdf`, or else
    from the topic `robot_description`.

    Attributes:
        name: Default name of the node.
        config_class: Dataclass of all its parameters.
    """

    name: str
    config_class: type[Any]

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters and, when the description is at hand, start.

        Args:
            **node_arguments: Passed on to rclpy's Node.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a parameter or a name is wrong.
        """
        super().__init__(self.name, **node_arguments)
        warn_of_lost(self, sys.argv)
        self._parameters_declared: NodeParameters[ConfigT] = NodeParameters(
            self, self.config_class, all_parameters()
        )
        self._parameters_declared.on_change(self._on_parameter)
        self._started = False
        self._inputs: list[NodeInput] = []
        self._diagnostics = Diagnostics(self, self._all_health, self._waits_for)
        urdf = self._robot_config(self.config).urdf
        if urdf:
            self._begin(read_urdf(urdf))
        else:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    @property
    def config(self) -> ConfigT:
        """The parameters now."""
        return self._parameters_declared.config

    @abstractmethod
    def _robot_config(self, config: ConfigT) -> RobotConfig:
        """Return the part of the parameters that describes the robot."""

    @abstractmethod
    def _start(self, urdf: str) -> None:
        """Make of the robot description what the node owns; create publishers, services and inputs."""

    @abstractmethod
    def _set_parameter(self, name: str, value: Any) -> None:
        """Take over a parameter that changed while running."""

    @abstractmethod
    def _health(self, now_ns: int) -> list[Health]:
        """Return the state of every part, inputs by topic; STALE is an input that must still arrive."""

    def _on_input(self) -> None:
        """Called when inputs have been taken."""

    def add_input(
        self,
        message_type: type,
        topic: str,
        convert: Callable[[Any], Any],
        push: Callable[[Any], None],
        *,
        command: bool = False,
        latched: bool = False,
    ) -> None:
        """Subscribe to an input; see `NodeInput`.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            convert: To a value, from the serialised message or, of a command, the message; raises
                MeasurementError.
            push: Takes the value.
            command: Whether it is a command, delivered reliably, or sensor data.
            latched: Whether it is a command that holds until the next one.
        """
        how = {"command": command, "latched": latched}
        self._inputs.append(
            NodeInput(self, message_type, topic, convert, push, **how, woken=self._take_inputs)
        )

    def _take_inputs(self) -> None:
        for node_input in self._inputs:
            node_input.take_waiting()
        self._on_input()

    def add_output(self, message_type: type, topic: str, qos: QoSProfile = RELIABLE_OUTPUT) -> Publisher:
        """Create the publisher of an output."""
        return self.create_publisher(message_type, topic, qos, event_callbacks=NO_OUTPUT_EVENTS)

    @staticmethod
    def send(publisher: Publisher, convert: Callable[[], Any]) -> None:
        """Convert and publish, if anybody listens."""
        if publisher.get_subscription_count():
            publisher.publish(convert())

    def _begin(self, urdf: str) -> None:
        self._start(urdf)
        self._started = True
        awaited = {part.name for part in self._health(0) if part.level == HealthLevel.STALE}
        counters = [node_input.counter for node_input in self._inputs]
        for counter in counters:
            counter.required = counter.topic in awaited
        self.get_logger().info(f"started; reads {', '.join(counter.topic for counter in counters)}")

    def _on_description(self, msg: String) -> None:
        if not self._started:
            self._begin(read_urdf(msg.data))

    def _on_parameter(self, name: str, value: Any) -> None:
        if self._started:
            self._set_parameter(name, value)

    def _all_health(self) -> list[Health]:
        if not self._started:
            return [Health(self.name, HealthLevel.WARN, "no robot description yet")]
        parts = self._health(self.get_clock().now().nanoseconds)
        return [*parts, *(node_input.counter.health() for node_input in self._inputs)]

    def _waits_for(self) -> list[str]:
        if not self._started:
            return [f"{self.resolve_topic_name('robot_description')} (or set the parameter 'urdf')"]
        counters = [node_input.counter for node_input in self._inputs]
        missing = [counter.topic for counter in counters if counter.required and not counter.received]
        if self.get_parameter("use_sim_time").value and not self.get_clock().now().nanoseconds:
            missing.append("/clock")
        return [self.resolve_topic_name(name) for name in missing]

    def add_trigger(self, service: str, call: Callable[[], str]) -> None:
        """Offer a Trigger service; what the call raises becomes the message of a failure.

        Args:
            service: Relative name (``~/reset``).
            call: Does it, and returns the answer's message.
        """

        def on_request(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                response.message = call()
                response.success = True
            except (InertialEstimationError, OSError) as error:
                response.message = str(error)
                response.success = False
            return response

        self.create_service(Trigger, service, on_request)

    def add_switch(self, service: str, call: Callable[[bool], str]) -> None:
        """Offer a SetBool service."""

        def on_request(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
            try:
                response.message = call(bool(request.data))
                response.success = True
            except InertialEstimationError as error:
                response.message = str(error)
                response.success = False
            return response

        self.create_service(SetBool, service, on_request)


def topic_token(name: str) -> str:
    """Return a name made fit for a topic: letters, digits and underscores, no digit first."""
    token = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{token}" if not token or token[0].isdigit() else token
