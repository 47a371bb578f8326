"""Node `whole_body_controller`: joint torques from the estimates of base and inertias."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from geometry_msgs.msg import InertiaStamped, PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from inertial_estimation.control.controller import ControlResult, ControlState
from inertial_estimation.control.health import StepTimes
from inertial_estimation.control.pipeline import ControllerPipeline
from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.recordings.recorded_topics import topic_token
from inertial_estimation.ros.messages import (
    base_reference_from_msg,
    torque_command_from_msg,
    torque_command_to_msg,
    walk_command_from_msg,
)
from inertial_estimation.ros.pipeline_node import PipelineNode
from inertial_estimation.ros.qos import LATCHED, RELIABLE
from inertial_estimation.signals import Health, HealthLevel, StampedInertia, TorqueCommand


class WholeBodyControllerNode(PipelineNode):
    """Publishes the torques of the controller pipeline."""

    name = "whole_body_controller"
    works_inactive = False  # its integrators would wind up
    pipeline: ControllerPipeline

    def _build(self, urdf: str) -> None:
        self.pipeline = ControllerPipeline(self.config.pipeline, urdf)
        self._times = StepTimes(1.0 / self.config.pipeline.rate)
        self._state: ControlState | None = None

    def _subscribe(self) -> None:
        super()._subscribe()
        pipeline, links = self.pipeline, self.config.pipeline.inertias.links
        for link in links:
            topic = f"link_inertias/{topic_token(link)}"
            self.listen(InertiaStamped, topic, partial(self._push_inertia, link))
        if links:
            convert = torque_command_from_msg
            self.listen(JointState, "torque_errors", self._push_torque_errors, convert=convert)
        to_base, to_walk = base_reference_from_msg, walk_command_from_msg
        self.listen(JointState, "joint_reference", pipeline.push_joint_reference, RELIABLE)
        self.listen(PoseStamped, "base_reference", pipeline.push_base_reference, RELIABLE, to_base)
        self.listen(Float64MultiArray, "walk_command", pipeline.push_walk_command, RELIABLE, to_walk)
        self.listen(Bool, "hold", pipeline.push_hold, LATCHED, attrgetter("data"))

    def _advertise(self) -> None:
        self._awaited = self.config.pipeline.inertias.links if self.config.options.await_inertias else ()
        self._without_inertias = set(self._awaited)
        self._convert: Callable[[TorqueCommand], Any]
        names, joints = tuple(self.pipeline.robot.joint_names), self.config.options.command_joints
        if not joints:
            self._command = self.add_output(JointState, "joint_torque_commands")
            self._convert = torque_command_to_msg
            return
        left_out = _check_command_joints(joints, names)
        if left_out:
            self.get_logger().warning(
                f"no torque is sent for {listing(left_out)}: not in 'command_joints', but taken to be driven"
            )
        self._command = self.add_output(Float64MultiArray, "joint_effort_commands")
        places = [names.index(joint) for joint in joints]
        self._convert = lambda command: Float64MultiArray(data=command.tau[places].tolist())

    def _on_message(self) -> None:
        """Tick after all inputs have been read, so that a command uses the newest of them."""

    def _on_inputs(self) -> None:
        if not self._without_inertias:  # while the robot still hangs on its hoist, integrators would wind up
            self._tick()

    def on_activate(self, state: Any) -> Any:
        """Start publishing, after a reset: the integrals of the controller belong to an earlier time."""
        self.pipeline.reset()
        self._state = None
        return super().on_activate(state)

    def _tick(self) -> None:
        steps, begin = self.pipeline.supervisor.counts.steps, time.perf_counter()
        super()._tick()
        count, last = self.pipeline.supervisor.counts.steps - steps, self.pipeline.last
        if count > 0 and last is not None:
            self._times.add((time.perf_counter() - begin) / count, last.stamp_ns)
            self._announce(last)

    def _announce(self, last: ControlResult) -> None:
        """Log that control begins or ends; at most once a second, since a fault may come and go."""
        if self._state is not last.state:
            if last.state is ControlState.CONTROL:
                self.get_logger().info("controls the robot", throttle_duration_sec=1.0)
            elif last.state is ControlState.DAMPING:
                self.get_logger().error(f"damps the joints: {last.reason}", throttle_duration_sec=1.0)
        self._state = last.state

    def _publish(self, results: Sequence[TorqueCommand]) -> None:
        for command in results:
            self.send(self._command, partial(self._convert, command))

    def _push_inertia(self, link: str, stamped: StampedInertia) -> None:
        """Push an inertia of the topic's link, since the frame in the message may have a prefix."""
        self._without_inertias.discard(link)
        self.pipeline.push_inertia(stamped.stamp_ns, replace(stamped.inertia, link=link))

    def _push_torque_errors(self, errors: TorqueCommand) -> None:
        self.pipeline.torque_errors.push(dict(zip(errors.names, errors.tau.tolist(), strict=True)))

    def _health(self, now_ns: int) -> list[Health]:
        parts = [*super()._health(now_ns), self._times.health(now_ns)]
        for link in sorted(self._awaited):
            level, message = HealthLevel.OK, "inertias have arrived"
            if link in self._without_inertias:
                level = HealthLevel.STALE
                message = "no command is sent before inertias have arrived (await_inertias)"
            parts.append(Health(f"link_inertias/{topic_token(link)}", level, message))
        return parts


def _check_command_joints(joints: Sequence[str], driven: Sequence[str]) -> list[str]:
    """Return the driven joints that are not among `joints`, the order of an effort array.

    Raises:
        ConfigurationError: If the order names a joint twice, or one that the robot does not have.
    """
    unknown = [joint for joint in joints if joint not in driven]
    twice = sorted({joint for joint in joints if joints.count(joint) > 1})
    problems = [f"it has {listing(unknown)}, which the robot does not"] if unknown else []
    problems += [f"it has {listing(twice)} more than once"] if twice else []
    if problems:
        raise ConfigurationError(
            f"'command_joints': {'; '.join(problems)}; expected joints in the order of the array, out of "
            f"{listing(driven, limit=200)}"
        )
    return [joint for joint in driven if joint not in joints]
