"""A node that owns one pipeline: pushes what arrives, ticks, publishes what the tick returned."""

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.configuration.node_options import TIMER, PipelineNodeOptions
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.parameters import iterate_parameters
from inertial_estimation.ros.phase_lock import PhaseLock
from inertial_estimation.ros.qos import sensor_input
from inertial_estimation.ros.robot_node import NodeConfig, RobotNode, topic_token
from inertial_estimation.ros.serialized import imu_from_bytes, joints_from_bytes, wrench_from_bytes
from inertial_estimation.signals import NANOSECONDS, Health, seconds

__all__ = [
    "EstimatorNode",
    "EstimatorPipeline",
    "Pipeline",
    "PipelineNode",
    "PipelineNodeConfig",
    "PipelineParameters",
]


class Pipeline(Protocol):
    """What a node needs of a pipeline; all have more."""

    def tick(self, now_ns: int) -> Sequence[Any]:
        """Return the result of every step completed since the last tick."""
        ...

    def health(self, now_ns: int) -> list[Health]:
        """Return the state of inputs, by topic, and of the whole."""
        ...

    def set_parameter(self, name: str, value: object) -> None:
        """Change a parameter declared `runtime`."""
        ...

    def reset(self) -> None:
        """Forget state and buffered readings, as at start."""
        ...

    def push_joints(self, reading: Any) -> None:
        """Take a joint state."""
        ...

    def push_wrench(self, contact: str, sample: Any) -> None:
        """Take a wrench at a contact."""
        ...


class EstimatorPipeline(Pipeline, Protocol):
    """A pipeline that reads the IMU as well."""

    def push_imu(self, sample: Any) -> None:
        """Take a reading of the IMU."""
        ...


PipelineT = TypeVar("PipelineT", bound=Pipeline)
EstimatorT = TypeVar("EstimatorT", bound=EstimatorPipeline)


class PipelineParameters(Protocol):
    """Parameters of a pipeline."""

    @property
    def rate(self) -> float:
        """Highest rate of its steps [Hz]."""
        ...

    @property
    def robot(self) -> RobotConfig:
        """What describes the robot."""
        ...


class PipelineNodeConfig(NodeConfig, Protocol):
    """All parameters of a node that owns a pipeline."""

    @property
    def options(self) -> PipelineNodeOptions:
        """Those of the node itself."""
        ...

    @property
    def pipeline(self) -> PipelineParameters:
        """Those of the pipeline."""
        ...


PipelineConfigT = TypeVar("PipelineConfigT", bound=PipelineNodeConfig)


class PipelineNode(RobotNode[PipelineConfigT], Generic[PipelineConfigT, PipelineT]):
    """A node that owns one pipeline, read and ticked by a timer at the pipeline's rate, or on every arrival.

    Steps follow the stamps of the data and the order of the messages, so the trigger changes no result. A
    timer takes less of the processor: waiting for a message costs as much as a step of an estimator, reading
    one that has arrived a microsecond.

    Attributes:
        node_options: Class of the parameters the pipeline does not know.
    """

    node_options: type[PipelineNodeOptions]
    pipeline: PipelineT

    @abstractmethod
    def _build(self, config: PipelineConfigT, urdf: str) -> PipelineT:
        """Build the pipeline."""

    @abstractmethod
    def _create_interfaces(self) -> None:
        """Create publishers, services, and the inputs besides joints and wrenches."""

    @abstractmethod
    def _publish(self, results: Sequence[Any]) -> None:
        """Publish what one tick returned, in order."""

    def _robot_config(self, config: PipelineConfigT) -> RobotConfig:
        return config.pipeline.robot

    def _start(self, urdf: str) -> None:
        self._of_node = {spec.name for spec in iterate_parameters(self.node_options)}
        self._now, self._now_ns, self._completed_ns = self.get_clock().now, 0, 0
        self.pipeline = self._build(self.config, urdf)
        options, period = self.config.options, 1.0 / self.config.pipeline.rate
        polled = options.trigger == TIMER
        self._woken = None if polled else self._take_inputs
        self._sensor_qos = sensor_input(options.input_rate, period if polled else 0.0)
        self._create_interfaces()
        self.add_trigger("~/reset", self._reset)
        self._create_inputs(self._robot_config(self.config))
        if polled:
            self._timer, self._lock = self.add_timer(period, self._on_timer), PhaseLock(period)

    def _create_inputs(self, robot: RobotConfig) -> None:
        self.add_input(JointState, "joint_states", joints_from_bytes, self.pipeline.push_joints)
        for contact in robot.contacts:
            push = _push_to_contact(self.pipeline, contact)
            self.add_input(WrenchStamped, f"{topic_token(contact)}/wrench", wrench_from_bytes, push)

    def _on_timer(self) -> None:
        begin_ns, self._completed_ns = time.time_ns(), 0
        self._take_inputs()
        if self._completed_ns:
            period = self._lock.next_period(seconds(begin_ns - self._completed_ns))
            self._timer.timer_period_ns = round(NANOSECONDS * period)

    def _take_inputs(self) -> None:
        self._now_ns = self._now().nanoseconds
        super()._take_inputs()

    def _tick(self) -> None:
        results = self.pipeline.tick(self._now_ns)
        if results:
            self._completed_ns = self._inputs.received_ns
            if self.active:
                self._publish(results)

    def _reset(self) -> str:
        self.pipeline.reset()
        return "reset"

    def _set_parameter(self, name: str, value: Any) -> None:
        if name not in self._of_node:
            self.pipeline.set_parameter(name, value)

    def _health(self, now_ns: int) -> list[Health]:
        return self.pipeline.health(now_ns)


class EstimatorNode(PipelineNode[PipelineConfigT, EstimatorT], Generic[PipelineConfigT, EstimatorT]):
    """A pipeline node that reads the IMU as well.

    It ticks after every message, as a replay does: a step that gives up waiting for an input does so at the
    same message, however many are read at once.
    """

    def _create_inputs(self, robot: RobotConfig) -> None:
        for topic in robot.imus:
            self.add_input(Imu, topic, imu_from_bytes, self.pipeline.push_imu)
        super()._create_inputs(robot)

    def _on_message(self) -> None:
        self._tick()


def _push_to_contact(pipeline: Pipeline, contact: str) -> Callable[[Any], None]:
    def push(sample: Any) -> None:
        pipeline.push_wrench(contact, sample)

    return push
