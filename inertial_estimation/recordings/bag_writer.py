"""A rosbag2 folder written message by message, with the package `rosbags`, no ROS needed."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from inertial_estimation.errors import MissingDependencyError, RecordingError, listing

STORAGES = ("mcap", "sqlite3")


class BagWriter(AbstractContextManager["BagWriter"]):
    """Writes a bag whose topics are known from the start; it is complete when the context ends."""

    def __init__(
        self, path: Path, topics: Mapping[str, str], storage: str = "mcap", *, compressed: bool = False
    ) -> None:
        """Begin a bag.

        Args:
            path: Folder to make.
            topics: Message type by topic.
            storage: One of `STORAGES`.
            compressed: Whether the chunks of an mcap file are compressed (zstd).

        Raises:
            RecordingError: If the storage is not supported.
            MissingDependencyError: If `rosbags` is not installed.
        """
        rosbag2, plugin, self._typestore = _rosbags(storage)
        self._types = dict(topics)
        self._writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
        if compressed:
            self._writer.set_compression(rosbag2.CompressionMode.STORAGE, rosbag2.CompressionFormat.ZSTD)
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
        """Write a message.

        Args:
            topic: One of the topics.
            log_ns: When it is said to have been recorded [ns].
            message: The message.
        """
        self.write_bytes(topic, log_ns, self._typestore.serialize_cdr(message, self._types[topic]))

    def write_bytes(self, topic: str, log_ns: int, data: Any) -> None:
        """Write a serialised message, as another bag holds it."""
        self._writer.write(self._connections[topic], log_ns, data)


def check_rosbags() -> None:
    """Check that bags can be written.

    Raises:
        MissingDependencyError: If `rosbags` is not installed.
    """
    _rosbags(STORAGES[0])


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


def _rosbags(storage: str) -> tuple[Any, Any, Any]:
    if storage not in STORAGES:
        raise RecordingError(f"no storage '{storage}', expected one of {listing(STORAGES)}")
    try:
        from rosbags import rosbag2
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise MissingDependencyError(
            "writing a recording needs the package 'rosbags': pip install rosbags"
        ) from error
    plugins = rosbag2.StoragePlugin
    plugin = plugins.MCAP if storage == "mcap" else plugins.SQLITE3
    return rosbag2, plugin, get_typestore(Stores.ROS2_JAZZY)
