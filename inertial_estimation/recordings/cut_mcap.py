"""An mcap file without its end, as a power cut leaves it, or with damaged chunks: what is whole is read.

The index of an mcap file is at its end (https://mcap.dev/spec). Without it the records are read one after the
other: every chunk that is there whole, and of an incomplete one that is not compressed the messages that are.
A chunk whose content contradicts its checksum or its size is left out.
"""

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.bag_file import BagFile, RawMessage
from inertial_estimation.recordings.mcap_chunks import (
    CHANNEL,
    HEAD,
    MESSAGE,
    SCHEMA,
    Block,
    Message,
    chunk_content,
    decompressed,
    in_time_order,
    messages_of,
    records_of,
    string,
)

MAGIC = b"\x89MCAP0\r\n"
CHUNK, DATA_END = 0x06, 0x0F
HIGHEST_OPCODE = 0x0F
LARGEST_RECORD = 2**30  # [bytes]; a chunk of rosbag2 has 0.8 MB
BLOCK = 2**20  # [bytes] of messages outside chunks that are read at once


@dataclass(frozen=True, slots=True)
class _Record:
    """A record of the file, outside chunks.

    Attributes:
        opcode: Its kind.
        begin: Where its content begins [bytes].
        size: Size of its content as far as the file goes [bytes].
        whole: Whether the file has all of it.
    """

    opcode: int
    begin: int
    size: int
    whole: bool


class CutMcap(BagFile):
    """An mcap file that ends early, or has damaged chunks."""

    def __init__(self, path: Path) -> None:
        """Scan the file.

        Args:
            path: The file.

        Raises:
            RecordingError: If it is no mcap file, or no message of it can be read.
            OSError: If it cannot be read.
        """
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, str]] = {}
        self._blocks: list[Block] = []
        self.message_count, self.start_ns, self.end_ns = 0, 2**63 - 1, 0
        self._file = path.open("rb")
        try:
            if self._file.read(len(MAGIC)) != MAGIC:
                raise RecordingError("it does not begin as an mcap file does")
            self._scan()
            if not self.message_count:
                raise RecordingError("no message of it can be read")
        except BaseException:
            self.close()
            raise
        self.topics = dict(self._channels.values())

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times."""
        blocks = ((block.start_ns, partial(self._messages_of, block)) for block in self._blocks)
        for log_ns, channel, data in in_time_order(blocks):
            topic, message_type = self._channels.get(channel, ("", ""))
            if topic in topics and (start_ns is None or log_ns >= start_ns):
                yield topic, message_type, log_ns, data

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _messages_of(self, block: Block) -> list[Message]:
        self._file.seek(block.begin)
        return messages_of(decompressed(self._file.read(block.size), block.compression))

    def _scan(self) -> None:
        """Read the definitions of topics, also those at the end, then the messages."""
        records = list(_top_records(self._file))
        for record in records:
            if record.opcode in (SCHEMA, CHANNEL) and record.whole:
                self._file.seek(record.begin)
                self._add_definition(record.opcode, self._file.read(record.size))
        for record in records:
            if record.opcode == DATA_END:
                return
            if record.opcode == CHUNK and not self._add_chunk(record):
                self.damaged += record.whole
            elif record.opcode == MESSAGE and record.whole:
                self._add_messages(record.begin - HEAD, HEAD + record.size)

    def _add_messages(self, begin: int, size: int) -> None:
        """Store a message outside chunks, together with its neighbours before it."""
        self._file.seek(begin)
        messages = messages_of(self._file.read(size))
        last = self._blocks[-1] if self._blocks else None
        if last and not last.compression and last.begin + last.size == begin and last.size < BLOCK:
            start_ns = min([last.start_ns, *(log_ns for log_ns, _, _ in messages)])
            self._blocks[-1] = replace(last, size=last.size + size, start_ns=start_ns)
            self._count(messages)
        else:
            self._store(Block(begin, size, "", 0), messages)

    def _add_chunk(self, record: _Record) -> bool:
        """Store a chunk; return False for one of which something cannot be read."""
        self._file.seek(record.begin)
        try:
            content, block, filled = chunk_content(self._file.read(record.size), whole=record.whole)
        except RecordingError:
            return False
        for opcode, body in records_of(content):
            if opcode in (SCHEMA, CHANNEL):
                self._add_definition(opcode, body)
        self._store(replace(block, begin=record.begin + block.begin), messages_of(content))
        return filled

    def _store(self, block: Block, messages: list[Message]) -> None:
        if messages:
            start_ns = min(log_ns for log_ns, _, _ in messages)
            self._blocks.append(replace(block, start_ns=start_ns))
            self._count(messages)

    def _count(self, messages: list[Message]) -> None:
        times = [log_ns for log_ns, channel, _ in messages if channel in self._channels]
        self.message_count += len(times)
        self.start_ns = min([self.start_ns, *times])
        self.end_ns = max([self.end_ns, *times])

    def _add_definition(self, opcode: int, body: bytes) -> None:
        try:
            (number,) = struct.unpack_from("<H", body)
            if opcode == SCHEMA:
                self._schemas[number], _ = string(body, 2)
            else:
                (schema,) = struct.unpack_from("<H", body, 2)
                topic, _ = string(body, 4)
                self._channels[number] = (topic, self._schemas.get(schema, ""))
        except (struct.error, ValueError):  # a damaged definition: its messages have no topic
            return


def _top_records(file: BinaryIO) -> Iterator[_Record]:
    """Yield the records outside chunks until the first one that is not there whole, or is none."""
    end, position = _size(file), len(MAGIC)
    while position + HEAD <= end:
        file.seek(position)
        head = file.read(HEAD)
        opcode, size, begin = head[0], int.from_bytes(head[1:], "little"), position + HEAD
        if not 0 < opcode <= HIGHEST_OPCODE or size > LARGEST_RECORD:
            return
        whole = begin + size <= end
        yield _Record(opcode, begin, min(size, end - begin), whole)
        if not whole:
            return
        position = begin + size


def _size(file: BinaryIO) -> int:
    return file.seek(0, 2)
