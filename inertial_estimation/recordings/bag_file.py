"""The files of a bag, read by the package `rosbags`, where they are damaged as far as they can be read."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from inertial_estimation.errors import (
    ConfigurationError,
    MissingDependencyError,
    RecordingError,
    listing,
    one_line,
)
from inertial_estimation.files.safe_yaml import load_yaml
from inertial_estimation.files.text_file import read_text
from inertial_estimation.recordings.bag_recovery import READERS, recover
from inertial_estimation.signals import seconds

METADATA = "metadata.yaml"
RawMessage = tuple[str, str, int, bytes]
"""Topic, message type, log time [ns] and the serialised message."""


class BagFile:
    """An .mcap or .db3 file, or a folder of compressed ones.

    One that cannot be opened, or of which a damage shows while it is read, is replaced by a copy of its whole
    messages. Whether every chunk of a file is whole is known only when its checksum has been compared, which
    takes as long as reading it: a file is therefore not checked before it is read.

    Attributes:
        path: The file or folder.
        topics: Message type by topic.
        message_count: Number of messages.
        start_ns: Log time of the first of them [ns].
        end_ns: Log time of the last of them [ns].
        damaged: Whether something of it is known to be missing or damaged.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Open it.

        Args:
            path: The file or folder.
            warn: Called with a sentence once if something of it is missing or damaged.

        Raises:
            RecordingError: If it is no bag, or nothing of it can be read.
            MissingDependencyError: If `rosbags` is not installed.
        """
        self.path, self.damaged, self.message_count = path, False, -1
        self._warn, self._open, self._repaired = warn, ExitStack(), False
        try:
            self._reader = self._opened(path)
            self.message_count = int(self._reader.message_count)
            if not getattr(self._reader.storage, "chunks", True):  # rosbags reads these in their order alone
                any(False for _ in self._reader.messages())
        except MissingDependencyError:
            raise
        except Exception as error:  # whatever a damaged file makes rosbags stumble over
            self._reader = self._recovered(error)
        self.topics: dict[str, str] = {c.topic: c.msgtype for c in self._reader.connections}
        self.message_count = int(self._reader.message_count)
        self.start_ns = int(self._reader.start_time)
        self.end_ns = int(self._reader.end_time) - 1  # rosbags counts the end as exclusive

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def messages(self, topics: Collection[str], start_ns: int | None = None) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order of their log times.

        Args:
            topics: Topics to read.
            start_ns: Log time to begin at [ns]; None: the start.
        """
        reader, count = self._reader, 0
        try:
            for message in _messages(reader, topics, start_ns):
                count += 1
                yield message
        except Exception as error:  # whatever a damaged file makes the reader stumble over
            if self._reader is reader:
                self._reader = self._recovered(error)
            yield from islice(_messages(self._reader, topics, start_ns), count, None)
            return
        expected = sum(int(c.msgcount) for c in reader.connections if c.topic in topics)
        if count < expected and (start_ns is None or start_ns <= self.start_ns) and not self.damaged:
            self._say(
                f"is damaged: {expected - count} of the {expected} messages that its index counts are missing"
            )

    def definition(self, message_type: str) -> str:
        """Return the definition of a message type that the file has, with those it needs; empty: none."""
        found = (c.msgdef for c in self._reader.connections if c.msgtype == message_type)
        definition = next(found, None)  # older rosbags have it as text
        return "" if definition is None else str(getattr(definition, "data", definition))

    def _opened(self, path: Path) -> Any:
        try:
            from rosbags.rosbag2 import Reader
        except ImportError as error:
            raise MissingDependencyError(
                "reading a recording needs the package 'rosbags': pip install rosbags"
            ) from error
        return self._open.enter_context(Reader(path))

    def _recovered(self, error: Exception) -> Any:
        """Open a copy of the whole messages, which are all where only their order was the matter.

        Raises:
            RecordingError: If there are none.
        """
        if self._repaired:
            raise error
        self._repaired = True
        if self.path.suffix not in READERS or self.path.is_dir():
            raise RecordingError(f"the recording '{self.path}' cannot be read: {one_line(error)}") from error
        folder = self._open.enter_context(TemporaryDirectory())
        try:
            copy, damage = recover(self.path, Path(folder))
            reader = self._opened(copy)
        except Exception as second:  # ours, or of writing the copy
            self.close()
            raise RecordingError(
                f"the recording '{self.path}' is empty, truncated or damaged: {one_line(second)} "
                f"({one_line(error)})"
            ) from error
        if reader.message_count == self.message_count:
            return reader
        lost = (
            f"what cannot be read of {damage.chunks} damaged chunk(s) is left out"
            if damage.chunks
            else "what was recorded behind them is missing"
        )
        length_s = seconds(reader.end_time - 1 - reader.start_time)
        self._say(
            f"is cut short or damaged: {reader.message_count} messages over {length_s:.3f} s can be read, "
            f"{lost} ({one_line(error, limit=100)})"
        )
        return reader

    def _say(self, what: str) -> None:
        self.damaged = True
        self._warn(f"'{self.path}' {what}")


def _messages(reader: Any, topics: Collection[str], start_ns: int | None) -> Iterator[RawMessage]:
    connections = [c for c in reader.connections if c.topic in topics]
    if not connections:  # for rosbags none means all
        return
    for connection, log_ns, data in reader.messages(connections, start=start_ns):
        yield connection.topic, connection.msgtype, log_ns, data


def open_bag(path: Path) -> tuple[list[BagFile], list[str]]:
    """Open a bag.

    A recorder that was killed or lost its power leaves no metadata.yaml, and a file without its end: what is
    there is read, and a warning says what is missing.

    Args:
        path: Folder of the bag, or its .mcap or .db3 file.

    Returns:
        Its files with messages, in the order of the first of them, and what is missing or damaged, a sentence
        each; damage within a file is added when it is read.

    Raises:
        RecordingError: If there is no bag, or nothing of it can be read.
        MissingDependencyError: If `rosbags` is not installed.
    """
    if not path.exists():
        raise RecordingError(f"no recording '{path}'; expected a rosbag2 folder, or an .mcap or .db3 file")
    if path.is_file() and path.suffix not in READERS:
        raise RecordingError(
            f"'{path}' is no rosbag2 recording; expected its folder, or its .mcap or .db3 file"
        )
    said: list[str] = []
    paths, expected = _files_of(path, said) if path.is_dir() else ([path], None)
    opened: list[BagFile] = []
    problems: list[str] = []
    for file in paths:
        try:
            opened.append(BagFile(file, said.append))
        except RecordingError as error:
            problems.append(str(error))
    readable = sorted((file for file in opened if file.message_count), key=lambda file: file.start_ns)
    if not readable:
        raise RecordingError([*problems, f"the recording '{path}' is empty: it has no messages"][0])
    count = sum(file.message_count for file in opened)
    if expected not in (None, count) and not problems and not any(file.damaged for file in opened):
        said.append(f"{METADATA} of '{path}' counts {expected} messages, its files have {count}")
    said += problems
    return readable, said


def _files_of(folder: Path, said: list[str]) -> tuple[list[Path], int | None]:
    """Return the files of a bag, or its folder if they are compressed, and the number of messages or None."""
    names: list[str] = []
    count = None
    if (folder / METADATA).exists():
        try:
            content: Any = load_yaml(read_text(folder / METADATA, "metadata"), f"'{folder / METADATA}'")
            information = content["rosbag2_bagfile_information"]
            names = [PurePosixPath(name).name for name in information["relative_file_paths"]]
            if str(information.get("compression_mode") or "none").lower() != "none":
                return [folder], None
            count = int(information["message_count"])
        except (ConfigurationError, KeyError, TypeError, AttributeError, ValueError) as error:
            reason = one_line(error) if isinstance(error, ConfigurationError) else repr(error)
            said.append(f"{METADATA} of '{folder}' is damaged, its files are read without it: {reason}")
            names = []
    else:
        said.append(f"'{folder}' has no {METADATA}: its recorder did not end regularly")
    gone = [name for name in names if not (folder / name).is_file()]
    there = [folder / name for name in names if name not in gone]
    files = there or sorted(file for file in folder.iterdir() if file.suffix in READERS)
    if not files:
        content = sorted(item.name for item in folder.iterdir())
        lacks = f"it has no .mcap or .db3 file, it has {listing(content)}" if content else "it is empty"
        raise RecordingError(f"'{folder}' is no rosbag2 recording: {lacks}")
    if gone:
        said.append(f"'{folder}' lacks {listing(gone)}, which its {METADATA} lists")
    return files, count
