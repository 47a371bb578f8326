"""Conversions of estimates to messages, as the nodes publish them.

As in `inputs.messages`, fields are read and written by name, without rclpy. `*_to_msg` writes into a message
that exists, which may be used again.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from inertial_estimation.inputs.messages import base_state_to_msg, doubles_like, set_header, set_stamp
from inertial_estimation.signals import (
    BaseEstimate,
    BaseReference,
    Health,
    HealthLevel,
    InertialEstimate,
    WrenchSample,
)
from inertial_estimation.spatial.rotations import (
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_roll_pitch_yaw,
)

UNKNOWN_VARIANCE = 1e6  # of what nothing informs [m^2, m^2/s^2, rad^2/s^2]: 1 km, far beyond any base
LEAST_ROTATION = 1e-8  # variance of a yaw that is zero by definition, as at the start [rad^2]


def tilt_to_msg(estimate: BaseEstimate, msg: Any, base_frame: str) -> Any:
    """Convert the vertical in the base frame, R_WB^T e_z, to geometry_msgs/Vector3Stamped."""
    set_header(msg, estimate.state.stamp_ns, base_frame)
    vector = msg.vector
    vector.x, vector.y, vector.z = estimate.tilt_B.tolist()
    return msg


def odometry_to_msg(estimate: BaseEstimate, msg: Any, world_frame: str, base_frame: str) -> Any:
    """Convert an estimate to nav_msgs/Odometry with its covariances; `UNKNOWN_VARIANCE` where none is known.

    The covariance of small rotations is transformed to world axes, as the message requires:
    R_WB P_B R_WB^T. That of the angular velocity is the one of the gyroscope's bias. No variance is zero,
    which a filter that takes the message would read as exact.
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


def torque_residual_to_msg(estimate: InertialEstimate, msg: Any) -> Any:
    """Convert the innovation, measured minus predicted, to a JointState with effort by row name [Nm, N]."""
    set_stamp(msg.header.stamp, estimate.stamp_ns)
    msg.name = list(estimate.row_names)
    msg.effort = doubles_like(msg.effort, estimate.innovation)
    return msg


def external_wrench_of(estimate: InertialEstimate) -> tuple[WrenchSample, str] | None:
    """Return the wrench of a push about the origin of its link, in the link's axes, and the link; or None."""
    located = estimate.located
    if located is None or located.force_L is None or located.torque_L is None:
        return None
    wrench = np.concatenate((located.force_L, located.torque_L))
    return WrenchSample(estimate.stamp_ns, wrench), located.links[0]


def figures_to_msg(stamp_ns: int, values: Iterable[float], msg: Any) -> Any:
    """Write figures into the positions of a sensor_msgs/JointState that has their names."""
    set_stamp(msg.header.stamp, stamp_ns)
    msg.position = doubles_like(msg.position, list(values))
    return msg


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


def health_to_msg(
    health: Health, node_name: str, msg: Any, key_value: Callable[..., Any], hardware_id: str = ""
) -> Any:
    """Convert the state of one part of a pipeline to diagnostic_msgs/DiagnosticStatus.

    Args:
        health: The state.
        node_name: Name of the node, put before the part's name.
        msg: Message to write into.
        key_value: Makes a diagnostic_msgs/KeyValue of its fields.
        hardware_id: Name of the robot.
    """
    msg.level, msg.message = bytes([health.level]), health.message
    msg.name, msg.hardware_id = f"{node_name}: {health.name}", hardware_id
    msg.values = [key_value(key=key, value=str(value)) for key, value in health.values.items()]
    return msg


def health_from_msg(msg: Any) -> Health:
    """Inverse of `health_to_msg`, without the name of the node."""
    part = msg.name.partition(": ")[2] or msg.name
    values = {item.key: item.value for item in msg.values}
    return Health(part, HealthLevel(msg.level[0]), msg.message, values)
