"""Bags written with the package `rosbags`, no ROS needed: message by message, or a whole recording."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from inertial_estimation.errors import MissingDependencyError, RecordingError, listing
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_text
from inertial_estimation.files.text_file import resolved_path
from inertial_estimation.inputs.messages import CONVERSIONS
from inertial_estimation.recordings.recording import MemoryRecording

STORAGES = ("mcap", "sqlite3")


class BagWriter(AbstractContextManager["BagWriter"]):
    """Writes a bag; it is complete when the context ends."""

    def __init__(self, path: Path, topics: Mapping[str, str], storage: str = "mcap") -> None:
        """Begin a bag in a new folder.

        Args:
            path: The folder.
            topics: Message type by topic.
            storage: One of `STORAGES`.

        Raises:
            RecordingError: If the storage is not supported.
            MissingDependencyError: If `rosbags` is not installed.
        """
        if storage not in STORAGES:
            raise RecordingError(f"no storage '{storage}', expected one of {listing(STORAGES)}")
        rosbag2, self._typestore = _rosbags()
        self._types = dict(topics)
        plugin = getattr(rosbag2.StoragePlugin, storage.upper())
        self._writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        self._writer.open()
        self._connections = {
            topic: self._writer.add_connection(topic, kind, typestore=self._typestore)
            for topic, kind in topics.items()
        }

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def new(self, message_type: str) -> Any:
        """Return an empty message of a type, ``package/msg/Name``."""
        return empty_message(self._typestore, message_type)

    def write(self, topic: str, log_ns: int, message: Any) -> None:
        """Write a message to one of the topics with the time when it is said to have been recorded [ns]."""
        data = self._typestore.serialize_cdr(message, self._types[topic])
        self._writer.write(self._connections[topic], log_ns, data)


def write_recording(
    recording: MemoryRecording,
    path: str | Path,
    *,
    storage: str = "mcap",
    frames: Mapping[str, str] | None = None,
    overwrite: bool = False,
    further_files: Mapping[str, str] | None = None,
) -> None:
    """Write a recording as a rosbag2 folder, whole or not at all.

    Args:
        recording: What to write.
        path: Folder to make.
        storage: ``mcap`` or ``sqlite3``.
        frames: ``frame_id`` of the headers by topic; empty where not given.
        overwrite: Whether a rosbag2 folder at that place is replaced.
        further_files: Texts of other files to write into the folder, by name.

    Raises:
        RecordingError: If the storage or a message type is not supported.
        ConfigurationError: If the folder cannot be written, or holds something.
        MissingDependencyError: If `rosbags` is not installed.
    """
    target = check_bag_folder(path, overwrite=overwrite)
    for topic, kind in recording.topics.items():
        if kind not in CONVERSIONS:
            raise RecordingError(f"topic '{topic}' has type {kind}, expected one of {listing(CONVERSIONS)}")
    with bag_folder(target) as partial:
        with BagWriter(partial, recording.topics, storage) as writer:
            messages = {topic: writer.new(kind) for topic, kind in recording.topics.items()}  # used again
            for entry in recording.messages:
                message, conversion = messages[entry.topic], CONVERSIONS[recording.topics[entry.topic]]
                conversion.to_msg(entry.sample, message, (frames or {}).get(entry.topic, ""))
                writer.write(entry.topic, entry.log_ns, message)
        for name, text in (further_files or {}).items():
            write_text(partial / name, text)


@contextmanager
def bag_folder(target: Path) -> Iterator[Path]:
    """Yield a folder of the same name for a bag, which takes the target's place at the end.

    Args:
        target: Folder that `check_bag_folder` has returned.
    """
    with result_folder(target.parent) as partial:
        yield partial / target.name


def check_bag_folder(path: str | Path, *, overwrite: bool) -> Path:
    """Check that a rosbag2 folder can be written, before its contents are computed.

    Args:
        path: Folder to make.
        overwrite: Whether an existing rosbag2 folder may be replaced; other files are never replaced.

    Returns:
        The folder.

    Raises:
        ConfigurationError: If something else is there, or the folder cannot be written.
        MissingDependencyError: If `rosbags` is not installed.
    """
    _rosbags()
    is_bag = (resolved_path(path) / "metadata.yaml").is_file()
    remedy = (
        "replace the recording with --overwrite" if is_bag else "empty it: only a rosbag2 folder is replaced"
    )
    return check_output_folder(path, overwrite=overwrite and is_bag, remedy=remedy)


def empty_message(typestore: Any, message_type: str) -> Any:
    """Return a message of rosbags with every number zero and every text and sequence empty.

    Its classes have no defaults, unlike those of rclpy.

    Args:
        typestore: Types of rosbags.
        message_type: Type of the message, ``package/msg/Name``.
    """
    _constants, fields = typestore.fielddefs[message_type]
    values = [_empty_field(typestore, *definition) for _name, definition in fields]
    return typestore.types[message_type](*values)


def _empty_field(typestore: Any, node: Any, detail: Any) -> Any:
    """Return the empty value of a field: a message, a text or number, or an array or sequence of them."""
    if node.name == "NAME":
        return empty_message(typestore, detail)
    if node.name == "BASE":
        return "" if detail[0] == "string" else np.zeros((), detail[0]).item()
    (of, element), length = detail  # a sequence has the length zero
    if of.name == "BASE" and element[0] != "string":
        return np.zeros(length if node.name == "ARRAY" else 0, element[0])
    return [_empty_field(typestore, of, element) for _ in range(length if node.name == "ARRAY" else 0)]


def _rosbags() -> tuple[Any, Any]:
    """Return the module of rosbags for bags of ROS 2, and its types."""
    try:
        from rosbags import rosbag2
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingDependencyError(
            "writing a recording needs the package 'rosbags': pip install rosbags"
        ) from error
    return rosbag2, get_typestore(Stores.ROS2_JAZZY)
