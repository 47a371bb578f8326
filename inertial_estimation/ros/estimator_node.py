"""What both nodes share: parameters, the robot description, counted inputs, the timer, diagnostics."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from inertial_estimation.errors import InertialEstimationError, MeasurementError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.replay.node_configs import all_parameters
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.ros.diagnostics import Diagnostics, InputCounter
from inertial_estimation.ros.parameters import NodeParameters
from inertial_estimation.ros.qos import (
    LATCHED,
    NO_INPUT_EVENTS,
    NO_OUTPUT_EVENTS,
    RELIABLE_OUTPUT,
    SENSOR_INPUT,
)
from inertial_estimation.ros.serialized import imu_from_bytes, joints_from_bytes, wrench_from_bytes
from inertial_estimation.signals import Health, HealthLevel

__all__ = ["EstimatorNode", "Pipeline", "topic_token"]


class Pipeline(Protocol):
    """What a node needs of a pipeline; both have more."""

    def tick(self, now_ns: int) -> Sequence[Any]:
        """Return the estimate of every step completed since the last tick."""
        ...

    def health(self, now_ns: int) -> list[Health]:
        """Return the state of inputs, by topic, and estimator; STALE is an input that must still arrive."""
        ...

    def set_parameter(self, name: str, value: object) -> None:
        """Change a parameter declared `runtime`."""
        ...

    def reset(self) -> None:
        """Forget state and buffered readings, as at start."""
        ...

    def push_imu(self, sample: Any) -> None:
        """Take a reading of the IMU."""
        ...

    def push_joints(self, reading: Any) -> None:
        """Take a joint state."""
        ...

    def push_wrench(self, contact: str, sample: Any) -> None:
        """Take a wrench at a contact."""
        ...


ConfigT = TypeVar("ConfigT")
PipelineT = TypeVar("PipelineT", bound=Pipeline)


class EstimatorNode(Node, ABC, Generic[ConfigT, PipelineT]):
    """A node that owns one pipeline: parameters, conversion, call, publish.

    A subclass says how to build the pipeline and what to publish. The node starts estimating once it has
    a robot description: from the parameter `urdf`, or else from the topic `robot_description`.

    Attributes:
        name: Default name of the node.
        config_class: Dataclass of all its parameters.
        node_parameters: Names of the parameters the pipeline does not know.
    """

    name: str
    config_class: type[Any]
    node_parameters: frozenset[str] = frozenset()

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters and, when the description is at hand, start.

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
        self.pipeline: PipelineT | None = None
        self._inputs: list[InputCounter] = []
        self._diagnostics = Diagnostics(self, self._health, self._waits_for)
        urdf = self._robot_config(self.config).urdf
        if urdf:
            self._start(read_urdf(urdf))
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
    def _build(self, config: ConfigT, urdf: str) -> PipelineT:
        """Build the pipeline."""

    @abstractmethod
    def _rate(self, config: ConfigT) -> float:
        """Return the rate of the timer [Hz]."""

    @abstractmethod
    def _create_interfaces(self, pipeline: PipelineT) -> None:
        """Create the publishers, services and the inputs only this node has."""

    @abstractmethod
    def _publish(self, estimates: Sequence[Any]) -> None:
        """Publish what one tick returned, in order."""

    def _start(self, urdf: str) -> None:
        self.pipeline = self._build(self.config, urdf)
        robot = self._robot_config(self.config)
        pipeline = self.pipeline
        self._create_interfaces(pipeline)
        self.add_trigger("~/reset", self._reset)
        self._create_inputs(robot, pipeline)
        awaited = {part.name for part in pipeline.health(0) if part.level == HealthLevel.STALE}
        for counter in self._inputs:
            counter.required = counter.topic in awaited
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / self._rate(self.config), self._on_timer, clock=steady)
        self.get_logger().info(f"started; reads {', '.join(counter.topic for counter in self._inputs)}")

    def _create_inputs(self, robot: RobotConfig, pipeline: PipelineT) -> None:
        if robot.imu_frame:
            self.add_input(Imu, "imu/data", imu_from_bytes, pipeline.push_imu)
        self.add_input(JointState, "joint_states", joints_from_bytes, pipeline.push_joints)
        for contact in robot.contacts:
            push = _push_to_contact(pipeline, contact)
            self.add_input(WrenchStamped, f"{topic_token(contact)}/wrench", wrench_from_bytes, push)

    def add_input(
        self,
        message_type: type,
        topic: str,
        convert: Callable[[Any], Any],
        push: Callable[[Any], None],
        *,
        serialized: bool = True,
    ) -> None:
        """Subscribe to an input; what cannot be converted is dropped and counted.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            convert: To a value, from the serialised message or the message; raises MeasurementError.
            push: Takes the value.
            serialized: Whether `convert` takes bytes.
        """
        counter = InputCounter(topic)
        self._inputs.append(counter)

        def on_message(msg: Any) -> None:
            counter.received += 1
            try:
                push(convert(msg))
            except MeasurementError as error:
                counter.count_malformed(str(error))

        self.create_subscription(
            message_type, topic, on_message, SENSOR_INPUT, event_callbacks=NO_INPUT_EVENTS, raw=serialized
        )

    def add_output(self, message_type: type, topic: str) -> Publisher:
        """Create the publisher of an output."""
        return self.create_publisher(message_type, topic, RELIABLE_OUTPUT, event_callbacks=NO_OUTPUT_EVENTS)

    @staticmethod
    def send(publisher: Publisher, convert: Callable[[], Any]) -> None:
        """Convert and publish, if anybody listens."""
        if publisher.get_subscription_count():
            publisher.publish(convert())

    def _reset(self) -> str:
        assert self.pipeline is not None
        self.pipeline.reset()
        return "reset"

    def _on_description(self, msg: String) -> None:
        if self.pipeline is None:
            self._start(read_urdf(msg.data))

    def _on_timer(self) -> None:
        assert self.pipeline is not None
        estimates = self.pipeline.tick(self.get_clock().now().nanoseconds)
        if estimates:
            self._publish(estimates)

    def _on_parameter(self, name: str, value: Any) -> None:
        if self.pipeline is not None and name not in self.node_parameters:
            self.pipeline.set_parameter(name, value)

    def _health(self) -> list[Health]:
        if self.pipeline is None:
            return [_not_started()]
        parts = self.pipeline.health(self.get_clock().now().nanoseconds)
        return [*parts, *(counter.health() for counter in self._inputs)]

    def _waits_for(self) -> list[str]:
        if self.pipeline is None:
            return [f"{self.resolve_topic_name('robot_description')} (or set the parameter 'urdf')"]
        missing = [counter.topic for counter in self._inputs if counter.required and not counter.received]
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


def _push_to_contact(pipeline: Pipeline, contact: str) -> Callable[[Any], None]:
    def push(sample: Any) -> None:
        pipeline.push_wrench(contact, sample)

    return push


def _not_started() -> Health:
    return Health("estimator", HealthLevel.WARN, "no robot description yet")
