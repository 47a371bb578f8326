"""Conversions between ROS messages and the values of the core, in pairs.

Inputs run a thousand times a second and topic, so they touch every field once. Outputs may be written
into a message that is used again: rclpy serialises on publishing and keeps no reference.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import (
    InertiaStamped,
    QuaternionStamped,
    TransformStamped,
    Vector3Stamped,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.signals import (
    NANOSECONDS,
    BaseEstimate,
    BaseState,
    Health,
    ImuSample,
    InertialEstimate,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
)
from inertial_estimation.spatial.rotations import rotation_from_quaternion

__all__ = [
    "base_orientation_to_msg",
    "base_state_from_msg",
    "base_state_to_msg",
    "base_state_to_transform",
    "health_to_msg",
    "imu_from_msg",
    "imu_to_msg",
    "joint_names",
    "joints_from_msg",
    "joints_to_msg",
    "link_inertia_from_msg",
    "link_inertia_to_msg",
    "odometry_to_msg",
    "orientation_from_msg",
    "set_stamp",
    "stamp_from_msg",
    "tilt_to_msg",
    "torque_residual_to_msg",
    "wrench_from_msg",
    "wrench_to_msg",
]


def stamp_from_msg(stamp: Time) -> int:
    """Return a time in integer nanoseconds."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def set_stamp(stamp: Time, stamp_ns: int) -> None:
    """Write a time in integer nanoseconds into a message's stamp."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, NANOSECONDS)


@lru_cache(maxsize=64)
def joint_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object, so that comparing them downstream is comparing addresses."""
    return names


def imu_from_msg(msg: Imu) -> ImuSample:
    """Convert sensor_msgs/Imu; its orientation is not used.

    Args:
        msg: Specific force [m/s^2] and angular rate [rad/s] in the IMU frame.

    Returns:
        The reading; NaN is passed on for the pipeline to drop and count.
    """
    f, w = msg.linear_acceleration, msg.angular_velocity
    return ImuSample(stamp_from_msg(msg.header.stamp), (f.x, f.y, f.z), (w.x, w.y, w.z))  # type: ignore[arg-type]


def imu_to_msg(sample: ImuSample, frame_id: str) -> Imu:
    """Inverse of `imu_from_msg`; the orientation is marked as not sent (covariance -1)."""
    msg = Imu()
    set_stamp(msg.header.stamp, sample.stamp_ns)
    msg.header.frame_id = frame_id
    msg.orientation_covariance[0] = -1.0
    f, w = msg.linear_acceleration, msg.angular_velocity
    f.x, f.y, f.z = sample.specific_force_I.tolist()
    w.x, w.y, w.z = sample.angular_rate_I.tolist()
    return msg


def joints_from_msg(msg: JointState) -> JointReading:
    """Convert sensor_msgs/JointState; an empty velocity or effort array means "not sent".

    Args:
        msg: Positions, velocities and efforts by name.

    Returns:
        The reading in the order of the message.

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    return JointReading(
        stamp_from_msg(msg.header.stamp),
        joint_names(tuple(msg.name)),
        np.frombuffer(msg.position) if msg.position else (),  # type: ignore[arg-type]
        np.frombuffer(msg.velocity) if msg.velocity else None,
        np.frombuffer(msg.effort) if msg.effort else None,
    )


def joints_to_msg(reading: JointReading) -> JointState:
    """Inverse of `joints_from_msg`."""
    msg = JointState()
    set_stamp(msg.header.stamp, reading.stamp_ns)
    msg.name = list(reading.names)
    msg.position = reading.position.tolist()
    if reading.velocity is not None:
        msg.velocity = reading.velocity.tolist()
    if reading.effort is not None:
        msg.effort = reading.effort.tolist()
    return msg


def wrench_from_msg(msg: WrenchStamped) -> WrenchSample:
    """Convert geometry_msgs/WrenchStamped: what the environment applies to the robot [N, Nm]."""
    f, t = msg.wrench.force, msg.wrench.torque
    wrench_F = (f.x, f.y, f.z, t.x, t.y, t.z)
    return WrenchSample(stamp_from_msg(msg.header.stamp), wrench_F)  # type: ignore[arg-type]


def wrench_to_msg(sample: WrenchSample, frame_id: str) -> WrenchStamped:
    """Inverse of `wrench_from_msg`."""
    msg = WrenchStamped()
    set_stamp(msg.header.stamp, sample.stamp_ns)
    msg.header.frame_id = frame_id
    f, t = msg.wrench.force, msg.wrench.torque
    f.x, f.y, f.z, t.x, t.y, t.z = sample.wrench_F.tolist()
    return msg


def orientation_from_msg(msg: QuaternionStamped) -> OrientationSample:
    """Convert geometry_msgs/QuaternionStamped: orientation of the base in the world."""
    q = msg.quaternion
    return OrientationSample(stamp_from_msg(msg.header.stamp), (q.x, q.y, q.z, q.w))  # type: ignore[arg-type]


def base_orientation_to_msg(
    estimate: BaseEstimate, world_frame: str, msg: QuaternionStamped | None = None
) -> QuaternionStamped:
    """Convert the orientation of the base, R_WB, to geometry_msgs/QuaternionStamped.

    Args:
        estimate: What the observer said.
        world_frame: Name of the world frame.
        msg: Message to write into; a new one by default.

    Returns:
        The message, stamped as the measurement.
    """
    msg = QuaternionStamped() if msg is None else msg
    set_stamp(msg.header.stamp, estimate.state.stamp_ns)
    msg.header.frame_id = world_frame
    q = msg.quaternion
    q.x, q.y, q.z, q.w = estimate.state.quaternion_xyzw.tolist()
    return msg


def tilt_to_msg(estimate: BaseEstimate, base_frame: str, msg: Vector3Stamped | None = None) -> Vector3Stamped:
    """Convert the vertical in the base frame, R_WB^T e_z, to geometry_msgs/Vector3Stamped."""
    msg = Vector3Stamped() if msg is None else msg
    set_stamp(msg.header.stamp, estimate.state.stamp_ns)
    msg.header.frame_id = base_frame
    vector = msg.vector
    vector.x, vector.y, vector.z = estimate.tilt_B.tolist()
    return msg


def base_state_to_msg(
    state: BaseState, world_frame: str, base_frame: str, msg: Odometry | None = None
) -> Odometry:
    """Convert a base state to nav_msgs/Odometry: pose in the world, twist in the base frame.

    Args:
        state: Pose and twist of the base.
        world_frame: Name of the world frame (`header.frame_id`).
        base_frame: Name of the base frame (`child_frame_id`).
        msg: Message to write into; a new one by default.

    Returns:
        The message; its covariances are left as they are.
    """
    msg = Odometry() if msg is None else msg
    set_stamp(msg.header.stamp, state.stamp_ns)
    msg.header.frame_id = world_frame
    msg.child_frame_id = base_frame
    p, q = msg.pose.pose.position, msg.pose.pose.orientation
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    p.x, p.y, p.z = state.p_WB.tolist()
    q.x, q.y, q.z, q.w = state.quaternion_xyzw.tolist()
    v.x, v.y, v.z = state.v_WB_B.tolist()
    w.x, w.y, w.z = state.w_WB_B.tolist()
    return msg


def base_state_from_msg(msg: Odometry) -> BaseState:
    """Inverse of `base_state_to_msg`."""
    p, q = msg.pose.pose.position, msg.pose.pose.orientation
    v, w = msg.twist.twist.linear, msg.twist.twist.angular
    return BaseState(
        stamp_from_msg(msg.header.stamp),
        (q.x, q.y, q.z, q.w),  # type: ignore[arg-type]
        (p.x, p.y, p.z),  # type: ignore[arg-type]
        (v.x, v.y, v.z),  # type: ignore[arg-type]
        (w.x, w.y, w.z),  # type: ignore[arg-type]
    )


def odometry_to_msg(
    estimate: BaseEstimate, world_frame: str, base_frame: str, msg: Odometry | None = None
) -> Odometry:
    """Convert an estimate to nav_msgs/Odometry with the covariance of its orientation.

    The covariance of small rotations is turned into the axes of the world, as the message wants it:
    R_WB P_B R_WB^T. Position and twist have no estimated covariance; their blocks are zero.
    """
    msg = base_state_to_msg(estimate.state, world_frame, base_frame, msg)
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


def link_inertia_to_msg(
    inertia: LinkInertia, stamp_ns: int, msg: InertiaStamped | None = None
) -> InertiaStamped:
    """Convert a link's inertia, about its centre of mass in link axes, to geometry_msgs/InertiaStamped.

    Args:
        inertia: Mass [kg], centre of mass [m] and inertia [kg m^2]; a payload may be negative.
        stamp_ns: Stamp of the measurement [ns].
        msg: Message to write into; a new one by default.

    Returns:
        The message; its frame is the link.
    """
    msg = InertiaStamped() if msg is None else msg
    set_stamp(msg.header.stamp, stamp_ns)
    msg.header.frame_id = inertia.link
    body, moment = msg.inertia, inertia.inertia_Lcm
    body.m = float(inertia.mass)
    body.com.x, body.com.y, body.com.z = inertia.com_L.tolist()
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = moment.tolist()
    return msg


def link_inertia_from_msg(msg: InertiaStamped) -> tuple[int, LinkInertia]:
    """Inverse of `link_inertia_to_msg`: the stamp [ns] and the inertia; its link is the message's frame."""
    body = msg.inertia
    rows = ((body.ixx, body.ixy, body.ixz), (body.ixy, body.iyy, body.iyz), (body.ixz, body.iyz, body.izz))
    com_L = np.array((body.com.x, body.com.y, body.com.z))
    inertia = LinkInertia(msg.header.frame_id, body.m, com_L, np.array(rows))
    return stamp_from_msg(msg.header.stamp), inertia


def torque_residual_to_msg(estimate: InertialEstimate, msg: JointState | None = None) -> JointState:
    """Convert the innovation, measured minus predicted, to a JointState with effort by row name [Nm, N]."""
    msg = JointState() if msg is None else msg
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
    values: Sequence[KeyValue] = [KeyValue(key=key, value=str(value)) for key, value in health.values.items()]
    return DiagnosticStatus(
        level=bytes([int(health.level)]),
        name=f"{node_name}: {health.name}",
        message=health.message,
        hardware_id=hardware_id,
        values=values,
    )
