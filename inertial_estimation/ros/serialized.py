"""Reads the inputs that come a thousand times a second straight from their serialised form (CDR).

Building a message object with all its fields, strings and covariances costs more than what is read from it.
Each function gives exactly what the one of the same name in `messages` gives for the deserialised message;
forms that `replay.cdr` does not know (big-endian, say) it leaves to that one.
"""

from geometry_msgs.msg import InertiaStamped, QuaternionStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState

from inertial_estimation.recordings.cdr import (
    LITTLE_ENDIAN,
    decode_base_state,
    decode_imu,
    decode_link_inertia,
    decode_quaternion,
    decode_wrench,
    joint_state_decoder,
)
from inertial_estimation.ros import messages
from inertial_estimation.signals import (
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
)

__all__ = [
    "base_state_from_bytes",
    "imu_from_bytes",
    "joints_from_bytes",
    "link_inertia_from_bytes",
    "orientation_from_bytes",
    "wrench_from_bytes",
]

_decode_joints = joint_state_decoder()


def imu_from_bytes(data: bytes) -> ImuSample:
    """Read a serialised sensor_msgs/Imu; see `messages.imu_from_msg`."""
    if data[:2] != LITTLE_ENDIAN:
        return messages.imu_from_msg(deserialize_message(data, Imu))
    return decode_imu(data)


def wrench_from_bytes(data: bytes) -> WrenchSample:
    """Read a serialised geometry_msgs/WrenchStamped; see `messages.wrench_from_msg`."""
    if data[:2] != LITTLE_ENDIAN:
        return messages.wrench_from_msg(deserialize_message(data, WrenchStamped))
    return decode_wrench(data)


def joints_from_bytes(data: bytes) -> JointReading:
    """Read a serialised sensor_msgs/JointState; see `messages.joints_from_msg`.

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    if data[:2] != LITTLE_ENDIAN:
        return messages.joints_from_msg(deserialize_message(data, JointState))
    return _decode_joints(data)


def base_state_from_bytes(data: bytes) -> BaseState:
    """Read a serialised nav_msgs/Odometry; see `messages.base_state_from_msg`."""
    if data[:2] != LITTLE_ENDIAN:
        return messages.base_state_from_msg(deserialize_message(data, Odometry))
    return decode_base_state(data)


def orientation_from_bytes(data: bytes) -> OrientationSample:
    """Read a serialised geometry_msgs/QuaternionStamped; see `messages.orientation_from_msg`."""
    if data[:2] != LITTLE_ENDIAN:
        return messages.orientation_from_msg(deserialize_message(data, QuaternionStamped))
    return decode_quaternion(data)


def link_inertia_from_bytes(data: bytes) -> tuple[int, LinkInertia]:
    """Read a serialised geometry_msgs/InertiaStamped; see `messages.link_inertia_from_msg`."""
    if data[:2] != LITTLE_ENDIAN:
        return messages.link_inertia_from_msg(deserialize_message(data, InertiaStamped))
    return decode_link_inertia(data)
