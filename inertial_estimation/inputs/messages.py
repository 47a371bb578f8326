"""Messages to values and back: one registry by message type, for nodes, bags and tests.

Conversions only read and write fields by name, so the same function serves the message classes of rclpy and those
of `rosbags`; nothing of either is imported. `*_to_msg` writes into a message that exists, which may be used again:
it sets every field that the value decides.
"""

import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import DamagedMessageError, MeasurementError, listing
from inertial_estimation.inputs.cdr import (
    ENCAPSULATION,
    FRAME,
    LITTLE_ENDIAN,
    Decoder,
    decode_base_state,
    decode_bool,
    decode_float,
    decode_imu,
    decode_link_inertia,
    decode_quaternion,
    decode_wrench,
    joint_state_decoder,
)
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseState,
    ContactSample,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    PoseSample,
    StampedInertia,
    WrenchSample,
)

IMU_TYPE = "sensor_msgs/msg/Imu"
JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped"
POSE_TYPE = "geometry_msgs/msg/PoseStamped"
QUATERNION_TYPE = "geometry_msgs/msg/QuaternionStamped"
ODOMETRY_TYPE = "nav_msgs/msg/Odometry"
INERTIA_TYPE = "geometry_msgs/msg/InertiaStamped"
PLAIN_WRENCH_TYPE = "geometry_msgs/msg/Wrench"
BOOL_TYPE = "std_msgs/msg/Bool"
ORIENTATION_TYPES = (POSE_TYPE, QUATERNION_TYPE)
WRENCH_TYPES = (WRENCH_TYPE, PLAIN_WRENCH_TYPE)
NUMBER_TYPES = tuple(f"std_msgs/msg/{name}" for name in ("Float64", "Float32", "Int32", "Int16", "UInt16", "UInt8"))
NO_ORIENTATION = -1.0  # first entry of an Imu's orientation covariance, by the message's definition
_head = struct.Struct("<iII").unpack_from  # seconds and nanoseconds of the stamp, length of the frame's name


class Conversion(NamedTuple):
    """Conversion of messages of one type.

    Attributes:
        from_msg: Message to value; raises MeasurementError where its fields do not fit together.
        to_msg: Writes a value and a frame's name into a message, and returns the message; None: only read.
        decoder: Returns a decoder of plain little-endian CDR (`cdr`); None where there is none.
        stamped: Whether the message has a header.
    """

    from_msg: Callable[[Any], Any]
    to_msg: Callable[[Any, Any, str], Any] | None = None
    decoder: Callable[[], Decoder] | None = None
    stamped: bool = True


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
    """Convert sensor_msgs/Imu: specific force [m/s^2] and angular rate [rad/s] in the frame of its header."""
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
    """Convert sensor_msgs/JointState; an empty velocity or effort means "not sent"; without names they are empty.

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    names = joint_names(tuple(msg.name) or ("",) * len(msg.position))
    position, velocity, effort = (np.asarray(a, dtype=float) for a in (msg.position, msg.velocity, msg.effort))
    return JointReading(
        _stamp(msg), names, position, velocity if len(velocity) else None, effort if len(effort) else None
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
    """Convert geometry_msgs/WrenchStamped or Wrench: what the environment applies to the robot [N, Nm]."""
    wrench = getattr(msg, "wrench", msg)
    stamp_ns = _stamp(msg) if hasattr(msg, "header") else 0
    return WrenchSample(stamp_ns, np.array((*_xyz(wrench.force), *_xyz(wrench.torque))))


def wrench_to_msg(sample: WrenchSample, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `wrench_from_msg`."""
    _set_header(msg, sample.stamp_ns, frame_id)
    _set_xyz(msg.wrench.force, sample.wrench_F[:3])
    _set_xyz(msg.wrench.torque, sample.wrench_F[3:])
    return msg


def number_from_msg(msg: Any) -> ContactSample:
    """Convert a message of one number or truth value, which has no stamp."""
    return ContactSample(0, float(msg.data))


def bool_to_msg(sample: ContactSample, msg: Any, _frame_id: str = "") -> Any:
    """Inverse of `number_from_msg` for std_msgs/Bool."""
    msg.data = sample.value >= 0.5
    return msg


def number_to_msg(sample: ContactSample, msg: Any, _frame_id: str = "") -> Any:
    """Inverse of `number_from_msg` for floating-point and, rounded, integer numbers."""
    msg.data = round(sample.value) if isinstance(msg.data, int) else sample.value
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
        _stamp(msg), _xyzw(pose.orientation), _xyz(pose.position), _xyz(twist.linear), _xyz(twist.angular)
    )


def base_state_to_msg(state: BaseState, msg: Any, frame_id: str = "", child_frame_id: str = "") -> Any:
    """Inverse of `base_state_from_msg`; its covariances are left as they are."""
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
    """Inverse of `link_inertia_from_msg`; the frame is that of the link where no other is named."""
    inertia = stamped.inertia
    _set_header(msg, stamped.stamp_ns, frame_id or inertia.link)
    body, moment = msg.inertia, inertia.inertia_Lcm
    body.m = float(inertia.mass)
    _set_xyz(body.com, inertia.com_L)
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = moment.tolist()
    return msg


CONVERSIONS: dict[str, Conversion] = {
    IMU_TYPE: Conversion(imu_from_msg, imu_to_msg, lambda: decode_imu),
    JOINT_STATE_TYPE: Conversion(joints_from_msg, joints_to_msg, joint_state_decoder),
    WRENCH_TYPE: Conversion(wrench_from_msg, wrench_to_msg, lambda: decode_wrench),
    PLAIN_WRENCH_TYPE: Conversion(wrench_from_msg, stamped=False),
    QUATERNION_TYPE: Conversion(orientation_from_msg, orientation_to_msg, lambda: decode_quaternion),
    POSE_TYPE: Conversion(pose_from_msg, pose_to_msg),
    ODOMETRY_TYPE: Conversion(base_state_from_msg, base_state_to_msg, lambda: decode_base_state),
    INERTIA_TYPE: Conversion(link_inertia_from_msg, link_inertia_to_msg, lambda: decode_link_inertia),
    BOOL_TYPE: Conversion(number_from_msg, bool_to_msg, lambda: decode_bool, stamped=False),
    **{name: Conversion(number_from_msg, number_to_msg, stamped=False) for name in NUMBER_TYPES},
    NUMBER_TYPES[0]: Conversion(number_from_msg, number_to_msg, lambda: decode_float, stamped=False),
}


@dataclass
class MessageReader:
    """Reads the messages of one topic, serialised or as objects.

    Attributes:
        message_type: Type of the messages, ``package/msg/Name``.
        deserialize: Builds a message from its bytes; called where the type has no decoder, or the encoding is
            another one than plain little-endian CDR. None: such bytes are refused.
        convert: Message to value, where it is not the registered conversion.
        frame_id: Frame in the header of the last message; empty where it has none.
        stamped: Whether the messages have a header (set by the type).
    """

    message_type: str
    deserialize: Callable[[bytes], Any] | None = None
    convert: Callable[[Any], Any] | None = None
    frame_id: str = ""
    stamped: bool = False

    def __post_init__(self) -> None:
        self._frame = b""
        self._decode: Decoder | None = None
        if self.convert is None:
            if self.message_type not in CONVERSIONS:
                raise MeasurementError(f"no input has the type {self.message_type}, expected {listing(CONVERSIONS)}")
            conversion = CONVERSIONS[self.message_type]
            self._from_msg, self.stamped = conversion.from_msg, conversion.stamped
            if conversion.decoder is not None:
                self._decode = conversion.decoder()
        else:
            self._from_msg, self.stamped = self.convert, False

    def read(self, message: Any) -> Any:
        """Return the value of a message.

        Args:
            message: The message, or its bytes.

        Raises:
            MeasurementError: If its fields do not fit together; its subclass DamagedMessageError if the bytes are
                not a message of the type.
        """
        if not isinstance(message, bytes):
            self.frame_id = message.header.frame_id if self.stamped else ""
            return self._from_msg(message)
        try:
            if self._decode is not None and message[:2] == LITTLE_ENDIAN:
                return self._decoded(message[ENCAPSULATION:])  # a copy, whose doubles are aligned
            if self.deserialize is None:
                raise DamagedMessageError(f"serialised {self.message_type} cannot be read here")
            msg = self.deserialize(message)
        except MeasurementError:  # of the decoder: the fields do not fit together
            raise
        except Exception as error:  # each deserialiser has exceptions of its own
            raise DamagedMessageError(f"{len(message)} bytes are no {self.message_type}: {error}") from error
        return self.read(msg)

    def _decoded(self, body: bytes) -> Any:
        assert self._decode is not None
        if not self.stamped:
            return self._decode(body, 0, 0)
        sec, nanosec, length = _head(body)
        begin = FRAME + length
        frame = body[FRAME:begin]
        if frame != self._frame:
            self._frame, self.frame_id = frame, frame[:-1].decode()
        return self._decode(body, sec * NANOSECONDS + nanosec, begin)


def doubles_like(field: Any, values: Any) -> Any:
    """Return numbers as the sequence type of a field: array.array of rclpy, numpy array of rosbags."""
    numbers = np.array(values, dtype=np.float64)
    return numbers if isinstance(field, np.ndarray) else array("d", numbers.tobytes())


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
