"""A file of a bag as its recorder closed it, read with the package `rosbags`."""

from collections.abc import Collection, Iterator
from pathlib import Path

from inertial_estimation.errors import MissingDependencyError
from inertial_estimation.recordings.bag_file import BagFile, RawMessage


class CompleteBagFile(BagFile):
    """A file or folder as it was closed by its recorder.

    Attributes:
        path: The file or folder.
    """

    def __init__(self, path: Path) -> None:
        """Open it.

        Args:
            path: The file, or a folder whose files are compressed.

        Raises:
            MissingDependencyError: If `rosbags` is not installed.
            Exception: Whatever a damaged file makes rosbags stumble over.
        """
        try:
            from rosbags.rosbag2 import Reader
        except ImportError as error:
            raise MissingDependencyError(
                "reading a recording needs the package 'rosbags': pip install rosbags"
            ) from error
        self.path = path
        self._reader = Reader(path)
        self._reader.open()
        try:
            self.topics = {c.topic: c.msgtype for c in self._reader.connections}
            self.message_count = int(self._reader.message_count)
            self.start_ns = int(self._reader.start_time)
            self.end_ns = int(self._reader.end_time) - 1  # rosbags counts the end as exclusive
        except BaseException:
            self.close()
            raise

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times."""
        connections = [c for c in self._reader.connections if c.topic in topics]
        if not connections:
            return
        for connection, log_ns, data in self._reader.messages(connections, start=start_ns):
            yield connection.topic, connection.msgtype, log_ns, data

    def count(self, topics: Collection[str]) -> int:
        """Return the number of messages of some topics, by the index of the file."""
        return sum(int(c.msgcount) for c in self._reader.connections if c.topic in topics)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
