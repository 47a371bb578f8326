"""What all nodes share: parameters, states, the robot description, inputs, outputs, services, diagnostics."""

import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.timer import Timer
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from inertial_estimation.errors import ConfigurationError, InertialEstimationError
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.node_options import NodeOptions
from inertial_estimation.replay.node_configs import all_parameters
from inertial_estimation.replay.urdf_source import read_urdf
from inertial_estimation.ros.diagnostics import Diagnostics
from inertial_estimation.ros.node_input import InputKind, NodeInput
from inertial_estimation.ros.parameter_sources import warn_of_lost
from inertial_estimation.ros.parameters import NodeParameters
from inertial_estimation.ros.qos import (
    LATCHED,
    NO_OUTPUT_EVENTS,
    RELIABLE_OUTPUT,
    SENSOR_INPUT,
)
from inertial_estimation.ros.rclpy_internals import (
    HAS_LIFECYCLE,
    LifecycleStates,
    TransitionCallbackReturn,
)
from inertial_estimation.ros.real_time import apply_real_time
from inertial_estimation.signals import Health, HealthLevel

__all__ = ["NodeConfig", "RobotNode", "topic_token"]

MOST_ROUNDS = 5  # of reading in a row, so that timers and services have their turn
LONGEST_ROUND_NS = 100_000_000  # a message stamped later than this is of a wall clock that was set back


class NodeConfig(Protocol):
    """All parameters of a node."""

    @property
    def options(self) -> NodeOptions:
        """Those of the node itself."""
        ...


ConfigT = TypeVar("ConfigT", bound=NodeConfig)


class RobotNode(LifecycleStates, Node, ABC, Generic[ConfigT]):
    """A node that works on one robot: parameters, conversion, call, publish.

    A subclass says what is made of the robot description, which comes from the parameter `urdf`, or else
    from the topic `robot_description`. A node works as soon as it has the description, or, with the parameter
    `managed`, when its lifecycle says so: configured, it has checked all names and reads its inputs; active,
    it publishes.

    Attributes:
        name: Default name of the node.
        config_class: Dataclass of all its parameters.
        works_inactive: Whether it goes on estimating while it must not publish, so that it is up to date when
            it may.
        housekeeping: Called when a result has gone out and time is free.
    """

    name: str
    config_class: type[Any]
    works_inactive = True
    housekeeping: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, **node_arguments: Any) -> None:
        """Declare the parameters and, when the description is at hand and it is not managed, start.

        Args:
            **node_arguments: Passed on to rclpy's Node.

        Raises:
            ~inertial_estimation.errors.InertialEstimationError: If a parameter or a name is wrong.
        """
        Node.__init__(self, self.name, **node_arguments)
        warn_of_lost(self, sys.argv)
        self._parameters_declared: NodeParameters[ConfigT] = NodeParameters(
            self, self.config_class, all_parameters()
        )
        self._parameters_declared.on_change(self._on_parameter)
        self._configured = False
        self._active = not self.managed
        self._description = ""
        self._undo: list[Callable[[], Any]] = []  # destroys what was created since the node was configured
        self._inputs: list[NodeInput] = []
        self._kept: list[tuple[int, NodeInput, Any]] = []  # received after a round of reading began
        self._sensor_qos = SENSOR_INPUT
        self._woken: Callable[[], None] | None = self._take_inputs
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics = Diagnostics(self, self._all_health, self._waits_for, lambda: self.housekeeping())
        urdf = self._robot_config(self.config).urdf
        if not urdf:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        if self.managed:
            self._begin_lifecycle()
        elif urdf:
            self._configure(read_urdf(urdf))

    @property
    def config(self) -> ConfigT:
        """The parameters now."""
        return self._parameters_declared.config

    @property
    def managed(self) -> bool:
        """Whether a manager sets its lifecycle states."""
        return self.config.options.managed

    @property
    def active(self) -> bool:
        """Whether it may publish."""
        return self._active

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

    def _on_message(self) -> None:
        """Called when one input has been read."""

    def _on_inputs(self) -> None:
        """Called when all inputs that wait have been read."""

    def _on_activated(self) -> None:
        """Called when the node may publish."""

    def add_input(
        self,
        message_type: type,
        topic: str,
        convert: Callable[[Any], Any],
        push: Callable[[Any], None],
        *,
        kind: InputKind = InputKind.SENSOR,
    ) -> None:
        """Subscribe to an input; see `NodeInput`.

        Args:
            message_type: Message class.
            topic: Relative name of the topic.
            convert: To a value, from the serialised message of a sensor, or from the message itself of the
                other kinds; raises MeasurementError.
            push: Takes the value.
            kind: How it is delivered.
        """
        how: dict[str, Any] = {"kind": kind, "sensor_qos": self._sensor_qos, "woken": self._woken}
        node_input = NodeInput(self, message_type, topic, convert, push, **how)
        self._inputs.append(node_input)
        self._undo.append(partial(self.destroy_subscription, node_input.subscription))

    def _take_inputs(self) -> None:
        """Read what has arrived, in the order it arrived, whatever the topic.

        The estimates depend on that order alone: they are the same whether messages are read one by one as
        they come or a period's worth of them at once.
        """
        for _ in range(MOST_ROUNDS):
            if not self._read_round():
                break
        self._on_inputs()
        self.housekeeping()

    def _read_round(self) -> bool:
        """Read one queue after the other; return whether messages came meanwhile.

        A message that came while the queues were read may follow one in a queue that was read before. So it
        is kept for the next round.
        """
        begin_ns = time.time_ns()
        waiting, self._kept = self._kept, []
        for node_input in self._inputs:
            node_input.take_into(waiting)
        if not (self._active or self.works_inactive):
            return False
        waiting.sort(key=itemgetter(0))
        for message in waiting:
            received_ns, node_input, content = message
            if begin_ns < received_ns < begin_ns + LONGEST_ROUND_NS:
                self._kept.append(message)
            else:
                node_input.read(content)
                self._on_message()
        return bool(self._kept)

    def add_output(self, message_type: type, topic: str, qos: QoSProfile = RELIABLE_OUTPUT) -> Publisher:
        """Create the publisher of an output."""
        publisher = self.create_publisher(message_type, topic, qos, event_callbacks=NO_OUTPUT_EVENTS)
        self._undo.append(partial(self.destroy_publisher, publisher))
        return publisher

    def add_timer(self, period: float, call: Callable[[], None]) -> Timer:
        """Create a timer on the steady clock, which neither /clock nor a corrected wall clock disturbs.

        Args:
            period: Its period [s].
            call: What it calls.
        """
        timer = self.create_timer(period, call, clock=self._steady)
        self._undo.append(partial(self.destroy_timer, timer))
        return timer

    def send(self, publisher: Publisher, convert: Callable[[], Any]) -> None:
        """Convert and publish, if anybody listens."""
        if publisher.get_subscription_count():
            publisher.publish(convert())

    def publish(self, publisher: Publisher, message: Any) -> None:
        """Publish, if the node is active; also to latched topics, whose subscribers may join later."""
        if self._active:
            publisher.publish(message)

    def _configure(self, urdf: str) -> None:
        self._start(urdf)
        self._configured = True
        for sentence in apply_real_time(self.config.options.realtime):
            self.get_logger().warning(sentence)
        awaited = {part.name for part in self._health(0) if part.level == HealthLevel.STALE}
        counters = [node_input.counter for node_input in self._inputs]
        for counter in counters:
            counter.required = counter.topic in awaited
        self.get_logger().info(f"started; reads {', '.join(counter.topic for counter in counters)}")

    def _clean_up(self) -> None:
        """Destroy what `_start` created."""
        self._configured = False
        while self._undo:
            self._undo.pop()()
        self._inputs, self._kept = [], []

    def _begin_lifecycle(self) -> None:
        if not HAS_LIFECYCLE:
            raise ConfigurationError(
                "parameter 'managed' is true, but this rclpy has no lifecycle nodes (lifecycle_msgs is "
                "missing): install it, or set managed to false"
            )
        LifecycleStates.__init__(self)
        self.get_logger().info("managed: unconfigured")

    def on_configure(self, state: Any) -> Any:
        """Load and check; fails, saying why, where a name or the robot description is missing."""
        urdf = self._robot_config(self.config).urdf
        try:
            if not urdf and not self._description:
                topic = self.resolve_topic_name("robot_description")
                raise ConfigurationError(f"no robot description on {topic} yet (or set the parameter 'urdf')")
            self._configure(read_urdf(urdf or self._description))
        except InertialEstimationError as error:
            self._clean_up()
            self.get_logger().error(f"not configured: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Publish from now on."""
        self._active = True
        self._on_activated()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: Any) -> Any:
        """Publish nothing from now on."""
        self._active = False
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: Any) -> Any:
        """Forget the robot, as before it was configured."""
        self._clean_up()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """Publish nothing any more."""
        self._active = False
        self._clean_up()
        return TransitionCallbackReturn.SUCCESS

    def _on_description(self, msg: String) -> None:
        self._description = msg.data
        if not (self._configured or self.managed):
            self._configure(read_urdf(msg.data))

    def _on_parameter(self, name: str, value: Any) -> None:
        if self._configured:
            self._set_parameter(name, value)

    def _all_health(self) -> list[Health]:
        if not self._configured:
            message = "unconfigured" if self.managed else "no robot description yet"
            return [Health(self.name, HealthLevel.WARN, message)]
        self._take_inputs()  # after a stall, what waits in the queues is not lost
        parts = self._health(self.get_clock().now().nanoseconds)
        if not self._active:
            parts.append(Health(self.name, HealthLevel.WARN, "inactive: nothing is published"))
        return [*parts, *(node_input.counter.health() for node_input in self._inputs)]

    def _waits_for(self) -> list[str]:
        if not self._configured:
            if self._description or self._robot_config(self.config).urdf:
                return []
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

        self._undo.append(partial(self.destroy_service, self.create_service(Trigger, service, on_request)))

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

        self._undo.append(partial(self.destroy_service, self.create_service(SetBool, service, on_request)))


def topic_token(name: str) -> str:
    """Return a name made fit for a topic: letters, digits and underscores, no digit first."""
    token = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{token}" if not token or token[0].isdigit() else token
