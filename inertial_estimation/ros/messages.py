"""Conversions of rclpy messages: reading of bytes; estimates, transforms, health, commands, references.

All other conversions are in `inputs.messages`, which bags use, too. Functions that write into a given message
return that message, so that it can be reused.
"""

import importlib
import math
from collections.abc import Callable, Iterable
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
from inertial_estimation.inputs.messages import (
    MessageReader,
    base_state_to_msg,
    doubles_like,
    set_header,
    set_stamp,
    stamp_from_msg,
)
from inertial_estimation.signals import (
    BaseEstimate,
    BaseReference,
    BaseState,
    Health,
    HealthLevel,
    InertialEstimate,
    TorqueCommand,
)
from inertial_estimation.spatial.rotations import (
    quaternion_from_rotation,
    roll_pitch_of,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
)

NORM_TOLERANCE = 0.01  # largest deviation of a quaternion's norm from one
UNKNOWN_VARIANCE = 1e6  # variance of an unobserved quantity: (1 km)^2 [m^2, m^2/s^2, rad^2/s^2]
LEAST_ROTATION = 1e-8  # variance of a yaw that is zero by definition, as at the start [rad^2]


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
    """Return a function that builds messages of a class from their bytes."""
    return partial(deserialize_message, message_type=message_type)


def type_name(message_type: type) -> str:
    """Return the name of a message class (``package/msg/Name``)."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"


def message_reader(message_type: type, convert: Callable[[Any], Any] | None = None) -> Callable[[bytes], Any]:
    """Return a function that reads serialised messages, by `convert` or the type's own conversion."""
    return MessageReader(type_name(message_type), deserializer(message_type), convert).read


def tilt_to_msg(estimate: BaseEstimate, msg: Any, base_frame: str) -> Any:
    """Convert the vertical in the base frame, R_WB^T e_z, to geometry_msgs/Vector3Stamped."""
    set_header(msg, estimate.state.stamp_ns, base_frame)
    vector = msg.vector
    vector.x, vector.y, vector.z = estimate.tilt_B.tolist()
    return msg


def odometry_to_msg(estimate: BaseEstimate, msg: Any, world_frame: str, base_frame: str) -> Any:
    """Convert an estimate to nav_msgs/Odometry with covariances, `UNKNOWN_VARIANCE` for unknown ones.

    The covariance of small rotations is transformed to world axes, as the message requires:
    R_WB P_B R_WB^T. The covariance of the angular velocity is that of the gyroscope's bias. No variance is
    zero, which a filter that uses the message would take for exact.
    """
    base_state_to_msg(estimate.state, msg, world_frame, base_frame)
    R_WB = rotation_from_quaternion(estimate.state.quaternion_xyzw)
    pose, twist = (part.covariance.reshape(6, 6) for part in (msg.pose, msg.twist))  # views
    pose[:3, :3] = min(estimate.position_variance, UNKNOWN_VARIANCE) * np.eye(3)
    pose[3:, 3:] = R_WB @ estimate.tilt_covariance_B @ R_WB.T + LEAST_ROTATION * np.eye(3)
    velocity = estimate.velocity_covariance_B
    twist[:3, :3] = UNKNOWN_VARIANCE * np.eye(3) if velocity is None else velocity
    across, along = np.nan_to_num(estimate.gyro_bias_variances, nan=UNKNOWN_VARIANCE)
    twist[3:, 3:] = across * np.eye(3) + (along - across) * np.outer(estimate.tilt_B, estimate.tilt_B)
    return msg


def base_state_to_transform(state: BaseState, world_frame: str, base_frame: str) -> TransformStamped:
    """Convert the pose of the base to the transform world -> base."""
    msg = TransformStamped(child_frame_id=base_frame)
    set_stamp(msg.header.stamp, state.stamp_ns)
    msg.header.frame_id = world_frame
    t, q = msg.transform.translation, msg.transform.rotation
    t.x, t.y, t.z = state.p_WB.tolist()
    q.x, q.y, q.z, q.w = state.quaternion_xyzw.tolist()
    return msg


def torque_residual_to_msg(estimate: InertialEstimate, msg: Any) -> Any:
    """Convert the innovation, measured minus predicted, to a JointState with effort by row name [Nm, N]."""
    set_stamp(msg.header.stamp, estimate.stamp_ns)
    msg.name = list(estimate.row_names)
    msg.effort = doubles_like(msg.effort, estimate.innovation)
    return msg


def figures_to_msg(stamp_ns: int, values: Iterable[float], msg: Any) -> Any:
    """Write figures into the positions of a sensor_msgs/JointState whose names are those of the figures."""
    set_stamp(msg.header.stamp, stamp_ns)
    msg.position = doubles_like(msg.position, list(values))
    return msg


def health_to_msg(health: Health, node_name: str, hardware_id: str = "") -> DiagnosticStatus:
    """Convert health of a node's component to a DiagnosticStatus; `hardware_id` is the robot's name."""
    return DiagnosticStatus(
        level=bytes([health.level]),
        name=f"{node_name}: {health.name}",
        message=health.message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=str(value)) for key, value in health.values.items()],
    )


def health_from_msg(msg: Any) -> Health:
    """Convert a diagnostic_msgs/DiagnosticStatus to health, without the name of the node."""
    part = msg.name.partition(": ")[2] or msg.name
    values = {item.key: item.value for item in msg.values}
    return Health(part, HealthLevel(msg.level[0]), msg.message, values)


def event_to_array(event: Health, stamp_ns: int, node_name: str) -> DiagnosticArray:
    """Convert an event of a node to diagnostic_msgs/DiagnosticArray with one status."""
    msg = DiagnosticArray(status=[health_to_msg(event, node_name)])
    set_stamp(msg.header.stamp, stamp_ns)
    return msg


def torque_command_to_msg(command: TorqueCommand) -> JointState:
    """Convert joint torques to sensor_msgs/JointState: effort [Nm] by joint name."""
    msg = JointState(name=list(command.names), effort=command.tau.tolist())
    set_stamp(msg.header.stamp, command.stamp_ns)
    return msg


def torque_command_from_msg(msg: JointState) -> TorqueCommand:
    """Convert a sensor_msgs/JointState to joint torques; positions and velocities are ignored.

    Raises:
        MeasurementError: If there is not one effort per name.
    """
    return TorqueCommand(stamp_from_msg(msg.header.stamp), tuple(msg.name), np.array(msg.effort))


def base_reference_to_msg(reference: BaseReference, msg: Any, stamp_ns: int = 0) -> Any:
    """Convert a base reference to geometry_msgs/PoseStamped, which carries no rates.

    The height is position.z [m], the orientation Ry(pitch) Rx(roll).
    """
    set_stamp(msg.header.stamp, stamp_ns)
    msg.pose.position.z = float(reference.height)
    R = rotation_from_roll_pitch_yaw(reference.roll, reference.pitch, 0.0)
    q = msg.pose.orientation
    q.x, q.y, q.z, q.w = quaternion_from_rotation(R).tolist()
    return msg


def base_reference_from_msg(msg: PoseStamped) -> BaseReference:
    """Convert a geometry_msgs/PoseStamped to a base reference; the inverse of `base_reference_to_msg`.

    x, y and the yaw of R = Rz(yaw) Ry(pitch) Rx(roll) are ignored.

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
