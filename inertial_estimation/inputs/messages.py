"""Conversion of messages to values and back: one registry by message type, for nodes, bags and tests.

Messages are decoded from their bytes (little-endian CDR, as in all middlewares and bags) without building
message objects, which takes 4 to 20 times as long and of which few fields are used. Layout (OMG CDR, XCDR1):
4 bytes of encapsulation, then fields aligned to their size, counted from there; a string is its length with
the final zero (uint32) and its bytes; a sequence its count (uint32) and its elements. Messages are written by
the names of their fields, so that classes of rclpy and of `rosbags` both work; neither is imported.
"""

import struct
from array import array
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

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
    unchecked,
)

IMU_TYPE, JOINT_STATE_TYPE = "sensor_msgs/msg/Imu", "sensor_msgs/msg/JointState"
WRENCH_TYPE, PLAIN_WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped", "geometry_msgs/msg/Wrench"
POSE_TYPE, QUATERNION_TYPE = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/QuaternionStamped"
ODOMETRY_TYPE, INERTIA_TYPE = "nav_msgs/msg/Odometry", "geometry_msgs/msg/InertiaStamped"
NUMBERS = {"Float64": "<d", "Float32": "<f", "Int32": "<i", "Int16": "<h", "UInt16": "<H", "UInt8": "<B"}
BOOL_TYPE, NUMBER_TYPES = "std_msgs/msg/Bool", tuple(f"std_msgs/msg/{name}" for name in NUMBERS)
ORIENTATION_TYPES, WRENCH_TYPES = (POSE_TYPE, QUATERNION_TYPE), (WRENCH_TYPE, PLAIN_WRENCH_TYPE)
NO_ORIENTATION = -1.0  # first entry of an Imu's orientation covariance, by the message's definition
LITTLE_ENDIAN, ENCAPSULATION = b"\x00\x01", 4  # first bytes and length of the encapsulation
FRAME = 12  # offset of frame_id, after stamp and length
Decoder = Callable[[bytes, int, int], Any]  # of bytes after the encapsulation, stamp [ns], end of the header
_head = struct.Struct("<iII").unpack_from  # seconds and nanoseconds of the stamp, length of frame_id
_length = struct.Struct("<I").unpack_from
_joint_reading = unchecked(JointReading)


class Conversion(NamedTuple):
    """Conversion of messages of one type."""

    # Returns a decoder, which raises MeasurementError if fields do not fit together
    decoder: Callable[[], Decoder]
    to_msg: Callable[[Any, Any, str], Any]  # writes a value and a frame_id into a message, and returns it
    stamped: bool = True  # whether the message has a header


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


def _vectors(kind: type, doubles: int, *fields: str, strings: int = 0, stamped: bool = True) -> Conversion:
    """Return the conversion of messages that consist of strings and doubles to a stamp and arrays.

    A field is given as the name of an array, the index of its first entry among the doubles, and paths of
    fields of the message.
    """
    names, parts, places = [], [], []
    for name, first, *paths in (field.split() for field in fields):
        vectors = [path.rpartition(".") for path in paths]
        places.append([(attrgetter(path), letter) for path, _dot, letters in vectors for letter in letters])
        parts.append(slice(int(first), int(first) + len(places[-1])))
        names.append(name)
    make = unchecked(kind) if kind.__bases__ == (object,) else kind  # whose base has slots of its own

    def to_msg(value: Any, msg: Any, frame_id: str = "") -> Any:
        set_header(msg, value.stamp_ns, frame_id)
        for name, one in zip(names, places, strict=True):
            numbers = getattr(value, name, np.zeros(len(one))).tolist()  # an orientation has no position
            for (get, letter), number in zip(one, numbers, strict=True):
                setattr(get(msg), letter, number)
        return msg

    def decode(body: bytes, stamp_ns: int, begin: int) -> Any:
        for _ in range(strings):
            begin = (begin + 3) & -4
            begin += 4 + _length(body, begin)[0]
        values = np.frombuffer(body, "<f8", doubles, (begin + 7) & -8)
        return make(stamp_ns, *map(values.__getitem__, parts))

    return Conversion(lambda: decode, to_msg, stamped)


# Of an Imu's doubles 4 are orientation, 3 rate, 3 force, each with 9 of covariance.
_IMU = _vectors(
    ImuSample, 37, "specific_force_I 25 linear_acceleration.xyz", "angular_rate_I 13 angular_velocity.xyz"
)
_WRENCH = _vectors(WrenchSample, 6, "wrench_F 0 wrench.force.xyz wrench.torque.xyz")
_QUATERNION = _vectors(OrientationSample, 4, "quaternion_xyzw 0 quaternion.xyzw")
_ODOMETRY = _vectors(
    BaseState,
    85,
    "quaternion_xyzw 3 pose.pose.orientation.xyzw",
    "p_WB 0 pose.pose.position.xyz",
    "v_WB_B 43 twist.twist.linear.xyz",
    "w_WB_B 46 twist.twist.angular.xyz",
    strings=1,
)
wrench_to_msg, orientation_to_msg = _WRENCH.to_msg, _QUATERNION.to_msg


def base_state_to_msg(state: BaseState, msg: Any, frame_id: str = "", child_frame_id: str = "") -> Any:
    """Write a base state and the frames of world and base into a message; covariances are left unchanged."""
    msg.child_frame_id = child_frame_id
    return _ODOMETRY.to_msg(state, msg, frame_id)


def imu_to_msg(sample: ImuSample, msg: Any, frame_id: str = "") -> Any:
    """Write an IMU sample into a message; the orientation is marked as not sent (covariance -1)."""
    msg.orientation.w, msg.orientation_covariance[0] = 1.0, NO_ORIENTATION
    return _IMU.to_msg(sample, msg, frame_id)


def joints_to_msg(reading: JointReading, msg: Any, frame_id: str = "") -> Any:
    """Write a joint state into a message; sequences keep their type (array in rclpy, numpy in rosbags)."""
    set_header(msg, reading.stamp_ns, frame_id)
    msg.name = list(reading.names)
    for field in ("position", "velocity", "effort"):
        values = getattr(reading, field)
        setattr(msg, field, doubles_like(getattr(msg, field), () if values is None else values))
    return msg


def doubles_like(field: Any, values: Any) -> Any:
    """Return numbers as the sequence type of a field: array.array in rclpy, numpy array in rosbags."""
    numbers = np.array(values, dtype=np.float64)
    return numbers if isinstance(field, np.ndarray) else array("d", numbers.tobytes())


def joint_state_decoder() -> Decoder:
    """Return a decoder of sensor_msgs/JointState that parses the names only when they change.

    An empty velocity or effort counts as not sent; all names may be empty.
    """
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
    """Return a sequence of strings and the offset after it."""
    offset, names = (offset + 3) & -4, list[str]()
    count, offset = _length(body, offset)[0], offset + 4
    for _ in range(count):
        offset = (offset + 3) & -4
        end = offset + 4 + _length(body, offset)[0]
        names.append(body[offset + 4 : end - 1].decode())
        offset = end
    return tuple(names), offset


def _doubles(body: bytes, offset: int) -> tuple[Array | None, int]:
    """Return a sequence of doubles, None if empty, and the offset after it."""
    offset = (offset + 3) & -4
    count, offset = _length(body, offset)[0], offset + 4
    if not count:
        return None, offset
    offset = (offset + 7) & -8
    return np.frombuffer(body, "<f8", count, offset), offset + 8 * int(count)


def _inertia(body: bytes, stamp_ns: int, begin: int) -> StampedInertia:
    """Decode geometry_msgs/InertiaStamped, about the centre of mass in link axes; frame_id is the link."""
    mass, *numbers = np.frombuffer(body, "<f8", 10, (begin + 7) & -8).tolist()
    com, (xx, xy, xz, yy, yz, zz) = numbers[:3], numbers[3:]
    rows = np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    link = body[FRAME : begin - 1].decode()
    return StampedInertia(stamp_ns, LinkInertia(link, mass, np.array(com), rows))


def inertia_to_msg(stamped: StampedInertia, msg: Any, frame_id: str = "") -> Any:
    """Write an inertia into a message; frame_id is that of the link if none is given."""
    inertia, body = stamped.inertia, msg.inertia
    set_header(msg, stamped.stamp_ns, frame_id or inertia.link)
    body.m = float(inertia.mass)
    body.com.x, body.com.y, body.com.z = inertia.com_L.tolist()
    (body.ixx, body.ixy, body.ixz), (_, body.iyy, body.iyz), (_, _, body.izz) = inertia.inertia_Lcm.tolist()
    return msg


def number_to_msg(sample: ContactSample, msg: Any, _frame_id: str = "") -> Any:
    """Write a number into a message in the type of its field; integers are rounded."""
    kind, value = type(msg.data), sample.value
    msg.data = value >= 0.5 if kind is bool else round(value) if kind is int else value
    return msg


def _number(layout: str) -> Conversion:
    """Return the conversion of messages of one number without a stamp, given its format for `struct`."""
    unpack = struct.Struct(layout).unpack_from

    def decode(body: bytes, _stamp_ns: int, _begin: int) -> ContactSample:
        return ContactSample(0, float(unpack(body)[0]))

    return Conversion(lambda: decode, number_to_msg, stamped=False)


CONVERSIONS: dict[str, Conversion] = {
    IMU_TYPE: _IMU._replace(to_msg=imu_to_msg),
    JOINT_STATE_TYPE: Conversion(joint_state_decoder, joints_to_msg),
    WRENCH_TYPE: _WRENCH,
    PLAIN_WRENCH_TYPE: _vectors(WrenchSample, 6, "wrench_F 0 force.xyz torque.xyz", stamped=False),
    QUATERNION_TYPE: _QUATERNION,
    POSE_TYPE: _vectors(PoseSample, 7, "quaternion_xyzw 3 pose.orientation.xyzw", "p_WB 0 pose.position.xyz"),
    ODOMETRY_TYPE: _ODOMETRY._replace(to_msg=base_state_to_msg),
    INERTIA_TYPE: Conversion(lambda: _inertia, inertia_to_msg),
    BOOL_TYPE: _number("<?"),
    **{f"std_msgs/msg/{name}": _number(layout) for name, layout in NUMBERS.items()},
}


class MessageReader:
    """Reads the messages of one topic.

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
        """Choose the conversion of a type (``package/msg/Name``), or convert what `deserialize` builds.

        Raises:
            MeasurementError: If there is no conversion.
        """
        if convert is None and message_type not in CONVERSIONS:
            raise MeasurementError(f"no input has the type {message_type}, expected {listing(CONVERSIONS)}")
        self.frame_id, self.stamped, self._frame = "", False, b""
        self._type, self._convert = message_type, convert
        self._decode: Callable[[bytes], Any] = deserialize or bytes
        if convert is None:
            make_decoder, _to_msg, self.stamped = CONVERSIONS[message_type]
            self._decoder, self._decode = make_decoder(), self._from_cdr
        self._bytes: bytes | None = None  # the last ones that were decoded, and their value
        self._value: Any = None

    def read(self, message: Any) -> Any:
        """Return the value of the bytes of a message, or what is a value already.

        Several that read the same bytes share one value.

        Raises: MeasurementError: If its fields do not fit together; DamagedMessageError if the bytes are none
            of the type.
        """
        if not isinstance(message, bytes):
            return message
        if message is not self._bytes:
            self._value, self._bytes = self._decoded(message), message
        return self._value

    def _decoded(self, message: bytes) -> Any:
        try:
            value = self._decode(message)
        except MeasurementError:  # of the decoder: the fields do not fit together
            raise
        except Exception as error:  # each deserialiser has exceptions of its own
            raise DamagedMessageError(f"{len(message)} bytes are no {self._type}: {error}") from error
        return value if self._convert is None else self._convert(value)

    def _from_cdr(self, message: bytes) -> Any:
        if message[:2] != LITTLE_ENDIAN:
            raise ValueError(f"they begin with {message[:2].hex()}, little-endian CDR with 0001")
        body = message[ENCAPSULATION:]  # a copy, whose doubles are aligned
        if not self.stamped:
            return self._decoder(body, 0, 0)
        sec, nanosec, length = _head(body)
        begin = FRAME + length
        if body[FRAME:begin] != self._frame:
            self._frame = body[FRAME:begin]
            self.frame_id = self._frame[:-1].decode(errors="replace")
        return self._decoder(body, sec * NANOSECONDS + nanosec, begin)
