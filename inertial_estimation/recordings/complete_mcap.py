"""An mcap file as its recorder closed it: the chunks that its index lists are read as wholes."""

from collections.abc import Collection, Container, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.bag_file import RawMessage
from inertial_estimation.recordings.complete_bag_file import CompleteBagFile
from inertial_estimation.recordings.mcap_chunks import (
    HEAD,
    Message,
    chunk_content,
    in_time_order,
    messages_of,
)


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
