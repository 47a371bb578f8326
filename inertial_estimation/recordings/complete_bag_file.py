"""A file of a bag as its recorder closed it, and damage that shows only while it is read."""

from collections.abc import Callable, Collection, Container, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from inertial_estimation.errors import MissingDependencyError, RecordingError, one_line
from inertial_estimation.recordings.bag_file import BagFile, RawMessage
from inertial_estimation.recordings.mcap_chunks import (
    HEAD,
    Message,
    chunk_content,
    in_time_order,
    messages_of,
)


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

    def definition(self, message_type: str) -> str:
        """Return the definition of a message type that the file has; see `BagFile`."""
        found = (c.msgdef for c in self._reader.connections if c.msgtype == message_type)
        definition = next(found, None)  # older rosbags have it as text
        return "" if definition is None else str(getattr(definition, "data", definition))

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


class CompleteMcap(CompleteBagFile):
    """A complete mcap file.

    The package `rosbags` reads its index, and its messages where they are not in chunks. Those of chunks are
    read here, since rosbags takes five times as long for a message.
    """

    def __init__(self, path: Path) -> None:
        """Open it; arguments and errors are those of `CompleteBagFile`."""
        super().__init__(path)
        self._chunks: list[Any] = getattr(getattr(self._reader, "storage", None), "chunks", None) or []

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times."""
        channels = {c.id: (c.topic, c.msgtype) for c in self._reader.connections if c.topic in topics}
        if not self._chunks:
            yield from super().messages(topics, start_ns)
            return
        with self.path.open("rb") as file:
            chunks = (
                (chunk.message_start_time, partial(_messages_in, file, chunk, channels))
                for chunk in self._chunks
                if (start_ns is None or start_ns <= chunk.message_end_time)
                and any(chunk.channel_count.get(channel) for channel in channels)
            )
            for log_ns, channel, data in in_time_order(chunks):
                if start_ns is None or log_ns >= start_ns:
                    yield *channels[channel], log_ns, data


def _messages_in(file: BinaryIO, chunk: Any, channels: Container[int]) -> list[Message]:
    """Return the messages of some channels in a chunk.

    Args:
        file: The file.
        chunk: Where it is, as the index of rosbags has it.
        channels: The channels.

    Raises:
        RecordingError: If it cannot be read, or is not what was written.
    """
    file.seek(chunk.chunk_start_offset + HEAD)
    content, _block, filled = chunk_content(file.read(chunk.chunk_length - HEAD), whole=True)
    if not filled:
        raise RecordingError("a chunk has content that no chunk may have")
    return messages_of(content, channels)


class WatchedBagFile(BagFile):
    """A complete file, of which a second reader reads what is whole behind a damage.

    Whether every chunk of a file is whole is known only when its checksum has been compared, which takes as
    long as reading it. The file is therefore not checked before it is read.
    """

    def __init__(
        self, complete: CompleteBagFile, reread: Callable[[], BagFile], warn: Callable[[str], None]
    ) -> None:
        """Take over a file.

        Args:
            complete: The file as its recorder closed it.
            reread: Opens it with the reader that leaves out what is damaged.
            warn: Called with a sentence if something of it is missing or damaged.
        """
        self._complete = complete
        self._reread = reread
        self._warn = warn
        self._said = False
        self.topics, self.message_count = complete.topics, complete.message_count
        self.start_ns, self.end_ns = complete.start_ns, complete.end_ns

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times."""
        count = 0
        try:
            for message in self._complete.messages(topics, start_ns):
                count += 1
                yield message
        except Exception as error:  # whatever a damaged file makes the reader stumble over
            yield from self._behind(error, topics, start_ns, count)
            return
        expected = self._complete.count(topics)
        if count < expected and (start_ns is None or start_ns <= self.start_ns):
            self._say(f"{expected - count} of the {expected} messages that its index counts are missing")

    def definition(self, message_type: str) -> str:
        """Return the definition of a message type that the file has; see `BagFile`."""
        return self._complete.definition(message_type)

    def close(self) -> None:
        """Close the file."""
        self._complete.close()

    def _behind(
        self, error: Exception, topics: Collection[str], start_ns: int | None, count: int
    ) -> Iterator[RawMessage]:
        """Yield what is readable after the first messages, which have been yielded before the error."""
        rest = self._reread()
        try:
            chunks = f"what cannot be read of {rest.damaged} damaged chunk(s) is left out"
            self._say(f"{chunks} ({one_line(error, limit=100)})")
            yield from islice(rest.messages(topics, start_ns), count, None)
        finally:
            rest.close()

    def _say(self, sentence: str) -> None:
        if not self._said:
            self._warn(f"'{self._complete.path}' is damaged: {sentence}")
        self._said = True
