"""The records of an mcap file in and around its chunks (https://mcap.dev/spec), and their order in time."""

import struct
from binascii import crc32
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from inertial_estimation.errors import RecordingError

SCHEMA, CHANNEL, MESSAGE = CHUNK_RECORDS = (0x03, 0x04, 0x05)
LARGEST_CHUNK = 2**28  # [bytes], decompressed
HEAD = 9  # bytes before the content of a record: opcode and size
_RECORD_HEAD = struct.Struct("<BQ")  # opcode and size
_MESSAGE_HEAD = struct.Struct("<BQHIQQ")  # opcode, size, channel, sequence, log time, publish time
_CHUNK_HEADER = struct.Struct("<QQQI")  # first and last log time, size, checksum

Message = tuple[int, int, bytes]
"""Log time [ns], channel and data."""
Chunk = tuple[int, Callable[[], list[Message]]]

_first = itemgetter(0)


@dataclass(frozen=True)
class Block:
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


def chunk_content(record: bytes, *, whole: bool) -> tuple[bytes, Block, bool]:
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
        compression, at = string(record, _CHUNK_HEADER.size)
        (stored,) = struct.unpack_from("<Q", record, at)
    except (struct.error, ValueError) as error:
        raise RecordingError(f"a chunk has no readable header: {error}") from error
    if compression and (not whole or full_size > LARGEST_CHUNK):
        raise RecordingError("a compressed chunk is cut short, or larger than any recorder makes it")
    begin = at + 8
    block = Block(begin, min(stored, len(record) - begin), compression, 0)
    content = decompressed(record[begin : begin + block.size], compression)
    if not whole:
        return content, block, False
    if len(content) != full_size:
        raise RecordingError(f"a chunk has {len(content)} bytes, expected {full_size}")
    if checksum and crc32(content) != checksum:
        raise RecordingError("the content of a chunk contradicts its checksum")
    filled = bool(checksum) or _end_of_records(content) == full_size
    return content, block, filled


def _end_of_records(content: bytes) -> int:
    """Return where the last record ends that is there whole, before the first that no chunk may hold."""
    unpack, position, end = _RECORD_HEAD.unpack_from, 0, len(content)
    while position + HEAD <= end:
        opcode, size = unpack(content, position)
        if position + HEAD + size > end or opcode not in CHUNK_RECORDS:
            return position
        position += HEAD + size
    return position


def messages_of(content: bytes, channels: Container[int] | None = None) -> list[Message]:
    """Return the messages in a stretch of records, up to the first record that no chunk may hold.

    Args:
        content: The records.
        channels: Channels whose messages are wanted; None: all.
    """
    found: list[Message] = []
    unpack, position, end = _MESSAGE_HEAD.unpack_from, 0, len(content)
    while position + _MESSAGE_HEAD.size <= end:
        opcode, size, channel, _sequence, log_ns, _published = unpack(content, position)
        begin, position = position, position + HEAD + size
        if position > end or opcode not in CHUNK_RECORDS:
            return found
        if opcode != MESSAGE or (channels is not None and channel not in channels):
            continue
        if begin + _MESSAGE_HEAD.size <= position and log_ns < 2**63:
            found.append((log_ns, channel, content[begin + _MESSAGE_HEAD.size : position]))
    return found


def in_time_order(chunks: Iterable[Chunk]) -> Iterator[Message]:
    """Yield the messages of chunks, which overlap in time by a little, in the order of their log times.

    Args:
        chunks: Log time of the first message of each [ns], and what reads its messages.
    """
    waiting: list[Message] = []
    for start_ns, read in sorted(chunks, key=_first):
        waiting.sort(key=_first)
        ready = bisect_left(waiting, start_ns, key=_first)
        yield from waiting[:ready]
        waiting = [*waiting[ready:], *read()]
    waiting.sort(key=_first)
    yield from waiting


def records_of(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and body of the records that are there whole, up to the first that no chunk may hold."""
    position, end = 0, _end_of_records(content)
    while position < end:
        opcode, size = _RECORD_HEAD.unpack_from(content, position)
        begin, position = position + HEAD, position + HEAD + size
        yield opcode, content[begin:position]


def decompressed(data: bytes, compression: str) -> bytes:
    """Return the records of a chunk.

    Raises:
        RecordingError: If they cannot be decompressed.
    """
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


def string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position behind it."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("the string ends early")
    return data[at + 4 : end].decode("utf-8"), end
