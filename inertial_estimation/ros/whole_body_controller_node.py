"""Node `whole_body_controller`: joint torques from the estimates of base and inertias."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from geometry_msgs.msg import InertiaStamped, PoseStamped, QuaternionStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from inertial_estimation.configuration.node_options import ControllerNodeOptions
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.controller_pipeline import ControllerPipeline
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.parameters import section
from inertial_estimation.ros.command_messages import (
    base_reference_from_msg,
    effort_array_to_msg,
    torque_command_to_msg,
    walk_command_from_msg,
)
from inertial_estimation.ros.messages import joints_from_msg
from inertial_estimation.ros.node_input import InputKind
from inertial_estimation.ros.payload_messages import hold_from_msg
from inertial_estimation.ros.pipeline_node import PipelineNode
from inertial_estimation.ros.robot_node import topic_token
from inertial_estimation.ros.serialized import (
    base_state_from_bytes,
    link_inertia_from_bytes,
    orientation_from_bytes,
)
from inertial_estimation.signals import Health, HealthLevel, LinkInertia, TorqueCommand

__all__ = ["ControllerNodeConfig", "WholeBodyControllerNode"]

COMMAND = InputKind.COMMAND


@dataclass(frozen=True)
class ControllerNodeConfig:
    """All parameters of the node."""

    pipeline: ControllerConfig = section(ControllerConfig, prefix="")
    options: ControllerNodeOptions = section(ControllerNodeOptions, prefix="")


class WholeBodyControllerNode(PipelineNode[ControllerNodeConfig, ControllerPipeline]):
    """Publishes the torques the controller pipeline answers with."""

    name = "whole_body_controller"
    config_class = ControllerNodeConfig
    node_options = ControllerNodeOptions
    works_inactive = False  # what it integrates would wind up

    def _build(self, config: ControllerNodeConfig, urdf: str) -> ControllerPipeline:
        return ControllerPipeline(config.pipeline, urdf)

    def _create_interfaces(self) -> None:
        pipeline = self.pipeline
        self._create_command_output(self.config.options)
        config = self.config.pipeline
        self._unheard = set(config.inertias.links) if self.config.options.await_inertias else set()
        if config.robot.floating_base:
            self.add_input(
                QuaternionStamped, "base_orientation", orientation_from_bytes, pipeline.push_orientation
            )
            self.add_input(Odometry, "base_state", base_state_from_bytes, pipeline.push_base_state)
        for link in config.inertias.links:
            topic = f"link_inertias/{topic_token(link)}"
            self.add_input(InertiaStamped, topic, partial(_inertia_of, link), self._push_inertia)
        push_joints, push_base = pipeline.push_joint_reference, pipeline.push_base_reference
        self.add_input(JointState, "joint_reference", joints_from_msg, push_joints, kind=COMMAND)
        self.add_input(PoseStamped, "base_reference", base_reference_from_msg, push_base, kind=COMMAND)
        push_walk = pipeline.push_walk_command
        self.add_input(Float64MultiArray, "walk_command", walk_command_from_msg, push_walk, kind=COMMAND)
        self.add_input(Bool, "hold", hold_from_msg, pipeline.push_hold, kind=InputKind.LATCHED)

    def _create_command_output(self, options: ControllerNodeOptions) -> None:
        self._command_to_msg: Callable[[TorqueCommand], JointState | Float64MultiArray]
        if options.command == "joint_state":
            self._command = self.add_output(JointState, "joint_torque_commands")
            self._command_to_msg = partial(torque_command_to_msg, msg=JointState())
            return
        joints = options.command_joints
        left_out = _check_command_joints(joints, self.pipeline.robot.joint_names)
        if left_out:
            self.get_logger().warning(
                f"no torque is sent for {listing(left_out)}: not in 'command_joints', but taken to be driven"
            )
        self._command = self.add_output(Float64MultiArray, "joint_effort_commands")
        self._command_to_msg = partial(effort_array_to_msg, joints=joints, msg=Float64MultiArray())

    def _on_inputs(self) -> None:
        if not self._unheard:  # else on the hoist: what the controller integrates would wind up
            self._tick()

    def activated(self) -> None:
        """Begin anew: what was integrated belongs to another time."""
        self.pipeline.reset()

    def _publish(self, results: Sequence[TorqueCommand]) -> None:
        for command in results:
            self.send(self._command, partial(self._command_to_msg, command))

    def _push_inertia(self, stamped: tuple[int, LinkInertia]) -> None:
        self._unheard.discard(stamped[1].link)
        self.pipeline.push_inertia(*stamped)

    def _health(self, now_ns: int) -> list[Health]:
        parts = super()._health(now_ns)
        if not self._unheard:
            return parts
        awaited = [f"link_inertias/{topic_token(link)}" for link in self._unheard]
        message = "no command is sent before inertias have arrived (await_inertias)"
        return [*parts, *(Health(topic, HealthLevel.STALE, message) for topic in sorted(awaited))]


def _check_command_joints(joints: Sequence[str], driven: Sequence[str]) -> list[str]:
    """Return the joints of the robot that are not in the order of an effort array.

    Raises:
        ConfigurationError: If the order is empty, names a joint twice, or one the robot does not have.
    """
    unknown = [joint for joint in joints if joint not in driven]
    twice = sorted({joint for joint in joints if joints.count(joint) > 1})
    problems = ["it is empty, but 'command' is 'effort_array'"] if not joints else []
    problems += [f"it has {listing(unknown)}, which the robot does not"] if unknown else []
    problems += [f"it has {listing(twice)} more than once"] if twice else []
    if problems:
        raise ConfigurationError(
            f"'command_joints': {'; '.join(problems)}; expected joints in the order of the array, out of "
            f"{listing(driven, limit=200)}"
        )
    return [joint for joint in driven if joint not in joints]


def _inertia_of(link: str, data: bytes) -> tuple[int, LinkInertia]:
    """Take the link from the topic: the frame in the message may carry a prefix."""
    stamp_ns, inertia = link_inertia_from_bytes(data)
    return stamp_ns, replace(inertia, link=link)
