"""Recordings written as rosbag2 files (mcap or sqlite3), no ROS needed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import MissingDependencyError, RecordingError, listing
from inertial_estimation.files.outputs import check_output_folder, result_folder, write_text
from inertial_estimation.files.text_file import resolved_path
from inertial_estimation.recordings.message_conversion import CONVERSIONS, MessageConversion
from inertial_estimation.recordings.recording import MemoryRecording

__all__ = ["STORAGES", "bag_folder", "check_bag_folder", "empty_message", "write_recording"]

STORAGES = ("mcap", "sqlite3")


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
    Writer, plugin, typestore = _rosbags(storage)
    target = check_bag_folder(path, overwrite=overwrite)
    writable = {topic: _writable(topic, kind, typestore) for topic, kind in recording.topics.items()}
    with bag_folder(target) as partial:
        with Writer(partial, version=9, storage_plugin=plugin) as writer:
            connections = {
                topic: writer.add_connection(topic, kind, typestore=typestore)
                for topic, kind in recording.topics.items()
            }
            for entry in recording.messages:
                conversion, message = writable[entry.topic]
                conversion.to_msg(entry.sample, message, (frames or {}).get(entry.topic, ""))
                data = typestore.serialize_cdr(message, recording.topics[entry.topic])
                writer.write(connections[entry.topic], entry.log_ns, data)
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
    _rosbags(STORAGES[0])
    is_bag = (resolved_path(path) / "metadata.yaml").is_file()
    remedy = (
        "replace the recording with --overwrite" if is_bag else "empty it: only a rosbag2 folder is replaced"
    )
    return check_output_folder(path, overwrite=overwrite and is_bag, remedy=remedy)


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


def _writable(topic: str, message_type: str, typestore: Any) -> tuple[MessageConversion[Any], Any]:
    """Return the conversion of a topic and the message it writes into, which all samples reuse."""
    if message_type not in CONVERSIONS:
        raise RecordingError(
            f"topic '{topic}' has type {message_type}, expected one of {listing(CONVERSIONS)}"
        )
    return CONVERSIONS[message_type], empty_message(typestore, message_type)


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
