"""Recovery of a bag that was cut short or is damaged: its whole messages are copied into a new bag.

The index of an mcap file is at its end (https://mcap.dev/spec). Without it the records are read one after the
other: every chunk that is there whole, and of an incomplete one that is not compressed the messages that are.
A chunk whose content contradicts its checksum or its size is left out. Of an sqlite3 file, the messages
before the first page that is missing or damaged are read.
"""

import mmap
import os
import shutil
import sqlite3
import struct
from binascii import crc32
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from inertial_estimation.errors import RecordingError

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
IN_FILE, IN_CHUNK = range(1, DATA_END + 1), (SCHEMA, CHANNEL, MESSAGE)
LARGEST_RECORD = 2**30  # [bytes]; a chunk of rosbag2 has 0.8 MB
LATEST_NS = 2**63  # first log time that no bag can have
UNKNOWN_HASH = "RIHS01_" + 64 * "0"
_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # first and last log time, decompressed size, checksum


class Topic(NamedTuple):
    """A topic of a bag: its name, its message type, and the definition of the type, empty where unknown."""

    name: str
    message_type: str
    definition: str


Messages = Iterator[tuple[Topic, int, bytes] | None]
"""Topic, log time [ns] and serialised message, in the order of the file; None for a damaged chunk."""


def recover(path: Path, folder: Path) -> tuple[Path, int]:
    """Copy the whole messages of a file into a new bag.

    Args:
        path: An .mcap or .db3 file.
        folder: An empty folder, in which the bag is made.

    Returns:
        The file of the new bag, and the number of chunks of which something cannot be read although the file
        goes on behind them.

    Raises:
        RecordingError: If it is no bag, or no message of it can be read.
        OSError: If it cannot be read, or the copy cannot be written.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer

    damaged, connections = 0, dict[Topic, Any]()
    repaired = folder / "repaired"
    with Writer(repaired, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for message in RECOVERABLE[path.suffix](path, folder):
            if message is None:
                damaged += 1
                continue
            topic, log_ns, data = message
            if topic not in connections:
                connections[topic] = writer.add_connection(
                    topic.name, topic.message_type, msgdef=topic.definition, rihs01=UNKNOWN_HASH
                )
            writer.write(connections[topic], log_ns, data)
    if not connections:
        raise RecordingError("no message of it can be read")
    return repaired / "repaired.db3", damaged


def _mcap_messages(path: Path, _folder: Path) -> Messages:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise RecordingError("it does not begin as an mcap file does")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    topics = _McapTopics()
    for opcode, begin, end in _records(data, len(MAGIC), IN_FILE):
        topics.define(opcode, data, begin, end)  # also those that are defined at the end alone
    for opcode, begin, end in _records(data, len(MAGIC), IN_FILE):
        if opcode == DATA_END:
            return
        if opcode == MESSAGE and end <= len(data):
            yield from topics.message(data[begin:end])
        elif opcode == CHUNK:
            whole = end <= len(data)
            try:
                chunk = _chunk_content(data[begin:end], whole=whole)
            except Exception:  # ours, or whatever a library raises for damaged data
                chunk = b"damaged"
            read = 0
            for kind, first, last in _records(chunk, 0, IN_CHUNK):
                if last <= len(chunk):
                    read = last
                    topics.define(kind, chunk, first, last)
                    yield from topics.message(chunk[first:last]) if kind == MESSAGE else ()
            if whole and read < len(chunk):
                yield None


class _McapTopics:
    """The topics of an mcap file, as schemas and channels define them."""

    def __init__(self) -> None:
        self._schemas: dict[int, tuple[str, str]] = {}
        self._channels: dict[int, Topic] = {}

    def define(self, opcode: int, data: bytes | mmap.mmap, begin: int, end: int) -> None:
        """Keep a schema or channel; where it is damaged, its messages have no topic."""
        if opcode not in (SCHEMA, CHANNEL):
            return
        body = data[begin:end]
        with suppress(struct.error, ValueError):
            (number,) = struct.unpack_from("<H", body)
            if opcode == SCHEMA:
                name, at = _string(body, 2)
                _encoding, at = _string(body, at)
                self._schemas[number] = name, _string(body, at)[0]
            else:
                (schema,) = struct.unpack_from("<H", body, 2)
                self._channels[number] = Topic(_string(body, 4)[0], *self._schemas.get(schema, ("", "")))

    def message(self, body: bytes) -> Messages:
        """Yield a message, unless it is damaged or of an unknown topic."""
        with suppress(struct.error):
            channel, _sequence, log_ns, _published_ns = _MESSAGE.unpack_from(body)
            if channel in self._channels and log_ns < LATEST_NS:
                yield self._channels[channel], log_ns, body[_MESSAGE.size :]


def _records(
    data: bytes | mmap.mmap, position: int, opcodes: Container[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, begin and end of records, up to the first one that is none; the last one may be cut."""
    while position + 9 <= len(data):
        opcode, size = data[position], int.from_bytes(data[position + 1 : position + 9], "little")
        if opcode not in opcodes or size > LARGEST_RECORD:
            return
        begin, position = position + 9, position + 9 + size
        yield opcode, begin, position


def _chunk_content(record: bytes, *, whole: bool) -> bytes:
    """Return the records of a chunk; raises if they are not those that were written."""
    _first_ns, _last_ns, size, checksum = _CHUNK.unpack_from(record)
    compression, at = _string(record, _CHUNK.size)
    content = record[at + 8 :]
    if compression:
        if not whole or size > LARGEST_RECORD:
            raise ValueError("a compressed chunk is cut short, or larger than any recorder makes it")
        content = _decompressor(compression).decompress(content, max_length=size)
    if whole and (len(content) != size or (checksum and crc32(content) != checksum)):
        raise ValueError("the content of a chunk contradicts its size or its checksum")
    return content


def _decompressor(compression: str) -> Any:
    if compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

        return LZ4FrameDecompressor()
    try:
        from compression.zstd import ZstdDecompressor  # type: ignore[import-not-found]
    except ImportError:  # before Python 3.14
        from backports.zstd import ZstdDecompressor
    return ZstdDecompressor()


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position behind it."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("the string ends early")
    return data[at + 4 : end].decode("utf-8"), end


def _sqlite_messages(path: Path, folder: Path) -> Messages:
    """Yield messages until the first that is missing or no message; the index of times is not used.

    They are read from a copy without the page in which the file ends: sqlite reads zeros for what is missing
    of a page, and gives messages that end in zeros.
    """
    copy = folder / path.name
    shutil.copyfile(path, copy)
    with copy.open("rb") as file:
        page_size = int.from_bytes(file.read(18)[16:], "big")  # 1 stands for 65536
        size = file.seek(0, os.SEEK_END)
    os.truncate(copy, size - size % (page_size if page_size > 1 else 65536))
    with closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        try:
            # sqlite opens a file that is shorter than its header says only for repairs
            connection.execute("PRAGMA writable_schema = ON")
            definitions: dict[str, str] = {}
            with suppress(sqlite3.Error):  # bags of Humble have no such table
                definitions = dict(
                    connection.execute(
                        "SELECT topic_type, encoded_message_definition FROM message_definitions"
                    )
                )
            topics = {
                number: Topic(name, kind, definitions.get(kind) or "")
                for number, name, kind in connection.execute("SELECT id, name, type FROM topics")
            }
        except sqlite3.Error as error:
            raise RecordingError(f"it is no sqlite3 bag: {error}") from error
        rows = connection.execute("SELECT topic_id, timestamp, data FROM messages NOT INDEXED ORDER BY rowid")
        with suppress(sqlite3.DatabaseError, OverflowError):
            for topic, log_ns, data in rows:
                if not (topic in topics and isinstance(log_ns, int) and isinstance(data, bytes)):
                    return
                yield topics[topic], log_ns, data


RECOVERABLE: Mapping[str, Callable[[Path, Path], Messages]] = {
    ".mcap": _mcap_messages,
    ".db3": _sqlite_messages,
}
