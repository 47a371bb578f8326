"""Recordings: rosbag2 files (mcap or sqlite3) read as a stream of the core's own signals."""

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np

from inertial_estimation.errors import MeasurementError, MissingDependencyError, RecordingError, listing
from inertial_estimation.recordings.cdr import (
    LITTLE_ENDIAN,
    decode_base_state,
    decode_imu,
    decode_quaternion,
    decode_wrench,
    joint_state_decoder,
)
from inertial_estimation.signals import (
    NANOSECONDS,
    Array,
    BaseState,
    ImuSample,
    JointReading,
    OrientationSample,
    WrenchSample,
    frozen_array,
)

__all__ = [
    "IMU_TYPE",
    "JOINT_STATE_TYPE",
    "ODOMETRY_TYPE",
    "ORIENTATION_TYPES",
    "POSE_TYPE",
    "QUATERNION_TYPE",
    "WRENCH_TYPE",
    "BagRecording",
    "MemoryRecording",
    "PoseSample",
    "Recording",
    "RecordingEntry",
    "Sample",
    "check_topic",
    "read_orientations",
]

IMU_TYPE = "sensor_msgs/msg/Imu"
JOINT_STATE_TYPE = "sensor_msgs/msg/JointState"
WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped"
POSE_TYPE = "geometry_msgs/msg/PoseStamped"
QUATERNION_TYPE = "geometry_msgs/msg/QuaternionStamped"
ODOMETRY_TYPE = "nav_msgs/msg/Odometry"
ORIENTATION_TYPES = (POSE_TYPE, QUATERNION_TYPE)

Sample: TypeAlias = ImuSample | JointReading | WrenchSample | OrientationSample | BaseState


@dataclass(frozen=True, slots=True, eq=False)
class PoseSample(OrientationSample):
    """An orientation with the position that came with it.

    Attributes:
        p_WB: Position of the base in the world [m], shape (3,).
    """

    p_WB: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        OrientationSample.__post_init__(self)
        object.__setattr__(self, "p_WB", frozen_array("p_WB", self.p_WB, (3,)))


@dataclass(frozen=True, slots=True)
class RecordingEntry:
    """One message of a recording.

    Attributes:
        topic: Name of the topic, with its leading slash.
        log_ns: When the message was recorded [ns].
        sample: The message as the core's signal.
    """

    topic: str
    log_ns: int
    sample: Sample


class Recording(Protocol):
    """What a replay needs of a recording, be it a bag or in memory.

    Attributes:
        name: What to call it in messages.
        topics: Message type by topic.
        start_ns: Log time of the first message [ns].
        end_ns: Log time of the last message [ns].
    """

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    @property
    def topics(self) -> Mapping[str, str]:
        """Message type by topic."""
        ...

    @property
    def start_ns(self) -> int:
        """Log time of the first message [ns]."""
        ...

    @property
    def end_ns(self) -> int:
        """Log time of the last message [ns]."""
        ...

    def entries(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordingEntry]:
        """Yield the messages of some topics in the order of their log times.

        Args:
            topics: Topics to read.
            start_ns: Log time to begin at [ns]; None: the start.
        """
        ...


@dataclass(frozen=True)
class MemoryRecording:
    """A recording in memory, as the synthetic ones are before they are written.

    Attributes:
        messages: All messages in the order of their log times.
        topics: Message type by topic.
        name: What to call it in messages.
    """

    messages: tuple[RecordingEntry, ...]
    topics: Mapping[str, str]
    name: str = "recording in memory"

    def __post_init__(self) -> None:
        if not self.messages:
            raise RecordingError(f"{self.name} has no messages")

    @property
    def start_ns(self) -> int:
        """Log time of the first message [ns]."""
        return self.messages[0].log_ns

    @property
    def end_ns(self) -> int:
        """Log time of the last message [ns]."""
        return self.messages[-1].log_ns

    def entries(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordingEntry]:
        """Yield the messages of some topics in the order of their log times; see `Recording`."""
        wanted = set(topics)
        for entry in self.messages:
            if entry.topic in wanted and (start_ns is None or entry.log_ns >= start_ns):
                yield entry


class BagRecording(AbstractContextManager["BagRecording"]):
    """A rosbag2 recording (mcap or sqlite3), read with the package `rosbags`, no ROS needed.

    Attributes:
        name: The path.
        topics: Message type by topic.
        malformed: Messages that could not become a signal (sizes that do not match), by topic.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a bag.

        Args:
            path: Folder of the bag (with metadata.yaml), or its .mcap or .db3 file.

        Raises:
            RecordingError: If there is no bag, or it is empty or damaged.
            MissingDependencyError: If `rosbags` is not installed.
        """
        self.name = str(path)
        self.malformed: dict[str, int] = {}
        self._reader, self._typestore = _open_reader(Path(path))
        self.topics: dict[str, str] = {c.topic: c.msgtype for c in self._reader.connections}
        if self._reader.message_count == 0:
            self.close()
            raise RecordingError(f"the recording '{path}' is empty: it has no messages")
        self.start_ns = int(self._reader.start_time)
        self.end_ns = int(self._reader.end_time) - 1  # rosbags counts the end as exclusive

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._reader.close()

    def raw_messages(
        self, topics: Collection[str], start_ns: int | None = None
    ) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield topic, message type, log time [ns] and the serialised message.

        Raises:
            RecordingError: If the file is damaged.
        """
        connections = [c for c in self._reader.connections if c.topic in topics]
        if not connections:
            return
        try:
            for connection, log_ns, data in self._reader.messages(connections, start=start_ns):
                yield connection.topic, connection.msgtype, log_ns, data
        except GeneratorExit:
            raise
        except Exception as error:  # whatever a damaged file makes the reader stumble over
            raise RecordingError(f"the recording '{self.name}' is truncated or damaged: {error!r}") from error

    def entries(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RecordingEntry]:
        """Yield the messages of some topics in the order of their log times; see `Recording`."""
        lean: dict[str, Callable[[bytes], Sample]] = {
            IMU_TYPE: decode_imu,
            JOINT_STATE_TYPE: joint_state_decoder(),
            WRENCH_TYPE: decode_wrench,
            QUATERNION_TYPE: decode_quaternion,
            ODOMETRY_TYPE: decode_base_state,
        }
        for topic, message_type, log_ns, data in self.raw_messages(topics, start_ns):
            decode = lean.get(message_type) if data[:2] == LITTLE_ENDIAN else None
            try:
                sample = decode(data) if decode else self._decode_any(topic, message_type, data)
            except MeasurementError:
                self.malformed[topic] = self.malformed.get(topic, 0) + 1
            except (ValueError, struct.error) as error:
                raise RecordingError(
                    f"a message on '{topic}' of '{self.name}' is damaged: {error}"
                ) from error
            else:
                yield RecordingEntry(topic, log_ns, sample)

    def _decode_any(self, topic: str, message_type: str, data: bytes) -> Sample:
        """Decode a message by its definition."""
        convert = _CONVERTERS.get(message_type)
        if convert is None:
            raise RecordingError(
                f"topic '{topic}' of '{self.name}' has type {message_type}, "
                f"expected one of {listing(_CONVERTERS)}"
            )
        return convert(self._typestore.deserialize_cdr(data, message_type))


def check_topic(recording: Recording, topic: str, expected: Collection[str]) -> None:
    """Check that a recording has a topic of an expected type.

    Args:
        recording: The recording.
        topic: Name of the topic.
        expected: Message types allowed.

    Raises:
        RecordingError: If the topic is not there (lists those that are) or of another type.
    """
    if topic not in recording.topics:
        known = [f"{name} [{kind}]" for name, kind in sorted(recording.topics.items())]
        raise RecordingError(f"no topic '{topic}' in '{recording.name}'; it has {listing(known)}")
    got = recording.topics[topic]
    if got not in expected:
        raise RecordingError(
            f"topic '{topic}' of '{recording.name}' has type {got}, expected {' or '.join(expected)}"
        )


def read_orientations(recording: Recording, topic: str) -> list[OrientationSample]:
    """Read a whole topic of orientations (PoseStamped or QuaternionStamped).

    Raises:
        RecordingError: If the topic is missing, of another type, or has no messages.
    """
    check_topic(recording, topic, ORIENTATION_TYPES)
    samples = [entry.sample for entry in recording.entries([topic])]
    orientations = [sample for sample in samples if isinstance(sample, OrientationSample)]
    if not orientations:
        raise RecordingError(f"topic '{topic}' of '{recording.name}' has no messages")
    return orientations


def _open_reader(path: Path) -> tuple[Any, Any]:
    try:
        from rosbags.rosbag2 import Reader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingDependencyError(
            "reading a recording needs the package 'rosbags': pip install rosbags"
        ) from error
    if not path.exists():
        raise RecordingError(f"no recording '{path}'; expected a rosbag2 folder, or an .mcap or .db3 file")
    if path.is_dir() and not (path / "metadata.yaml").exists():
        files = [item.name for item in sorted(path.iterdir())]
        raise RecordingError(
            f"'{path}' is no rosbag2 recording: it has no metadata.yaml, it has {listing(files)}"
        )
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:  # whatever a damaged file makes the reader stumble over
        raise RecordingError(f"the recording '{path}' is empty, truncated or damaged: {error!r}") from error
    return reader, get_typestore(Stores.ROS2_JAZZY)


def _stamp_ns(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def _imu(message: Any) -> ImuSample:
    f, w = message.linear_acceleration, message.angular_velocity
    return ImuSample(_stamp_ns(message), np.array([f.x, f.y, f.z]), np.array([w.x, w.y, w.z]))


def _joint_reading(message: Any) -> JointReading:
    velocity = message.velocity if len(message.velocity) else None
    effort = message.effort if len(message.effort) else None
    return JointReading(_stamp_ns(message), message.name, message.position, velocity, effort)


def _wrench(message: Any) -> WrenchSample:
    f, n = message.wrench.force, message.wrench.torque
    return WrenchSample(_stamp_ns(message), np.array([f.x, f.y, f.z, n.x, n.y, n.z]))


def _xyzw(quaternion: Any) -> Any:
    return np.array([quaternion.x, quaternion.y, quaternion.z, quaternion.w])


def _pose(message: Any) -> PoseSample:
    p = message.pose.position
    return PoseSample(_stamp_ns(message), _xyzw(message.pose.orientation), np.array([p.x, p.y, p.z]))


def _quaternion(message: Any) -> OrientationSample:
    return OrientationSample(_stamp_ns(message), _xyzw(message.quaternion))


def _odometry(message: Any) -> BaseState:
    pose, twist = message.pose.pose, message.twist.twist
    p, v, w = pose.position, twist.linear, twist.angular
    return BaseState(
        _stamp_ns(message),
        _xyzw(pose.orientation),
        np.array([p.x, p.y, p.z]),
        np.array([v.x, v.y, v.z]),
        np.array([w.x, w.y, w.z]),
    )


_CONVERTERS: dict[str, Callable[[Any], Sample]] = {
    IMU_TYPE: _imu,
    JOINT_STATE_TYPE: _joint_reading,
    WRENCH_TYPE: _wrench,
    POSE_TYPE: _pose,
    QUATERNION_TYPE: _quaternion,
    ODOMETRY_TYPE: _odometry,
}
