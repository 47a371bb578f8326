"""A node that owns one pipeline: pushes what arrives, ticks, publishes what the tick returned."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.ros.robot_node import ConfigT, RobotNode, topic_token
from inertial_estimation.ros.serialized import imu_from_bytes, joints_from_bytes, wrench_from_bytes
from inertial_estimation.signals import Health

__all__ = ["EstimatorNode", "EstimatorPipeline", "Pipeline", "PipelineNode"]


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


class PipelineNode(RobotNode[ConfigT], Generic[ConfigT, PipelineT]):
    """A node that owns one pipeline and ticks it on every arrival.

    Steps follow the stamps of the data, so how ticks fall changes no result; on arrival a step is done as
    soon as its last input is there, which a timer would only delay.

    Attributes:
        node_parameters: Names of the parameters the pipeline does not know.
    """

    node_parameters: frozenset[str] = frozenset()
    pipeline: PipelineT

    @abstractmethod
    def _build(self, config: ConfigT, urdf: str) -> PipelineT:
        """Build the pipeline."""

    @abstractmethod
    def _create_interfaces(self) -> None:
        """Create publishers, services, and the inputs besides joints and wrenches."""

    @abstractmethod
    def _publish(self, results: Sequence[Any]) -> None:
        """Publish what one tick returned, in order."""

    def _start(self, urdf: str) -> None:
        self.pipeline = self._build(self.config, urdf)
        self._create_interfaces()
        self.add_trigger("~/reset", self._reset)
        self._create_inputs(self._robot_config(self.config))
        self._now = self.get_clock().now

    def _create_inputs(self, robot: RobotConfig) -> None:
        self.add_input(JointState, "joint_states", joints_from_bytes, self.pipeline.push_joints)
        for contact in robot.contacts:
            push = _push_to_contact(self.pipeline, contact)
            self.add_input(WrenchStamped, f"{topic_token(contact)}/wrench", wrench_from_bytes, push)

    def _on_input(self) -> None:
        results = self.pipeline.tick(self._now().nanoseconds)
        if results:
            self._publish(results)

    def _reset(self) -> str:
        self.pipeline.reset()
        return "reset"

    def _set_parameter(self, name: str, value: Any) -> None:
        if name not in self.node_parameters:
            self.pipeline.set_parameter(name, value)

    def _health(self, now_ns: int) -> list[Health]:
        return self.pipeline.health(now_ns)


class EstimatorNode(PipelineNode[ConfigT, EstimatorT], Generic[ConfigT, EstimatorT]):
    """A pipeline node that reads the IMU as well."""

    def _create_inputs(self, robot: RobotConfig) -> None:
        if robot.imu_frame:
            self.add_input(Imu, "imu/data", imu_from_bytes, self.pipeline.push_imu)
        super()._create_inputs(robot)


def _push_to_contact(pipeline: Pipeline, contact: str) -> Callable[[Any], None]:
    def push(sample: Any) -> None:
        pipeline.push_wrench(contact, sample)

    return push
