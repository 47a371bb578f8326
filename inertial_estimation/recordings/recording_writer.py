"""Recordings written as rosbag2 files (mcap or sqlite3), no ROS needed."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import MissingDependencyError, RecordingError, listing
from inertial_estimation.recordings.recording import (
    IMU_TYPE,
    JOINT_STATE_TYPE,
    ODOMETRY_TYPE,
    POSE_TYPE,
    QUATERNION_TYPE,
    WRENCH_TYPE,
    MemoryRecording,
)
from inertial_estimation.signals import NANOSECONDS

__all__ = ["STORAGES", "check_bag_folder", "write_recording"]

STORAGES = ("mcap", "sqlite3")


def write_recording(
    recording: MemoryRecording,
    path: str | Path,
    *,
    storage: str = "mcap",
    frames: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a recording as a rosbag2 folder.

    Args:
        recording: What to write.
        path: Folder to make.
        storage: ``mcap`` or ``sqlite3``.
        frames: ``frame_id`` of the headers by topic; empty where not given.
        overwrite: Whether a rosbag2 folder at that place is replaced.

    Raises:
        RecordingError: If the folder exists, or the storage or a message type is not supported.
        MissingDependencyError: If `rosbags` is not installed.
    """
    Writer, plugin, typestore = _rosbags(storage)
    target = check_bag_folder(path, overwrite=overwrite)
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    builders = {topic: _builder(topic, kind) for topic, kind in recording.topics.items()}
    with Writer(target, version=9, storage_plugin=plugin) as writer:
        connections = {
            topic: writer.add_connection(topic, kind, typestore=typestore)
            for topic, kind in recording.topics.items()
        }
        for entry in recording.messages:
            kind = recording.topics[entry.topic]
            frame = (frames or {}).get(entry.topic, "")
            header = _header(typestore, entry.sample.stamp_ns, frame)
            message = builders[entry.topic](typestore.types, header, entry.sample)
            writer.write(connections[entry.topic], entry.log_ns, typestore.serialize_cdr(message, kind))


def check_bag_folder(path: str | Path, *, overwrite: bool) -> Path:
    """Check that a rosbag2 folder can be written, before the work that fills it.

    Args:
        path: Folder to make.
        overwrite: Whether a rosbag2 folder at that place may be replaced; nothing else ever is.

    Returns:
        The folder.

    Raises:
        RecordingError: If something else is there.
        MissingDependencyError: If `rosbags` is not installed.
    """
    _rosbags(STORAGES[0])
    target = Path(path)
    if target.exists() and not (overwrite and (target / "metadata.yaml").is_file()):
        raise RecordingError(f"'{target}' exists; name a folder that does not (or ask to overwrite a bag)")
    return target


def _rosbags(storage: str) -> tuple[Any, Any, Any]:
    if storage not in STORAGES:
        raise RecordingError(f"no storage '{storage}', expected one of {listing(STORAGES)}")
    try:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingDependencyError(
            "writing a recording needs the package 'rosbags': pip install rosbags"
        ) from error
    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    return Writer, plugin, get_typestore(Stores.ROS2_JAZZY)


def _builder(topic: str, message_type: str) -> Callable[[Any, Any, Any], Any]:
    if message_type not in _BUILDERS:
        raise RecordingError(f"topic '{topic}' has type {message_type}, expected one of {listing(_BUILDERS)}")
    return _BUILDERS[message_type]


def _header(typestore: Any, stamp_ns: int, frame: str) -> Any:
    stamp = typestore.types["builtin_interfaces/msg/Time"](*divmod(stamp_ns, NANOSECONDS))
    return typestore.types["std_msgs/msg/Header"](stamp, frame)


def _vector(types: Any, xyz: Any) -> Any:
    return types["geometry_msgs/msg/Vector3"](*map(float, xyz))


def _quaternion(types: Any, xyzw: Any) -> Any:
    return types["geometry_msgs/msg/Quaternion"](*map(float, xyzw))


def _imu(types: Any, header: Any, sample: Any) -> Any:
    unknown = np.zeros(9)
    unknown[0] = -1.0  # by the message's definition: there is no orientation
    return types[IMU_TYPE](
        header,
        _quaternion(types, (0.0, 0.0, 0.0, 1.0)),
        unknown,
        _vector(types, sample.angular_rate_I),
        np.zeros(9),
        _vector(types, sample.specific_force_I),
        np.zeros(9),
    )


def _joint_state(types: Any, header: Any, sample: Any) -> Any:
    empty = np.empty(0)
    velocity = empty if sample.velocity is None else sample.velocity
    effort = empty if sample.effort is None else sample.effort
    return types[JOINT_STATE_TYPE](header, list(sample.names), sample.position, velocity, effort)


def _wrench(types: Any, header: Any, sample: Any) -> Any:
    force, torque = _vector(types, sample.wrench_F[:3]), _vector(types, sample.wrench_F[3:])
    return types[WRENCH_TYPE](header, types["geometry_msgs/msg/Wrench"](force, torque))


def _pose(types: Any, header: Any, sample: Any) -> Any:
    return types[POSE_TYPE](header, _plain_pose(types, getattr(sample, "p_WB", np.zeros(3)), sample))


def _plain_pose(types: Any, position: Any, sample: Any) -> Any:
    point = types["geometry_msgs/msg/Point"](*map(float, position))
    return types["geometry_msgs/msg/Pose"](point, _quaternion(types, sample.quaternion_xyzw))


def _quaternion_stamped(types: Any, header: Any, sample: Any) -> Any:
    return types[QUATERNION_TYPE](header, _quaternion(types, sample.quaternion_xyzw))


def _odometry(types: Any, header: Any, sample: Any) -> Any:
    pose = _plain_pose(types, sample.p_WB, sample)
    twist = types["geometry_msgs/msg/Twist"](_vector(types, sample.v_WB_B), _vector(types, sample.w_WB_B))
    return types[ODOMETRY_TYPE](
        header,
        "",
        types["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36)),
        types["geometry_msgs/msg/TwistWithCovariance"](twist, np.zeros(36)),
    )


_BUILDERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    IMU_TYPE: _imu,
    JOINT_STATE_TYPE: _joint_state,
    WRENCH_TYPE: _wrench,
    POSE_TYPE: _pose,
    QUATERNION_TYPE: _quaternion_stamped,
    ODOMETRY_TYPE: _odometry,
}
