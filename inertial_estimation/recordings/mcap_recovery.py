"""Recovery of an mcap file that was cut short or is damaged: its whole messages are copied into a new bag.

The index of an mcap file is at its end (https://mcap.dev/spec). Without it the records are read one after the
other: every chunk that is there whole, and of an incomplete one that is not compressed the messages that are.
A chunk whose content contradicts its checksum or its size is left out.
"""

import mmap
import struct
from binascii import crc32
from collections.abc import Container, Iterator
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from inertial_estimation.errors import RecordingError

MAGIC = b"\x89MCAP0\r\n"
LARGEST_RECORD = 2**30  # [bytes]; a chunk of rosbag2 has 0.8 MB
UNKNOWN_HASH = "RIHS01_" + 64 * "0"
_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQI")  # first and last log time, decompressed size, checksum


class Opcode(IntEnum):
    """Records of an mcap file that are read."""

    SCHEMA = 3
    CHANNEL = 4
    MESSAGE = 5
    CHUNK = 6
    DATA_END = 15


Topic = tuple[str, str, str]
"""Name, message type, and the definition of the type, empty where unknown."""


def recover(path: Path, folder: Path) -> tuple[Path, int]:
    """Copy the whole messages of an mcap file into a new bag.

    Args:
        path: The file.
        folder: An empty folder, in which the bag is made.

    Returns:
        The file of the new bag, and the number of chunks of which something cannot be read although the file
        goes on behind them.

    Raises:
        RecordingError: If it is no mcap file, or no message of it can be read.
        OSError: If it cannot be read, or the copy cannot be written.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer

    connections: dict[Topic, Any] = {}
    repaired = folder / "repaired"
    file = _DamagedFile(path)
    with Writer(repaired, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for topic, log_ns, data in file.messages():
            if topic not in connections:
                name, kind, definition = topic
                connections[topic] = writer.add_connection(name, kind, msgdef=definition, rihs01=UNKNOWN_HASH)
            writer.write(connections[topic], log_ns, data)
    if not connections:
        raise RecordingError("no message of it can be read")
    return repaired / "repaired.db3", file.damaged


class _DamagedFile:
    """An mcap file, its topics as schemas and channels define them, and the number of its damaged chunks."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise RecordingError("it does not begin as an mcap file does")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._schemas: dict[int, tuple[str, str]] = {}
        self._channels: dict[int, Topic] = {}
        self.damaged = 0
        for opcode, begin, end in _records(self._data, len(MAGIC), range(1, Opcode.DATA_END + 1)):
            self._define(opcode, self._data[begin:end])  # also those that are defined at the end alone

    def messages(self) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield topic, log time [ns] and serialised message, in the order of the file."""
        for opcode, begin, end in _records(self._data, len(MAGIC), range(1, Opcode.DATA_END + 1)):
            whole = end <= len(self._data)
            if opcode == Opcode.DATA_END:
                return
            if opcode == Opcode.MESSAGE and whole:
                yield from self._message(self._data[begin:end])
            elif opcode == Opcode.CHUNK:
                try:
                    chunk = _chunk_content(self._data[begin:end], whole=whole)
                except Exception:  # ours, or whatever a library raises for damaged data
                    chunk = b"damaged"
                read = 0
                for kind, first, last in _records(chunk, 0, (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE)):
                    if last <= len(chunk):
                        read = last
                        self._define(kind, chunk[first:last])
                        yield from self._message(chunk[first:last]) if kind == Opcode.MESSAGE else ()
                self.damaged += whole and read < len(chunk)

    def _define(self, opcode: int, body: bytes) -> None:
        """Keep a schema or channel; where it is damaged, its messages have no topic."""
        with suppress(struct.error, ValueError):
            if opcode == Opcode.SCHEMA:
                (number,) = struct.unpack_from("<H", body)
                name, at = _string(body, 2)
                _encoding, at = _string(body, at)
                self._schemas[number] = name, _string(body, at)[0]
            elif opcode == Opcode.CHANNEL:
                number, schema = struct.unpack_from("<HH", body)
                self._channels[number] = _string(body, 4)[0], *self._schemas.get(schema, ("", ""))

    def _message(self, body: bytes) -> Iterator[tuple[Topic, int, bytes]]:
        """Yield a message, unless it is damaged or of an unknown topic."""
        with suppress(struct.error):
            channel, _sequence, log_ns, _published_ns = _MESSAGE.unpack_from(body)
            if channel in self._channels and log_ns <= np.iinfo(np.int64).max:
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
