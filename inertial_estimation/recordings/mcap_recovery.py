"""Recovery of an mcap file that is truncated or damaged: its intact messages are copied into a new bag.

The index of an mcap file is at its end (https://mcap.dev/spec). Without it rosbags reads one record after
the other, up to the first one that it cannot read; here each record is read separately. A chunk whose content
contradicts its checksum or its size is left out.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from inertial_estimation.errors import RecordingError

MAGIC = b"\x89MCAP0\r\n"
LARGEST_RECORD = 2**30  # largest record [bytes]; a chunk of rosbag2 has 0.8 MB
CHUNK, LAST_OPCODE = 6, 15  # opcode of a chunk, largest opcode of the specification
CHUNK_HEADER = 40  # size of the header of a chunk whose messages are not compressed [bytes]
UNKNOWN_HASH = "RIHS01_" + 64 * "0"


def recover(path: Path, folder: Path) -> tuple[Path, int]:
    """Copy the intact messages of an mcap file into a new bag.

    Args:
        path: The file.
        folder: An empty folder, in which the bag is created.

    Returns:
        The file of the new bag, and the number of damaged records: those that cannot be read completely
        although they do not reach the end of the file.

    Raises:
        RecordingError: If it is no mcap file, or no message of it can be read.
        OSError: If it cannot be read, or the copy cannot be written.
    """
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.rosbag2.storage_mcap import McapReader

    repaired, size, damaged = folder / "repaired", path.stat().st_size, 0
    known: dict[tuple[str, str, str], Any] = {}
    with path.open("rb") as file, Writer(repaired, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        if file.read(len(MAGIC)) != MAGIC:
            raise RecordingError("it does not begin as an mcap file does")
        reader, records = McapReader(path), list(_records(file, size))
        reader.bio = file
        for reader.data_start, reader.data_end in records:
            with suppress(Exception):  # damaged data may raise any exception
                reader.meta_scan()  # finds schemas and channels, also those that only the end defines
        for reader.data_start, reader.data_end in records:
            messages = []
            try:
                for message in reader.messages_scan(reader.connections):
                    messages.append(message)
            except Exception:
                damaged += reader.data_end < size
            for connection, log_ns, data in messages:
                topic = connection.topic, connection.msgtype, connection.msgdef.data
                if topic not in known:
                    name, kind, definition = topic
                    known[topic] = writer.add_connection(name, kind, msgdef=definition, rihs01=UNKNOWN_HASH)
                writer.write(known[topic], log_ns, data)
    if not known:
        raise RecordingError("no message of it can be read")
    return repaired / "repaired.db3", damaged


def _records(file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the records, up to the first bytes that are no record.

    For a chunk that is truncated and not compressed, yield the range of the records inside.
    """
    position = file.tell()
    while position + 9 <= size:
        file.seek(position)
        head = file.read(9 + CHUNK_HEADER)
        opcode, length = head[0], int.from_bytes(head[1:9], "little")
        if not 1 <= opcode <= LAST_OPCODE or length > LARGEST_RECORD:
            return
        end = position + 9 + length
        cut = opcode == CHUNK and end > size and not any(head[9 + 28 : 9 + 32])
        yield position + (len(head) if cut else 0), min(end, size)
        position = end
