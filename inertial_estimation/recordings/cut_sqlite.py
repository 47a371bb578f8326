"""An sqlite3 bag without its end: the messages whose pages are there."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from inertial_estimation.errors import RecordingError
from inertial_estimation.recordings.bag_file import BagFile, RawMessage


class CutSqlite(BagFile):
    """An sqlite3 file that ends early, or of which a page is damaged."""

    def __init__(self, path: Path) -> None:
        """Read the topics, and count the messages that can be read.

        Args:
            path: The file.

        Raises:
            RecordingError: If it is no bag, or no message of it can be read.
        """
        self._copies = tempfile.TemporaryDirectory()
        whole = _whole_pages(path.resolve(), Path(self._copies.name))
        self._connection = sqlite3.connect(f"{whole.as_uri()}?immutable=1", uri=True)
        self._connection.text_factory = bytes
        try:
            # sqlite opens a file that is shorter than its header says only for repairs
            self._connection.execute("PRAGMA writable_schema = ON")
            self._topics = self._read_topics()
            times = [log_ns for _topic, _type, log_ns, _data in self._readable()]
        except (sqlite3.Error, ValueError, OverflowError) as error:
            self.close()
            raise RecordingError(f"it is no sqlite3 bag: {error}") from error
        if not times:
            self.close()
            raise RecordingError("no message of it can be read")
        self.topics = dict(self._topics.values())
        self.message_count, self.start_ns, self.end_ns = len(times), min(times), max(times)

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order in which they were recorded."""
        for message in self._readable():
            if message[0] in topics and (start_ns is None or message[2] >= start_ns):
                yield message

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._copies.cleanup()

    def _read_topics(self) -> dict[int, tuple[str, str]]:
        rows = self._connection.execute("SELECT id, name, type FROM topics").fetchall()
        if not all(
            isinstance(number, int) and isinstance(name, bytes) and isinstance(kind, bytes)
            for number, name, kind in rows
        ):
            raise ValueError("its table of topics is damaged")
        return {number: (name.decode("utf-8"), kind.decode("utf-8")) for number, name, kind in rows}

    def _readable(self) -> Iterator[RawMessage]:
        """Yield messages until the first that is missing or no message; the index of times is not used."""
        rows = self._connection.execute(
            "SELECT topic_id, timestamp, data FROM messages NOT INDEXED ORDER BY rowid"
        )
        with suppress(sqlite3.DatabaseError):
            for topic, log_ns, data in rows:
                if not (topic in self._topics and isinstance(log_ns, int) and isinstance(data, bytes)):
                    return
                yield *self._topics[topic], log_ns, data


def check_pages(path: Path) -> None:
    """Check that an sqlite3 file is not shorter than its header says; a reader finds that out only later.

    Raises:
        RecordingError: If it is.
        OSError: If it cannot be read.
    """
    size, page_size, pages = _sizes(path)
    if size < page_size * pages:
        raise RecordingError(f"it has {size} bytes of {page_size * pages}")


def _whole_pages(path: Path, folder: Path) -> Path:
    """Return the file, or a copy without the page in which it ends.

    sqlite reads zeros for what is missing of a page, and gives messages that end in zeros.
    """
    size, page_size, _pages = _sizes(path)
    incomplete = size % (page_size or 65536)
    if not incomplete:
        return path
    copy = folder / path.name
    shutil.copyfile(path, copy)
    os.truncate(copy, size - incomplete)
    return copy


def _sizes(path: Path) -> tuple[int, int, int]:
    """Return the size of an sqlite3 file, and by its header the size of a page and the number of pages."""
    with path.open("rb") as file:
        header = file.read(100)
        size = file.seek(0, 2)
    page_size = int.from_bytes(header[16:18], "big")
    return size, 65536 if page_size == 1 else page_size, int.from_bytes(header[28:32], "big")
