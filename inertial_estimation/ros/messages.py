"""Messages of rclpy read from their bytes, transforms, events, commands and references.

All other conversions are those of `inputs.messages` and `recordings.estimate_messages`, which bags use, too.
"""

import importlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.inputs.messages import MessageReader, set_stamp, stamp_from_msg
from inertial_estimation.recordings.estimate_messages import health_to_msg
from inertial_estimation.signals import BaseReference, BaseState, Health, TorqueCommand
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_quaternion

NORM_TOLERANCE = 0.01  # of a quaternion


def message_class(message_type: str) -> type[Any]:
    """Return the class of the messages of a type, ``package/msg/Name``.

    Raises:
        ConfigurationError: If its package is not in the workspace.
    """
    package, name = message_type.split("/")[0], message_type.split("/")[-1]
    try:
        found: type[Any] = getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"messages of type {message_type} are not known here ({error}): source a workspace that has them"
        ) from error
    return found


def deserializer(message_type: type) -> Callable[[bytes], Any]:
    """Return what builds messages of a class from their bytes."""
    return partial(deserialize_message, message_type=message_type)


def type_name(message_type: type) -> str:
    """Return the name of a message class (``package/msg/Name``)."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"


def message_reader(message_type: type, convert: Callable[[Any], Any] | None = None) -> Callable[[bytes], Any]:
    """Return what reads serialised messages of a class, by a conversion or that registered for the type."""
    return MessageReader(type_name(message_type), deserializer(message_type), convert).read


def base_state_to_transform(state: BaseState, world_frame: str, base_frame: str) -> TransformStamped:
    """Convert the pose of the base to the transform world -> base."""
    msg = TransformStamped(child_frame_id=base_frame)
    set_stamp(msg.header.stamp, state.stamp_ns)
    msg.header.frame_id = world_frame
    t, q = msg.transform.translation, msg.transform.rotation
    t.x, t.y, t.z = state.p_WB.tolist()
    q.x, q.y, q.z, q.w = state.quaternion_xyzw.tolist()
    return msg


def event_to_array(event: Health, stamp_ns: int, node_name: str) -> DiagnosticArray:
    """Convert an event of a node to diagnostic_msgs/DiagnosticArray with one status."""
    msg = DiagnosticArray(status=[health_to_msg(event, node_name, DiagnosticStatus(), KeyValue)])
    set_stamp(msg.header.stamp, stamp_ns)
    return msg


def torque_command_to_msg(command: TorqueCommand) -> JointState:
    """Convert joint torques to sensor_msgs/JointState: effort [Nm] by joint name."""
    msg = JointState(name=list(command.names), effort=command.tau.tolist())
    set_stamp(msg.header.stamp, command.stamp_ns)
    return msg


def torque_command_from_msg(msg: JointState) -> TorqueCommand:
    """Inverse of `torque_command_to_msg`; positions and velocities are not read.

    Raises:
        MeasurementError: If there is not one effort per name.
    """
    return TorqueCommand(stamp_from_msg(msg.header.stamp), tuple(msg.name), np.array(msg.effort))


def base_reference_from_msg(msg: PoseStamped) -> BaseReference:
    """Inverse of `estimate_messages.base_reference_to_msg`.

    Not read are x, y and the yaw of R = Rz(yaw) Ry(pitch) Rx(roll).

    Raises:
        MeasurementError: If the height is not finite, or the quaternion is not of unit norm.
    """
    q = msg.pose.orientation
    norm = math.hypot(q.x, q.y, q.z, q.w)  # does not overflow
    if not abs(norm - 1.0) < NORM_TOLERANCE:
        raise MeasurementError(f"the orientation of a base reference has norm {norm:g}, expected 1")
    R_WB = rotation_from_quaternion(np.array((q.x, q.y, q.z, q.w)))
    return BaseReference(msg.pose.position.z, *roll_pitch_of(R_WB))


def walk_command_from_msg(msg: Float64MultiArray) -> WalkCommand:
    """Convert std_msgs/Float64MultiArray to a walk command: data [number of steps, step length in m].

    Raises:
        MeasurementError: If there are not two numbers, or the first is no count.
    """
    data = [float(value) for value in msg.data]
    if len(data) != 2 or not data[0].is_integer():
        raise MeasurementError(f"walk command {data}, expected [number of steps, length of one in m]")
    return WalkCommand(int(data[0]), data[1])


def clock_to_msg(stamp_ns: int) -> Clock:
    """Convert the time of a simulation to rosgraph_msgs/Clock."""
    msg = Clock()
    set_stamp(msg.clock, stamp_ns)
    return msg
