"""Message conversions of published results and diagnostics.

Inputs and all other types of a recording are converted by `recordings.message_conversion`. Results may be
written into a reused message, since rclpy serialises on publishing and keeps no reference.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped, Vector3Stamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from inertial_estimation.recordings.message_conversion import base_state_to_msg, bytes_reader, set_stamp
from inertial_estimation.signals import BaseEstimate, BaseState, Health, HealthLevel, InertialEstimate
from inertial_estimation.spatial.rotations import rotation_from_quaternion

__all__ = [
    "base_state_to_transform",
    "event_to_msg",
    "health_from_msg",
    "health_to_msg",
    "message_reader",
    "odometry_to_msg",
    "tilt_to_msg",
    "torque_residual_to_msg",
]


def message_reader(
    message_class: type, convert: Callable[[Any], Any] | None = None
) -> Callable[[bytes], Any]:
    """Return a function that reads serialised messages; see `message_conversion.bytes_reader`.

    Args:
        message_class: Class of the messages.
        convert: Message to value, where it is not the conversion registered for the type.
    """
    package = message_class.__module__.partition(".")[0]
    deserialize = partial(deserialize_message, message_type=message_class)
    return bytes_reader(f"{package}/msg/{message_class.__name__}", deserialize, convert)


def tilt_to_msg(estimate: BaseEstimate, msg: Vector3Stamped, base_frame: str) -> Vector3Stamped:
    """Convert the vertical in the base frame, R_WB^T e_z, to geometry_msgs/Vector3Stamped.

    Args:
        estimate: The estimate.
        msg: Message to write into.
        base_frame: Name of the base frame.
    """
    set_stamp(msg.header.stamp, estimate.state.stamp_ns)
    msg.header.frame_id = base_frame
    vector = msg.vector
    vector.x, vector.y, vector.z = estimate.tilt_B.tolist()
    return msg


def odometry_to_msg(estimate: BaseEstimate, msg: Odometry, world_frame: str, base_frame: str) -> Odometry:
    """Convert an estimate to nav_msgs/Odometry with the covariance of its orientation.

    The covariance of small rotations is transformed to world axes, as the message requires:
    R_WB P_B R_WB^T. Position and twist have no estimated covariance; their blocks are zero.

    Args:
        estimate: The estimate.
        msg: Message to write into.
        world_frame: Name of the world frame (`header.frame_id`).
        base_frame: Name of the base frame (`child_frame_id`).
    """
    base_state_to_msg(estimate.state, msg, world_frame, base_frame)
    R_WB = rotation_from_quaternion(estimate.state.quaternion_xyzw)
    covariance = msg.pose.covariance.reshape(6, 6)  # a view
    covariance[3:, 3:] = R_WB @ estimate.tilt_covariance_B @ R_WB.T
    return msg


def base_state_to_transform(state: BaseState, world_frame: str, base_frame: str) -> TransformStamped:
    """Convert the pose of the base to the transform world -> base."""
    msg = TransformStamped()
    set_stamp(msg.header.stamp, state.stamp_ns)
    msg.header.frame_id = world_frame
    msg.child_frame_id = base_frame
    t, q = msg.transform.translation, msg.transform.rotation
    t.x, t.y, t.z = state.p_WB.tolist()
    q.x, q.y, q.z, q.w = state.quaternion_xyzw.tolist()
    return msg


def torque_residual_to_msg(estimate: InertialEstimate, msg: JointState) -> JointState:
    """Convert the innovation, measured minus predicted, to a JointState with effort by row name [Nm, N]."""
    set_stamp(msg.header.stamp, estimate.stamp_ns)
    msg.name = list(estimate.row_names)
    msg.effort = estimate.innovation.tolist()
    return msg


def health_to_msg(health: Health, node_name: str, hardware_id: str = "") -> DiagnosticStatus:
    """Convert the state of one part of a pipeline to diagnostic_msgs/DiagnosticStatus.

    Args:
        health: The state.
        node_name: Name of the node, put before the part's name.
        hardware_id: Name of the robot.

    Returns:
        The message.
    """
    return DiagnosticStatus(
        level=bytes([int(health.level)]),
        name=f"{node_name}: {health.name}",
        message=health.message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=str(value)) for key, value in health.values.items()],
    )


def event_to_msg(event: Health, stamp_ns: int, node_name: str) -> DiagnosticArray:
    """Convert an event to diagnostic_msgs/DiagnosticArray with one status.

    Args:
        event: What has happened, as the state of one part.
        stamp_ns: Stamp of the measurement [ns].
        node_name: Name of the node.
    """
    msg = DiagnosticArray()
    set_stamp(msg.header.stamp, stamp_ns)
    msg.status = [health_to_msg(event, node_name)]
    return msg


def health_from_msg(msg: DiagnosticStatus) -> tuple[str, Health]:
    """Inverse of `health_to_msg`: the name of the node, empty where the status has none, and the state."""
    node_name, separator, part = msg.name.partition(": ")
    if not separator:
        node_name, part = "", msg.name
    level = msg.level[0] if isinstance(msg.level, bytes) else int(msg.level)
    values = {item.key: item.value for item in msg.values}
    return node_name, Health(part, HealthLevel(level), msg.message, values)
