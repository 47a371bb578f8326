"""Messages to values and back: one registry by message type, for nodes, bags and tests.

Conversions only read and write fields by name, so the same serve the message classes of rclpy and those of `rosbags`;
nothing of either is imported. Bytes of the types that come at the rates of sensors are decoded (plain little-endian CDR)
without building the message: it takes 2 to 13 times as long, and a conversion uses a few of its numbers.

Layout (OMG CDR, XCDR1): 4 bytes of encapsulation, then fields aligned to their size counted from there; a string is its
length with the final zero (uint32) and its bytes; a sequence its count (uint32).
"""

import struct
from array import array
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import DamagedMessageError, MeasurementError, listing
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
NUMBERS = {"Float64": "<d", "Float32": "<f", "Int32": "<i", "Int16": "<h", "UInt16": "<H", "UInt8": "<B"}
BOOL_TYPE, NUMBER_TYPES = "std_msgs/msg/Bool", tuple(f"std_msgs/msg/{name}" for name in NUMBERS)
ORIENTATION_TYPES, WRENCH_TYPES = (POSE_TYPE, QUATERNION_TYPE), (WRENCH_TYPE, PLAIN_WRENCH_TYPE)
NO_ORIENTATION = -1.0  # first entry of an Imu's orientation covariance, by the message's definition
XYZ, XYZW = ("x", "y", "z"), ("x", "y", "z", "w")
LITTLE_ENDIAN, ENCAPSULATION = b"\x00\x01", 4  # its first bytes, and its length
FRAME = 12  # offset of the name of the frame, behind stamp and length
Decoder = Callable[
    [bytes, int, int], Any
]  # message behind its encapsulation, stamp [ns], offset behind the header
_head = struct.Struct("<iII").unpack_from  # seconds and nanoseconds of the stamp, length of the frame's name
_length = struct.Struct("<I").unpack_from
_joint_reading = made_of_checked(JointReading)


class Conversion(NamedTuple):
    """Conversion of messages of one type.

    Attributes:
        from_msg: Message to value; raises MeasurementError where its fields do not fit together.
        to_msg: Writes a value and a frame's name into a message that exists, and returns the message.
        decoder: Returns a decoder, which gives exactly what `from_msg` gives; None where there is none.
        stamped: Whether the message has a header.
    """

    from_msg: Callable[[Any], Any]
    to_msg: Callable[[Any, Any, str], Any]
    decoder: Callable[[], Decoder] | None = None
    stamped: bool = True


def stamp_from_msg(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in integer nanoseconds."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def set_header(msg: Any, stamp_ns: int, frame_id: str) -> None:
    """Write a stamp and the name of a frame into the header of a message, if it has one."""
    if hasattr(msg, "header"):
        msg.header.stamp.sec, msg.header.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
        msg.header.frame_id = frame_id


def _vectors(
    kind: type,
    doubles: int,
    strings: int,
    *fields: tuple[str, int, Sequence[tuple[str, tuple[str, ...]]]],
    stamped: bool = True,
) -> Conversion:
    """Return the conversion of messages that are doubles behind some strings.

    Args:
        kind: Class of the values: a stamp and arrays.
        doubles: Number of the doubles.
        strings: Number of strings behind the header.
        fields: Name of each array, place of its first number among the doubles, and its fields with their parts.
        stamped: Whether the message has a header.
    """
    getters = [[(attrgetter(path), letters) for path, letters in places] for _name, _first, places in fields]
    sizes = [sum(len(letters) for _get, letters in one) for one in getters]
    parts = [slice(first, first + n) for (_name, first, _places), n in zip(fields, sizes, strict=True)]
    make = made_of_checked(kind) if kind.__bases__ == (object,) else kind  # whose base has slots of its own

    def from_msg(msg: Any) -> Any:
        arrays = [
            [getattr(get(msg), letter) for get, letters in one for letter in letters] for one in getters
        ]
        return kind(stamp_from_msg(msg.header.stamp) if stamped else 0, *arrays)

    def to_msg(value: Any, msg: Any, frame_id: str = "") -> Any:
        set_header(msg, value.stamp_ns, frame_id)
        for (name, _first, _places), one in zip(fields, getters, strict=True):
            numbers = iter(getattr(value, name, np.zeros(3)).tolist())  # an orientation has no position
            for get, letters in one:
                vector = get(msg)
                for letter in letters:
                    setattr(vector, letter, next(numbers))
        return msg

    def decode(body: bytes, stamp_ns: int, begin: int) -> Any:
        for _ in range(strings):
            begin = (begin + 3) & -4
            begin += 4 + _length(body, begin)[0]
        values = np.frombuffer(body, "<f8", doubles, (begin + 7) & -8)
        return make(stamp_ns, *map(values.__getitem__, parts))

    return Conversion(from_msg, to_msg, lambda: decode, stamped)


# Of the doubles of an Imu 4 are the orientation, 3 the rate, 3 the force, each with 9 of covariance; of an Odometry 7 are
# the pose and 6 the twist, each with 36.
_IMU = _vectors(
    ImuSample,
    37,
    0,
    ("specific_force_I", 25, [("linear_acceleration", XYZ)]),
    ("angular_rate_I", 13, [("angular_velocity", XYZ)]),
)
_ODOMETRY = _vectors(
    BaseState,
    85,
    1,
    ("quaternion_xyzw", 3, [("pose.pose.orientation", XYZW)]),
    ("p_WB", 0, [("pose.pose.position", XYZ)]),
    ("v_WB_B", 43, [("twist.twist.linear", XYZ)]),
    ("w_WB_B", 46, [("twist.twist.angular", XYZ)]),
)
_POSE = _vectors(
    PoseSample,
    7,
    0,
    ("quaternion_xyzw", 3, [("pose.orientation", XYZW)]),
    ("p_WB", 0, [("pose.position", XYZ)]),
)
_WRENCH = _vectors(WrenchSample, 6, 0, ("wrench_F", 0, [("wrench.force", XYZ), ("wrench.torque", XYZ)]))
_PLAIN = _vectors(WrenchSample, 6, 0, ("wrench_F", 0, [("force", XYZ), ("torque", XYZ)]), stamped=False)
_QUATERNION = _vectors(OrientationSample, 4, 0, ("quaternion_xyzw", 0, [("quaternion", XYZW)]))


def imu_to_msg(sample: ImuSample, msg: Any, frame_id: str = "") -> Any:
    """Write an IMU sample into a message; the orientation is marked as not sent (covariance -1)."""
    msg.orientation.w, msg.orientation_covariance[0] = 1.0, NO_ORIENTATION
    return _IMU.to_msg(sample, msg, frame_id)


def joints_from_msg(msg: Any) -> JointReading:
    """Convert sensor_msgs/JointState; an empty velocity or effort means "not sent"; without names they are empty."""
    position, *rest = (np.asarray(values, dtype=float) for values in (msg.position, msg.velocity, msg.effort))
    velocity, effort = (values if len(values) else None for values in rest)
    names = tuple(msg.name) or ("",) * len(position)
    return JointReading(stamp_from_msg(msg.header.stamp), names, position, velocity, effort)


def joints_to_msg(reading: JointReading, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `joints_from_msg`; fields keep the type of their sequences (array of rclpy, numpy of rosbags)."""
    set_header(msg, reading.stamp_ns, frame_id)
    msg.name = list(reading.names)
    for field in ("position", "velocity", "effort"):
        numbers = np.array(
            () if getattr(reading, field) is None else getattr(reading, field), dtype=np.float64
        )
        setattr(
            msg,
            field,
            numbers if isinstance(getattr(msg, field), np.ndarray) else array("d", numbers.tobytes()),
        )
    return msg


def joint_state_decoder() -> Decoder:
    """Return a decoder of sensor_msgs/JointState that reads the names again only when they change."""
    block, names, end = b"", tuple[str, ...](), 0

    def decode(body: bytes, stamp_ns: int, begin: int) -> JointReading:
        nonlocal block, names, end
        if not block or body[begin:end] != block:
            names, end = _names(body, begin)
            block = body[begin:end]
        position, offset = _doubles(body, end)
        velocity, offset = _doubles(body, offset)
        effort, offset = _doubles(body, offset)
        position = np.empty(0) if position is None else position
        of_all = names or ("",) * len(position)
        n = len(of_all)
        if len(position) == n and all(values is None or len(values) == n for values in (velocity, effort)):
            return _joint_reading(stamp_ns, of_all, position, velocity, effort)
        return JointReading(stamp_ns, of_all, position, velocity, effort)

    return decode


def _names(body: bytes, offset: int) -> tuple[tuple[str, ...], int]:
    """Return a sequence of strings and the offset behind it."""
    offset, names = (offset + 3) & -4, list[str]()
    count, offset = _length(body, offset)[0], offset + 4
    for _ in range(count):
        offset = (offset + 3) & -4
        end = offset + 4 + _length(body, offset)[0]
        names.append(body[offset + 4 : end - 1].decode())
        offset = end
    return tuple(names), offset


def _doubles(body: bytes, offset: int) -> tuple[Array | None, int]:
    """Return a sequence of doubles, None if empty, and the offset behind it."""
    offset = (offset + 3) & -4
    count, offset = _length(body, offset)[0], offset + 4
    if not count:
        return None, offset
    offset = (offset + 7) & -8
    return np.frombuffer(body, "<f8", count, offset), offset + 8 * int(count)


def number_to_msg(sample: ContactSample, msg: Any, _frame_id: str = "") -> Any:
    """Write a number into a message in the type that it has; integers are rounded."""
    kind = type(msg.data)
    msg.data = (
        kind(sample.value >= 0.5) if kind is bool else round(sample.value) if kind is int else sample.value
    )
    return msg


def _number(layout: str) -> Conversion:
    """Return the conversion of messages of one number, without a stamp, by its layout for `struct`."""
    unpack = struct.Struct(layout).unpack_from
    decoder: Callable[[], Decoder] = lambda: (
        lambda body, _stamp, _begin: ContactSample(0, float(unpack(body)[0]))
    )  # noqa: E731
    return Conversion(lambda msg: ContactSample(0, float(msg.data)), number_to_msg, decoder, stamped=False)


def link_inertia_from_msg(msg: Any) -> StampedInertia:
    """Convert geometry_msgs/InertiaStamped, about the centre of mass in link axes; its frame is the link."""
    body, com = msg.inertia, np.array((msg.inertia.com.x, msg.inertia.com.y, msg.inertia.com.z))
    rows = ((body.ixx, body.ixy, body.ixz), (body.ixy, body.iyy, body.iyz), (body.ixz, body.iyz, body.izz))
    inertia = LinkInertia(msg.header.frame_id, body.m, com, np.array(rows))
    return StampedInertia(stamp_from_msg(msg.header.stamp), inertia)


def link_inertia_to_msg(stamped: StampedInertia, msg: Any, frame_id: str = "") -> Any:
    """Inverse of `link_inertia_from_msg`; the frame is that of the link where no other is named."""
    inertia, body = stamped.inertia, msg.inertia
    set_header(msg, stamped.stamp_ns, frame_id or inertia.link)
    body.m = float(inertia.mass)
    body.com.x, body.com.y, body.com.z = inertia.com_L.tolist()
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = inertia.inertia_Lcm.tolist()
    return msg


def _link_inertia_decoded(body: bytes, stamp_ns: int, begin: int) -> StampedInertia:
    values = np.frombuffer(body, "<f8", 10, (begin + 7) & -8)  # mass, centre, xx, xy, xz, yy, yz, zz
    moment = values[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    link = body[FRAME : begin - 1].decode()
    return StampedInertia(stamp_ns, LinkInertia(link, float(values[0]), values[1:4], moment))


CONVERSIONS: dict[str, Conversion] = {
    IMU_TYPE: _IMU._replace(to_msg=imu_to_msg),
    JOINT_STATE_TYPE: Conversion(joints_from_msg, joints_to_msg, joint_state_decoder),
    WRENCH_TYPE: _WRENCH,
    PLAIN_WRENCH_TYPE: _PLAIN,
    QUATERNION_TYPE: _QUATERNION,
    POSE_TYPE: _POSE,
    ODOMETRY_TYPE: _ODOMETRY,
    INERTIA_TYPE: Conversion(link_inertia_from_msg, link_inertia_to_msg, lambda: _link_inertia_decoded),
    BOOL_TYPE: _number("<?"),
    **{f"std_msgs/msg/{name}": _number(layout) for name, layout in NUMBERS.items()},
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
            deserialize: Builds a message from its bytes, where they are not decoded; None: such bytes are refused.
            convert: Message to value, where it is not the registered conversion.

        Raises:
            MeasurementError: If there is no conversion.
        """
        if convert is None and message_type not in CONVERSIONS:
            raise MeasurementError(f"no input has the type {message_type}, expected {listing(CONVERSIONS)}")
        chosen = (
            CONVERSIONS[message_type]
            if convert is None
            else Conversion(convert, number_to_msg, stamped=False)
        )
        self.frame_id, self.stamped = "", chosen.stamped
        self._type, self._deserialize, self._from_msg = message_type, deserialize, chosen.from_msg
        self._decode = None if chosen.decoder is None else chosen.decoder()
        self._frame = b""

    def read(self, message: Any) -> Any:
        """Return the value of a message or of its bytes.

        Raises:
            MeasurementError: If its fields do not fit together; DamagedMessageError if the bytes are none of the type.
        """
        if not isinstance(message, bytes):
            self.frame_id = message.header.frame_id if self.stamped else ""
            return self._from_msg(message)
        try:
            if self._decode is not None and message[:2] == LITTLE_ENDIAN:
                body = message[ENCAPSULATION:]  # a copy, whose doubles are aligned
                if not self.stamped:
                    return self._decode(body, 0, 0)
                sec, nanosec, length = _head(body)
                begin = FRAME + length
                if body[FRAME:begin] != self._frame:
                    self._frame, self.frame_id = body[FRAME:begin], body[FRAME : begin - 1].decode()
                return self._decode(body, sec * NANOSECONDS + nanosec, begin)
            if self._deserialize is None:
                raise DamagedMessageError(f"serialised {self._type} cannot be read here")
            msg = self._deserialize(message)
        except MeasurementError:  # of the decoder: the fields do not fit together
            raise
        except Exception as error:  # each deserialiser has exceptions of its own
            raise DamagedMessageError(f"{len(message)} bytes are no {self._type}: {error}") from error
        return self.read(msg)
