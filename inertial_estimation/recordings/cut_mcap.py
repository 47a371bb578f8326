"""An mcap file without its end, as a power cut leaves it, or with damaged chunks: what is whole is read.

The index of an mcap file is at its end (https://mcap.dev/spec). Without it the records are read one after the
other: every chunk that is there whole, and of an incomplete one that is not compressed the messages that are.
A chunk whose content contradicts its checksum or its size is left out.
"""

import struct
from binascii import crc32
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.bag_file import BagFile, RawMessage

__all__ = ["CutMcap"]

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
HIGHEST_OPCODE = 0x0F
LARGEST_RECORD = 2**30  # [bytes]; a chunk of rosbag2 has 0.8 MB
LARGEST_CHUNK = 2**28  # [bytes], decompressed
BLOCK = 2**20  # [bytes] of messages outside chunks that are read at once
_HEAD = 9  # bytes before the content of a record: opcode and size
_MESSAGE_HEADER = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
_CHUNK_HEADER = struct.Struct("<QQQI")  # first and last log time, size, checksum


@dataclass(frozen=True)
class _Block:
    """A stretch of the file with messages: a chunk, or messages outside chunks.

    Attributes:
        begin: Where its records begin in the file [bytes].
        size: Their size in the file [bytes].
        compression: Of the chunk; empty for none.
        start_ns: Log time of its first message [ns].
    """

    begin: int
    size: int
    compression: str
    start_ns: int


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
        self._blocks: list[_Block] = []
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
        waiting: list[tuple[int, int, bytes]] = []  # blocks overlap in time by a little
        for block in sorted(self._blocks, key=lambda block: block.start_ns):
            waiting.sort(key=lambda message: message[0])
            ready = 0
            while ready < len(waiting) and waiting[ready][0] < block.start_ns:
                ready += 1
            yield from self._wanted(waiting[:ready], topics, start_ns)
            waiting = [*waiting[ready:], *_messages(self._content(block))]
        yield from self._wanted(sorted(waiting, key=lambda message: message[0]), topics, start_ns)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _wanted(
        self, messages: Collection[tuple[int, int, bytes]], topics: Collection[str], start_ns: int | None
    ) -> Iterator[RawMessage]:
        for log_ns, channel, data in messages:
            topic, message_type = self._channels.get(channel, ("", ""))
            if topic in topics and (start_ns is None or log_ns >= start_ns):
                yield topic, message_type, log_ns, data

    def _content(self, block: _Block) -> bytes:
        self._file.seek(block.begin)
        return _decompressed(self._file.read(block.size), block.compression)

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
                self._add_messages(record.begin - _HEAD, _HEAD + record.size)

    def _add_messages(self, begin: int, size: int) -> None:
        """Store a message outside chunks, together with its neighbours before it."""
        self._file.seek(begin)
        messages = _messages(self._file.read(size))
        last = self._blocks[-1] if self._blocks else None
        if last and not last.compression and last.begin + last.size == begin and last.size < BLOCK:
            start_ns = min([last.start_ns, *(log_ns for log_ns, _, _ in messages)])
            self._blocks[-1] = replace(last, size=last.size + size, start_ns=start_ns)
            self._count(messages)
        else:
            self._store(_Block(begin, size, "", 0), messages)

    def _add_chunk(self, record: _Record) -> bool:
        """Store a chunk; return False for one of which something cannot be read."""
        self._file.seek(record.begin)
        try:
            content, block, filled = _chunk_content(self._file.read(record.size), whole=record.whole)
        except RecordingError:
            return False
        for opcode, body in _records(content):
            if opcode in (SCHEMA, CHANNEL):
                self._add_definition(opcode, body)
        self._store(replace(block, begin=record.begin + block.begin), _messages(content))
        return filled

    def _store(self, block: _Block, messages: list[tuple[int, int, bytes]]) -> None:
        if messages:
            start_ns = min(log_ns for log_ns, _, _ in messages)
            self._blocks.append(replace(block, start_ns=start_ns))
            self._count(messages)

    def _count(self, messages: list[tuple[int, int, bytes]]) -> None:
        times = [log_ns for log_ns, channel, _ in messages if channel in self._channels]
        self.message_count += len(times)
        self.start_ns = min([self.start_ns, *times])
        self.end_ns = max([self.end_ns, *times])

    def _add_definition(self, opcode: int, body: bytes) -> None:
        try:
            (number,) = struct.unpack_from("<H", body)
            if opcode == SCHEMA:
                self._schemas[number], _ = _string(body, 2)
            else:
                (schema,) = struct.unpack_from("<H", body, 2)
                topic, _ = _string(body, 4)
                self._channels[number] = (topic, self._schemas.get(schema, ""))
        except (struct.error, ValueError):  # a damaged definition: its messages have no topic
            return


def _top_records(file: BinaryIO) -> Iterator[_Record]:
    """Yield the records outside chunks until the first one that is not there whole, or is none."""
    end, position = _size(file), len(MAGIC)
    while position + _HEAD <= end:
        file.seek(position)
        head = file.read(_HEAD)
        opcode, size, begin = head[0], int.from_bytes(head[1:], "little"), position + _HEAD
        if not 0 < opcode <= HIGHEST_OPCODE or size > LARGEST_RECORD:
            return
        whole = begin + size <= end
        yield _Record(opcode, begin, min(size, end - begin), whole)
        if not whole:
            return
        position = begin + size


def _chunk_content(record: bytes, *, whole: bool) -> tuple[bytes, _Block, bool]:
    """Read a chunk.

    Args:
        record: Content of its record.
        whole: Whether the file has all of it.

    Returns:
        Its decompressed records, where they are in its own record, and whether all of them can be read.

    Raises:
        RecordingError: If they cannot be read, or are not those that were written.
    """
    try:
        _first, _last, full_size, checksum = _CHUNK_HEADER.unpack_from(record)
        compression, at = _string(record, _CHUNK_HEADER.size)
        (stored,) = struct.unpack_from("<Q", record, at)
    except (struct.error, ValueError) as error:
        raise RecordingError(f"a chunk has no readable header: {error}") from error
    if compression and (not whole or full_size > LARGEST_CHUNK):
        raise RecordingError("a compressed chunk is cut short, or larger than any recorder makes it")
    begin = at + 8
    block = _Block(begin, min(stored, len(record) - begin), compression, 0)
    content = _decompressed(record[begin : begin + block.size], compression)
    if not whole:
        return content, block, False
    if len(content) != full_size:
        raise RecordingError(f"a chunk has {len(content)} bytes, expected {full_size}")
    if checksum and crc32(content) != checksum:
        raise RecordingError("the content of a chunk contradicts its checksum")
    filled = bool(checksum) or sum(_HEAD + len(body) for _, body in _records(content)) == full_size
    return content, block, filled


def _messages(content: bytes) -> list[tuple[int, int, bytes]]:
    """Return log time [ns], channel and data of the messages in a stretch of records."""
    found = []
    for opcode, body in _records(content):
        if opcode == MESSAGE and len(body) >= _MESSAGE_HEADER.size:
            channel, _sequence, log_ns, _published = _MESSAGE_HEADER.unpack_from(body)
            if log_ns < 2**63:
                found.append((log_ns, channel, body[_MESSAGE_HEADER.size :]))
    return found


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and body of the records that are there whole, up to the first that no chunk may hold."""
    position = 0
    while position + _HEAD <= len(content):
        opcode, size = content[position], int.from_bytes(content[position + 1 : position + 9], "little")
        begin = position + _HEAD
        if begin + size > len(content) or opcode not in (SCHEMA, CHANNEL, MESSAGE):
            return
        yield opcode, content[begin : begin + size]
        position = begin + size


def _decompressed(data: bytes, compression: str) -> bytes:
    if not compression:
        return data
    try:
        return _DECOMPRESSORS[compression](data)
    except Exception as error:  # KeyError, ImportError, or whatever the library raises for damaged data
        raise RecordingError(f"a chunk compressed by '{compression}' cannot be read: {error!r}") from error


def _by_lz4(data: bytes) -> bytes:
    from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

    return _bounded(LZ4FrameDecompressor().decompress(data, max_length=LARGEST_CHUNK + 1))


def _by_zstd(data: bytes) -> bytes:
    try:
        from compression.zstd import ZstdDecompressor  # type: ignore[import-not-found]
    except ImportError:  # before Python 3.14
        from backports.zstd import ZstdDecompressor
    return _bounded(ZstdDecompressor().decompress(data, max_length=LARGEST_CHUNK + 1))


def _bounded(content: bytes) -> bytes:
    if len(content) > LARGEST_CHUNK:
        raise ValueError(f"it has more than {LARGEST_CHUNK} bytes")
    return content


_DECOMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"lz4": _by_lz4, "zstd": _by_zstd}


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position behind it."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("the string ends early")
    return data[at + 4 : end].decode("utf-8"), end


def _size(file: BinaryIO) -> int:
    return file.seek(0, 2)
