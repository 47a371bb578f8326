"""Writing of bags with the package `rosbags`, without ROS: message by message, or a whole recording."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inertial_estimation.errors import RecordingError, listing
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_text
from inertial_estimation.files.text_file import resolved_path
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.recording import MemoryRecording, message_types

STORAGES = ("mcap", "sqlite3")
LARGEST_EMPTY = 2**16  # more than the size of any empty message; one with covariances has 0.7 kB [bytes]


class BagWriter:
    """Writes the messages of a bag.

    Attributes:
        folder: Folder of the bag while it is written; other files may be written into it, too.
    """

    def __init__(self, writer: Any, topics: Mapping[str, str]) -> None:
        """Write with a writer of `rosbags`; `topics` gives the message type of each topic."""
        self.folder, self._writer, self._types, self._typestore = writer.path, writer, topics, message_types()
        self._connections = {
            topic: writer.add_connection(topic, kind, typestore=self._typestore)
            for topic, kind in topics.items()
        }

    def new(self, message_type: str) -> Any:
        """Return an empty message of a type, ``package/msg/Name``."""
        return empty_message(self._typestore, message_type)

    def write(self, topic: str, log_ns: int, message: Any) -> None:
        """Write a message to one of the topics with its log time [ns]."""
        data = self._typestore.serialize_cdr(message, self._types[topic])
        self._writer.write(self._connections[topic], log_ns, data)


@contextmanager
def new_bag(
    path: str | Path, topics: Mapping[str, str], *, storage: str = "mcap", overwrite: bool = False
) -> Iterator[BagWriter]:
    """Yield the writer of a bag, which is moved to its path when the context ends without an error.

    Args:
        path: Folder to create.
        topics: Message type by topic.
        storage: One of `STORAGES`.
        overwrite: Whether a rosbag2 folder at that place is replaced.

    Raises:
        RecordingError: If the storage is not supported.
        ConfigurationError: If the folder cannot be written, or is not empty.
        MissingDependencyError: If `rosbags` is not installed.
    """
    target = check_bag_folder(path, overwrite=overwrite)
    if storage not in STORAGES:
        raise RecordingError(f"no storage '{storage}', expected one of {listing(STORAGES)}")
    from rosbags.rosbag2 import StoragePlugin, Writer

    with result_folder(target.parent) as partial:
        plugin = StoragePlugin[storage.upper()]
        with Writer(partial / target.name, version=9, storage_plugin=plugin) as writer:
            yield BagWriter(writer, topics)


def write_recording(
    recording: MemoryRecording,
    path: str | Path,
    *,
    storage: str = "mcap",
    frames: Mapping[str, str] | None = None,
    overwrite: bool = False,
    further_files: Mapping[str, str] | None = None,
) -> None:
    """Write a recording as a rosbag2 folder, complete or not at all; errors are those of `new_bag`.

    Args:
        recording: The recording.
        path: Folder to create.
        storage: ``mcap`` or ``sqlite3``.
        frames: ``frame_id`` of the headers by topic; empty where not given.
        overwrite: Whether a rosbag2 folder at that place is replaced.
        further_files: Texts of other files to write into the folder, by name.

    Raises:
        RecordingError: If a message type is not supported.
    """
    for topic, kind in recording.topics.items():
        if kind not in CONVERSIONS:
            raise RecordingError(f"topic '{topic}' has type {kind}, expected one of {listing(CONVERSIONS)}")
    with new_bag(path, recording.topics, storage=storage, overwrite=overwrite) as bag:
        messages = {topic: bag.new(kind) for topic, kind in recording.topics.items()}  # reused
        for entry in recording.messages:
            message, conversion = messages[entry.topic], CONVERSIONS[recording.topics[entry.topic]]
            conversion.to_msg(entry.sample, message, (frames or {}).get(entry.topic, ""))
            bag.write(entry.topic, entry.log_ns, message)
        for name, text in (further_files or {}).items():
            write_text(bag.folder / name, text)


def check_bag_folder(path: str | Path, *, overwrite: bool) -> Path:
    """Check that a rosbag2 folder can be written, before its contents are computed.

    Args:
        path: Folder to create.
        overwrite: Whether an existing rosbag2 folder may be replaced; other files are never replaced.

    Returns:
        The folder.

    Raises:
        ConfigurationError: If something else is there, or the folder cannot be written.
        MissingDependencyError: If `rosbags` is not installed.
    """
    message_types()
    is_bag = (resolved_path(path) / "metadata.yaml").is_file()
    remedy = (
        "replace the recording with --overwrite" if is_bag else "empty it: only a rosbag2 folder is replaced"
    )
    return check_output_folder(path, overwrite=overwrite and is_bag, remedy=remedy)


def empty_message(typestore: Any, message_type: str) -> Any:
    """Return a message of rosbags in which every number is zero and every text and sequence is empty.

    Classes of rosbags have no defaults, unlike those of rclpy; zeros are such a message in ROS 1's encoding.

    Args:
        typestore: Types of rosbags.
        message_type: Type of the message, ``package/msg/Name``.
    """
    known = typestore.get_msgdef(message_type)
    message, _size = known.deserialize_ros1(bytearray(LARGEST_EMPTY), 0, known.cls, typestore)
    return message
