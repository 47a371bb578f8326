"""Messages to values and back: one registry by message type, for nodes, bags and tests.

Conversions only read and write fields by name, so the same function serves the message classes of rclpy and those of
`rosbags`; nothing of either is imported. Back, they write into a message that exists and set what the value decides.
"""

import struct
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.errors import DamagedMessageError, MeasurementError, listing
from inertial_estimation.inputs.cdr import (
    ENCAPSULATION,
    FRAME,
    LITTLE_ENDIAN,
    Decoder,
    base_state_decoder,
    imu_decoder,
    joint_state_decoder,
    link_inertia_decoder,
    number_decoder,
    quaternion_decoder,
    wrench_decoder,
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

IMU_TYPE, JOINT_STATE_TYPE = "sensor_msgs/msg/Imu", "sensor_msgs/msg/JointState"
WRENCH_TYPE, PLAIN_WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped", "geometry_msgs/msg/Wrench"
POSE_TYPE, QUATERNION_TYPE = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/QuaternionStamped"
ODOMETRY_TYPE, INERTIA_TYPE = "nav_msgs/msg/Odometry", "geometry_msgs/msg/InertiaStamped"
BOOL_TYPE = "std_msgs/msg/Bool"
NUMBERS = {"Float64": "<d", "Float32": "<f", "Int32": "<i", "Int16": "<h", "UInt16": "<H", "UInt8": "<B"}
NUMBER_TYPES = tuple(f"std_msgs/msg/{name}" for name in NUMBERS)
ORIENTATION_TYPES, WRENCH_TYPES = (POSE_TYPE, QUATERNION_TYPE), (WRENCH_TYPE, PLAIN_WRENCH_TYPE)
NO_ORIENTATION = -1.0  # first entry of an Imu's orientation covariance, by the message's definition
XYZ, XYZW = ("x", "y", "z"), ("x", "y", "z", "w")
_head = struct.Struct("<iII").unpack_from  # seconds and nanoseconds of the stamp, length of the frame's name


class Conversion(NamedTuple):
    """Conversion of messages of one type.

    Attributes:
        from_msg: Message to value; raises MeasurementError where its fields do not fit together.
        to_msg: Writes a value and a frame's name into a message, and returns the message.
        decoder: Returns a decoder of plain little-endian CDR (`cdr`); None where there is none.
        stamped: Whether the message has a header.
    """

    from_msg: Callable[[Any], Any]
    to_msg: Callable[[Any, Any, str], Any]
    decoder: Callable[[], Decoder] | None = None
    stamped: bool = True


def stamp_from_msg(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in integer nanoseconds."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def set_stamp(stamp: Any, stamp_ns: int) -> None:
    """Write a time in integer nanoseconds into a builtin_interfaces/Time."""
    stamp.sec, stamp.nanosec = divmod(stamp_ns, NANOSECONDS)


def set_header(msg: Any, stamp_ns: int, frame_id: str) -> None:
    """Write a stamp and the name of a frame into the header of a message, if it has one."""
    if hasattr(msg, "header"):
        set_stamp(msg.header.stamp, stamp_ns)
        msg.header.frame_id = frame_id


def _vectors(
    kind: type,
    decoder: Callable[[], Decoder] | None,
    fields: Sequence[tuple[str, Sequence[tuple[str, tuple[str, ...]]]]],
    *,
    stamped: bool = True,
) -> Conversion:
    """Return the conversion of messages of vectors: name of each array, and where its numbers are in the message."""
    getters = [[(attrgetter(path), letters) for path, letters in places] for _name, places in fields]

    def from_msg(msg: Any) -> Any:
        stamp_ns = stamp_from_msg(msg.header.stamp) if stamped else 0
        arrays = [[getattr(get(msg), a) for get, letters in one for a in letters] for one in getters]
        return kind(stamp_ns, *arrays)

    def to_msg(value: Any, msg: Any, frame_id: str = "") -> Any:
        set_header(msg, value.stamp_ns, frame_id)
        for (name, _places), one in zip(fields, getters, strict=True):
            numbers = iter(getattr(value, name, np.zeros(3)).tolist())
            for get, letters in one:
                vector = get(msg)
                for letter in letters:
                    setattr(vector, letter, next(numbers))
        return msg

    return Conversion(from_msg, to_msg, decoder, stamped)


def imu_orientation_from_msg(msg: Any) -> Array | None:
    """Return the orientation x y z w of a sensor_msgs/Imu, shape (4,), or None where it has none.

    A sensor without orientation sets the first covariance to -1; many leave the quaternion at zero.
    """
    quaternion = np.array([getattr(msg.orientation, letter) for letter in XYZW])
    marked = msg.orientation_covariance[0] == NO_ORIENTATION
    return None if marked or not abs(float(quaternion @ quaternion) - 1.0) < 1e-3 else quaternion


IMU_VECTORS = _vectors(
    ImuSample,
    imu_decoder,
    [("specific_force_I", [("linear_acceleration", XYZ)]), ("angular_rate_I", [("angular_velocity", XYZ)])],
)
ODOMETRY = _vectors(
    BaseState,
    base_state_decoder,
    [
        ("quaternion_xyzw", [("pose.pose.orientation", XYZW)]),
        ("p_WB", [("pose.pose.position", XYZ)]),
        ("v_WB_B", [("twist.twist.linear", XYZ)]),
        ("w_WB_B", [("twist.twist.angular", XYZ)]),
    ],
)


def imu_to_msg(sample: ImuSample, msg: Any, frame_id: str = "") -> Any:
    """Write an IMU sample into a message; the orientation is marked as not sent (covariance -1)."""
    msg.orientation.w, msg.orientation_covariance[0] = 1.0, NO_ORIENTATION
    return IMU_VECTORS.to_msg(sample, msg, frame_id)


def base_state_to_msg(state: BaseState, msg: Any, frame_id: str = "", child_frame_id: str = "") -> Any:
    """Write a base state into nav_msgs/Odometry with the names of world and base; covariances are left as they are."""
    msg.child_frame_id = child_frame_id
    return ODOMETRY.to_msg(state, msg, frame_id)


@lru_cache(maxsize=64)
def joint_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object, so that later comparisons only compare identities."""
    return names


def joints_from_msg(msg: Any) -> JointReading:
    """Convert sensor_msgs/JointState; an empty velocity or effort means "not sent"; without names they are empty.

    Raises:
        ~inertial_estimation.errors.MeasurementError: If an array has not one entry per name.
    """
    position, *rest = (np.asarray(values, dtype=float) for values in (msg.position, msg.velocity, msg.effort))
    names = joint_names(tuple(msg.name) or ("",) * len(position))
    velocity, effort = (values if len(values) else None for values in rest)
    return JointReading(stamp_from_msg(msg.header.stamp), names, position, velocity, effort)


def joints_to_msg(reading: JointReading, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `joints_from_msg`."""
    set_header(msg, reading.stamp_ns, frame_id)
    msg.name = list(reading.names)
    for field in ("position", "velocity", "effort"):
        values = getattr(reading, field)
        setattr(msg, field, doubles_like(getattr(msg, field), () if values is None else values))
    return msg


def doubles_like(field: Any, values: Any) -> Any:
    """Return numbers as the sequence type of a field: array.array of rclpy, numpy array of rosbags."""
    numbers = np.array(values, dtype=np.float64)
    return numbers if isinstance(field, np.ndarray) else array("d", numbers.tobytes())


def number_from_msg(msg: Any) -> ContactSample:
    """Convert a message of one number or truth value, which has no stamp."""
    return ContactSample(0, float(msg.data))


def number_to_msg(sample: ContactSample, msg: Any, _frame_id: str = "") -> Any:
    """Inverse of `number_from_msg`, in the type that the message has; integers are rounded."""
    kind = type(msg.data)
    msg.data = (
        kind(sample.value >= 0.5) if kind is bool else round(sample.value) if kind is int else sample.value
    )
    return msg


def link_inertia_from_msg(msg: Any) -> StampedInertia:
    """Convert geometry_msgs/InertiaStamped, about the centre of mass in link axes; its frame is the link."""
    body = msg.inertia
    rows = ((body.ixx, body.ixy, body.ixz), (body.ixy, body.iyy, body.iyz), (body.ixz, body.iyz, body.izz))
    com = np.array((body.com.x, body.com.y, body.com.z))
    return StampedInertia(
        stamp_from_msg(msg.header.stamp), LinkInertia(msg.header.frame_id, body.m, com, np.array(rows))
    )


def link_inertia_to_msg(stamped: StampedInertia, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `link_inertia_from_msg`; the frame is that of the link where no other is named."""
    inertia, body = stamped.inertia, msg.inertia
    set_header(msg, stamped.stamp_ns, frame_id or inertia.link)
    body.m = float(inertia.mass)
    body.com.x, body.com.y, body.com.z = inertia.com_L.tolist()
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = inertia.inertia_Lcm.tolist()
    return msg


def _numbers(layout: str) -> Conversion:
    return Conversion(number_from_msg, number_to_msg, number_decoder(layout), stamped=False)


_WRENCH = [("wrench_F", [("wrench.force", XYZ), ("wrench.torque", XYZ)])]
_POSE = [("quaternion_xyzw", [("pose.orientation", XYZW)]), ("p_WB", [("pose.position", XYZ)])]
CONVERSIONS: dict[str, Conversion] = {
    IMU_TYPE: IMU_VECTORS._replace(to_msg=imu_to_msg),
    JOINT_STATE_TYPE: Conversion(joints_from_msg, joints_to_msg, joint_state_decoder),
    WRENCH_TYPE: _vectors(WrenchSample, wrench_decoder, _WRENCH),
    PLAIN_WRENCH_TYPE: _vectors(
        WrenchSample, None, [("wrench_F", [("force", XYZ), ("torque", XYZ)])], stamped=False
    ),
    QUATERNION_TYPE: _vectors(
        OrientationSample, quaternion_decoder, [("quaternion_xyzw", [("quaternion", XYZW)])]
    ),
    POSE_TYPE: _vectors(PoseSample, None, _POSE),
    ODOMETRY_TYPE: ODOMETRY,
    INERTIA_TYPE: Conversion(link_inertia_from_msg, link_inertia_to_msg, link_inertia_decoder),
    BOOL_TYPE: _numbers("<?"),
    **{f"std_msgs/msg/{name}": _numbers(layout) for name, layout in NUMBERS.items()},
}


class MessageReader:
    """Reads the messages of one topic, serialised or as objects.

    Attributes:
        frame_id: Frame in the header of the last message; empty where it has none.
        stamped: Whether the messages have a header.
    """

    def __init__(
        self,
        message_type: str,
        deserialize: Callable[[bytes], Any] | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        """Choose the conversion.

        Args:
            message_type: Type of the messages, ``package/msg/Name``.
            deserialize: Builds a message from its bytes, where the type has no decoder, or the encoding is another one
                than plain little-endian CDR. None: such bytes are refused.
            convert: Message to value, where it is not the registered conversion.

        Raises:
            MeasurementError: If there is no conversion.
        """
        if convert is None and message_type not in CONVERSIONS:
            raise MeasurementError(f"no input has the type {message_type}, expected {listing(CONVERSIONS)}")
        conversion = (
            CONVERSIONS[message_type]
            if convert is None
            else Conversion(convert, number_to_msg, stamped=False)
        )
        self.frame_id, self.stamped = "", conversion.stamped
        self._type, self._deserialize, self._from_msg = message_type, deserialize, conversion.from_msg
        self._decode = None if conversion.decoder is None else conversion.decoder()
        self._frame = b""

    def read(self, message: Any) -> Any:
        """Return the value of a message or of its bytes.

        Raises:
            MeasurementError: If its fields do not fit together; its subclass DamagedMessageError if the bytes are not
                a message of the type.
        """
        if not isinstance(message, bytes):
            self.frame_id = message.header.frame_id if self.stamped else ""
            return self._from_msg(message)
        try:
            if self._decode is not None and message[:2] == LITTLE_ENDIAN:
                return self._decoded(
                    message[ENCAPSULATION:], self._decode
                )  # a copy, whose doubles are aligned
            if self._deserialize is None:
                raise DamagedMessageError(f"serialised {self._type} cannot be read here")
            msg = self._deserialize(message)
        except MeasurementError:  # of the decoder: the fields do not fit together
            raise
        except Exception as error:  # each deserialiser has exceptions of its own
            raise DamagedMessageError(f"{len(message)} bytes are no {self._type}: {error}") from error
        return self.read(msg)

    def _decoded(self, body: bytes, decode: Decoder) -> Any:
        if not self.stamped:
            return decode(body, 0, 0)
        sec, nanosec, length = _head(body)
        begin = FRAME + length
        frame = body[FRAME:begin]
        if frame != self._frame:
            self._frame, self.frame_id = frame, frame[:-1].decode()
        return decode(body, sec * NANOSECONDS + nanosec, begin)
