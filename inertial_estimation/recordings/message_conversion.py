"""Conversions of messages to values of the core and back, one for each message type.

Conversions only read and write fields by name, so the same function serves the message classes of rclpy and
those of `rosbags`; nothing of either is imported. `CONVERSIONS` is the registry by message type, used by the
nodes, the bag reader and the bag writer. `*_to_msg` writes into a message that exists, which may be used
again: it sets every field that the value decides.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from inertial_estimation.errors import DamagedMessageError, MeasurementError
from inertial_estimation.recordings.cdr import (
    LITTLE_ENDIAN,
    decode_base_state,
    decode_imu,
    decode_link_inertia,
    decode_quaternion,
    decode_wrench,
    joint_state_decoder,
)
from inertial_estimation.recordings.samples import PoseSample, StampedInertia
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
)

IMU_TYPE = "sensor_msgs/msg/Imu"
JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped"
POSE_TYPE = "geometry_msgs/msg/PoseStamped"
QUATERNION_TYPE = "geometry_msgs/msg/QuaternionStamped"
ODOMETRY_TYPE = "nav_msgs/msg/Odometry"
INERTIA_TYPE = "geometry_msgs/msg/InertiaStamped"
ORIENTATION_TYPES = (POSE_TYPE, QUATERNION_TYPE)

NO_ORIENTATION = -1.0  # first entry of an Imu's orientation covariance, by the message's definition

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class MessageConversion(Generic[ValueT]):
    """Conversion of messages of one type to values and back.

    Attributes:
        from_msg: Converts a message; raises MeasurementError where its fields do not fit together.
        to_msg: Writes a value and the header's ``frame_id`` into a message, and returns the message.
        make_decoder: Returns a decoder of plain little-endian CDR, which gives exactly what `from_msg` gives
            for the deserialised message; None where it would save nothing that matters.
    """

    from_msg: Callable[[Any], ValueT]
    to_msg: Callable[[ValueT, Any, str], Any]
    make_decoder: Callable[[], Callable[[bytes], ValueT]] | None = None


def stamp_from_msg(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in integer nanoseconds."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def set_stamp(stamp: Any, stamp_ns: int) -> None:
    """Write a time in integer nanoseconds into a builtin_interfaces/Time."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, NANOSECONDS)


@lru_cache(maxsize=64)
def joint_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object, so that later comparisons only compare identities."""
    return names


def imu_from_msg(msg: Any) -> ImuSample:
    """Convert sensor_msgs/Imu: specific force [m/s^2] and angular rate [rad/s] in the IMU frame."""
    return ImuSample(_stamp(msg), _xyz(msg.linear_acceleration), _xyz(msg.angular_velocity))


def imu_orientation_from_msg(msg: Any) -> Array | None:
    """Return the orientation x y z w of a sensor_msgs/Imu, shape (4,), or None where it has none.

    A sensor without orientation sets the first covariance to -1; many leave the quaternion at zero.
    """
    quaternion = np.array(_xyzw(msg.orientation))
    marked = msg.orientation_covariance[0] == NO_ORIENTATION
    return None if marked or not abs(float(quaternion @ quaternion) - 1.0) < 1e-3 else quaternion


def imu_to_msg(sample: ImuSample, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `imu_from_msg`; the orientation is marked as not sent (covariance -1)."""
    _set_header(msg, sample.stamp_ns, frame_id)
    msg.orientation.w = 1.0
    msg.orientation_covariance[0] = NO_ORIENTATION
    _set_xyz(msg.linear_acceleration, sample.specific_force_I)
    _set_xyz(msg.angular_velocity, sample.angular_rate_I)
    return msg


def joints_from_msg(msg: Any) -> JointReading:
    """Convert sensor_msgs/JointState; an empty velocity or effort array means "not sent".

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    return JointReading(
        _stamp(msg),
        joint_names(tuple(msg.name)),
        np.asarray(msg.position, dtype=np.float64),
        np.asarray(msg.velocity, dtype=np.float64) if len(msg.velocity) else None,
        np.asarray(msg.effort, dtype=np.float64) if len(msg.effort) else None,
    )


def joints_to_msg(reading: JointReading, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `joints_from_msg`."""
    _set_header(msg, reading.stamp_ns, frame_id)
    msg.name = list(reading.names)
    for field in ("position", "velocity", "effort"):
        values = getattr(reading, field)
        setattr(msg, field, doubles_like(getattr(msg, field), () if values is None else values))
    return msg


def wrench_from_msg(msg: Any) -> WrenchSample:
    """Convert geometry_msgs/WrenchStamped: what the environment applies to the robot [N, Nm]."""
    return WrenchSample(_stamp(msg), np.array((*_xyz(msg.wrench.force), *_xyz(msg.wrench.torque))))


def wrench_to_msg(sample: WrenchSample, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `wrench_from_msg`."""
    _set_header(msg, sample.stamp_ns, frame_id)
    _set_xyz(msg.wrench.force, sample.wrench_F[:3])
    _set_xyz(msg.wrench.torque, sample.wrench_F[3:])
    return msg


def orientation_from_msg(msg: Any) -> OrientationSample:
    """Convert geometry_msgs/QuaternionStamped: orientation of the base in the world."""
    return OrientationSample(_stamp(msg), _xyzw(msg.quaternion))


def orientation_to_msg(sample: OrientationSample | BaseState, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `orientation_from_msg`; of a base state only the orientation is written."""
    _set_header(msg, sample.stamp_ns, frame_id)
    _set_xyzw(msg.quaternion, sample.quaternion_xyzw)
    return msg


def pose_from_msg(msg: Any) -> PoseSample:
    """Convert geometry_msgs/PoseStamped: pose of the base in the world."""
    return PoseSample(_stamp(msg), _xyzw(msg.pose.orientation), _xyz(msg.pose.position))


def pose_to_msg(sample: OrientationSample, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `pose_from_msg`; an orientation without a position gets the origin."""
    _set_header(msg, sample.stamp_ns, frame_id)
    p_WB = sample.p_WB if isinstance(sample, PoseSample) else np.zeros(3)
    _set_xyz(msg.pose.position, p_WB)
    _set_xyzw(msg.pose.orientation, sample.quaternion_xyzw)
    return msg


def base_state_from_msg(msg: Any) -> BaseState:
    """Convert nav_msgs/Odometry: pose in the world, twist in the base frame."""
    pose, twist = msg.pose.pose, msg.twist.twist
    return BaseState(
        _stamp(msg),
        _xyzw(pose.orientation),
        _xyz(pose.position),
        _xyz(twist.linear),
        _xyz(twist.angular),
    )


def base_state_to_msg(state: BaseState, msg: Any, frame_id: str = "", child_frame_id: str = "") -> Any:
    """Inverse of `base_state_from_msg`.

    Args:
        state: Pose and twist of the base.
        msg: Message to write into; its covariances are left as they are.
        frame_id: Name of the world frame.
        child_frame_id: Name of the base frame.
    """
    _set_header(msg, state.stamp_ns, frame_id)
    msg.child_frame_id = child_frame_id
    _set_xyz(msg.pose.pose.position, state.p_WB)
    _set_xyzw(msg.pose.pose.orientation, state.quaternion_xyzw)
    _set_xyz(msg.twist.twist.linear, state.v_WB_B)
    _set_xyz(msg.twist.twist.angular, state.w_WB_B)
    return msg


def link_inertia_from_msg(msg: Any) -> StampedInertia:
    """Convert geometry_msgs/InertiaStamped, about the centre of mass in link axes; its frame is the link."""
    body = msg.inertia
    rows = ((body.ixx, body.ixy, body.ixz), (body.ixy, body.iyy, body.iyz), (body.ixz, body.iyz, body.izz))
    inertia = LinkInertia(msg.header.frame_id, body.m, np.array(_xyz(body.com)), np.array(rows))
    return StampedInertia(_stamp(msg), inertia)


def link_inertia_to_msg(stamped: StampedInertia, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `link_inertia_from_msg`.

    Args:
        stamped: Mass [kg], centre of mass [m] and inertia [kg m^2]; a payload may be negative.
        msg: Message to write into.
        frame_id: Name of the link's frame where it is not that of the link.
    """
    inertia = stamped.inertia
    _set_header(msg, stamped.stamp_ns, frame_id or inertia.link)
    body, moment = msg.inertia, inertia.inertia_Lcm
    body.m = float(inertia.mass)
    _set_xyz(body.com, inertia.com_L)
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = moment.tolist()
    return msg


CONVERSIONS: dict[str, MessageConversion[Any]] = {
    IMU_TYPE: MessageConversion(imu_from_msg, imu_to_msg, lambda: decode_imu),
    JOINT_STATE_TYPE: MessageConversion(joints_from_msg, joints_to_msg, joint_state_decoder),
    WRENCH_TYPE: MessageConversion(wrench_from_msg, wrench_to_msg, lambda: decode_wrench),
    QUATERNION_TYPE: MessageConversion(orientation_from_msg, orientation_to_msg, lambda: decode_quaternion),
    POSE_TYPE: MessageConversion(pose_from_msg, pose_to_msg),
    ODOMETRY_TYPE: MessageConversion(base_state_from_msg, base_state_to_msg, lambda: decode_base_state),
    INERTIA_TYPE: MessageConversion(link_inertia_from_msg, link_inertia_to_msg, lambda: decode_link_inertia),
}


def bytes_reader(
    message_type: str,
    deserialize: Callable[[bytes], Any],
    convert: Callable[[Any], Any] | None = None,
) -> Callable[[bytes], Any]:
    """Return a function that reads the serialised messages of one topic.

    Args:
        message_type: Type of the messages, ``package/msg/Name``.
        deserialize: Builds a message from its bytes; called where the type has no decoder, or the encoding is
            another one than plain little-endian CDR.
        convert: Message to value, where a topic uses a type in another meaning than the registered one.

    Returns:
        Bytes to value; raises MeasurementError where the fields do not fit together, and its subclass
        DamagedMessageError where the bytes are not a message of the type.
    """
    make_decoder = CONVERSIONS[message_type].make_decoder if convert is None else None
    decode = make_decoder() if make_decoder is not None else None
    from_msg = CONVERSIONS[message_type].from_msg if convert is None else convert

    def read(data: bytes) -> Any:
        try:
            if decode is not None and data[:2] == LITTLE_ENDIAN:
                return decode(data)
            msg = deserialize(data)
        except MeasurementError:  # of the decoder: the fields do not fit together
            raise
        except Exception as error:  # each deserialiser has exceptions of its own
            raise DamagedMessageError(f"{len(data)} bytes are no {message_type}: {error}") from error
        return from_msg(msg)

    return read


def _stamp(msg: Any) -> int:
    return stamp_from_msg(msg.header.stamp)


def _set_header(msg: Any, stamp_ns: int, frame_id: str) -> None:
    set_stamp(msg.header.stamp, stamp_ns)
    msg.header.frame_id = frame_id


def _xyz(vector: Any) -> Any:
    return vector.x, vector.y, vector.z


def _set_xyz(vector: Any, values: Array) -> None:
    vector.x, vector.y, vector.z = values.tolist()


def _xyzw(quaternion: Any) -> Any:
    return quaternion.x, quaternion.y, quaternion.z, quaternion.w


def _set_xyzw(quaternion: Any, values: Array) -> None:
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = values.tolist()


def doubles_like(field: Any, values: Any) -> Any:
    """Return numbers as the sequence type of a field: array.array of rclpy, numpy array of rosbags.

    Args:
        field: Present value of the field.
        values: The numbers.
    """
    numbers = np.array(values, dtype=np.float64)
    return numbers if isinstance(field, np.ndarray) else array("d", numbers.tobytes())
